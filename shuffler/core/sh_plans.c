/* sh_plans.c - keeps the plans of the ledger, this shuffler's pin of each, and the tries of their
 * entries. */
#include "sh_plans.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cm_round.h"

struct sh_plans {
	const struct sh_policy *policy;
	uint64_t closed_to;
	/* ordered by number; each is allocated separately, so that pointers stay valid */
	struct sh_plan **plan;
	size_t plans, cap;
	void *by_hash;  /* the same plans in a balanced tree of <search.h> */
	size_t waiting; /* no plan before this one waits */
	struct rd_slices taken;
};

enum cm_rc sh_plans_new(
	const struct sh_policy *policy, uint64_t closed_to, struct sh_plans **out, struct cm_err *err)
{
	struct sh_plans *p = calloc(1, sizeof *p);

	if (!p)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	p->policy = policy;
	p->closed_to = closed_to;
	*out = p;
	return CM_OK;
}

void sh_plans_close_to(struct sh_plans *p, uint64_t closed_to)
{
	assert(p->plans == 0);
	p->closed_to = closed_to;
}

static void plan_free(struct sh_plan *plan)
{
	rd_account_free(plan->account);
	free(plan->counted);
	free(plan->tried);
	free(plan->pin);
	free(plan->total);
	free(plan);
}

static int by_hash(const void *a, const void *b)
{
	return memcmp(a, b, PR_HASH_LEN); /* the hash is the first member of a plan */
}

void sh_plans_free(struct sh_plans *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->plans; i++) {
		(void)tdelete(p->plan[i], &p->by_hash, by_hash);
		plan_free(p->plan[i]);
	}
	free(p->plan);
	free(p);
}

const char *sh_pin_state_name(enum sh_pin_state state)
{
	static const char *const name[] = { "composing", "taken", "refused: slice", "refused: entries",
		"refused: policy", "closed", "refused: cannot be composed" };

	return name[state];
}

bool sh_plan_is_adaptive(const struct sh_plan *plan)
{
	return rd_mode_filter(plan->mode) != 0;
}

/* ---- The chain of plans ---- */

struct sh_plan_tail sh_plans_tail(const struct sh_plans *p)
{
	struct sh_plan_tail tail = { .number = p->plans };

	if (p->plans > 0)
		memcpy(tail.hash, p->plan[p->plans - 1]->hash, PR_HASH_LEN);
	return tail;
}

enum cm_rc sh_plans_check(const struct sh_plans *p, struct sh_plan_tail *tail, const struct rd_record *r,
	const struct cr_verifier *analyzer, struct cm_err *err)
{
	struct rd_plan plan;

	enum cm_rc rc = rd_plan_verify(r->plan.data, r->plan.len, r->signature, analyzer, &plan, err);
	if (rc != CM_OK)
		return rc;
	if (strcmp(plan.population, p->policy->shared.population) != 0)
		rc = cm_fail(err, CM_EPROTO, "the plan is of population \"%.60s\"", plan.population);
	else if (CM_CHECKED("shuffler.plan.chain") &&
		 (plan.number != tail->number + 1 || memcmp(plan.previous, tail->hash, PR_HASH_LEN) != 0))
		rc = cm_fail(err, CM_EPROTO, "plan %llu does not follow plan %llu",
			(unsigned long long)plan.number, (unsigned long long)tail->number);
	if (rc == CM_OK) {
		tail->number++;
		memcpy(tail->hash, plan.hash, PR_HASH_LEN);
	}
	rd_plan_fini(&plan);
	return rc;
}

struct sh_plan sh_plan_of(const struct rd_plan *whole)
{
	struct sh_plan plan = { .number = whole->number,
		.epsilon = whole->epsilon,
		.delta = whole->delta,
		.entries = whole->entries };

	memcpy(plan.hash, whole->hash, PR_HASH_LEN);
	memcpy(plan.name, whole->name, sizeof plan.name);
	memcpy(plan.mode, whole->mode, sizeof plan.mode);
	return plan;
}

static struct sh_total *totals_of(const struct rd_plan *whole)
{
	struct sh_total *total = calloc(whole->entries + 1, sizeof *total);

