/* cl_show_proof.c - prints the counts of proofs of inclusion, as text and as JSON. */
#include <inttypes.h>

#include "cl_proof.h"
#include "cl_show.h"
#include "cm_file.h"

enum cm_rc cl_print_proofs(struct cl_db *db, FILE *out, struct cm_err *err)
{
	struct cl_proof_counts c;
	enum cm_rc rc = cl_proof_counts(db, &c, err);

	if (rc != CM_OK || c.rounds + c.waiting == 0)
		return rc;
	(void)fprintf(out,
		"watched messages: %" PRIu64 " in the manifest, %" PRIu64 " missing, %" PRIu64
		" unanswered, %" PRIu64 " waiting; rounds: %" PRIu64,
		c.included, c.missing, c.unanswered, c.waiting, c.rounds);
	if (c.void_rounds > 0)
		(void)fprintf(out, ", and %" PRIu64 " void", c.void_rounds);
	(void)fputc('\n', out);
	return CM_OK;
}

static enum cm_rc print_json(struct cl_db *db, FILE *out, struct cm_err *err)
{
	struct cl_proof_counts c;
	enum cm_rc rc = cl_proof_counts(db, &c, err);

	if (rc != CM_OK)
		return rc;
	json_t *all = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "schema", "tombola.proofs/1", "rounds",
		(json_int_t)c.rounds, "included", (json_int_t)c.included, "missing", (json_int_t)c.missing,
		"unanswered", (json_int_t)c.unanswered, "waiting", (json_int_t)c.waiting, "void",
		(json_int_t)c.void_rounds);
	if (!all)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	(void)json_dumpf(all, out, JSON_COMPACT);
	(void)fputc('\n', out);
	json_decref(all);
	return CM_OK;
}

enum cm_rc cl_show_proofs(const struct cl_setup *setup, bool json, FILE *out, struct cm_err *err)
{
	struct cl_db *db = NULL;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, err);

	if (rc != CM_OK)
		return rc;
	rc = json ? print_json(db, out, err) : cl_print_proofs(db, out, err);
	cl_db_close(db);
	return rc;
}

enum cm_rc cl_save_manifest(
	const struct cl_setup *setup, uint64_t sequence, const char *path, struct cm_err *err)
{
	struct cl_db *db = NULL;
	struct cm_buf bytes;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, err);

	if (rc != CM_OK)
		return rc;
	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	rc = cl_proof_export(db, sequence, &bytes, err);
	if (rc == CM_OK)
		rc = cm_file_write(path, bytes.data, bytes.len, 0644, err);
	cm_buf_fini(&bytes);
	cl_db_close(db);
	return rc;
}
