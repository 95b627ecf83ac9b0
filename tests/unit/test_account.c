/* test_account.c - the judgement of the budget: everything before, with the candidate, against the limit. */
#include "wire_bytes.h"

#include <math.h>
#include <stdlib.h>

#include "acct_state.h"
#include "loss_of.h"
#include "rd_account.h"

static struct cm_err err;

/* ---- an accountant whose answer is arithmetic: epsilon = sum of count * others / 1000 ---- */

#define WRAPPED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

WRAPPED(enum acct_rc, acct_epsilon, const struct acct_round *rounds, size_t n, double delta,
	struct acct_bound *eps);
WRAPPED(struct acct_state *, acct_state_new, double delta);
WRAPPED(void, acct_state_free, struct acct_state *s);
WRAPPED(enum acct_rc, acct_state_add, struct acct_state *s, const struct acct_round *round);
WRAPPED(enum acct_rc, acct_state_remove, struct acct_state *s, const struct acct_round *round);
WRAPPED(void, acct_state_rebuild, struct acct_state *s);
WRAPPED(enum acct_rc, acct_state_epsilon_with, struct acct_state *s, const struct acct_round *candidates,
	size_t n, struct acct_bound *eps);

static struct {
	bool real;
	enum acct_rc rc;
	double answer; /* instead of the sum, unless 0 */
	double error;  /* of what the state answers until it is rebuilt */
	unsigned calls, alone, rebuilt;
} acct;

struct acct_state {
	struct {
		struct acct_round round;
		uint64_t count;
	} kind[128];
	size_t kinds;
	bool rebuilt;
};

static double cost(const struct acct_round *r, uint64_t count)
{
	return (double)count * (double)r->others / 1000.0;
}

static double costs(const struct acct_round *r, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += cost(&r[i], r[i].count);
	return sum;
}

static enum acct_rc answer(double sum, struct acct_bound *eps)
{
	acct.calls++;
	if (acct.rc != ACCT_OK)
		return acct.rc;
	eps->lower = 0.0;
	eps->upper = acct.answer != 0.0 ? acct.answer : sum;
	return ACCT_OK;
}

enum acct_rc __wrap_acct_epsilon(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps)
{
	if (acct.real)
		return __real_acct_epsilon(rounds, n, delta, eps);
	assert_in_range(n, 1, PT_PARTS_MAX); /* of one loss; more are the state's */
	acct.alone++;
	return answer(costs(rounds, n), eps);
}

struct acct_state *__wrap_acct_state_new(double delta)
{
	return acct.real ? __real_acct_state_new(delta) : calloc(1, sizeof(struct acct_state));
}

void __wrap_acct_state_free(struct acct_state *s)
{
	if (acct.real)
		__real_acct_state_free(s);
	else
		free(s);
}

static size_t find(const struct acct_state *s, const struct acct_round *round)
{
	size_t i = 0;

	while (i < s->kinds &&
		(s->kind[i].round.others != round->others || s->kind[i].round.dummies != round->dummies ||
			s->kind[i].round.cell[0].omega != round->cell[0].omega))
		i++;
	return i;
}

enum acct_rc __wrap_acct_state_add(struct acct_state *s, const struct acct_round *round)
{
	size_t i;

	if (acct.real)
		return __real_acct_state_add(s, round);
	i = find(s, round);
	assert_true(i < 128);
	if (i == s->kinds)
		s->kind[s->kinds++].round = *round;
	if (s->kind[i].count > ACCT_MAX_COUNT - round->count)
		return ACCT_ELIMIT;
	s->kind[i].count += round->count;
	s->rebuilt = false;
	return ACCT_OK;
}

enum acct_rc __wrap_acct_state_remove(struct acct_state *s, const struct acct_round *round)
{
	size_t i;

	if (acct.real)
		return __real_acct_state_remove(s, round);
	i = find(s, round);
	assert_true(i < s->kinds && s->kind[i].count >= round->count); /* only what was added */
	s->kind[i].count -= round->count;
	s->rebuilt = false;
	return ACCT_OK;
}

