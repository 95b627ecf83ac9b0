/* sh_judge.c - reads plans from the store, has them composed on a worker thread, and judges rounds by
 * them. */
#include "sh_judge.h"

#include <string.h>

#include "cm_fault.h"

#define JUDGE_RETRY_MS 100u
#define PIN_ATTEMPTS   3u /* a composition may fail because memory is short */

void sh_judge_init(struct sh_judge *g, const struct sh_store *store, const struct sh_policy *policy,
	struct sh_plans *plans, struct sh_rehearse *rehearse)
{
	*g = (struct sh_judge){ .store = store, .policy = policy, .plans = plans, .rehearse = rehearse };
	cm_buf_init(&g->read.bytes, PR_PLAN_MAX);
	cm_buf_init(&g->judged.descriptor, PR_DESCRIPTOR_MAX);
}

void sh_judge_fini(struct sh_judge *g)
{
	cm_buf_fini(&g->read.bytes);
	rd_plan_fini(&g->read.whole);
	cm_buf_fini(&g->judged.descriptor);
}

/* ---- Reading ---- */

static enum cm_rc take_plan(void *user, const uint8_t *bytes, size_t len, struct cm_err *err)
{
	struct sh_plan_read *read = user;
	struct rd_record r;

	enum cm_rc rc = rd_record_decode(bytes, len, &r, err);
	if (rc != CM_OK)
		return rc;
	rc = cm_buf_put(&read->bytes, r.plan.data, r.plan.len);
	if (rc != CM_OK)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	else
		rc = rd_plan_decode(r.plan.data, r.plan.len, &read->whole, err);
	memcpy(read->signature, r.signature, sizeof read->signature);
	rd_record_fini(&r);
	return rc;
}

/* Read this plan to g->read.  It was checked when it arrived, so a fault is the store's. */
static enum cm_rc read_plan(struct sh_judge *g, const struct sh_plan *plan, struct cm_err *err)
{
	const struct sh_store *store = g->store;

	if (g->read.filled && memcmp(g->read.whole.hash, plan->hash, PR_HASH_LEN) == 0)
		return CM_OK;
	g->read.filled = false;
	g->read.bytes.len = 0;
	rd_plan_fini(&g->read.whole);
	enum cm_rc rc = store->record_get(store->ctx, plan->record, take_plan, &g->read, err);
	if (rc == CM_OK && memcmp(g->read.whole.hash, plan->hash, PR_HASH_LEN) != 0)
		rc = cm_fail(err, CM_EDATA, "state.db: ledger record %llu is another plan",
			(unsigned long long)plan->record);
	g->read.filled = rc == CM_OK;
	return rc == CM_ENOINPUT || rc == CM_EPROTO ? (err->code = CM_EDATA) : rc;
}

enum cm_rc sh_judge_plan(struct sh_judge *g, const uint8_t *hash, size_t hash_len, struct sh_plan_signed *out,
	struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_plan *plan = hash_len == PR_HASH_LEN ? sh_plans_find(g->plans, hash) : NULL;

	if (!plan)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0, "no such plan here");
	enum cm_rc rc = read_plan(g, plan, err);
	*out = (struct sh_plan_signed){ { g->read.bytes.data, g->read.bytes.len }, g->read.signature };
	return rc;
}

/* ---- Composing ---- */

static enum cm_rc begin_pin(
	struct sh_judge *g, struct sh_plan *plan, struct sh_compose **out, struct cm_err *err)
{
	enum cm_rc rc = read_plan(g, plan, err);

	if (rc == CM_OK)
		rc = sh_compose_pin(
			g->policy, plan, (struct cr_span){ g->read.bytes.data, g->read.bytes.len }, out, err);
	if (rc == CM_OK)
		(*out)->decided = sh_plans_decide(g->plans, plan);
	return rc;
}

static enum cm_rc add_missing(void *user, const struct sh_row *row, struct cm_err *err)
{
	return sh_compose_missing(user, row->descriptor, err);
}

/* After a start: find an adaptive plan whose rounds are not in its account yet, so that its used share
 * becomes known. */
static struct sh_plan *recount(struct sh_judge *g)
{
	struct sh_plan *plan = NULL;

	while ((plan = sh_plans_at(g->plans, g->recounted))) {
		g->recounted++;
		if (plan->state == SH_PIN_TAKEN && plan->rounds > 0 && !plan->account &&
			sh_plan_is_adaptive(plan))
			return plan;
	}
	return NULL;
}

