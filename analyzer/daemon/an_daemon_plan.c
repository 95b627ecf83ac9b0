/* an_daemon_plan.c - runs the plan's rounds one after the other: chooses the next, judges whether it may run,
 * and ends the run. */
#include <string.h>

#include "an_daemon_private.h"
#include "an_keys.h"
#include "an_result.h"
#include "an_schedule.h"
#include "an_show.h"
#include "cm_clock.h"
#include "cm_log.h"

/* Whether the round is in progress, or its key must still be destroyed. */
static bool unfinished(const struct an_daemon *d, const struct an_round_state *r)
{
	if (r->stage == AN_RESERVED || r->stage == AN_CHARGED)
		return true;
	return (r->stage == AN_SETTLED || r->stage == AN_VOID || r->stage == AN_WAITING) &&
	       an_key_exists(d->conf->state_dir, r->descriptor.round_id);
}

static void say_refusal(struct an_daemon *d, const struct an_round_state *r)
{
	if (an_round_left_out(r)) {
		cm_log(CM_LOG_WARN, "round left out", CM_I("round", r->plan->number),
			CM_S("query", r->plan->label), CM_S("why", r->reason));
		return;
	}
	cm_log(CM_LOG_WARN, "round refused by the budget", CM_I("round", r->plan->number),
		CM_S("query", r->plan->label), CM_D("needed", r->epsilon_round),
		CM_D("total", r->epsilon_total), CM_D("limit", d->files.plan.epsilon));
	if (d->judging.explained)
		an_explanation_print(&d->files.state, &d->judging.explanation, stderr);
}

static bool ended(const struct an_round_state *r)
{
	return r->stage == AN_SETTLED || r->stage == AN_VOID || r->stage == AN_REFUSED;
}

static void show_rows(struct an_daemon *d, size_t to)
{
	if (d->run->table == NULL || to == d->shown)
		return;
	an_rounds_print_some(&d->files, d->shown, to, cm_clock_wall_ms(), d->run->table);
	(void)fflush(d->run->table);
	d->shown = to;
}

/* Print the rounds that have ended since the last call. */
void an_plan_show(struct an_daemon *d)
{
	const struct an_state *s = &d->files.state;
	size_t to = d->shown;

	while (to < s->plan->rounds && ended(&s->round[to]))
		to++;
	show_rows(d, to);
}

/* The selected round, or the plan, is finished: end the run. */
static void finish(struct an_daemon *d)
{
	const struct an_round_state *r = d->run->only != 0 ? &d->files.state.round[d->run->only - 1] : NULL;
	struct cm_err err = { 0 };

	d->idle = true;
	an_sleep_say_later(d);
	show_rows(d, d->files.plan.rounds);
	if (r != NULL && r->stage == AN_REFUSED)
		(void)cm_fail(&err, an_round_left_out(r) ? CM_EDATA : CM_EBUDGET, "round %u (%s) refused: %s",
			r->plan->number, r->plan->label, r->reason);
	else if (r != NULL && (r->stage == AN_VOID || r->stage == AN_WAITING))
		(void)cm_fail(&err,
			strncmp(r->reason, AN_REFUSED_BUDGET, sizeof AN_REFUSED_BUDGET - 1) == 0 ? CM_EBUDGET
												 : CM_ELATER,
			"round %u (%s) is %s: %s", r->plan->number, r->plan->label,
			r->stage == AN_VOID ? "void" : "void and may be tried again", r->reason);
	if (d->run->once || d->run->only != 0) {
		an_stop(d, err.code, &err);
		return;
	}
	cm_log(CM_LOG_INFO, "the plan is through",
		CM_I("settled", an_state_count(&d->files.state, AN_SETTLED)),
		CM_I("refused", an_state_count(&d->files.state, AN_REFUSED)),
		CM_I("void", an_state_count(&d->files.state, AN_VOID)),
		CM_I("waiting", an_state_count(&d->files.state, AN_WAITING)));
	an_link_drop(d, &(struct cm_err){ .code = CM_OK });
}

