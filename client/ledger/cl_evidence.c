/* cl_evidence.c - compares a manifest with the stored manifests of its round. */
#include "cl_evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"

#define EVIDENCE "evidence-" /* names of these files begin with this */

enum cm_rc cl_evidence_write(struct cl_db *db, const char *state_dir, uint64_t sequence, const char *what,
	const struct cm_buf *bytes, char path[CL_EVIDENCE_MAX], struct cm_err *err)
{
	char name[64];

	(void)snprintf(name, sizeof name, "%s%" PRIu64 "-%s", EVIDENCE, sequence, what);
	char *file = cm_file_join(state_dir, name);
	bool there = file && access(file, F_OK) == 0;
	enum cm_rc rc = !file   ? cm_fail(err, CM_EINTERNAL, "out of memory")
			: there ? CM_OK
				: cm_file_write(file, bytes->data, bytes->len, 0600, err);
	if (rc == CM_OK) {
		db->evidence += !there;
		(void)snprintf(path, CL_EVIDENCE_MAX, "%s", file);
	}
	free(file);
	return rc;
}

static enum cm_rc count_file(void *user, const char *name, struct cm_err *err)
{
	(void)err;
	*(uint64_t *)user += strncmp(name, EVIDENCE, sizeof EVIDENCE - 1) == 0;
	return CM_OK;
}

uint64_t cl_evidence_files(const char *state_dir)
{
	uint64_t n = 0;
	struct cm_err unused;

	return cm_file_each(state_dir, count_file, &n, &unused) == CM_OK ? n : 0;
}

static enum cm_rc convict(struct cl_db *db, const char *state_dir, uint64_t sequence,
	const struct rd_signed *kept, const struct rd_signed *told, char path[CL_EVIDENCE_MAX],
	struct cm_err *err)
{
	struct cm_buf bytes;

	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	enum cm_rc rc = rd_evidence_two(kept, told, &bytes, err);
	if (rc == CM_OK)
		rc = cl_evidence_write(db, state_dir, sequence, "manifests", &bytes, path, err);
	if (rc == CM_OK)
		rc = cm_fail(err, CM_EPROTO,
			"the shuffler signed two manifests for one round; both are kept: %.160s", path);
	cm_buf_fini(&bytes);
	return rc;
}

enum cm_rc cl_evidence_manifests(struct cl_db *db, const char *state_dir, uint64_t sequence,
	const uint8_t round_id[PR_ROUND_ID_LEN], const struct rd_signed *told, char path[CL_EVIDENCE_MAX],
	struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT bytes, signature FROM manifest WHERE round_id = ?1 UNION ALL"
		" SELECT manifest, signature FROM proof WHERE round_id = ?1 AND manifest IS NOT NULL",
		&st, err, DB_BYTES(round_id, PR_ROUND_ID_LEN));

	path[0] = '\0';
	while (db_row(st, &rc, err)) {
		struct rd_signed kept = { .bytes = sqlite3_column_blob(st, 0),
			.len = (size_t)sqlite3_column_bytes(st, 0) };

		if (sqlite3_column_bytes(st, 1) != CR_SIGN_LEN) {
			rc = cm_fail(err, CM_EDATA, "client.db: a manifest is damaged");
			break;
		}
		memcpy(kept.signature, sqlite3_column_blob(st, 1), CR_SIGN_LEN);
		if (CM_CHECKED("client.manifest.twice") &&
			(kept.len != told->len || memcmp(kept.bytes, told->bytes, kept.len) != 0))
			rc = convict(db, state_dir, sequence, &kept, told, path, err);
	}
	sqlite3_finalize(st);
	return rc;
}

/* ---- A VOID manifest ---- */

/* Count the devices of this client that were accepted in a round that is over.  cl_reports_erase stores that
 * number beforehand. */
static enum cm_rc accepted_in(
	struct cl_db *db, const struct rd_descriptor *d, uint64_t *accepted, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT CAST(note AS INTEGER) FROM ledger WHERE kind = 'over' AND descriptor_hash = ?", &st,
		err, DB_BYTES(d->hash, PR_HASH_LEN));

	*accepted = 0;
	if (db_row(st, &rc, err))
		*accepted = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc;
}

/* Load the openings of the round's messages that are still watched, up to PR_PROOF_HASHES. */
static enum cm_rc watched_of(struct cl_db *db, const struct rd_descriptor *d, struct rd_opening *opening,
	size_t *n, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql, "SELECT opening FROM watched WHERE sequence = ? ORDER BY place",
		&st, err, DB_INT(d->sequence));

	*n = 0;
	while (*n < PR_PROOF_HASHES && db_row(st, &rc, err)) {
		rc = rd_opening_decode(sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0),
			d->messages_per_client, &opening[*n], err);
		if (rc == CM_EPROTO)
			rc = cm_fail(err, CM_EDATA, "client.db: a watched message is damaged");
		++*n;
	}
	sqlite3_finalize(st);
	return rc;
}

/* Write evidence with the descriptor's bytes and the openings.  Without openings it is the manifest
 * alone. */
static enum cm_rc void_evidence(struct cl_db *db, const struct rd_descriptor *d, const struct rd_signed *told,
	struct cm_buf *out, struct cm_err *err)
{
	struct rd_opening *opening = calloc(PR_PROOF_HASHES, sizeof *opening);
	sqlite3_stmt *st = NULL;
	size_t n = 0;
	enum cm_rc rc =
		opening ? watched_of(db, d, opening, &n, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK)
		rc = db_select(db->sql, "SELECT bytes FROM descriptor WHERE hash = ?", &st, err,
			DB_BYTES(d->hash, PR_HASH_LEN));
	if (n > 0 && db_row(st, &rc, err))
		rc = rd_evidence_void(told,
			(struct cr_span){ sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0) },
			d->messages_per_client, opening, n, out, err);
	else if (rc == CM_OK)
		rc = rd_evidence_two(told, NULL, out, err);
	sqlite3_finalize(st);
	free(opening);
	return rc;
}

enum cm_rc cl_evidence_void(struct cl_db *db, const char *state_dir, const struct rd_descriptor *d,
	const struct rd_manifest *m, const struct rd_signed *told, char path[CL_EVIDENCE_MAX],
	struct cm_err *err)
{
	uint64_t accepted = 0;
	struct cm_buf bytes;
	enum cm_rc rc = accepted_in(db, d, &accepted, err);

	path[0] = '\0';
	if (rc != CM_OK || !m->is_void || m->given_up || accepted <= m->participants ||
		!CM_CHECKED("client.void.receipts"))
		return rc;
	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	rc = void_evidence(db, d, told, &bytes, err);
	if (rc == CM_OK)
		rc = cl_evidence_write(db, state_dir, d->sequence, "void", &bytes, path, err);
	if (rc == CM_OK)
		rc = cm_fail(err, CM_EPROTO,
			"the shuffler says VOID with %" PRIu64 " participants after receipts for %" PRIu64
			" devices of this client; kept: %.160s",
			m->participants, accepted, path);
	cm_buf_fini(&bytes);
	return rc;
}
