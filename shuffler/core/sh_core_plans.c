/* sh_core_plans.c - plans of the core: read from the store, composed off the loop, looked up; standings. */
#include <string.h>

#include "cm_fault.h"
#include "sh_core_private.h"

#define JUDGE_RETRY_MS 100u
#define PIN_ATTEMPTS   3u /* a composition may fail for want of memory */

void sh_core_plans_fini(struct sh_core *c)
{
	cm_buf_fini(&c->read.bytes);
	rd_plan_fini(&c->read.whole);
	cm_buf_fini(&c->judged.descriptor);
	sh_plans_free(c->plans);
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

/* c->read is of this plan.  It was judged when it came: a fault is the store's. */
static enum cm_rc read_plan(struct sh_core *c, const struct sh_plan *plan, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;

	if (c->read.filled && memcmp(c->read.whole.hash, plan->hash, PR_HASH_LEN) == 0)
		return CM_OK;
	c->read.filled = false;
	c->read.bytes.len = 0;
	rd_plan_fini(&c->read.whole);
	enum cm_rc rc = store->record_get(store->ctx, plan->record, take_plan, &c->read, err);
	if (rc == CM_OK && memcmp(c->read.whole.hash, plan->hash, PR_HASH_LEN) != 0)
		rc = cm_fail(err, CM_EDATA, "state.db: ledger record %llu is another plan",
			(unsigned long long)plan->record);
	c->read.filled = rc == CM_OK;
	return rc == CM_ENOINPUT || rc == CM_EPROTO ? (err->code = CM_EDATA) : rc;
}

enum cm_rc sh_core_plan(struct sh_core *c, const uint8_t *hash, size_t hash_len, struct sh_plan_signed *out,
	struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_plan *plan = hash_len == PR_HASH_LEN ? sh_plans_find(c->plans, hash) : NULL;

	if (!plan)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0, "no such plan here");
	enum cm_rc rc = read_plan(c, plan, err);
	*out = (struct sh_plan_signed){ { c->read.bytes.data, c->read.bytes.len }, c->read.signature };
	return rc;
}

enum cm_rc sh_core_standing(const struct sh_core *c, const uint8_t key_hash[PR_HASH_LEN],
	struct sh_standing_signed *out, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	uint8_t bytes[RD_STANDING_LEN], name[CR_HASH_LEN];

	sh_standing_name(key_hash, name);
	enum cm_rc rc = store->standing_get(store->ctx, name, &out->standing, err);
	if (rc != CM_OK)
		return rc;
	rd_standing_bytes(key_hash, out->standing.sequence, out->standing.descriptor_hash, bytes);
	return cr_sign(c->conf.env.signer, RD_PURPOSE_STANDING, bytes, sizeof bytes, out->signature, err);
}

/* ---- Composing ---- */

static enum cm_rc begin_pin(
	struct sh_core *c, struct sh_plan *plan, struct sh_compose **out, struct cm_err *err)
{
	enum cm_rc rc = read_plan(c, plan, err);

	if (rc == CM_OK)
		rc = sh_compose_pin(c->conf.policy, plan,
			(struct cr_span){ c->read.bytes.data, c->read.bytes.len }, out, err);
	if (rc == CM_OK)
		(*out)->decided = sh_plans_decide(c->plans, plan);
	return rc;
}

static enum cm_rc add_missing(void *user, const struct sh_row *row, struct cm_err *err)
{
	return sh_compose_missing(user, row->descriptor, err);
}

/* After a start: an adaptive plan whose rounds are not in its account yet, so that its share can be said. */
static struct sh_plan *recount(struct sh_core *c)
{
	struct sh_plan *plan = NULL;

	while ((plan = sh_plans_at(c->plans, c->recounted))) {
		c->recounted++;
		if (plan->state == SH_PIN_TAKEN && plan->rounds > 0 && !plan->account &&
			sh_plan_is_adaptive(plan))
			return plan;
	}
	return NULL;
}

/* Of the round that asks for it, or of none. */
static enum cm_rc begin_judgement(
	struct sh_core *c, struct sh_plan *plan, bool candidate, struct sh_compose **out, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	struct sh_judged *j = &c->judged;

	enum cm_rc rc = sh_compose_judge(c->conf.policy, plan,
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

enum cm_rc sh_core_compose(struct sh_core *c, struct sh_compose **out, struct cm_err *err)
{
	struct sh_plan *plan = c->composing ? NULL : sh_plans_waiting(c->plans);
	enum cm_rc rc = CM_OK;

	*out = NULL;
	if (plan)
		rc = begin_pin(c, plan, out, err);
	else if (!c->composing && c->judged.at == SH_JUDGE_WANTED)
		rc = begin_judgement(c, c->judged.plan, true, out, err);
	else if (!c->composing && (plan = recount(c)))
		rc = begin_judgement(c, plan, false, out, err);
	c->composing |= *out != NULL;
	return rc;
}

static enum cm_rc pinned(struct sh_core *c, struct sh_compose *w, struct cm_err *err)
{
	const struct sh_store *store = c->conf.env.store;
	struct sh_pin_row row = { .record = w->plan->record, .state = (int)w->decided };
	const struct sh_belief belief = sh_plans_belief(c->conf.policy, &w->whole);
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
		row.epsilon = w->plan->epsilon; /* a filter's whole budget */
	}
	if (row.state == SH_PIN_FAILED && ++w->plan->failures < PIN_ATTEMPTS)
		return CM_OK;
	if (row.state != SH_PIN_FAILED && CM_CHECKED("shuffler.plan.durable"))
		rc = store->pin_put(store->ctx, &row, err);
	return rc == CM_OK ? sh_plans_pinned(c->plans, w->plan, (enum sh_pin_state)row.state, row.epsilon,
				     row.taken, err)
			   : rc;
}

/* After a fault the account is made anew. */
static void note_judged(struct sh_core *c, const struct sh_compose *w)
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
	c->judged.at = SH_JUDGE_DONE;
	c->judged.rc = w->rc;
	c->judged.err = w->err;
	c->judged.verdict = w->verdict;
}