	for (size_t i = 0; total && i < whole->entries; i++)
		total[i] = (struct sh_total){ whole->entry[i].number, whole->entry[i].epsilon_total };
	return total;
}

enum cm_rc sh_plans_add(struct sh_plans *p, const struct rd_record *r, struct cm_err *err)
{
	struct sh_plan *plan = calloc(1, sizeof *plan);
	void *room = cm_grow(p->plan, p->plans, &p->cap, sizeof(struct sh_plan *));
	struct rd_plan whole;

	p->plan = room ? room : p->plan;
	if (!plan || !room) {
		free(plan);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	enum cm_rc rc = rd_plan_decode(r->plan.data, r->plan.len, &whole, err);
	if (rc != CM_OK) {
		free(plan);
		return rc;
	}
	*plan = sh_plan_of(&whole);
	plan->record = r->seq;
	plan->total = totals_of(&whole);
	if (!plan->total || !tsearch(plan, &p->by_hash, by_hash)) {
		rd_plan_fini(&whole);
		plan_free(plan);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (r->seq <= p->closed_to) {
		/* The lost state may have spent this slice, so it counts as spent. */
		plan->state = SH_PIN_CLOSED;
		rd_slices_add(&p->taken, &whole);
	}
	rd_plan_fini(&whole);
	p->plan[p->plans++] = plan;
	return CM_OK;
}

struct sh_plan *sh_plans_find(const struct sh_plans *p, const uint8_t hash[PR_HASH_LEN])
{
	struct sh_plan *const *node = tfind(hash, &p->by_hash, by_hash);

	return node ? *node : NULL;
}

struct sh_plan *sh_plans_of_record(const struct sh_plans *p, uint64_t record)
{
	size_t low = 0, high = p->plans;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (p->plan[mid]->record < record)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->plans && p->plan[low]->record == record ? p->plan[low] : NULL;
}

struct sh_plan *sh_plans_at(const struct sh_plans *p, size_t i)
{
	return i < p->plans ? p->plan[i] : NULL;
}

struct sh_plan *sh_plans_waiting(struct sh_plans *p)
{
	while (p->waiting < p->plans && p->plan[p->waiting]->state != SH_PIN_WAITS)
		p->waiting++;
	return sh_plans_at(p, p->waiting);
}

/* ---- Pins ---- */

static struct rd_plan slice_of(const struct sh_plan *plan)
{
	return (struct rd_plan){ .epsilon = plan->epsilon, .delta = plan->delta };
}

enum sh_pin_state sh_plans_decide(const struct sh_plans *p, const struct sh_plan *plan)
{
	const struct rd_plan slice = slice_of(plan);

	if (CM_CHECKED("shuffler.plan.slice") &&
		!rd_slices_fit(&p->taken, &slice, p->policy->shared.max_epsilon, p->policy->shared.delta))
		return SH_PIN_SLICE;
	if (sh_plan_is_adaptive(plan))
		return CM_CHECKED("policy.adaptive") && !p->policy->shared.accept_adaptive ? SH_PIN_POLICY
											   : SH_PIN_TAKEN;
	if (CM_CHECKED("shuffler.plan.cost") && plan->entries > (uint64_t)p->policy->shared.max_plan_entries)
		return SH_PIN_COST;
	return SH_PIN_WAITS;
}

struct sh_belief sh_plans_belief(const struct sh_policy *policy, const struct rd_plan *whole)
{
	uint64_t colluders = (uint64_t)policy->shared.colluders;

	return (struct sh_belief){ policy->shared.honest_fraction < whole->honest_fraction
					   ? policy->shared.honest_fraction
					   : whole->honest_fraction,
		colluders > whole->colluders ? colluders : whole->colluders };
}

void sh_belief_put(const struct sh_belief *b, uint8_t out[SH_BELIEF_LEN])
{
	uint64_t bits;

	memcpy(&bits, &b->honest_fraction, sizeof bits);
	cm_put_le64(out, bits);
	cm_put_le64(out + 8, b->colluders);
}

static struct sh_belief belief_of(const uint8_t at[SH_BELIEF_LEN])
{
	struct sh_belief b = { .colluders = cm_get_le64(at + 8) };
	uint64_t bits = cm_get_le64(at);

	memcpy(&b.honest_fraction, &bits, sizeof bits);
	return b;
}

static enum cm_rc take(struct sh_plan *plan, double epsilon, struct cr_span taken, struct cm_err *err)
{
	size_t bits = (plan->entries + 7) / 8;

	if (sh_plan_is_adaptive(plan))
		return CM_OK;
	if (taken.len != bits && taken.len != bits + SH_BELIEF_LEN)
		return cm_fail(err, CM_EDATA, "state.db: the pin of plan %llu is of another plan",
			(unsigned long long)plan->number);
	plan->pin = calloc(1, sizeof *plan->pin);
	if (!plan->pin)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	plan->pin->entries = plan->entries;
	plan->pin->epsilon = epsilon;
	plan->belief = (struct sh_belief){ 0, UINT64_MAX };
	if (taken.len > bits)
		plan->belief = belief_of((const uint8_t *)taken.data + bits);
	if (bits > 0)
		memcpy(plan->pin->taken, taken.data, bits);
	return CM_OK;
}

enum cm_rc sh_plans_pinned(struct sh_plans *p, struct sh_plan *plan, enum sh_pin_state state, double epsilon,
	struct cr_span taken, struct cm_err *err)
{
	const struct rd_plan slice = slice_of(plan);
	enum cm_rc rc = CM_OK;

	if (plan->state != SH_PIN_WAITS)
		return cm_fail(err, CM_EDATA, "state.db: plan %llu is pinned twice",
			(unsigned long long)plan->number);
	if (state == SH_PIN_TAKEN)
		rc = take(plan, epsilon, taken, err);
	if (rc != CM_OK)
		return rc;
	if (state == SH_PIN_TAKEN)
		rd_slices_add(&p->taken, &slice);
	plan->state = state;
	return CM_OK;
}

struct rd_slices sh_plans_taken(const struct sh_plans *p)
{
	return p->taken;
}

/* ---- Entries: the tries of each, and the rounds of an adaptive plan ---- */

static struct sh_try *find_try(const struct sh_plan *plan, uint32_t entry)
{
	for (size_t i = 0; i < plan->tries; i++)
		if (plan->tried[i].entry == entry)
			return &plan->tried[i];
	return NULL;
}

static enum cm_rc entry_judge(const struct sh_policy *policy, const struct sh_plan *plan,
	const struct rd_descriptor *d, bool lost, struct sh_refusal *no)
{
	const struct sh_try *t = find_try(plan, d->entry);
	const Tombola__V1__ErrorCode conflict = TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT;
	uint32_t next = t ? t->attempt + 1 : 1;

	if (CM_CHECKED("shuffler.plan.max_tries") && d->attempt > (uint64_t)policy->shared.max_tries)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"policy: try %lu of entry %lu, max_tries is %lld", (unsigned long)d->attempt,
			(unsigned long)d->entry, (long long)policy->shared.max_tries);
	/* Only the lost state knew how earlier tries ended.  This try spends the entry in any case. */
	if (lost && (!t || t->attempt < d->attempt))
		return CM_OK;
	if (CM_CHECKED("shuffler.plan.once") && t && !t->is_void)
		return sh_refuse(no, conflict, 0,
			t->open ? "entry %lu is tried by another round" : "entry %lu is answered",
			(unsigned long)d->entry);
	if (CM_CHECKED("shuffler.plan.try") && d->attempt != next)
		return sh_refuse(no, conflict, 0, "try %lu of entry %lu, where %lu is next",
			(unsigned long)d->attempt, (unsigned long)d->entry, (unsigned long)next);
	if (CM_CHECKED("shuffler.plan.try") && t &&
		memcmp(d->void_manifest, t->manifest_hash, PR_HASH_LEN) != 0)
		return sh_refuse(no, conflict, 0,
			"try %lu of entry %lu does not name the VOID manifest of the try before",
			(unsigned long)d->attempt, (unsigned long)d->entry);
	return CM_OK;
}

static enum cm_rc count_round(struct sh_plan *plan, const struct rd_descriptor *d, struct cm_err *err)
{
	void *room = cm_grow(plan->counted, plan->rounds, &plan->rounds_cap, sizeof *plan->counted);