void __wrap_acct_state_rebuild(struct acct_state *s)
{
	if (acct.real)
		__real_acct_state_rebuild(s);
	else
		s->rebuilt = true;
	acct.rebuilt++;
}

enum acct_rc __wrap_acct_state_epsilon_with(
	struct acct_state *s, const struct acct_round *candidates, size_t n, struct acct_bound *eps)
{
	double sum;

	if (acct.real)
		return __real_acct_state_epsilon_with(s, candidates, n, eps);
	sum = costs(candidates, n);
	for (size_t i = 0; i < s->kinds; i++)
		sum += cost(&s->kind[i].round, s->kind[i].count);
	return answer(s->rebuilt ? sum : sum * (1 + acct.error), eps);
}

/* ---- memory that runs out ---- */

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static long fail_after = -1;

static bool granted(void)
{
	if (fail_after > 0)
		fail_after--;
	else if (fail_after == 0)
		return false;
	return true;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return granted() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *p, size_t size)
{
	return granted() ? __real_realloc(p, size) : NULL;
}

/* A round that costs `thousandths` under the arithmetic above. */
static struct acct_round costing(uint64_t thousandths)
{
	struct acct_round r = { 0 };

	assert_int_equal(acct_cells_generic(1.0, &r, NULL), ACCT_OK);
	r.others = thousandths;
	r.count = 1;
	return r;
}

static const uint8_t *id(unsigned i)
{
	static uint8_t bytes[PR_ROUND_ID_LEN];

	memset(bytes, 0, sizeof bytes);
	bytes[3] = (uint8_t)(i >> 8);
	bytes[15] = (uint8_t)i;
	return bytes;
}

static enum cm_rc add_round(
	struct rd_account *a, const uint8_t *round_id, const struct acct_round *r, struct cm_err *e)
{
	struct pt_loss loss = loss_of(r);

	return rd_account_add(a, round_id, &loss, e);
}

static enum cm_rc judge_round(
	const struct rd_account *a, const struct acct_round *r, struct rd_verdict *v, struct cm_err *e)
{
	struct pt_loss loss = loss_of(r);

	return rd_account_judge(a, &loss, v, e);
}

static void add(struct rd_account *a, unsigned i, uint64_t thousandths)
{
	struct acct_round r = costing(thousandths);

	assert_int_equal(add_round(a, id(i), &r, &err), CM_OK);
}

static double spent(const struct rd_account *a)
{
	double e = -1.0;

	assert_int_equal(rd_account_spent(a, &e, &err), CM_OK);
	return e;
}

static struct rd_verdict judge(const struct rd_account *a, uint64_t thousandths)
{
	struct acct_round r = costing(thousandths);
	struct rd_verdict v;

	assert_int_equal(judge_round(a, &r, &v, &err), CM_OK);
	return v;
}

static void near(double have, double want)
{
	/* A handful of roundings of numbers below 2^10. */
	assert_true(fabs(have - want) <= 1e-12);
}

static int reset(void **state)
{
	(void)state;
	memset(&acct, 0, sizeof acct);
	fail_after = -1;
	return 0;
}

/* ---- */

static void an_empty_account_has_spent_nothing(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);
	struct rd_verdict v;

	(void)state;
	assert_true(spent(a) == 0.0);
	v = judge(a, 300);
	assert_true(v.fits);
	near(v.epsilon_round, 0.3);
	near(v.total, 0.3);
	near(v.left, 1.0);
	assert_true(v.spent == 0.0 && v.limit == 1.0 && v.delta == 1e-6);
	assert_int_equal(rd_account_rounds(a), 0);
	rd_account_free(a);
	rd_account_free(NULL);
}

static void the_candidate_is_judged_together_with_everything_before(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);
	struct rd_verdict v;

	(void)state;
	add(a, 1, 400);
	add(a, 2, 350);
	v = judge(a, 200);
	assert_true(v.fits);
	near(v.epsilon_round, 0.2);
	near(v.spent, 0.75);
	near(v.total, 0.95);
	near(v.left, 0.25);
	v = judge(a, 300); /* would fit alone */
	assert_false(v.fits);
	near(v.total, 1.05);
	rd_account_free(a);
}

