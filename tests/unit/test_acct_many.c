/* test_acct_many.c - compositions of hundreds of different rounds in one question. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_composition.h"
#include "acct_invert.h"
#include "acct_parsed.h"
#include "acct_solve.h"
#include "acct_state.h"
#include "random_rounds.h"

#define DELTA 1e-6

/* ---- against exact laws ---- */

#define ALONE 300    /* rounds of one participant: round i has the losses +-(FIRST + i) STEP */
#define FIRST 100    /* so that their sum is a law on whole numbers of STEP */
#define STEP  0.0001 /* nats */
#define REACH (ALONE * (FIRST + ALONE))

/* P(sum = k STEP) at [k + REACH]; the caller frees it. */
static double *sum_of_losses(void)
{
	size_t size = 2 * REACH + 1;
	double *law = calloc(size, sizeof *law), *next = calloc(size, sizeof *next);

	assert_true(law && next);
	law[REACH] = 1;
	for (long i = 0; i < ALONE; i++) {
		long by = FIRST + i;
		double up = 1 / (1 + exp(-STEP * (double)by));

		for (long k = 0; k < (long)size; k++)
			next[k] = (k >= by ? up * law[k - by] : 0) +
				  (k + by < (long)size ? (1 - up) * law[k + by] : 0);
		memcpy(law, next, size * sizeof *law);
	}
	free(next);
	return law;
}

static double delta_at(const double *law, double epsilon)
{
	double sum = 0;

	for (long k = 2 * REACH; k > REACH && STEP * (double)(k - REACH) > epsilon; k--)
		sum -= law[k] * expm1(epsilon - STEP * (double)(k - REACH));
	return sum;
}

static void responses_without_a_crowd_cost_what_the_law_of_their_sum_says(void **state)
{
	static struct acct_round round[ALONE];
	struct acct_bound eps;
	double *law = sum_of_losses();

	(void)state;
	for (int i = 0; i < ALONE; i++) {
		assert_int_equal(acct_cells_generic(STEP * (FIRST + i), &round[i], NULL), ACCT_OK);
		round[i].count = 1;
	}
	assert_int_equal(acct_epsilon(round, ALONE, DELTA, &eps), ACCT_OK);
	assert_true(delta_at(law, eps.upper) <= DELTA * (1 + 1e-9));
	assert_true(delta_at(law, eps.lower) >= DELTA * (1 - 1e-9));
	/* Losses of two values fall between the points of a grid. */
	assert_true(eps.upper - eps.lower <= 2e-3 * eps.upper);
	for (double e = 0; e < 1.6 * eps.upper; e += eps.upper / 4) {
		struct acct_bound delta;

		assert_int_equal(acct_delta(round, ALONE, e, &delta), ACCT_OK);
		assert_true(delta_at(law, e) <= delta.upper * (1 + 1e-9));
		assert_true(delta_at(law, e) >= delta.lower * (1 - 1e-9));
		assert_true(delta.upper - delta.lower <= (e < eps.upper ? 0.05 : 0.15) * delta.upper);
	}
	const double epsilon[] = { 0, eps.upper / 2, eps.upper, 1.5 * eps.upper };
	struct acct_bound delta[4];

	assert_int_equal(acct_deltas(round, ALONE, epsilon, 4, delta), ACCT_OK);
	for (int i = 0; i < 4; i++) {
		assert_true(delta_at(law, epsilon[i]) <= delta[i].upper * (1 + 1e-9));
		assert_true(delta_at(law, epsilon[i]) >= delta[i].lower * (1 - 1e-9));
		assert_true(delta[i].upper - delta[i].lower <= (i < 2 ? 0.05 : 0.15) * delta[i].upper);
	}
	free(law);
}

/* ---- against equal rounds ---- */

#define NEAR 1e-7 /* the largest eps0 over the least, less one */

