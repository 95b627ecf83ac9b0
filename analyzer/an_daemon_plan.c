/* an_daemon_plan.c - takes the plan's rounds one after the other: which is next, whether it may run, and the
 * end.
 */
#include <string.h>

#include "an_daemon_private.h"
#include "an_keys.h"
#include "an_result.h"
#include "an_show.h"
#include "cm_clock.h"
#include "cm_log.h"

/* A round that is under way, or whose key is still to be destroyed. */
static bool unfinished(const struct an_daemon *d, const struct an_round_state *r)
{
	if (r->stage == AN_RESERVED || r->stage == AN_CHARGED)
		return true;
	return (r->stage == AN_SETTLED || r->stage == AN_VOID) &&
	       an_key_exists(d->conf->state_dir, r->descriptor.round_id);
}

static void say_refusal(struct an_daemon *d, const struct an_round_state *r)
{
	if (an_round_left_out(r)) {
		cm_log(CM_LOG_WARN, "round left out", CM_I("round", r->plan->number),
			CM_S("query", r->plan->query.name), CM_S("why", r->reason));
		return;
	}
	cm_log(CM_LOG_WARN, "round refused by the budget", CM_I("round", r->plan->number),
		CM_S("query", r->plan->query.name), CM_D("needed", r->epsilon_round),
		CM_D("total", r->epsilon_total), CM_D("limit", d->books.plan.epsilon));
	if (d->judging.explained)
		an_explanation_print(&d->books.state, &d->judging.explanation, stderr);
}

static bool ended(const struct an_round_state *r)
{
	return r->stage == AN_SETTLED || r->stage == AN_VOID || r->stage == AN_REFUSED;
}

/* The rounds that have ended since the last look. */
void an_plan_show(struct an_daemon *d)
{
	const struct an_state *s = &d->books.state;
	size_t to = d->shown;

	if (d->run->table == NULL)
		return;
	while (to < s->plan->rounds && ended(&s->round[to]))
		to++;
	if (to == d->shown)
		return;
	an_rounds_print_some(&d->books, d->shown, to, d->run->table);
	(void)fflush(d->run->table);
	d->shown = to;
}

/* The selected round, or the plan, has come to its end. */
static void finish(struct an_daemon *d)
{
	const struct an_round_state *r = d->run->only != 0 ? &d->books.state.round[d->run->only - 1] : NULL;
	struct cm_err err = { 0 };

	d->idle = true;
	an_plan_show(d);
	if (r != NULL && r->stage == AN_REFUSED)
		(void)cm_fail(&err, an_round_left_out(r) ? CM_EDATA : CM_EBUDGET, "round %u (%s) refused: %s",
			r->plan->number, r->plan->query.name, r->reason);
	else if (r != NULL && r->stage == AN_VOID)
		(void)cm_fail(&err,
			strncmp(r->reason, AN_REFUSED_BUDGET, sizeof AN_REFUSED_BUDGET - 1) == 0 ? CM_EBUDGET
												 : CM_ELATER,
			"round %u (%s) is void: %s", r->plan->number, r->plan->query.name, r->reason);
	if (d->run->once || d->run->only != 0) {
		an_stop(d, err.code, &err);
		return;
	}
	cm_log(CM_LOG_INFO, "the plan is through",
		CM_I("settled", an_state_count(&d->books.state, AN_SETTLED)),
		CM_I("refused", an_state_count(&d->books.state, AN_REFUSED)),
		CM_I("void", an_state_count(&d->books.state, AN_VOID)));
	an_link_drop(d, &(struct cm_err){ .code = CM_OK });
}

/* What an earlier answer leaves to ask, if the round is of that kind. */
static enum cm_rc extend(struct an_daemon *d, struct cm_err *err)
{
	const struct an_state *s = &d->books.state;
	const struct pl_round *r = d->judging.round->plan;
	json_t *result = NULL;
	enum cm_rc rc = CM_OK;

