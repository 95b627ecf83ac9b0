/* an_daemon_pin.c - makes the plan of the plan file on a worker thread, and pins it before any of its rounds
 * is announced. */
#include "an_daemon_private.h"
#include "an_show.h"
#include "cm_clock.h"
#include "cm_log.h"

/* Runs on a worker thread, because it composes once per round and the loop must answer health requests. */
static void make(uv_work_t *w)
{
	struct an_daemon *d = w->data;
	uint64_t began = uv_hrtime();

	d->work_rc = pl_plan_make(&d->files.plan, d->making.number, d->making.previous, &d->making.stop,
		&d->making.bytes, &d->work_err);
	d->work_ns = uv_hrtime() - began;
}

static void say_refused(struct an_daemon *d, const struct an_round_state *r)
{
	const struct pl_round *p = r->plan;

	cm_log(CM_LOG_WARN, "round refused by the budget", CM_I("round", p->number), CM_S("query", p->label),
		CM_D("needed", r->epsilon_round), CM_D("total", r->epsilon_total),
		CM_D("limit", d->files.plan.epsilon));
	if (p->recurrences > 1)
		cm_log(CM_LOG_WARN, "recurrences that fit", CM_S("query", p->query.name),
			CM_I("fit", p->recurrence - 1), CM_I("of", p->recurrences));
}

static void say_pinned(struct an_daemon *d)
{
	const struct an_state *s = &d->files.state;
	const struct rd_plan *p = &s->current->signed_plan;

	cm_log(CM_LOG_INFO, "plan pinned", CM_S("plan", p->name), CM_I("number", p->number),
		CM_I("entries", p->entries), CM_I("over_budget", p->refusals), CM_D("epsilon", p->epsilon),
		CM_D("delta", p->delta));
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (an_round_blocked(&s->round[i]) && !an_round_blocked_again(s, &s->round[i]))
			say_refused(d, &s->round[i]);
}

static enum cm_rc pin(struct an_daemon *d, struct cm_err *err)
{
	enum cm_rc rc = an_ledger_files_pin(&d->files, &d->making.bytes, d->signer, cm_clock_wall_ms(), err);

	if (rc == CM_OK)
		say_pinned(d);
	return rc;
}

/* ---- explaining refused rounds to people ---- */

static bool is_explained(const struct an_daemon *d, const struct an_round_state *r)
{
	return an_round_blocked(r) && (d->run->only == 0 ? !an_round_blocked_again(&d->files.state, r)
							 : d->run->only == r->plan->number);
}

static void explain(uv_work_t *w)
{
	struct an_daemon *d = w->data;
	const struct an_state *s = &d->files.state;
	struct cm_err err = { 0 };

	d->making.explanations = 0;
	for (size_t i = 0; i < s->plan->rounds && d->making.explanations < AN_EXPLAINED; i++)
		if (is_explained(d, &s->round[i]) &&
			an_budget_explain_until(&d->files.state, &s->round[i], &d->making.stop,
				&d->making.explanation[d->making.explanations], &err) == CM_OK)
			d->making.explanations++;
}

static void explained(uv_work_t *w, int status)
{
	struct an_daemon *d = w->data;

	d->working = false;
	if (d->stopping)
		return;
	for (size_t i = 0; status == 0 && i < d->making.explanations; i++)
		an_explanation_print(&d->files.state, &d->making.explanation[i], stderr);
	an_plan_next(d);
}

/* Explain refusals as soon as they are known. */
static bool explain_refused(struct an_daemon *d)
{
	const struct an_state *s = &d->files.state;
	bool any = false;

	for (size_t i = 0; i < s->plan->rounds; i++)
		any = any || is_explained(d, &s->round[i]);
	if (!any || d->run->json || (!d->run->once && d->run->only == 0))
		return false;
	d->working = uv_queue_work(&d->loop, &d->work, explain, explained) == 0;
	return d->working;
}

/* ---- */

void an_pin_go_on(struct an_daemon *d)
{
	struct cm_err err = { 0 };
	enum cm_rc rc = pin(d, &err);

	cm_buf_fini(&d->making.bytes);
	if (rc != CM_OK) {
		an_stop(d, rc, &err);
		return;
	}
	an_metrics_judged(d->metrics, (double)d->work_ns / 1e9);
	an_metrics_read_ledger(d->metrics);
	if (!explain_refused(d))
		an_plan_next(d);
}

static void made(uv_work_t *w, int status)
{
	struct an_daemon *d = w->data;
	const struct cm_buf *bytes = &d->making.bytes;
	struct cm_err err = d->work_err;
	enum cm_rc rc = d->work_rc;

	d->working = false;
	if (status != 0)
		rc = cm_fail(&err, CM_EINTERNAL, "making the plan was cancelled");
	if (rc == CM_OK && !d->stopping)
		rc = rd_plan_decode(bytes->data, bytes->len, &d->fit.made, &err);
	if (rc != CM_OK || d->stopping) {
		cm_buf_fini(&d->making.bytes);
		an_stop(d, rc, &err);
		return;
	}
	/* A plan of which nothing fits the budget has nothing to ask of a shuffler. */
	if (d->fit.made.entries > 0 || rd_plan_is_adaptive(&d->fit.made))
		an_fit_begin(d, false);
	else
		an_pin_go_on(d);
}

void an_pin_begin(struct an_daemon *d)
{
	struct cm_err err = { 0 };

	/* Report this before judging rounds: no round of this plan can run. */
	if (an_ledger_files_slice(&d->files, &err) != CM_OK) {
		an_stop(d, err.code, &err);
		return;
	}
	d->making.number = an_state_next_plan(&d->files.state, d->making.previous);
	cm_buf_init(&d->making.bytes, PR_PLAN_MAX);
	d->working = uv_queue_work(&d->loop, &d->work, make, made) == 0;
	if (!d->working) {
		(void)cm_fail(&err, CM_EINTERNAL, "the thread pool accepts no work");
		an_stop(d, err.code, &err);
	}
}
