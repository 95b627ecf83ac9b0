/* an_replan.c - compares the plan file with the plan that was read, and checks a changed one. */
#include "an_replan.h"

#include <string.h>

#include "an_schedule.h"
#include "cm_clock.h"
#include "cm_fault.h"
#include "cm_log.h"
#include "pl_load.h"

/* Rounds of the pinned plan that this run would still try. */
static size_t rounds_left(const struct an_state *s)
{
	int64_t now = cm_clock_wall_ms();
	size_t n = 0;

	for (size_t i = 0; s->current && i < s->plan->rounds; i++)
		n += an_round_may_be_tried(&s->round[i]) && !an_round_missed(&s->round[i], now);
	return n;
}

/* Why the changed file stays out, though it has no fault; NULL: it need not.  fresh: the ledger, read
 * with it. */
static const char *must_wait(const struct an_context *c, const struct an_ledger_files *fresh, size_t left)
{
	const struct an_plan *now = c->files.state.current, *then = fresh->state.current;

	/* An adaptive plan may get more rounds. */
	if (now && then && now->signed_plan.number == then->signed_plan.number)
		return NULL;
	if (CM_CHECKED("analyzer.replan.signs") && an_conf_signs_at_start(c->conf) && !then)
		return "sign = \"at-start\", and a reload signs nothing: a restart signs it, which spends its slice";
	if (CM_CHECKED("analyzer.replan.left") && left > 0)
		return "the pinned plan has rounds left: reload again when they have ended; a restart gives them up, and "
		       "what they have of its slice";
	return NULL;
}

static bool say_waits(const struct an_context *c, size_t left, const char *why)
{
	cm_log(CM_LOG_WARN, "the changed plan file is not taken up", CM_S("file", c->conf->plan),
		CM_S("plan", c->files.plan.name), CM_I("rounds_left", left), CM_S("reason", why));
	return false;
}

bool an_replan(const struct an_context *c, bool busy)
{
	const size_t left = rounds_left(&c->files.state);
	struct an_ledger_files fresh = { .state_dir = NULL };
	uint8_t digest[PR_HASH_LEN];
	const char *why = NULL;
	struct cm_err err;
	enum cm_rc rc = pl_plan_digest(c->conf->plan, digest, &err);

	if (rc == CM_OK && memcmp(digest, c->files.plan.digest, PR_HASH_LEN) == 0)
		return false;
	if (rc == CM_OK && busy && CM_CHECKED("analyzer.replan.left"))
		return say_waits(c, left, "a round is under way: reload again when it is over");
	if (rc == CM_OK)
		rc = an_ledger_files_open(c->conf, false, &fresh, &err);
	if (rc == CM_OK)
		why = must_wait(c, &fresh, left);
	if (rc == CM_OK && !why && !fresh.state.current)
		rc = an_ledger_files_slice(&fresh, &err);
	an_ledger_files_close(&fresh);
	if (rc != CM_OK)
		cm_log(CM_LOG_ERROR, "plan not reloaded; the old one stays", CM_S("reason", err.msg));
	else if (why)
		return say_waits(c, left, why);
	else
		cm_log(CM_LOG_INFO, "the changed plan file is taken up", CM_S("file", c->conf->plan));
	return rc == CM_OK;
}