/* Compute the question that follows from an earlier answer, if the round is of that kind. */
static enum cm_rc extend(struct an_daemon *d, struct cm_err *err)
{
	const struct an_state *s = &d->files.state;
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

/* Runs on a worker thread, because the accountant may take seconds and the loop must answer health requests.
 * Both threads only read the ledger files meanwhile. */
static void judge(uv_work_t *w)
{
	struct an_daemon *d = w->data;
	const struct an_state *s = &d->files.state;
	bool attended = (d->run->once || d->run->only != 0) && !d->run->json;
	struct cm_err err = { 0 };
	uint64_t began = uv_hrtime();

	d->work_rc = extend(d, &d->work_err);
	if (d->work_rc == CM_OK)
		d->work_rc = an_budget_decide(s, d->judging.round, &d->judging.verdict, &d->work_err);
	d->judging.explained = d->work_rc == CM_EBUDGET && attended &&
			       an_budget_explain(s, d->judging.round, &d->judging.explanation, &err) == CM_OK;
	d->work_ns = uv_hrtime() - began;
}

static void judged(uv_work_t *w, int status)
{
	struct an_daemon *d = w->data;
	struct an_round_state *r = d->judging.round;
	const struct an_extension *asked = d->judging.extends ? &d->judging.extension : NULL;
	/* A round that does not fit is refused for the budget, even if it also has nothing to ask. */
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
		decided = an_ledger_files_decide(
				  &d->files, r, &decision, &d->rng, cm_clock_wall_ms(), &err) == CM_OK;
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
	an_metrics_read_ledger(d->metrics);
	if (decision.take) {
		an_work_begin(d, r);
	} else {
		say_refusal(d, r);
		an_plan_next(d);
	}
}

/* Whether the question is known: a round that extends another's answer waits until that round is answered or
 * can no longer be. */
static bool has_its_question(const struct an_state *s, const struct an_round_state *r)
{
	uint32_t after = r->plan->after;

	return after == 0 || ended(&s->round[after - 1]);
}

static bool may_be_tried(const struct an_daemon *d, const struct an_round_state *r)
{
	/* A round that an operator selects runs regardless of its schedule. */
	return an_round_open(r) && !d->tries.barred[r->plan->number - 1] &&
	       has_its_question(&d->files.state, r) &&
	       (d->run->only == 0 ? an_round_due(r, cm_clock_wall_ms()) : d->run->only == r->plan->number);
}

/* Choose the next round: one in progress, of whichever plan; otherwise one that this pass has not tried.  A
 * new pass begins while a round may be tried again, unless an operator selected the round.  NULL: none is
 * left. */
static struct an_round_state *choose(struct an_daemon *d)
{
	struct an_state *s = &d->files.state;
	bool again = false;

	for (size_t i = 0; i < an_state_rounds(s); i++)
		if (unfinished(d, an_state_at(s, i)))
			return an_state_at(s, i);
	if (s->current == NULL)
		return NULL;
	for (size_t i = 0; i < s->plan->rounds; i++) {
		if (!may_be_tried(d, &s->round[i]))
			continue;
		if (d->tries.last[i] < d->tries.pass)
			return &s->round[i];
		again = true;
	}
	if (!again || d->run->only != 0)
		return NULL;
	d->tries.pass++;
	return choose(d);
}

void an_plan_ended(struct an_daemon *d, const struct an_round_state *r)
{
	/* Clocks that differed agree again; a policy stays. */
	if (an_round_not_taken(r) && !an_round_refused_by_clock(r) && r->of->current)
		d->tries.barred[r->plan->number - 1] = true;
}

void an_plan_next(struct an_daemon *d)
{
	struct an_round_state *r;
	struct cm_err err = { 0 };

	if (d->stopping || d->dialogue != NULL || d->working)
		return;
	an_plan_show(d);
	an_sleep_say_missed(d);
	r = choose(d);
	if (r != NULL)
		an_sleep_end(d);
	if (r == NULL && d->files.state.current == NULL) {
		an_pin_begin(d);
	} else if (r == NULL) {
		if (!an_sleep_begin(d))
			finish(d);
	} else if (!an_round_open(r) || unfinished(d, r)) {
		an_work_begin(d, r);
	} else {
		d->tries.last[r->plan->number - 1] = d->tries.pass;
		d->judging.round = r;
		d->working = uv_queue_work(&d->loop, &d->work, judge, judged) == 0;
		if (!d->working) {
			(void)cm_fail(&err, CM_EINTERNAL, "the thread pool accepts no work");
			an_stop(d, err.code, &err);
		}
	}
}
