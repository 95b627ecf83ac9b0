/* test_acct_flame.c - FLAME: reference values, and where the printed theorems are below the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_flame.h"
#include "csv.h"
#include "params.h"

static bool ends(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && strcmp(text + a - b, end) == 0;
}

static enum acct_flame_amplifier amplifier(const char *method)
{
	if (ends(method, "_hoeffding"))
		return ACCT_FLAME_HOEFFDING;
	if (ends(method, "_bennett_first_version"))
		return ACCT_FLAME_BENNETT_FIRST;
	assert_true(ends(method, "_bennett"));
	return ACCT_FLAME_BENNETT;
}

/* SS-Double and SS-Topk of a row; a row without users has as many as fit. */
static struct acct_flame_sparse sparse(const char *params)
{
	struct acct_flame_sparse s = { .slot = { params_number(params, "eps_lk"), 0 },
		.users = (uint64_t)params_number(params, "n"),
		.padded = (uint64_t)params_number(params, "n_p"),
		.length = (uint64_t)params_number(params, "d"),
		.sent = (uint64_t)params_number(params, "k") };

	assert_true(params_is(params, "mech", "laplace"));
	if (s.users == 0)
		s.users = s.padded;
	if (s.length == 0)
		s.length = 10 * s.sent;
	return s;
}

static double lemma1(const char *params, double delta)
{
	double epsilon;
	bool valid;

	assert_int_equal(
		acct_flame_lemma1(params_number(params, "eps_l"), (uint64_t)params_number(params, "b"),
			(uint64_t)params_number(params, "n"), delta, &epsilon, &valid, NULL),
		ACCT_OK);
	assert_int_equal(valid, params_is(params, "valid", "1"));
	return epsilon;
}

/* The answer to a row; NAN for a method that is not known. */
static double answer(const char *method, const char *params, double delta)
{
	double epsilon = NAN;
	struct acct_bound b;

	if (strcmp(method, "lemma1") == 0)
		return lemma1(params, delta);
	if (strcmp(method, "thm5_nu") == 0) {
		assert_int_equal(acct_flame_nu((uint64_t)params_number(params, "n_p"),
					 (uint64_t)params_number(params, "n"), params_number(params, "beta"),
					 &epsilon, NULL),
			ACCT_OK);
		return epsilon;
	}
	if (strncmp(method, "ss_simple_thm1", 14) == 0) {
		struct acct_flame_slot slot = { params_number(params, "eps_ld"), 0 };

		assert_int_equal(acct_flame_simple_theorem1(&slot, (uint64_t)params_number(params, "d"),
					 (uint64_t)params_number(params, "n"), delta, amplifier(method),
					 &epsilon, NULL),
			ACCT_OK);
		return epsilon;
	}
	struct acct_flame_sparse s = sparse(params);
	if (strncmp(method, "ss_double_thm4", 14) == 0)
		assert_int_equal(
			acct_flame_double_theorem4(&s, delta, amplifier(method), &epsilon, NULL), ACCT_OK);
	else if (strncmp(method, "ss_double_nosub", 15) == 0)
		assert_int_equal(
			acct_flame_double_unsampled(&s, delta, amplifier(method), &epsilon, NULL), ACCT_OK);
	else if (strcmp(method, "ss_double_true_lower") == 0)
		assert_int_equal(acct_flame_double_lower(&s, delta, &epsilon, NULL), ACCT_OK);
	else if (strcmp(method, "ss_topk_true_lower") == 0)
		assert_int_equal(acct_flame_topk_lower(&s, delta, &epsilon, NULL), ACCT_OK);
	else if (strcmp(method, "ss_double_stratified_pld") == 0 || strcmp(method, "ss_topk_rigorous") == 0) {
		if (params_text(params, "eta"))
			assert_int_equal(
				acct_flame_double_epsilon(&s, params_number(params, "eta"), delta, &b, NULL),
				ACCT_OK);
		else
			assert_int_equal(acct_flame_topk_epsilon(&s, delta, &b, NULL), ACCT_OK);
		epsilon = b.upper;
	}
	return epsilon;
}

