/* test_account.c - the judgement of the budget: everything before, with the candidate, against the limit. */
#include "wire_bytes.h"

#include <math.h>
#include <stdlib.h>

#include "account_rounds.h"
#include "failing_memory.h"
#include "fake_accountant.h"

static struct cm_err err;

/* ---- rounds of known cost ---- */

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

/* The error of the kept composition must not decide. */
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

/* Compare the account with a plain list, over a long random life. */
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
		if (a && add_round(a, id(1), &r, &err) != CM_OK) {
			assert_int_equal(err.code, CM_EINTERNAL);
			assert_int_equal(rd_account_rounds(a), 0);
		} else if (a && judge_round(a, &r, &v, &err) != CM_OK) {
			assert_int_equal(err.code, CM_EINTERNAL);
			assert_int_equal(rd_account_rounds(a), 1);
		}
		fail_after = -1;
		rd_account_free(a);
	}
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