static void a_total_equal_to_the_limit_within_rounding_is_refused(void **state)
{
	static const struct {
		double total;
		bool fits;
	} row[] = {
		{ 1.0, false },
		{ 1.0 - 0x1p-53, false },
		{ 1.0 + 0x1p-52, false },
		{ 1.0 - 1e-11, true },
		{ 0.999, true },
		{ (double)INFINITY, false },
	};
	struct rd_account *a = rd_account_new(1.0, 1e-6);

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		acct.answer = row[i].total;
		assert_int_equal(judge(a, 1).fits, row[i].fits);
	}
	rd_account_free(a);
}

static void judging_never_changes_the_account(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);
	struct rd_verdict first, again;

	(void)state;
	add(a, 1, 400);
	first = judge(a, 100);
	for (unsigned i = 0; i < 10; i++) {
		(void)judge(a, 400); /* the same cells as a round of the account */
		(void)judge(a, 599 + i);
		again = judge(a, 100);
		assert_memory_equal(&first, &again, sizeof first);
		assert_int_equal(rd_account_rounds(a), 1);
		near(spent(a), 0.4);
	}
	rd_account_free(a);
}

static void the_answer_for_an_account_is_remembered_until_it_changes(void **state)
{
	struct rd_account *a = rd_account_new(10.0, 1e-6);
	unsigned calls;

	(void)state;
	add(a, 1, 400);
	near(spent(a), 0.4);
	calls = acct.calls;
	near(spent(a), 0.4);
	assert_int_equal(acct.calls, calls);
	add(a, 2, 100);
	near(spent(a), 0.5);
	assert_int_equal(rd_account_remove(a, id(1)), CM_OK);
	near(spent(a), 0.1);
	rd_account_free(a);
}

static void a_round_counts_once_and_a_released_one_not_at_all(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);
	struct acct_round r = costing(100);

	(void)state;
	add(a, 1, 100);
	assert_int_equal(add_round(a, id(1), &r, &err), CM_EDATA);
	near(spent(a), 0.1);
	assert_int_equal(rd_account_remove(a, id(2)), CM_OK); /* none such */
	near(spent(a), 0.1);
	assert_int_equal(rd_account_remove(a, id(1)), CM_OK);
	assert_true(spent(a) == 0.0);
	assert_int_equal(rd_account_remove(a, id(1)), CM_OK);
	assert_int_equal(rd_account_rounds(a), 0);
	add(a, 1, 200); /* the id is free again */
	near(spent(a), 0.2);
	rd_account_free(a);
}

static void every_round_counts_whatever_it_has_in_common_with_others(void **state)
{
	struct rd_account *a = rd_account_new(100.0, 1e-6);
	struct acct_round r = costing(10);

	(void)state;
	for (unsigned i = 10; i < 300; i++)
		add(a, i, i % 2 ? 10 : 20);
	near(spent(a), 4.35);
	r.dummies = 1;
	assert_int_equal(add_round(a, id(2), &r, &err), CM_OK);
	r = costing(10);
	assert_int_equal(acct_cells_generic(1.0000001, &r, NULL), ACCT_OK);
	assert_int_equal(add_round(a, id(3), &r, &err), CM_OK);
	near(spent(a), 4.37);
	assert_int_equal(rd_account_remove(a, id(11)), CM_OK);
	assert_int_equal(rd_account_remove(a, id(2)), CM_OK);
	near(spent(a), 4.35);
	near(judge(a, 30).total, 4.38);
	rd_account_free(a);
}