static void every_row_is_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		double value = atof(csv_get(&c, "value")), rtol = atof(csv_get(&c, "rtol"));

		if (strcmp(csv_get(&c, "section"), "flame") != 0)
			continue;
		double got = answer(csv_get(&c, "method"), csv_get(&c, "params"), atof(csv_get(&c, "delta")));
		/* upper bounds are rounded up by 1e-12 */
		if (!(fabs(got / value - 1) <= rtol + 2e-12))
			fail_msg("%s: %.15g, want %.15g", csv_get(&c, "id"), got, value);
		rows++;
	}
	fclose(c.file);
	assert_true(rows >= 22);
}

static const struct acct_flame_sparse headline = { { 0.5, 0 }, 1000, 333, 7850, 157 };
#define DELTA 5e-6

static void theorem_1_is_ten_times_the_composition(void **state)
{
	struct acct_flame_slot slot = { 0.01, 0 };
	struct acct_round r;
	struct acct_bound b;
	double printed;

	(void)state;
	assert_int_equal(acct_flame_simple_round(&slot, 7850, 1000, &r, NULL), ACCT_OK);
	assert_int_equal(acct_epsilon(&r, 1, DELTA, &b), ACCT_OK);
	assert_true(fabs(b.upper / 0.0904 - 1) < 2e-3);
	assert_int_equal(
		acct_flame_simple_theorem1(&slot, 7850, 1000, DELTA, ACCT_FLAME_EXACT, &printed, NULL),
		ACCT_OK);
	assert_true(b.upper < printed / 5);
}

/* Theorem 4 with the exact loss of one coordinate, so that nothing but the theorem is at fault. */
static void theorem_4_is_below_the_truth(void **state)
{
	struct acct_flame_sparse s = { { 1, 2 }, 40, 100, 1000, 1 };
	double printed, truth;
	struct acct_bound ours;

	(void)state;
	assert_int_equal(acct_flame_double_theorem4(&s, 3e-6, ACCT_FLAME_EXACT, &printed, NULL), ACCT_OK);
	assert_int_equal(acct_flame_double_lower(&s, 3e-6, &truth, NULL), ACCT_OK);
	assert_int_equal(acct_flame_double_epsilon(&s, 3e-8, 3e-6, &ours, NULL), ACCT_OK);
	assert_true(printed < truth / 10);
	assert_true(truth <= ours.upper);
	assert_true(ours.upper < truth * 1.2);
}

static void topk_is_not_sampling(void **state)
{
	double printed, truth;
	struct acct_flame_sparse s = headline;
	struct acct_bound ours;

	(void)state;
	assert_int_equal(acct_flame_double_theorem4(&s, DELTA, ACCT_FLAME_BENNETT, &printed, NULL), ACCT_OK);
	assert_int_equal(acct_flame_topk_lower(&s, DELTA, &truth, NULL), ACCT_OK);
	assert_true(printed < truth / 3);
	assert_int_equal(acct_flame_topk_epsilon(&s, DELTA, &ours, NULL), ACCT_OK);
	assert_true(truth <= ours.upper); /* users > padded: indices may overflow */
}

static void vectors_in_one_message_lose_far_more(void **state)
{
	struct acct_flame_sparse whole = { { 0.1, 0 }, 1000, 1000, 7850, 7850 };
	struct acct_bound ours;
	struct acct_round r;
	double truth;

	(void)state;
	assert_int_equal(acct_flame_linked_lower(&headline, DELTA, &truth, NULL), ACCT_OK);
	assert_int_equal(acct_flame_double_epsilon(&headline, 1e-7, DELTA, &ours, NULL), ACCT_OK);
	assert_true(truth > 5.3 && ours.upper < truth / 10);
	assert_int_equal(acct_flame_linked_lower(&whole, DELTA, &truth, NULL), ACCT_OK);
	assert_int_equal(acct_flame_simple_round(&whole.slot, 7850, 1000, &r, NULL), ACCT_OK);
	assert_int_equal(acct_epsilon(&r, 1, DELTA, &ours), ACCT_OK);
	assert_true(truth > 20.3 && ours.upper < truth / 10);
}