enum cm_rc sh_core_composed(struct sh_core *c, struct sh_compose *w, struct cm_err *err)
{
	c->composing = false;
	if (w->rc == CM_ELATER) /* stopped: the next start composes it anew */
		return CM_OK;
	if (!w->judges)
		return pinned(c, w, err);
	note_judged(c, w);
	return CM_OK;
}

/* ---- Announcing ---- */

static enum cm_rc wait_for_worker(struct sh_refusal *no, const char *what)
{
	return sh_refuse(
		no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, JUDGE_RETRY_MS, "%s is being composed", what);
}

static enum cm_rc ask_for_judgement(struct sh_core *c, struct sh_plan *plan, const struct rd_descriptor *d,
	struct cr_span bytes, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_judged *j = &c->judged;

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

/* Nothing has been announced since it was judged: then another judgement would be in its place. */
static enum cm_rc judge_adaptive(struct sh_core *c, struct sh_plan *plan, const struct rd_descriptor *d,
	struct cr_span bytes, struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err)
{
	const struct sh_judged *j = &c->judged;

	if (j->at == SH_JUDGE_NONE || memcmp(j->hash, d->hash, PR_HASH_LEN) != 0)
		return ask_for_judgement(c, plan, d, bytes, no, err);
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

enum cm_rc sh_core_judge_plan(struct sh_core *c, const struct rd_descriptor *d, struct cr_span bytes,
	bool lost, struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_plan *plan = sh_plans_find(c->plans, d->plan_hash);

	if (!plan)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"the descriptor is of a plan that is not in the ledger: extend the witness first");
	enum cm_rc rc = read_plan(c, plan, err);
	if (rc == CM_OK)
		rc = sh_plans_judge(c->plans, plan, &c->read.whole, d, lost, no);
	if (rc == CM_EMORE)
		return wait_for_worker(no, "the plan");
	if (rc == CM_OK && sh_plan_is_adaptive(plan))
		return judge_adaptive(c, plan, d, bytes, verdict, no, err);
	if (rc != CM_OK)
		return rc;
	const struct rd_entry *entry = rd_plan_entry(&c->read.whole, d->entry);
	*verdict = (struct rd_verdict){ .fits = true,
		.epsilon_round = entry ? entry->epsilon_round : d->privacy.epsilon_round,
		.total = sh_plans_taken(c->plans).epsilon,
		.limit = c->conf.policy->max_epsilon,
		.delta = c->conf.policy->delta };
	return CM_OK;
}

/* ---- For status ---- */

struct rd_slices sh_core_taken(const struct sh_core *c)
{
	return sh_plans_taken(c->plans);
}

static double part_of(const struct sh_core *c, double epsilon, double delta)
{
	const struct sh_policy *policy = c->conf.policy;

	return rd_slices_share(&(struct rd_slices){ epsilon, delta }, policy->max_epsilon, policy->delta);
}

/* How far a plan is used up, 0..1. */
static double used_of(const struct sh_plan *plan)
{
	size_t answered = 0;

	if (plan->state != SH_PIN_TAKEN)
		return plan->state == SH_PIN_CLOSED ? 1 : 0;
	if (sh_plan_is_adaptive(plan))
		return plan->share < 1 ? plan->share : 1;
	for (size_t i = 0; i < plan->tries; i++)
		answered += !plan->tried[i].open && !plan->tried[i].is_void;
	return (double)answered / (double)rd_pin_count(plan->pin);
}

struct sh_usage sh_core_usage(const struct sh_core *c)
{
	struct rd_slices taken = sh_plans_taken(c->plans);
	struct sh_usage usage = { .pinned = part_of(c, taken.epsilon, taken.delta) };
	const struct sh_plan *plan = NULL;

	for (size_t i = 0; (plan = sh_plans_at(c->plans, i)); i++)
		usage.used += used_of(plan) * part_of(c, plan->epsilon, plan->delta);
	usage.used = usage.used < usage.pinned ? usage.used : usage.pinned;
	return usage;
}

const struct sh_plan *sh_core_plan_at(const struct sh_core *c, size_t i)
{
	return sh_plans_at(c->plans, i);
}