	if (!room)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	plan->counted = room;
	plan->counted[plan->rounds] = (struct sh_counted){ .in_account = false };
	memcpy(plan->counted[plan->rounds++].round_id, d->round_id, PR_ROUND_ID_LEN);
	return CM_OK;
}

static enum cm_rc entry_began(struct sh_plan *plan, const struct rd_descriptor *d, struct cm_err *err)
{
	if (sh_plan_is_adaptive(plan))
		return count_round(plan, d, err);
	struct sh_try *t = find_try(plan, d->entry);
	if (!t) {
		void *room = cm_grow(plan->tried, plan->tries, &plan->tries_cap, sizeof *plan->tried);
		if (!room)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		plan->tried = room;
		t = &plan->tried[plan->tries++];
	}
	*t = (struct sh_try){ .entry = d->entry, .attempt = d->attempt, .open = true };
	return CM_OK;
}

static void entry_ended(
	struct sh_plan *plan, const struct rd_descriptor *d, const struct cr_span *void_manifest)
{
	struct sh_try *t = find_try(plan, d->entry);
	if (!t || t->attempt != d->attempt)
		return;
	t->open = false;
	t->is_void = void_manifest;
	if (void_manifest)
		cr_sha256(void_manifest->data, void_manifest->len, t->manifest_hash);
}

/* ---- Announcing ---- */

enum cm_rc sh_plans_refused(const struct sh_plans *p, const struct sh_plan *plan, struct sh_refusal *no)
{
	const unsigned long long number = plan->number;

