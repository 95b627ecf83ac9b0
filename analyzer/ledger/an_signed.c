/* an_signed.c - writes, checks and removes the file of a signed plan: its signature, then its bytes. */
#include "an_signed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_file.h"
#include "cm_owned.h"

#define NAME "plan.signed"

static char *path_of(const char *state_dir, struct cm_err *err)
{
	char *path = cm_file_join(state_dir, NAME);

	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

enum cm_rc an_signed_write(
	const char *state_dir, const struct cm_buf *plan, const struct cr_signer *signer, struct cm_err *err)
{
	char *path = path_of(state_dir, err);
	uint8_t signature[CR_SIGN_LEN];
	struct cm_buf file;
	enum cm_rc rc = path ? CM_OK : err->code;

	cm_buf_init(&file, sizeof signature + PR_PLAN_MAX);
	if (rc == CM_OK)
		rc = cr_sign(signer, RD_PURPOSE_PLAN, plan->data, plan->len, signature, err);
	if (rc == CM_OK && (cm_buf_put(&file, signature, sizeof signature) != CM_OK ||
				   cm_buf_put(&file, plan->data, plan->len) != CM_OK))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = cm_owned_state(state_dir, err);
	if (rc == CM_OK)
		rc = cm_file_mkdir(state_dir, err);
	if (rc == CM_OK)
		rc = cm_file_write(path, file.data, file.len, 0600, err);
	cm_buf_fini(&file);
	free(path);
	return rc;
}

/* Check that our key signed these bytes.  Its signatures are deterministic, so they are made again and
 * compared. */
static enum cm_rc check_signature(
	const struct cr_signer *signer, const struct cm_buf *file, struct cm_err *err)
{
	uint8_t wanted[CR_SIGN_LEN];
	enum cm_rc rc;

	if (file->len <= sizeof wanted)
		return cm_fail(err, CM_EDATA, "is no signed plan");
	rc = cr_sign(
		signer, RD_PURPOSE_PLAN, file->data + sizeof wanted, file->len - sizeof wanted, wanted, err);
	if (rc == CM_OK && memcmp(file->data, wanted, sizeof wanted) != 0)
		rc = cm_fail(err, CM_EPERM, "was not signed by signing_key");
	return rc;
}

/* Check that the plan is the next one of this ledger and belongs to the plan file. */
static enum cm_rc check_place(const struct an_ledger_files *b, const struct rd_plan *p, struct cm_err *err)
{
	uint8_t previous[PR_HASH_LEN];
	uint64_t number = an_state_next_plan(&b->state, previous);

	if (memcmp(p->file_hash, b->plan.digest, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_ECONFIG,
			"is plan %s of another plan file than this run has read (a running analyzer reads it again "
			"at SIGHUP)",
			p->name);
	if (p->number != number || memcmp(p->previous, previous, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_ECONFIG, "was signed as plan %llu, and the next of the ledger is %llu",
			(unsigned long long)p->number, (unsigned long long)number);
	return CM_OK;
}

enum cm_rc an_signed_read(const struct an_ledger_files *b, const struct cr_signer *signer, struct cm_buf *out,
	struct cm_err *err)
{
	char *path = path_of(b->state_dir, err);
	struct rd_plan p = { 0 };
	struct cm_buf file;
	enum cm_rc rc = path ? CM_OK : err->code;

	cm_buf_init(&file, CR_SIGN_LEN + PR_PLAN_MAX);
	if (rc == CM_OK)
		rc = cm_file_read(path, CR_SIGN_LEN + PR_PLAN_MAX, &file, err);
	if (rc == CM_OK) {
		rc = check_signature(signer, &file, err);
		if (rc == CM_OK)
			rc = rd_plan_decode(file.data + CR_SIGN_LEN, file.len - CR_SIGN_LEN, &p, err);
		if (rc == CM_OK)
			rc = check_place(b, &p, err);
		if (rc == CM_OK && cm_buf_put(out, file.data + CR_SIGN_LEN, file.len - CR_SIGN_LEN) != CM_OK)
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		if (rc != CM_OK)
			(void)cm_context(err, "%s", path);
	}
	rd_plan_fini(&p);
	cm_buf_fini(&file);
	free(path);
	return rc;
}

void an_signed_remove(const char *state_dir)
{
	struct cm_err unused;
	char *path = path_of(state_dir, &unused);

	/* If the file stays, no ledger takes it again, so a failure is ignored. */
	if (path)
		(void)unlink(path);
	free(path);
}