/* Begin to judge the round that asks for it or, without a candidate, only bring the account up to date. */
static enum cm_rc begin_judgement(
	struct sh_judge *g, struct sh_plan *plan, bool candidate, struct sh_compose **out, struct cm_err *err)
{
	const struct sh_store *store = g->store;
	struct sh_judged *j = &g->judged;

	enum cm_rc rc = sh_compose_judge(g->policy, plan,
		(struct cr_span){ j->descriptor.data, candidate ? j->descriptor.len : 0 }, out, err);
	for (size_t i = 0; rc == CM_OK && i < plan->rounds; i++) {
		const struct sh_counted *counted = &plan->counted[i];
		if (!counted->in_account)
			rc = store->row_get(store->ctx, counted->round_id, add_missing, *out, err);
	}
	if (rc == CM_OK && candidate)
		j->at = SH_JUDGE_RUNS;
	return rc;
}

enum cm_rc sh_judge_begin(struct sh_judge *g, struct sh_compose **out, struct cm_err *err)
{
	struct sh_plan *plan = g->composing ? NULL : sh_plans_waiting(g->plans);
	enum cm_rc rc = CM_OK;

	*out = NULL;
	if (plan)
		rc = begin_pin(g, plan, out, err);
	else if (!g->composing && g->judged.at == SH_JUDGE_WANTED)
		rc = begin_judgement(g, g->judged.plan, true, out, err);
	else if (!g->composing && (plan = recount(g)))
		rc = begin_judgement(g, plan, false, out, err);
	else if (!g->composing && g->rehearse)
		rc = sh_rehearse_compose(g->rehearse, out, err);
	g->composing |= *out != NULL;
	return rc;
}

bool sh_judge_wants(const struct sh_judge *g)
{
	return sh_plans_waiting(g->plans) || g->judged.at == SH_JUDGE_WANTED;
}

static enum cm_rc pinned(struct sh_judge *g, struct sh_compose *w, struct cm_err *err)
{
	const struct sh_store *store = g->store;
	struct sh_pin_row row = { .record = w->plan->record, .state = (int)w->decided };
	const struct sh_belief belief = sh_plans_belief(g->policy, &w->whole);
	uint8_t taken[sizeof w->pin.taken + SH_BELIEF_LEN];
	size_t bits = (w->pin.entries + 7) / 8;
	enum cm_rc rc = CM_OK;

	if (w->decided == SH_PIN_WAITS) {
		row.state = w->rc != CM_OK              ? SH_PIN_FAILED
			    : rd_pin_count(&w->pin) > 0 ? SH_PIN_TAKEN
							: SH_PIN_POLICY;
		row.epsilon = w->pin.epsilon;
		memcpy(taken, w->pin.taken, bits);
		sh_belief_put(&belief, taken + bits);
		row.taken = (struct cr_span){ taken, bits + SH_BELIEF_LEN };
	} else if (w->decided == SH_PIN_TAKEN) {
		row.epsilon = w->plan->epsilon; /* the whole budget of a filter */
	}
	if (row.state == SH_PIN_FAILED && ++w->plan->failures < PIN_ATTEMPTS)
		return CM_OK;
	if (row.state != SH_PIN_FAILED && CM_CHECKED("shuffler.plan.durable"))
		rc = store->pin_put(store->ctx, &row, err);
	return rc == CM_OK ? sh_plans_pinned(g->plans, w->plan, (enum sh_pin_state)row.state, row.epsilon,
				     row.taken, err)
			   : rc;
}

/* Note the result.  After a fault the account is composed anew. */
static void note_judged(struct sh_judge *g, const struct sh_compose *w)
{
	struct sh_plan *plan = w->plan;

	for (size_t i = 0; i < plan->rounds; i++)
		plan->counted[i].in_account = w->rc == CM_OK;
	if (w->rc == CM_OK) {
		plan->share = w->verdict.share_spent;
	} else {
		rd_account_free(plan->account);
		plan->account = NULL;
	}
	if (w->candidate.len == 0)
		return;
	g->judged.at = SH_JUDGE_DONE;
	g->judged.rc = w->rc;
	g->judged.err = w->err;
	g->judged.verdict = w->verdict;
}