	switch (plan->state) {
	case SH_PIN_WAITS:
		return CM_EMORE;
	case SH_PIN_TAKEN:
		return CM_OK;
	case SH_PIN_SLICE:
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"budget: the slice of plan %llu (epsilon %.4g, delta %.4g) did not fit beside the "
			"plans before it; max_epsilon is %.4g, delta %.4g",
			number, cm_digits_up(plan->epsilon, 4), cm_digits_up(plan->delta, 4),
			p->policy->shared.max_epsilon, p->policy->shared.delta);
	case SH_PIN_COST:
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"policy: plan %llu has %zu entries, max_plan_entries is %lld", number, plan->entries,
			(long long)p->policy->shared.max_plan_entries);
	case SH_PIN_POLICY:
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
			"policy: nothing of plan %llu was taken when it came: its mode or its entries are "
			"not what the policy allows, or none fits its slice among those believed honest",
			number);
	case SH_PIN_CLOSED:
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"budget: plan %llu was pinned by a state of this shuffler that is lost: its slice is "
			"spent",
			number);
	case SH_PIN_FAILED:
		break;
	}
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
		"budget: plan %llu cannot be composed here", number);
}

/* Index of the entry within the pin. */
static size_t index_of(const struct rd_plan *whole, uint32_t entry)
{
	size_t i = 0;

	while (i < whole->entries && whole->entry[i].number != entry)
		i++;
	return i;
}

/* Check that the honest participants assumed at the pin are still believed in.  The entries were composed
 * with that number; with fewer they may not fit the slice.  A round that a lost state had accepted ends in
 * any case. */
static enum cm_rc check_belief(const struct sh_plans *p, const struct sh_plan *plan,
	const struct rd_plan *whole, bool lost, struct sh_refusal *no)
{
	struct sh_belief now = sh_plans_belief(p->policy, whole);

	if (lost || !CM_CHECKED("shuffler.plan.trust") ||
		(now.honest_fraction >= plan->belief.honest_fraction &&
			now.colluders <= plan->belief.colluders))
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
		"budget: honest_fraction or colluders trust others less than when plan %llu was pinned: what "
		"was taken of it may not fit its slice",
		(unsigned long long)plan->number);
}