/* What the kept composition is off by must not decide. */
static void near_the_limit_the_rounds_alone_decide(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);

	(void)state;
	add(a, 1, 500);
	acct.error = 9e-4;
	assert_true(judge(a, 499).fits); /* 0.9999 as the state answers: near, then 0.999 */
	assert_int_equal(acct.rebuilt, 1);
	near(judge(a, 499).total, 0.999);
	near(spent(a), 0.5 * (1 + 9e-4)); /* the candidate is not in it */
	acct.error = -9e-4;
	assert_false(judge(a, 500).fits); /* 0.9991, then 1 */
	acct.rebuilt = 0;
	assert_true(judge(a, 400).fits); /* not near */
	assert_false(judge(a, 600).fits);
	assert_int_equal(acct.rebuilt, 0);
	rd_account_free(a);
}

/* Against a plain list, over a long random life. */
static void adding_and_removing_agree_with_a_list(void **state)
{
	struct rd_account *a = rd_account_new(1e6, 1e-6);
	unsigned cost[64] = { 0 }, live = 0, sum = 0;
	uint32_t seed = 12345;

	(void)state;
	for (unsigned step = 0; step < 3000; step++) {
		unsigned i, price;

		seed = seed * 1664525u + 1013904223u;
		i = seed >> 26;
		price = 1 + (seed >> 8) % 5;
		if (cost[i] == 0) {
			add(a, i, price);
			cost[i] = price;
			sum += price;
			live++;
		} else {
			assert_int_equal(rd_account_remove(a, id(i)), CM_OK);
			sum -= cost[i];
			cost[i] = 0;
			live--;
		}
		assert_int_equal(rd_account_rounds(a), live);
		near(spent(a), sum / 1000.0);
	}
	rd_account_free(a);
}

static void when_the_accountant_cannot_answer_nothing_fits(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);
	struct acct_round r = costing(1);
	struct rd_verdict v = { .fits = false, .total = 77.0 };
	double e = 55.0;

	(void)state;
	add(a, 1, 1);
	for (int rc = ACCT_EDOMAIN; rc <= ACCT_ENOMEM; rc++) {
		acct.rc = (enum acct_rc)rc;
		assert_int_equal(judge_round(a, &r, &v, &err), CM_EINTERNAL);
		assert_int_equal(rd_account_spent(a, &e, &err), CM_EINTERNAL);
		assert_true(!v.fits && v.total == 77.0 && e == 55.0);
	}
	acct.rc = ACCT_OK;
	acct.answer = (double)NAN;
	assert_int_equal(judge_round(a, &r, &v, &err), CM_EINTERNAL);
	acct.answer = -0.5;
	assert_int_equal(judge_round(a, &r, &v, &err), CM_EINTERNAL);
	rd_account_free(a);
}

static void a_round_out_of_the_accountants_range_is_not_added(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);
	struct acct_round r = costing(1);

	(void)state;
	r.count = 0;
	assert_int_equal(add_round(a, id(1), &r, &err), CM_EINTERNAL);
	r = costing(1);
	r.cells = 0;
	assert_int_equal(add_round(a, id(1), &r, &err), CM_EINTERNAL);
	r = costing(1);
	r.cell[0].omega = (double)NAN;
	assert_int_equal(add_round(a, id(1), &r, &err), CM_EINTERNAL);
	assert_int_equal(rd_account_rounds(a), 0);
	r = costing(1);
	r.count = ACCT_MAX_COUNT;
	assert_int_equal(add_round(a, id(1), &r, &err), CM_OK);
	r.count = 1;
	assert_int_equal(add_round(a, id(2), &r, &err), CM_EINTERNAL);
	assert_int_equal(rd_account_rounds(a), 1);
	rd_account_free(a);
}

static void without_memory_the_account_stays_as_it_was(void **state)
{
	(void)state;
	for (long n = 0; n < 7; n++) {
		struct acct_round r = costing(1);
		struct rd_account *a;
		struct rd_verdict v;

		fail_after = n;
		a = rd_account_new(1.0, 1e-6);
		assert_int_equal(a == NULL, n < 3);
		if (a != NULL && add_round(a, id(1), &r, &err) != CM_OK) {
			assert_int_equal(err.code, CM_EINTERNAL);
			assert_int_equal(rd_account_rounds(a), 0);
		} else if (a != NULL && judge_round(a, &r, &v, &err) != CM_OK) {
			assert_int_equal(err.code, CM_EINTERNAL);
			assert_int_equal(rd_account_rounds(a), 1);
		}
		fail_after = -1;
		rd_account_free(a);
	}
}