/* Forget the accounts of adaptive plans and the judgement of a round.  No composition may be under way. */
static void forget_composed(struct sh_judge *g)
{
	struct sh_plan *plan;

	for (size_t i = 0; (plan = sh_plans_at(g->plans, i)); i++) {
		rd_account_free(plan->account);
		plan->account = NULL;
		for (size_t k = 0; k < plan->rounds; k++)
			plan->counted[k].in_account = false;
	}
	g->recounted = 0;
	g->judged.at = SH_JUDGE_NONE;
}

void sh_judge_reconsider(struct sh_judge *g)
{
	g->outdated = g->composing;
	if (!g->composing)
		forget_composed(g);
	if (g->rehearse)
		sh_rehearse_reconsider(g->rehearse);
}

enum cm_rc sh_judge_end(struct sh_judge *g, struct sh_compose *w, struct cm_err *err)
{
	g->composing = false;
	if (CM_CHECKED("shuffler.policy.composed") && g->outdated) {
		g->outdated = false;
		forget_composed(g);
		if (w->drafts)
			sh_rehearse_composed(g->rehearse, NULL);
		return CM_OK;
	}
	if (w->drafts) {
		sh_rehearse_composed(g->rehearse, w);
		return CM_OK;
	}
	if (w->rc == CM_ELATER) /* it was stopped; the next start composes the plan anew */
		return CM_OK;
	if (!w->judges)
		return pinned(g, w, err);
	note_judged(g, w);
	return CM_OK;
}

/* ---- Announcing ---- */

static enum cm_rc wait_for_worker(struct sh_refusal *no, const char *what)
{
	return sh_refuse(
		no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, JUDGE_RETRY_MS, "%s is being composed", what);
}

static enum cm_rc ask_for_judgement(struct sh_judge *g, struct sh_plan *plan, const struct rd_descriptor *d,
	struct cr_span bytes, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_judged *j = &g->judged;

	if (j->at == SH_JUDGE_WANTED || j->at == SH_JUDGE_RUNS)
		return wait_for_worker(no, "another round");
	j->descriptor.len = 0;
	if (cm_buf_put(&j->descriptor, bytes.data, bytes.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	memcpy(j->hash, d->hash, PR_HASH_LEN);
	j->plan = plan;
	j->at = SH_JUDGE_WANTED;
	return wait_for_worker(no, "the round");
}

/* Judge a round of an adaptive plan.  Nothing has been announced since the stored judgement was made, or
 * another one would have replaced it. */
static enum cm_rc judge_adaptive(struct sh_judge *g, struct sh_plan *plan, const struct rd_descriptor *d,
	struct cr_span bytes, struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_judged *j = &g->judged;

	if (j->at == SH_JUDGE_NONE || memcmp(j->hash, d->hash, PR_HASH_LEN) != 0)
		return ask_for_judgement(g, plan, d, bytes, no, err);
	if (j->at != SH_JUDGE_DONE)
		return wait_for_worker(no, "the round");
	if (j->rc != CM_OK)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"the round cannot be accounted: %.160s", j->err.msg);
	*verdict = j->verdict;
	if (CM_CHECKED("shuffler.budget") && !verdict->fits)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"budget: the round needs %.4g %% of the filter's budget, %.4g %% is spent",
			100 * verdict->share, 100 * verdict->share_spent);
	return CM_OK;
}

enum cm_rc sh_judge_round(struct sh_judge *g, const struct rd_descriptor *d, struct cr_span bytes, bool lost,
	struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_plan *plan = sh_plans_find(g->plans, d->plan_hash);

	if (!plan)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"the descriptor is of a plan that is not in the ledger: extend the witness first");
	enum cm_rc rc = read_plan(g, plan, err);
	if (rc == CM_OK)
		rc = sh_plans_judge(g->plans, plan, &g->read.whole, d, lost, no);
	if (rc == CM_EMORE)
		return wait_for_worker(no, "the plan");
	if (rc == CM_OK && sh_plan_is_adaptive(plan))
		return judge_adaptive(g, plan, d, bytes, verdict, no, err);
	if (rc != CM_OK)
		return rc;
	const struct rd_entry *entry = rd_plan_entry(&g->read.whole, d->entry);
	*verdict = (struct rd_verdict){ .fits = true,
		.epsilon_round = entry ? entry->epsilon_round : d->privacy.epsilon_round,
		.total = sh_plans_taken(g->plans).epsilon,
		.limit = g->policy->shared.max_epsilon,
		.delta = g->policy->shared.delta };
	return CM_OK;
}