static void more_padding_hides_more_and_more_indices_less(void **state)
{
	double last = INFINITY;
	struct acct_bound b;

	(void)state;
	for (uint64_t bins = 0; bins <= 4; bins += 4) {
		last = INFINITY;
		for (uint64_t padded = 100; padded <= 800; padded *= 8) {
			struct acct_flame_sparse s = { { 0.5, bins }, 400, padded, 1000, 20 };

			assert_int_equal(acct_flame_double_epsilon(&s, 1e-7, 1e-5, &b, NULL), ACCT_OK);
			assert_true(b.upper < last);
			last = b.upper;
		}
		struct acct_flame_sparse more = { { 0.5, bins }, 400, 800, 1000, 50 };
		assert_int_equal(acct_flame_double_epsilon(&more, 1e-7, 1e-5, &b, NULL), ACCT_OK);
		assert_true(b.upper > last);
		more.slot.epsilon = 0.6;
		last = b.upper;
		assert_int_equal(acct_flame_double_epsilon(&more, 1e-7, 1e-5, &b, NULL), ACCT_OK);
		assert_true(b.upper > last);
	}
}

static void index_privacy_is_a_ratio(void **state)
{
	double nu, reports;

	(void)state;
	assert_int_equal(acct_flame_nu(333, 1000, 0.02, &nu, NULL), ACCT_OK);
	assert_int_equal(acct_flame_nu_reports(nu, 0.02, &reports, NULL), ACCT_OK);
	assert_true(fabs(reports - 16) < 0.5); /* the paper's l */
	assert_int_equal(acct_flame_nu_reports(1, 0.02, &reports, NULL), ACCT_OK);
	assert_true(fabs(reports - 50) < 0.5);
	assert_int_equal(acct_flame_nu_reports(50, 0.02, &reports, NULL), ACCT_OK);
	assert_true(fabs(reports - 2) < 0.5); /* nu/(nu - 1 + beta) is above one */
	assert_int_equal(acct_flame_nu(19, 1000, 0.02, &nu, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_nu(100, 1000, 0, &nu, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_nu(100, 0, 0.1, &nu, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_nu_reports(0.9, 0.1, &reports, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_nu_reports(11, 0.1, &reports, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_nu_reports(2, NAN, &reports, NULL), ACCT_EDOMAIN);
}

static void refused(struct acct_flame_sparse s, double delta)
{
	struct acct_bound b = { 7, 7 };
	const char *why = NULL;
	double x = 7;

	assert_int_equal(acct_flame_double_epsilon(&s, 1e-9, delta, &b, &why), ACCT_EDOMAIN);
	assert_non_null(why);
	assert_int_equal(acct_flame_topk_epsilon(&s, delta, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_double_theorem4(&s, delta, ACCT_FLAME_BENNETT, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_double_unsampled(&s, delta, ACCT_FLAME_BENNETT, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_double_lower(&s, delta, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_topk_lower(&s, delta, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_linked_lower(&s, delta, &x, NULL), ACCT_EDOMAIN);
	assert_true(x == 7 && b.lower == 7 && b.upper == 7);
}

/* The headline with fault number i. */
static struct acct_flame_sparse faulty(int i)
{
	struct acct_flame_sparse s = headline;

	switch (i) {
	case 0:
		s.slot.epsilon = 0;
		break;
	case 1:
		s.slot.epsilon = NAN;
		break;
	case 2:
		s.slot.bins = 1;
		break;
	case 3:
		s.users = 1;
		break;
	case 4:
		s.padded = 1;
		break;
	case 5:
		s.sent = 0;
		break;
	case 6:
		s.sent = s.length + 1;
		break;
	default:
		s.length = 0;
	}
	return s;
}

/* A hundred coordinates by Lemma 1 and advanced composition, thirty digits; among a hundred reports the lemma
 * says nothing. */
static void theorem_1_takes_lemma_1_where_it_holds(void **state)
{
	struct acct_flame_slot slot = { 0.5, 2 };
	double eps;

	(void)state;
	assert_int_equal(acct_flame_simple_theorem1(&slot, 100, 1000000, 1e-6, ACCT_FLAME_LEMMA1, &eps, NULL),
		ACCT_OK);
	assert_true(eps >= 1.6886603282768804 && eps < 1.6886603282768804 * (1 + 1e-10));
	assert_int_equal(acct_flame_simple_theorem1(&slot, 100, 100, 1e-6, ACCT_FLAME_LEMMA1, &eps, NULL),
		ACCT_EDOMAIN);
}

static void faults_are_named_and_nothing_is_computed(void **state)
{
	struct acct_flame_sparse s = headline;
	struct acct_flame_slot slot = { 1, 4 };
	struct acct_bound b;
	struct acct_round r;
	double x;
	bool valid;

	(void)state;
	refused(headline, 0);
	refused(headline, 1);
	refused(headline, NAN);
	for (int i = 0; i < 8; i++)
		refused(faulty(i), DELTA);
	s = headline;
	s.sent = 156; /* does not divide */
	assert_int_equal(acct_flame_double_round(&s, 1e-7, &r, NULL), ACCT_EDOMAIN);
	s = headline;
	s.padded = 40; /* 20 users an index on average, but not always */
	assert_int_equal(acct_flame_double_round(&s, 1e-7, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_double_lower(&s, DELTA, &x, NULL), ACCT_EDOMAIN);
	s.padded = 10;
	assert_int_equal(acct_flame_topk_lower(&s, DELTA, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_double_round(&headline, 0, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_double_epsilon(&headline, DELTA, DELTA, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_simple_round(&slot, 1000001, 10, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_simple_round(&slot, 0, 10, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_simple_round(&slot, 5, 1, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(
		acct_flame_simple_theorem1(&slot, 5, 10, 2, ACCT_FLAME_BENNETT, &x, NULL), ACCT_EDOMAIN);
	slot.epsilon = 60; /* beyond the range of the inequalities */
	assert_int_equal(
		acct_flame_simple_theorem1(&slot, 5, 10, 1e-6, ACCT_FLAME_BENNETT, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_lemma1(1, 1, 10, 1e-6, &x, &valid, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_lemma1(1, 4, 1, 1e-6, &x, &valid, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_lemma1(0, 4, 10, 1e-6, &x, &valid, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_flame_lemma1(1, 4, 10, 1, &x, &valid, NULL), ACCT_EDOMAIN);
}

/* An index overflows with probability 1e-12 to 1e-9, and then it is unknown what is seen: whatever the test
 * itself would show, no more than the logarithm of its reciprocal can be. */
static void an_overflow_is_charged_to_the_lower_bounds(void **state)
{
	(void)state;
	struct acct_flame_sparse s = {
		.slot = { .epsilon = 10, .bins = 2 }, .users = 1000, .padded = 610, .length = 200, .sent = 100
	};
	double eps;

	assert_int_equal(acct_flame_linked_lower(&s, 1e-6, &eps, NULL), ACCT_OK);
	assert_true(eps > 18 && eps < log(1e12));
	s.padded = 1000;
	assert_int_equal(acct_flame_linked_lower(&s, 1e-6, &eps, NULL), ACCT_OK);
	assert_true(eps > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_reproduced),
		cmocka_unit_test(theorem_1_is_ten_times_the_composition),
		cmocka_unit_test(theorem_4_is_below_the_truth),
		cmocka_unit_test(topk_is_not_sampling),
		cmocka_unit_test(vectors_in_one_message_lose_far_more),
		cmocka_unit_test(more_padding_hides_more_and_more_indices_less),
		cmocka_unit_test(an_overflow_is_charged_to_the_lower_bounds),
		cmocka_unit_test(index_privacy_is_a_ratio),
		cmocka_unit_test(theorem_1_takes_lemma_1_where_it_holds),
		cmocka_unit_test(faults_are_named_and_nothing_is_computed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