enum cm_rc sh_plans_judge(const struct sh_plans *p, const struct sh_plan *plan, const struct rd_plan *whole,
	const struct rd_descriptor *d, bool lost, struct sh_refusal *no)
{
	struct cm_err why;
	enum cm_rc rc = sh_plans_refused(p, plan, no);

	if (rc != CM_OK)
		return rc;
	if (CM_CHECKED("shuffler.plan.slice") && (p->taken.epsilon > p->policy->shared.max_epsilon ||
							 p->taken.delta > p->policy->shared.delta))
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"budget: the plans that were taken need epsilon %.4g, delta %.4g; the policy now has "
			"%.4g, %.4g",
			cm_digits_up(p->taken.epsilon, 4), cm_digits_up(p->taken.delta, 4),
			p->policy->shared.max_epsilon, p->policy->shared.delta);
	if (CM_CHECKED("shuffler.plan.covers") && rd_plan_covers(whole, d, &why) != CM_OK)
		return sh_refuse(
			no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0, "plan: %.180s", why.msg);
	if (sh_plan_is_adaptive(plan)) {
		if (plan->rounds >= (uint64_t)p->policy->shared.max_plan_entries)
			return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, 0,
				"policy: plan %llu has had %zu rounds, as many as max_plan_entries",
				(unsigned long long)plan->number, plan->rounds);
		return CM_OK;
	}
	if (CM_CHECKED("shuffler.plan.pin") && !rd_pin_has(plan->pin, index_of(whole, d->entry)))
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"budget: entry %lu of plan %llu is not among those that this shuffler took when it "
			"pinned the plan: its policy refuses it, or the slice does not hold it",
			(unsigned long)d->entry, (unsigned long long)plan->number);
	rc = check_belief(p, plan, whole, lost, no);
	return rc == CM_OK ? entry_judge(p->policy, plan, d, lost, no) : rc;
}

/* ---- Rounds of a plan ---- */

enum cm_rc sh_plans_began(struct sh_plans *p, const struct rd_descriptor *d, struct cm_err *err)
{
	struct sh_plan *plan = sh_plans_find(p, d->plan_hash);

	return plan ? entry_began(plan, d, err)
		    : cm_fail(err, CM_EDATA, "state.db: round %llu is of a plan that is not in the ledger",
			      (unsigned long long)d->sequence);
}

void sh_plans_ended(struct sh_plans *p, const struct rd_descriptor *d, const struct cr_span *void_manifest)
{
	struct sh_plan *plan = sh_plans_find(p, d->plan_hash);

	if (plan)
		entry_ended(plan, d, void_manifest);
}

/* ---- For status ---- */

/* How much epsilon of its slice a plan has used. */
static double used_of(const struct sh_plan *plan)
{
	double answered = 0, taken = 0;
	uint32_t last = 0;

	if (plan->state != SH_PIN_TAKEN)
		return plan->state == SH_PIN_CLOSED ? plan->epsilon : 0;
	if (sh_plan_is_adaptive(plan))
		return plan->share < 1 ? plan->share * plan->epsilon : plan->epsilon;
	for (size_t i = 0; i < plan->tries; i++)
		last = plan->tried[i].entry > last ? plan->tried[i].entry : last;
	for (size_t i = 0; i < plan->entries; i++) {
		if (plan->total[i].number <= last)
			answered = plan->total[i].epsilon;
		if (rd_pin_has(plan->pin, i))
			taken = plan->total[i].epsilon;
	}
	return rd_pin_used(plan->pin, answered, taken);
}

struct rd_figure sh_plans_figure(const struct sh_plans *p, size_t *plans)
{
	const struct rd_slices limit = { p->policy->shared.max_epsilon, p->policy->shared.delta };
	const struct sh_plan *plan = NULL;
	struct rd_figure figure;
	double used = 0;

	*plans = 0;
	for (size_t i = 0; (plan = sh_plans_at(p, i)); i++) {
		used += used_of(plan);
		*plans += plan->state == SH_PIN_TAKEN || plan->state == SH_PIN_CLOSED;
	}
	rd_figure_make(&limit, &p->taken, used, &figure);
	return figure;
}
