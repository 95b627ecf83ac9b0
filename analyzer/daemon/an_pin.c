/* an_pin.c - takes the plan that a person signed, or makes the plan of the plan file on a worker thread,
 * and pins it. */
#include "an_pin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "an_budget.h"
#include "an_signed.h"
#include "cm_clock.h"
#include "cm_fault.h"
#include "cm_log.h"
#include "pl_make.h"

/* How many refused rounds are explained; the ledger has the reason of every one. */
#define EXPLAINED 8u
/* Pause between two looks for the signed plan. */
#define LOOK_MS 500u

static const char how[] = "`tombola-analyzer plan sign` shows what it takes, and asks";

struct an_pin {
	struct an_pin_conf conf;
	struct an_context *context;
	bool closed;
	uv_timer_t look;
	int64_t since_ms;       /* monotonic time at which waiting for a signed plan began */
	char missing[320 + 80]; /* why there is no signed plan; empty if none is waited for */
	atomic_bool stop;       /* set to true to end the work */
	uv_work_t work;
	bool works;
	uint64_t work_ns; /* how long making the plan took */
	enum cm_rc rc;    /* the result of the work, together with err */
	struct cm_err err;
	uint64_t number;
	uint8_t previous[PR_HASH_LEN];
	struct cm_buf bytes; /* the bytes of the plan */
	struct rd_plan made;
	struct an_explanation explanation[EXPLAINED];
	size_t explanations;
};

enum cm_rc an_pin_new(const struct an_pin_conf *conf, struct an_pin **out, struct cm_err *err)
{
	struct an_pin *p = calloc(1, sizeof *p);

	if (!p)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = p;
	p->conf = *conf;
	p->context = conf->context;
	p->work.data = p;
	cm_buf_init(&p->bytes, PR_PLAN_MAX);
	return an_timer_init(p->context, &p->look, p, err);
}

void an_pin_close(struct an_pin *p)
{
	if (!p)
		return;
	p->closed = true;
	an_timer_close(&p->look);
	atomic_store(&p->stop, true);
}

void an_pin_free(struct an_pin *p)
{
	if (p) {
		cm_buf_fini(&p->bytes);
		rd_plan_fini(&p->made);
	}
	free(p);
}

bool an_pin_works(const struct an_pin *p)
{
	return p->works || p->missing[0] != '\0';
}

const char *an_pin_missing(const struct an_pin *p)
{
	return p->missing;
}

/* Runs on a worker thread, because it composes once for each round and the loop must answer health
 * requests. */
static void make(uv_work_t *w)
{
	struct an_pin *p = w->data;
	uint64_t began = uv_hrtime();

	p->rc = pl_plan_make(&p->context->files.plan, p->number, p->previous, &p->stop, &p->bytes, &p->err);
	p->work_ns = uv_hrtime() - began;
}

static void say_refused(struct an_pin *p, const struct an_round_state *r)
{
	const struct pl_round *plan = r->plan;

	cm_log(CM_LOG_WARN, "round refused by the budget", CM_I("round", plan->number),
		CM_S("query", plan->label), CM_D("needed", r->epsilon_round), CM_D("total", r->epsilon_total),
		CM_D("limit", p->context->files.plan.epsilon));
	if (plan->recurrences > 1)
		cm_log(CM_LOG_WARN, "recurrences that fit", CM_S("query", plan->query.name),
			CM_I("fit", plan->recurrence - 1), CM_I("of", plan->recurrences));
}

static void say_pinned(struct an_pin *p)
{
	const struct an_state *s = &p->context->files.state;
	const struct rd_plan *plan = &s->current->signed_plan;

	cm_log(CM_LOG_INFO, "plan pinned", CM_S("plan", plan->name), CM_I("number", plan->number),
		CM_I("entries", plan->entries), CM_I("over_budget", plan->refusals),
		CM_D("epsilon", plan->epsilon), CM_D("delta", plan->delta));
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (an_round_blocked(&s->round[i]) && !an_round_blocked_again(s, &s->round[i]))
			say_refused(p, &s->round[i]);
}

static enum cm_rc pin(struct an_pin *p, struct cm_err *err)
{
	enum cm_rc rc = an_ledger_files_pin(
		&p->context->files, &p->bytes, p->context->signer, cm_clock_wall_ms(), err);

	if (rc == CM_OK) {
		an_signed_remove(p->context->files.state_dir);
		say_pinned(p);
	}
	return rc;
}

/* ---- explaining refused rounds to people ---- */

static bool is_explained(const struct an_pin *p, const struct an_round_state *r)
{
	return an_round_blocked(r) &&
	       (p->context->run->only == 0 ? !an_round_blocked_again(&p->context->files.state, r)
					   : p->context->run->only == r->plan->number);
}

static void explain(uv_work_t *w)
{
	struct an_pin *p = w->data;
	const struct an_state *s = &p->context->files.state;
	struct cm_err err = { 0 };

	p->explanations = 0;
	for (size_t i = 0; i < s->plan->rounds && p->explanations < EXPLAINED; i++)
		if (is_explained(p, &s->round[i]) &&
			an_budget_explain_until(&p->context->files.state, &s->round[i], &p->stop,
				&p->explanation[p->explanations], &err) == CM_OK)
			p->explanations++;
}