/* ---- the largest epsilon0 ---- */

static double derive_limit;

/* Costs epsilon0 itself, to the hundred-thousandth: others / 1000 with others = 1000 epsilon0 would round. */
static enum cm_rc fake_derive(const struct pt_protocol *row, const struct pt_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *e)
{
	(void)q;
	if (r->epsilon0 > derive_limit)
		return cm_fail(e, CM_ECONFIG, "epsilon0: too large");
	memset(out, 0, sizeof *out);
	out->row = row->device;
	out->mixbins.keep = (uint64_t)llround(r->epsilon0 * 1e5);
	return CM_OK;
}

static enum cm_rc fake_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *e)
{
	(void)e;
	assert_int_equal(participants, 500);
	*out = costing(p->mixbins.keep);
	return CM_OK;
}

static const struct pt_device fake_device = { .name = "fake" };
static const struct pt_protocol fake = { .device = &fake_device, .derive = fake_derive, .cells = fake_cells };

/* Rows of this test's own are in no table. */
const struct pt_protocol *__real_pt_protocol_of(const struct pt_device *device);
const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device);

const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device)
{
	return device == &fake_device ? &fake : __real_pt_protocol_of(device);
}

static double largest(double limit, uint64_t already)
{
	/* The unit of the fake's cost is 1e-5, a hundredth of the arithmetic's: so is the limit's. */
	struct rd_account *a = rd_account_new(limit * 100.0, 1e-6);
	struct pt_request r = { .epsilon0 = 5.0, .min_batch = 500 };
	struct pt_query q = { 0 };
	double e = -1.0;

	if (already > 0)
		add(a, 1, already);
	assert_int_equal(rd_account_largest_epsilon0(
				 a, &fake, &q, &r, &(struct rd_batch){ 500, 500, 500 }, NULL, &e, &err),
		CM_OK);
	rd_account_free(a);
	return e;
}

static void the_largest_epsilon0_has_three_digits_and_fits(void **state)
{
	(void)state;
	derive_limit = 100.0;
	assert_true(largest(0.6, 0) == 0.599); /* 0.6 would equal the limit */
	assert_true(largest(0.6001, 0) == 0.6);
	assert_true(largest(0.6, 40000) == 0.199);
	assert_true(largest(2.345678, 0) == 2.34);
	assert_true(largest(0.012349, 0) == 0.0123);
	assert_true(largest(1000.0, 0) == 99.9);
	assert_true(largest(0.0009, 0) == 0.0);
	assert_true(largest(0.5, 50000) == 0.0);
	derive_limit = 0.3; /* the protocol has no parameters above */
	assert_true(largest(0.6, 0) == 0.3);
}

static void the_largest_epsilon0_is_unknown_when_the_accountant_cannot_answer(void **state)
{
	struct rd_account *a = rd_account_new(1.0, 1e-6);
	struct pt_request r = { .epsilon0 = 5.0, .min_batch = 500 };
	struct pt_query q = { 0 };
	double e = -1.0;

	(void)state;
	derive_limit = 100.0;
	acct.rc = ACCT_EPRECISION;
	assert_int_equal(rd_account_largest_epsilon0(
				 a, &fake, &q, &r, &(struct rd_batch){ 500, 500, 500 }, NULL, &e, &err),
		CM_EINTERNAL);
	assert_true(e == -1.0);
	rd_account_free(a);
}

/* ---- with the accountant itself ---- */

