/* cl_check.c - the findings of `check` for a client. */
#include "cl_check.h"

#include "cl_db.h"
#include "cl_ledger.h"
#include "cl_standing.h"
#include "cl_usage.h"
#include "cm_clock.h"

static void check_ledger(const struct cl_setup *setup, struct nt_health *h)
{
	struct cl_usage usage = { .plans = 0 };
	struct cl_loss loss = { .lost = false };
	struct cl_db *db = NULL;
	struct cm_err err;
	int64_t records = 0, over_ms = 0;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, &err);

	if (rc == CM_ENOINPUT) {
		nt_health_say(h, NT_HEALTH_OK, "no round yet");
		return;
	}
	if (rc == CM_OK)
		rc = cl_usage_read(db, &setup->policy, &usage, &err);
	if (rc == CM_OK)
		rc = cl_loss_read(db, &loss, &err);
	if (rc == CM_OK)
		rc = cl_ledger_extent(db, &records, &over_ms, &err);
	if (rc == CM_OK) {
		nt_health_slices(h, usage.used, usage.pinned);
		h->ledger_records = (double)records;
	} else {
		nt_health_say(h, NT_HEALTH_CRITICAL, "%s", err.msg);
	}
	if (rc == CM_OK && loss.lost)
		nt_health_say(h, NT_HEALTH_CRITICAL,
			"the ledger was restored, cloned or lost: see tombola-client accept-loss");
	if (over_ms > 0)
		nt_health_round(h, over_ms, cm_clock_wall_ms());
	cl_db_close(db);
}

void cl_check(const struct cl_setup *setup, struct nt_health *h)
{
	check_ledger(setup, h);
	nt_health_certificate(h, setup->conf.cert, cm_clock_wall_ms());
	nt_health_daemon(h, setup->conf.http);
}