static void explained(uv_work_t *w, int status)
{
	struct an_pin *p = w->data;

	p->works = false;
	if (p->closed)
		return;
	for (size_t i = 0; status == 0 && i < p->explanations; i++)
		an_explanation_print(&p->context->files.state, &p->explanation[i], stderr);
	p->conf.on_pinned(p->conf.user);
}

/* Explain refusals as soon as they are known. */
static bool explain_refused(struct an_pin *p)
{
	const struct an_state *s = &p->context->files.state;
	bool any = false;

	for (size_t i = 0; i < s->plan->rounds; i++)
		any = any || is_explained(p, &s->round[i]);
	if (!any || p->context->run->json || !an_context_attended(p->context))
		return false;
	p->works = uv_queue_work(&p->context->loop, &p->work, explain, explained) == 0;
	return p->works;
}

/* ---- */

static void fail(struct an_pin *p, const struct cm_err *why)
{
	cm_buf_fini(&p->bytes);
	p->conf.on_fault(p->conf.user, why);
}

void an_pin_sign(struct an_pin *p)
{
	struct cm_err err = { 0 };

	rd_plan_fini(&p->made);
	if (pin(p, &err) != CM_OK) {
		fail(p, &err);
		return;
	}
	cm_buf_fini(&p->bytes);
	an_metrics_judged(p->context->metrics, (double)p->work_ns / 1e9);
	an_metrics_read_ledger(p->context->metrics);
	if (!explain_refused(p))
		p->conf.on_pinned(p->conf.user);
}

static void made(uv_work_t *w, int status)
{
	struct an_pin *p = w->data;

	p->works = false;
	if (p->closed)
		return;
	if (status != 0)
		p->rc = cm_fail(&p->err, CM_EINTERNAL, "making the plan was cancelled");
	if (p->rc == CM_OK)
		p->rc = rd_plan_decode(p->bytes.data, p->bytes.len, &p->made, &p->err);
	if (p->rc != CM_OK)
		fail(p, &p->err);
	else
		p->conf.on_made(p->conf.user, &p->made);
}

/* ---- a plan that a person signs ---- */

/* Log the reason why the plan is not signed, once, and again when the reason changes. */
static void say_missing(struct an_pin *p, const struct cm_err *why)
{
	char text[sizeof p->missing];

	if (why->code == CM_ENOINPUT)
		(void)snprintf(text, sizeof text, "%s", how);
	else
		(void)snprintf(text, sizeof text, "%s; %s", why->msg, how);
	if (strcmp(text, p->missing) != 0)
		cm_log(CM_LOG_WARN, "the plan is not signed, and nothing of the budget is spent",
			CM_S("plan", p->context->files.plan.name), CM_S("next", text));
	memcpy(p->missing, text, sizeof text);
}

static void on_look(uv_timer_t *t);

/* Look again after a pause, unless a person waits for the end of this run and has waited for give_up. */
static void wait_for_signature(struct an_pin *p, const struct cm_err *why)
{
	int64_t now = cm_clock_mono_ms();
	struct cm_err err = { 0 };

	if (p->missing[0] == '\0')
		p->since_ms = now;
	say_missing(p, why);
	if (an_context_attended(p->context) && now - p->since_ms >= p->context->conf->give_up_ms) {
		(void)cm_fail(&err, CM_ELATER, "plan %s is not signed, nothing is spent: %s",
			p->context->files.plan.name, p->missing);
		fail(p, &err);
		return;
	}
	(void)uv_timer_start(&p->look, on_look, LOOK_MS, 0);
}

static void take_signed(struct an_pin *p)
{
	struct cm_err err = { 0 };
	enum cm_rc rc;

	rd_plan_fini(&p->made);
	rc = an_signed_read(&p->context->files, p->context->signer, &p->bytes, &err);
	if (rc == CM_OK)
		rc = rd_plan_decode(p->bytes.data, p->bytes.len, &p->made, &err);
	if (rc == CM_EINTERNAL) {
		fail(p, &err);
	} else if (rc != CM_OK) {
		wait_for_signature(p, &err);
	} else {
		p->missing[0] = '\0';
		p->conf.on_made(p->conf.user, &p->made);
	}
}

static void on_look(uv_timer_t *t)
{
	take_signed(t->data);
}

void an_pin_begin(struct an_pin *p)
{
	struct cm_err err = { 0 };

	/* Report this before any round is judged: no round of this plan can run. */
	if (an_ledger_files_slice(&p->context->files, &err) != CM_OK) {
		fail(p, &err);
		return;
	}
	if (CM_CHECKED("analyzer.signed") && !an_conf_signs_at_start(p->context->conf)) {
		take_signed(p);
		return;
	}
	p->number = an_state_next_plan(&p->context->files.state, p->previous);
	p->works = uv_queue_work(&p->context->loop, &p->work, make, made) == 0;
	if (!p->works) {
		(void)cm_fail(&err, CM_EINTERNAL, "the thread pool accepts no work");
		fail(p, &err);
	}
}