static void merged_rounds_cost_what_the_same_rounds_cost_apart(void **state)
{
	struct rd_account *a;
	struct acct_round apart[4], r = { 0 };
	struct acct_bound bound;
	struct rd_verdict v;

	(void)state;
	acct.real = true;
	a = rd_account_new(8.0, 1e-6);
	assert_int_equal(acct_cells_generic(1.0, &r, NULL), ACCT_OK);
	r.others = 999;
	r.count = 1;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(add_round(a, id(i), &r, &err), CM_OK);
		apart[i] = r;
	}
	apart[3] = r;
	assert_int_equal(judge_round(a, &r, &v, &err), CM_OK);
	assert_int_equal(__real_acct_epsilon(apart, 4, 1e-6, &bound), ACCT_OK);
	/* Both are upper bounds of the one true value, and that lies above the lower bound. */
	assert_true(v.total >= bound.lower);
	assert_true(v.total <= bound.upper * 1.001 && bound.upper <= v.total * 1.001);
	assert_true(v.spent < v.total && v.epsilon_round < v.spent);
	assert_true(v.total <= 4.0 * 1.0); /* basic composition of the local guarantee */
	assert_true(v.fits);
	rd_account_free(a);
}

/* ---- adaptive: the filter itself ---- */

static struct rd_account *adaptive(const char *mode, double limit)
{
	struct rd_account *a;

	acct.real = true;
	a = rd_account_new_mode(limit, 1e-6, mode);
	assert_non_null(a);
	assert_string_equal(rd_account_mode(a), mode);
	return a;
}

static struct acct_round among(uint64_t others)
{
	struct acct_round r = { 0 };

	assert_int_equal(acct_cells_generic(1.0, &r, NULL), ACCT_OK);
	r.others = others;
	r.count = 1;
	return r;
}

static double share(const struct rd_account *a)
{
	double s = -1.0;

	assert_int_equal(rd_account_share(a, &s, &err), CM_OK);
	return s;
}

/* Every mode's rounds, one after the other until one is refused: the exact composition stays within the
 * limit. */
static void a_filter_admits_rounds_until_its_budget_is_spent(void **state)
{
	static const char *const modes[] = { "adaptive.gdp", "adaptive.renyi" };

	(void)state;
	for (size_t m = 0; m < 2; m++) {
		struct rd_account *a = adaptive(modes[m], 0.2);
		struct acct_round kind[2] = { among(999), among(4999) };
		struct acct_bound all;
		struct rd_verdict v;
		double one = 0;
		unsigned n = 0;

		kind[0].count = kind[1].count = 0;
		for (;; n++) {
			struct acct_round r = among(n % 2 ? 4999 : 999);

			assert_int_equal(judge_round(a, &r, &v, &err), CM_OK);
			assert_true(v.adaptive && v.limit == 0.2);
			near(v.share_spent, share(a));
			near(v.share_total, v.share_spent + v.share);
			if (!v.fits)
				break;
			assert_true(v.total == 0.2 && v.spent == (n > 0 ? 0.2 : 0.0));
			assert_int_equal(add_round(a, id(n), &r, &err), CM_OK);
			kind[n % 2].count++;
		}
		assert_true(v.total == INFINITY && v.share_total >= 1 && v.share_spent < 1);
		assert_in_range(n, 2, 10000);
		assert_int_equal(__real_acct_epsilon(kind, 2, 1e-6, &all), ACCT_OK);
		assert_true(all.upper <= 0.2);
		assert_int_equal(rd_account_share_of(a, id(0), &one, &err), CM_OK);
		assert_int_equal(rd_account_share_of(a, id(n), &one, &err), CM_EDATA);
		/* A released reservation makes room. */
		assert_int_equal(rd_account_remove(a, id(n - 1)), CM_OK);
		assert_int_equal(rd_account_remove(a, id(n - 2)), CM_OK);
		assert_int_equal(judge_round(a, &(struct acct_round){ 0 }, &v, &err), CM_EINTERNAL);
		kind[0].count = 1;
		assert_int_equal(judge_round(a, &kind[0], &v, &err), CM_OK);
		assert_true(v.fits);
		rd_account_free(a);
	}
}

static void an_empty_filter_is_unspent_and_order_does_not_matter(void **state)
{
	struct rd_account *a = adaptive("adaptive.gdp", 1), *b = adaptive("adaptive.gdp", 1);

	(void)state;
	assert_true(share(a) == 0 && spent(a) == 0);
	for (unsigned i = 0; i < 6; i++) {
		struct acct_round r = among(1000 + i), s = among(1005 - i);

		assert_int_equal(add_round(a, id(i), &r, &err), CM_OK);
		assert_int_equal(add_round(b, id(i), &s, &err), CM_OK);
	}
	near(share(a), share(b));
	assert_true(spent(a) == 1);
	rd_account_free(a);
	rd_account_free(b);
}

