/* test_acct_optimise.c - a budget allocated over rounds: within it, fair, and no worse than other
 * allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "acct_optimise.h"
#include "acct_parsed.h"

#define MOST  4u
#define DELTA 1e-6

static struct acct_bound allocate(
	const struct acct_wish *wish, size_t n, bool targets, double epsilon, struct acct_granted *out)
{
	struct acct_bound total;
	char why[300] = "";
	size_t at;

	if (acct_optimise(
		    wish, n, targets, epsilon, DELTA, acct_spec_parts, out, &total, &at, why, sizeof why))
		fail_msg("wish %zu: %s", at, why);
	return total;
}

/* The texts that come out, composed anew. */
static double composed(const struct acct_granted *out, size_t n)
{
	struct acct_round r[MOST];
	struct acct_bound b;

	for (size_t i = 0; i < n; i++)
		r[i] = parsed(out[i].text).round;
	assert_int_equal(acct_epsilon(r, n, DELTA, &b), ACCT_OK);
	return b.upper;
}

static double objective(const struct acct_wish *wish, const struct acct_granted *out, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += wish[i].weight * out[i].error * out[i].error;
	return sum;
}

static void the_budget_holds_and_more_of_it_never_hurts(void **state)
{
	static const struct acct_wish wish[] = { { "grr:k=16,eps0=?,n=10000", 1 },
		{ "grr:k=3,eps0=?,n=5000,count=3", 2 }, { "rr:eps0=0.5,n=20000", 1 },
		{ "levels:b=8,eps0=?,n=30000", 0.5 } };
	struct acct_granted out[4];
	double last = INFINITY;

	(void)state;
	for (double epsilon = 0.05; epsilon < 1; epsilon *= 4) {
		struct acct_bound total = allocate(wish, 4, false, epsilon, out);

		assert_true(total.upper <= epsilon && total.upper > 0.99 * epsilon);
		assert_true(composed(out, 4) <= epsilon);
		assert_string_equal(out[2].text, wish[2].text);
		assert_true(!out[2].open && isnan(out[2].value) && out[0].open);
		assert_true(objective(wish, out, 4) < last);
		last = objective(wish, out, 4);
	}
}

static void equal_rounds_get_equal_parts(void **state)
{
	static const struct acct_wish wish[] = { { "grr:k=16,eps0=?,n=10000", 3 },
		{ "grr:k=16,eps0=?,n=10000", 3 }, { "grr:k=16,eps0=?,n=10000", 3 } };
	struct acct_granted out[3];

	(void)state;
	for (int targets = 0; targets < 2; targets++) {
		(void)allocate(wish, 3, targets, 1, out);
		for (size_t i = 1; i < 3; i++)
			assert_string_equal(out[0].text, out[i].text);
	}
	/* As many repetitions of one round: a few digits more would not fit. */
	struct acct_round r = parsed("grr:k=16,eps0=1,n=10000,count=3").round;
	char text[100];
	struct acct_bound b;
	(void)snprintf(text, sizeof text, "grr:k=16,eps0=%.9g,n=10000,count=3", out[0].value * 1.001);
	r = parsed(text).round;
	assert_int_equal(acct_epsilon(&r, 1, DELTA, &b), ACCT_OK);
	assert_true(b.upper > 1);
}

static void what_has_all_the_weight_gets_nearly_all(void **state)
{
	static const struct acct_wish wish[] = { { "grr:k=16,eps0=?,n=10000", 1e12 },
		{ "levels:b=8,eps0=?,n=10000", 1 } };
	struct acct_granted both[2], alone[1];

	(void)state;
	(void)allocate(wish, 2, false, 0.7, both);
	(void)allocate(wish, 1, false, 0.7, alone);
	assert_true(both[0].value <= alone[0].value && both[0].value > 0.999 * alone[0].value);
	assert_true(both[1].value < 0.05);
}

static void errors_keep_the_proportions_that_are_aimed_at(void **state)
{
	static const struct acct_wish wish[] = { { "levels:b=8,eps0=?,n=10000", 0.02 },
		{ "grr:k=4,eps0=?,n=40000", 0.01 }, { "laplace:scale=?", 3 } };
	struct acct_granted out[3];

	(void)state;
	(void)allocate(wish, 3, true, 0.6, out);
	for (size_t i = 1; i < 3; i++)
		assert_true(fabs(out[i].error / wish[i].weight / (out[0].error / wish[0].weight) - 1) < 2e-3);
}