static void compare(const char *text, size_t n, double eps0)
{
	struct acct_round *round = calloc(n, sizeof *round), least, most;
	struct acct_bound many, low, high;
	char filled[200];

	assert_non_null(round);
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(filled, sizeof filled, text,
			eps0 * (1 + NEAR * (double)i / (double)(n - 1))); // NOLINT
		round[i] = parsed(filled).round;
	}
	least = round[0];
	most = round[n - 1];
	least.count = most.count = n;
	assert_int_equal(acct_epsilon(round, n, DELTA, &many), ACCT_OK);
	assert_int_equal(acct_epsilon(&least, 1, DELTA, &low), ACCT_OK);
	assert_int_equal(acct_epsilon(&most, 1, DELTA, &high), ACCT_OK);
	/* More of eps0 loses more. */
	assert_true(many.upper >= low.lower && many.lower <= high.upper);
	assert_true(many.upper - many.lower <= ACCT_STATE_WIDTH * many.upper);
	free(round);
}

static void hundreds_of_nearly_equal_rounds_cost_what_equal_ones_do(void **state)
{
	(void)state;
	compare("grr:k=16,eps0=%.17g,n=10000", 512, 2);
	compare("rr:eps0=%.17g,n=10000", 512, 2);
}

/* The bound by kinds is much work for each point: among eight rounds of one question none was left for it. */
static void different_words_are_bounded_by_kinds(void **state)
{
	enum { ROUNDS = 8 };
	static struct acct_round round[ROUNDS];
	struct acct_bound together, on_grids, alone;
	char filled[200];

	(void)state;
	for (size_t i = 0; i < ROUNDS; i++) {
		(void)snprintf(
			filled, sizeof filled, "vrr:s=3,eps0=%g,n=10000", 0.5 + 0.25 * (double)i); // NOLINT
		round[i] = parsed(filled).round;
	}
	assert_int_equal(acct_epsilon(round, ROUNDS, DELTA, &together), ACCT_OK);
	assert_int_equal(acct_epsilon_on_grids(round, ROUNDS, DELTA, &on_grids), ACCT_OK);
	assert_true(together.lower <= on_grids.upper && on_grids.lower <= together.upper);
	assert_true(together.upper - together.lower <= 0.02 * together.upper);
	/* As many of the largest lose more. */
	round[ROUNDS - 1].count = ROUNDS;
	assert_int_equal(acct_epsilon(&round[ROUNDS - 1], 1, DELTA, &alone), ACCT_OK);
	assert_true(together.lower <= alone.upper);
}

/* ---- points ---- */

static void a_point_of_any_width_encloses_the_sum_over_outcomes(void **state)
{
	static const double width[] = { 1e-6, 1e-4, 1e-2, 1 };

	(void)state;
	seed = 20261128;
	for (int i = 0; i < 60; i++) {
		struct acct_round r = random_round(12);
		struct acct_list l;
		struct acct_curve c;

		assert_int_equal(acct_list_init(&l, &r, NULL), ACCT_OK);
		assert_int_equal(acct_curve_init(&c, &l), ACCT_OK);
		for (int k = 0; k < 4 && c.exact.outcomes > 0; k++) {
			double eps = pow(10, -2 + 2.8 * uniform()), other = pow(10, -2 + 2.8 * uniform());
			double step = tanh(other / 2) - tanh(eps / 2);
			struct acct_point exact, fast;

			acct_exact_at(&c.exact, eps, k % 2, &exact);
			(void)acct_invert_within(&c.list, eps, k % 2, INFINITY, width[k], &fast);
			assert_true(fast.lo <= exact.hi && exact.lo <= fast.hi);
			acct_exact_at(&c.exact, other, k % 2, &exact);
			assert_true(fast.lo - fast.slope * step - fast.slope_err * fabs(step) <=
				    exact.hi * (1 + 1e-9) + 1e-15);
		}
		acct_curve_fini(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_point_of_any_width_encloses_the_sum_over_outcomes),
		cmocka_unit_test(responses_without_a_crowd_cost_what_the_law_of_their_sum_says),
		cmocka_unit_test(hundreds_of_nearly_equal_rounds_cost_what_equal_ones_do),
		cmocka_unit_test(different_words_are_bounded_by_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