static void what_would_fit_a_filter_does_fit(void **state)
{
	struct rd_account *a = adaptive("adaptive.gdp", 0.1);
	struct pt_query q = { .kind = PT_HISTOGRAM, .categories = 4 };
	struct pt_request r = { .epsilon0 = 6.0, .min_batch = 1000 };
	const struct pt_protocol *grr = pt_find("grr");
	struct pt_randomizer params = { 0 };
	struct acct_round cells = { 0 };
	struct rd_verdict v;
	double fits = 0;

	(void)state;
	assert_int_equal(rd_account_largest_epsilon0(
				 a, grr, &q, &r, &(struct rd_batch){ 1000, 1000, 1000 }, NULL, &fits, &err),
		CM_OK);
	assert_true(fits > 0 && fits < 6);
	for (int more = 0; more <= 1; more++) {
		r.epsilon0 = fits * (more ? 1.02 : 1);
		assert_int_equal(pt_derive(grr, &q, &r, &params, &err), CM_OK);
		assert_int_equal(grr->cells(&params, 1000, &cells, &err), CM_OK);
		cells.count = 1;
		assert_int_equal(judge_round(a, &cells, &v, &err), CM_OK);
		assert_int_equal(v.fits, !more);
	}
	rd_account_free(a);
}

static void modes_have_names(void **state)
{
	static const char *const unknown[] = { "", "adaptive", "adaptive.", "adaptive.pld", "plan.gdp",
		"gdp" };

	(void)state;
	assert_true(rd_mode_is_known("plan") && rd_mode_is_known("adaptive.gdp") &&
		    rd_mode_is_known("adaptive.renyi"));
	assert_int_equal(rd_mode_filter("plan"), 0);
	assert_int_equal(rd_mode_filter("adaptive.renyi"), ACCT_FILTER_RENYI);
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		assert_false(rd_mode_is_known(unknown[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_empty_account_has_spent_nothing, reset),
		cmocka_unit_test_setup(the_candidate_is_judged_together_with_everything_before, reset),
		cmocka_unit_test_setup(a_total_equal_to_the_limit_within_rounding_is_refused, reset),
		cmocka_unit_test_setup(judging_never_changes_the_account, reset),
		cmocka_unit_test_setup(the_answer_for_an_account_is_remembered_until_it_changes, reset),
		cmocka_unit_test_setup(a_round_counts_once_and_a_released_one_not_at_all, reset),
		cmocka_unit_test_setup(every_round_counts_whatever_it_has_in_common_with_others, reset),
		cmocka_unit_test_setup(near_the_limit_the_rounds_alone_decide, reset),
		cmocka_unit_test_setup(adding_and_removing_agree_with_a_list, reset),
		cmocka_unit_test_setup(when_the_accountant_cannot_answer_nothing_fits, reset),
		cmocka_unit_test_setup(a_round_out_of_the_accountants_range_is_not_added, reset),
		cmocka_unit_test_setup(without_memory_the_account_stays_as_it_was, reset),
		cmocka_unit_test_setup(the_largest_epsilon0_has_three_digits_and_fits, reset),
		cmocka_unit_test_setup(
			the_largest_epsilon0_is_unknown_when_the_accountant_cannot_answer, reset),
		cmocka_unit_test_setup(a_filter_admits_rounds_until_its_budget_is_spent, reset),
		cmocka_unit_test_setup(an_empty_filter_is_unspent_and_order_does_not_matter, reset),
		cmocka_unit_test_setup(what_would_fit_a_filter_does_fit, reset),
		cmocka_unit_test_setup(modes_have_names, reset),
		cmocka_unit_test_setup(merged_rounds_cost_what_the_same_rounds_cost_apart, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