/* Move a little from one round to the other, as far as the budget allows: nothing is gained. */
static void no_exchange_between_two_rounds_gains(void **state)
{
	static const struct acct_wish wish[] = { { "grr:k=16,eps0=?,n=10000", 5 },
		{ "grr:k=4,eps0=?,n=3000", 1 } };
	struct acct_granted out[2];

	(void)state;
	(void)allocate(wish, 2, false, 0.8, out);
	double best = objective(wish, out, 2);
	for (double by = 0.94; by < 1.1; by += 0.12) {
		struct acct_granted other[2] = { out[0], out[1] };
		double low = out[1].value * 0.8, high = out[1].value * 1.2;

		(void)snprintf(
			other[0].text, sizeof other[0].text, "grr:k=16,eps0=%.9g,n=10000", out[0].value * by);
		for (int i = 0; i < 14; i++) {
			double middle = (low + high) / 2;

			(void)snprintf(
				other[1].text, sizeof other[1].text, "grr:k=4,eps0=%.9g,n=3000", middle);
			if (composed(other, 2) <= 0.8)
				low = middle;
			else
				high = middle;
		}
		(void)snprintf(other[1].text, sizeof other[1].text, "grr:k=4,eps0=%.9g,n=3000", low);
		for (size_t i = 0; i < 2; i++) {
			struct acct_spec s = parsed(other[i].text);

			other[i].error = acct_share_error(&s, 1);
		}
		assert_true(objective(wish, other, 2) > best * (1 - 1e-3));
	}
}

static void the_error_is_that_of_counting(void **state)
{
	struct acct_spec s = parsed("rr:eps0=1,n=1000");
	double keep = 1 / (1 + exp(-1)), slope = 2 * keep - 1;

	(void)state;
	/* Half hold each: a report is a fair coin, and the share moves it by 2 keep - 1. */
	assert_true(fabs(acct_share_error(&s, 1) - 0.5 / slope / sqrt(1000)) < 1e-9);
	/* Truthful among D fair coins: (n + D)/4 is the variance of the ones. */
	s = parsed("bins:k=2,dummies=3000,n=1000");
	assert_true(fabs(acct_share_error(&s, 1) - sqrt(4000 / 4.0) / 1000) < 1e-9);
	s = parsed("gaussian:sigma=2");
	assert_true(fabs(acct_share_error(&s, 1) - 2) < 1e-12);
	s = parsed("rr:eps0=1,n=1000,others_eps=0.5,others_n=300");
	assert_true(isnan(acct_share_error(&s, 1)));
}

static void faults_name_their_round(void **state)
{
	static const struct {
		struct acct_wish wish[2];
		double epsilon;
		size_t at;
		const char *why;
	} row[] = {
		{ { { "rr:eps0=1,n=10", 1 }, { "rr:eps0=2,n=10", 1 } }, 1, 2, "no round says" },
		{ { { "rr:eps0=?,n=10", 1 }, { "rr:eps0=?,n=10,others_eps=?,others_n=2", 1 } }, 1, 1,
			"one open" },
		{ { { "rr:eps0=?,n=10", 1 }, { "rr:eps0=?,n=10", 0 } }, 1, 1, "above 0" },
		{ { { "rr:eps0=?,n=10", 1 }, { "rr:eps=1,n=10", 1 } }, 1, 1, "no such key" },
		{ { { "rr:eps0=?", 1 }, { "rr:eps0=1,n=10", 1 } }, 1, 0, "n= is missing" },
		{ { { "rr:eps0=?,n=10,others_eps=1,others_n=3", 1 }, { "rr:eps0=1,n=10", 1 } }, 1, 0,
			"not known" },
		{ { { "rr:eps0=?,n=10", 1 }, { "rr:eps0=1,n=10", 1 } }, NAN, 2, "epsilon" },
	};
	struct acct_granted out[2];
	struct acct_bound total;
	size_t at;

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char why[300] = "";

		assert_int_equal(acct_optimise(row[i].wish, 2, false, row[i].epsilon, DELTA, acct_spec_parts,
					 out, &total, &at, why, sizeof why),
			ACCT_EDOMAIN);
		if (!strstr(why, row[i].why) || at != row[i].at)
			fail_msg("row %zu: at %zu, %s", i, at, why);
	}
	/* The fixed round alone is too much. */
	static const struct acct_wish spent[] = { { "rr:eps0=?,n=1000", 1 }, { "rr:eps0=5,n=100", 1 } };
	total = allocate(spent, 2, false, 0.5, out);
	assert_true(isinf(total.upper));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_budget_holds_and_more_of_it_never_hurts),
		cmocka_unit_test(equal_rounds_get_equal_parts),
		cmocka_unit_test(what_has_all_the_weight_gets_nearly_all),
		cmocka_unit_test(errors_keep_the_proportions_that_are_aimed_at),
		cmocka_unit_test(no_exchange_between_two_rounds_gains),
		cmocka_unit_test(the_error_is_that_of_counting),
		cmocka_unit_test(faults_name_their_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
