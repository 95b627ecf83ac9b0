/* cl_check.c - what `check` says of a client. */
#include "cl_check.h"

#include "cl_db.h"
#include "cl_ledger.h"
#include "cm_clock.h"

static void check_ledger(const struct cl_setup *setup, struct cm_health *h)
{
	struct rd_account *account = NULL;
	struct cl_db *db = NULL;
	struct cm_err err;
	int64_t records = 0, over_ms = 0;
	double share = 0;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, &err);

	if (rc == CM_ENOINPUT) {
		cm_health_say(h, CM_HEALTH_OK, "no round yet");
		return;
	}
	if (rc == CM_OK)
		rc = cl_ledger_account(db, setup->policy.max_epsilon, setup->policy.delta, &account, &err);
	if (rc == CM_OK)
		rc = rd_account_share(account, &share, &err);
	if (rc == CM_OK)
		rc = cl_db_int(db, "SELECT count(*) FROM ledger", &records, &err);
	if (rc == CM_OK)
		rc = cl_db_int(db, "SELECT max(time_ms) FROM ledger WHERE kind = 'over'", &over_ms, &err);
	if (rc == CM_OK) {
		cm_health_budget(h, share);
		h->ledger_records = (double)records;
	} else {
		cm_health_say(h, CM_HEALTH_CRITICAL, "%s", err.msg);
	}
	if (over_ms > 0)
		cm_health_round(h, over_ms, cm_clock_wall_ms());
	rd_account_free(account);
	cl_db_close(db);
}

void cl_check(const struct cl_setup *setup, struct cm_health *h)
{
	check_ledger(setup, h);
	cm_health_certificate(h, setup->conf.cert, cm_clock_wall_ms());
	cm_health_daemon(h, setup->conf.http);
}