	d->judging.extends = r->after != 0;
	if (!d->judging.extends)
		return CM_OK;
	if (s->round[r->after - 1].stage == AN_SETTLED)
		rc = an_result_load(d->conf->state_dir, &s->round[r->after - 1], &result, err);
	if (rc == CM_OK)
		rc = an_extend(s, r, result, &d->judging.extension, err);
	d->judging.extends = rc == CM_OK;
	json_decref(result);
	return rc;
}

/* On a worker thread: the accountant may take seconds, and the loop has a health endpoint to answer.  The
 * books are only read meanwhile, here and there. */
static void judge(uv_work_t *w)
{
	struct an_daemon *d = w->data;
	const struct an_state *s = &d->books.state;
	bool attended = (d->run->once || d->run->only != 0) && !d->run->json;
	struct cm_err err = { 0 };
	uint64_t began = uv_hrtime();

	d->work_rc = extend(d, &d->work_err);
	if (d->work_rc == CM_OK)
		d->work_rc = an_budget_decide(s, d->judging.round->plan, &d->judging.verdict, &d->work_err);
	d->judging.explained = d->work_rc == CM_EBUDGET && attended &&
			       an_budget_explain(s, d->judging.round, &d->judging.explanation, &err) == CM_OK;
	d->work_ns = uv_hrtime() - began;
}

static void judged(uv_work_t *w, int status)
{
	struct an_daemon *d = w->data;
	struct an_round_state *r = d->judging.round;
	const struct an_extension *asked = d->judging.extends ? &d->judging.extension : NULL;
	/* What does not fit is refused by the budget, whatever an answer left to ask. */
	const char *nothing =
		d->work_rc == CM_OK && asked != NULL && asked->nothing[0] != '\0' ? asked->nothing : NULL;
	const struct an_decision decision = { .verdict = &d->judging.verdict,
		.take = d->work_rc == CM_OK && nothing == NULL,
		.refusal = nothing,
		.query = asked != NULL ? &asked->query : NULL };
	bool decided = status == 0 && (d->work_rc == CM_OK || d->work_rc == CM_EBUDGET);
	struct cm_err err = d->work_err;

	d->working = false;
	if (status != 0)
		(void)cm_fail(&err, CM_EINTERNAL, "judging was cancelled");
	if (!d->stopping && decided)
		decided = an_books_decide(&d->books, r->plan, &decision, &d->rng, cm_clock_wall_ms(), &err) ==
			  CM_OK;
	if (asked != NULL)
		pt_query_fini(&d->judging.extension.query);
	d->judging.extends = false;
	if (d->stopping)
		return;
	if (!decided) {
		an_stop(d, err.code, &err);
		return;
	}
	an_metrics_judged(d->metrics, (double)d->work_ns / 1e9);
	an_metrics_books(d->metrics);
	if (decision.take) {
		an_work_begin(d, r);
	} else {
		say_refusal(d, r);
		an_plan_next(d);
	}
}

/* The next round to work on: one under way, else a planned one that was asked for; NULL: none left. */
static struct an_round_state *choose(struct an_daemon *d)
{
	struct an_state *s = &d->books.state;

	for (size_t i = 0; i < s->plan->rounds; i++)
		if (unfinished(d, &s->round[i]))
			return &s->round[i];
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (s->round[i].stage == AN_PLANNED &&
			(d->run->only == 0 || d->run->only == s->round[i].plan->number))
			return &s->round[i];
	return NULL;
}

void an_plan_next(struct an_daemon *d)
{
	struct an_round_state *r;
	struct cm_err err = { 0 };

	if (d->stopping || d->dialogue != NULL || d->working)
		return;
	an_plan_show(d);
	r = choose(d);
	if (r == NULL) {
		finish(d);
	} else if (r->stage != AN_PLANNED) {
		an_work_begin(d, r);
	} else {
		d->judging.round = r;
		d->working = uv_queue_work(&d->loop, &d->work, judge, judged) == 0;
		if (!d->working) {
			(void)cm_fail(&err, CM_EINTERNAL, "the thread pool takes no work");
			an_stop(d, err.code, &err);
		}
	}
}
