/* an_judge.c - judges on a worker thread whether the next round may run, and records the decision. */
#include "an_judge.h"

#include <stdlib.h>

#include "an_budget.h"
#include "an_extend.h"
#include "an_result.h"
#include "cm_clock.h"
#include "cm_log.h"

struct an_judge {
	struct an_judge_conf conf;
	struct an_context *context;
	bool closed;
	uv_work_t work;
	bool works;
	uint64_t work_ns; /* how long the work took */
	enum cm_rc rc;    /* the result of the work, together with err */
	struct cm_err err;
	struct an_round_state *round;
	struct rd_verdict verdict;
	struct an_explanation explanation;
	bool explained; /* the round was refused and people are watching, so it is explained */
	bool extends;   /* the round's question follows from an earlier answer */
	struct an_extension extension;
};

enum cm_rc an_judge_new(const struct an_judge_conf *conf, struct an_judge **out, struct cm_err *err)
{
	struct an_judge *j = calloc(1, sizeof *j);

	if (!j)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = j;
	j->conf = *conf;
	j->context = conf->context;
	j->work.data = j;
	return CM_OK;
}

void an_judge_close(struct an_judge *j)
{
	if (j)
		j->closed = true;
}

void an_judge_free(struct an_judge *j)
{
	free(j);
}

bool an_judge_works(const struct an_judge *j)
{
	return j->works;
}

struct an_round_state *an_judge_round(const struct an_judge *j)
{
	return j->round;
}

static void say_refusal(struct an_judge *j, const struct an_round_state *r)
{
	if (an_round_left_out(r)) {
		cm_log(CM_LOG_WARN, "round left out", CM_I("round", r->plan->number),
			CM_S("query", r->plan->label), CM_S("why", r->reason));
		return;
	}
	cm_log(CM_LOG_WARN, "round refused by the budget", CM_I("round", r->plan->number),
		CM_S("query", r->plan->label), CM_D("needed", r->epsilon_round),
		CM_D("total", r->epsilon_total), CM_D("limit", j->context->files.plan.epsilon));
	if (j->explained)
		an_explanation_print(&j->context->files.state, &j->explanation, stderr);
}

/* Compute the question that follows from an earlier answer, if the round is of that kind. */
static enum cm_rc extend(struct an_judge *j, struct cm_err *err)
{
	const struct an_state *s = &j->context->files.state;
	const struct pl_round *r = j->round->plan;
	json_t *result = NULL;
	enum cm_rc rc = CM_OK;

	j->extends = r->after != 0;
	if (!j->extends)
		return CM_OK;
	if (s->round[r->after - 1].stage == AN_SETTLED)
		rc = an_result_load(j->context->conf->state_dir, &s->round[r->after - 1], &result, err);
	if (rc == CM_OK)
		rc = an_extend(s, r, result, &j->extension, err);
	j->extends = rc == CM_OK;
	json_decref(result);
	return rc;
}

/* Runs on a worker thread, because the accountant may take seconds and the loop must answer health requests.
 * Both threads only read the ledger files meanwhile. */
static void judge(uv_work_t *w)
{
	struct an_judge *j = w->data;
	const struct an_state *s = &j->context->files.state;
	bool attended = an_context_attended(j->context) && !j->context->run->json;
	struct cm_err err = { 0 };
	uint64_t began = uv_hrtime();

	j->rc = extend(j, &j->err);
	if (j->rc == CM_OK)
		j->rc = an_budget_decide(s, j->round, &j->verdict, &j->err);
	j->explained = j->rc == CM_EBUDGET && attended &&
		       an_budget_explain(s, j->round, &j->explanation, &err) == CM_OK;
	j->work_ns = uv_hrtime() - began;
}

static void judged(uv_work_t *w, int status)
{
	struct an_judge *j = w->data;
	struct an_round_state *r = j->round;
	const struct an_extension *asked = j->extends ? &j->extension : NULL;
	/* A round that does not fit is refused for the budget, even if it also has nothing to ask. */
	const char *nothing = j->rc == CM_OK && asked && asked->nothing[0] != '\0' ? asked->nothing : NULL;
	const struct an_decision decision = { .verdict = &j->verdict,
		.take = j->rc == CM_OK && nothing == NULL,
		.refusal = nothing,
		.query = asked ? &asked->query : NULL,
		.payload = j->context->run->payload };
	bool decided = status == 0 && (j->rc == CM_OK || j->rc == CM_EBUDGET);
	struct cm_err err = j->err;

	j->works = false;
	if (status != 0)
		(void)cm_fail(&err, CM_EINTERNAL, "judging was cancelled");
	if (!j->closed && decided)
		decided = an_ledger_files_decide(&j->context->files, r, &decision, &j->context->rng,
				  cm_clock_wall_ms(), &err) == CM_OK;
	if (asked)
		qy_query_fini(&j->extension.query);
	j->extends = false;
	if (j->closed)
		return;
	if (!decided) {
		j->conf.on_fault(j->conf.user, &err);
		return;
	}
	an_metrics_judged(j->context->metrics, (double)j->work_ns / 1e9);
	an_metrics_read_ledger(j->context->metrics);
	if (!decision.take)
		say_refusal(j, r);
	j->conf.on_judged(j->conf.user, r, decision.take);
}

void an_judge_begin(struct an_judge *j, struct an_round_state *r)
{
	struct cm_err err = { 0 };

	j->round = r;
	j->works = uv_queue_work(&j->context->loop, &j->work, judge, judged) == 0;
	if (!j->works) {
		(void)cm_fail(&err, CM_EINTERNAL, "the thread pool accepts no work");
		j->conf.on_fault(j->conf.user, &err);
	}
}
