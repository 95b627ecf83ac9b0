/* cl_context.c - opens what every part of a running client uses. */
#include "cl_context.h"

#include <string.h>

#include "cl_db_check.h"
#include "cl_device.h"
#include "cm_file.h"
#include "cm_lock.h"

void cl_say(const struct cl_context *c, enum cm_level level, const char *msg, const struct cm_err *why)
{
	if (!c->run->quiet || level == CM_LOG_ERROR)
		cm_log(level, msg, CM_S("reason", why->msg));
}

/* Verify the stored documents; on a fault, name the file with its directory. */
static enum cm_rc check_evidence(struct cl_db *db, const char *dir, struct cm_err *err)
{
	struct cm_err why;
	enum cm_rc rc = cl_db_check(db, err);

	if (rc != CM_EDATA || strncmp(err->msg, "client.db: ", 11) != 0)
		return rc;
	why = *err;
	return cm_fail(err, CM_EDATA, "%s/%.200s", dir, why.msg);
}

enum cm_rc cl_context_open(struct cl_context *c, uint64_t *after, struct cm_err *err)
{
	const char *dir = c->setup->conf.state_dir;
	struct cr_rng rng;
	bool charged = false;
	enum cm_rc rc = cm_file_mkdir(dir, err);

	if (rc == CM_OK)
		rc = cm_lock_take(dir, CL_PARTY, err);
	if (rc == CM_OK)
		rc = cm_file_sweep(dir, err);
	if (rc == CM_OK)
		rc = cr_rng_system(&rng, err);
	if (rc == CM_OK)
		rc = cl_db_open(dir, c->setup->conf.population, &c->db, err);
	if (rc == CM_OK)
		rc = check_evidence(c->db, dir, err);
	/* Open the secret after the database: a secret without a database means that a ledger was lost
	 * (cl_db_open). */
	if (rc == CM_OK)
		rc = cl_ledger_any(c->db, &charged, err);
	if (rc == CM_OK)
		rc = cl_device_secret(dir, charged, &rng, &c->secret, err);
	if (rc == CM_OK)
		rc = cl_setup_devices(c->setup, &c->secret, &c->devices, err);
	if (rc == CM_OK)
		rc = cl_ledger_last(c->db, after, err);
	return rc;
}

void cl_context_close(struct cl_context *c)
{
	cl_devices_free(c->devices);
	cl_db_close(c->db);
	cl_metrics_free(c->metrics);
	cr_key_fini(&c->secret);
}
