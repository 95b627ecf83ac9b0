/* test_acct_laws.c - what must hold of any accountant: monotony, composition, symmetry, the local
 * guarantee. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "acct_examples.h"

static struct acct_round pair(double p, double beta, double q, double q2, uint64_t n, uint64_t count)
{
	struct acct_round r = { .others = n - 1, .count = count };

	assert_int_equal(acct_cells_pair(p, beta, q, q2, &r, NULL), ACCT_OK);
	return r;
}

static struct acct_round times(uint64_t count, struct acct_round r)
{
	r.count = count;
	return r;
}

static struct acct_bound epsilon(const struct acct_round *r, size_t n, double delta)
{
	struct acct_bound eps = { NAN, NAN };

	assert_int_equal(acct_epsilon(r, n, delta, &eps), ACCT_OK);
	assert_true(eps.lower >= 0 && eps.lower <= eps.upper);
	return eps;
}

static struct acct_bound delta_at(const struct acct_round *r, size_t n, double eps)
{
	struct acct_bound delta = { NAN, NAN };

	assert_int_equal(acct_delta(r, n, eps, &delta), ACCT_OK);
	assert_true(delta.lower >= 0 && delta.lower <= delta.upper && delta.upper <= 1);
	return delta;
}

/* The truth of a is at most that of b: certain unless the intervals prove the contrary. */
static void not_above(struct acct_bound a, struct acct_bound b)
{
	assert_true(a.lower <= b.upper);
}

/* Strictly: far enough apart that the intervals must show it. */
static void below(struct acct_bound a, struct acct_bound b)
{
	assert_true(a.upper < b.lower);
}

static void more_participants_never_cost_privacy(void **state)
{
	(void)state;
	for (uint64_t count = 1; count <= 16; count *= 16) {
		struct acct_bound before = { INFINITY, INFINITY };

		for (uint64_t n = 1; n <= 1000000000; n *= 10) {
			struct acct_round r = times(count, generic(2, n - 1));
			struct acct_bound eps = epsilon(&r, 1, 1e-6);

			not_above(eps, before);
			if (n >= 100)
				below(eps, before);
			before = eps;
		}
	}
}

static void a_larger_local_epsilon_costs_privacy(void **state)
{
	struct acct_bound before = { 0, 0 };

	(void)state;
	for (double eps0 = 0.25; eps0 <= 8; eps0 *= 2) {
		struct acct_round r = generic(eps0, 9999);
		struct acct_bound eps = epsilon(&r, 1, 1e-8);

		below(before, eps);
		assert_true(eps.upper <= eps0 * (1 + 1e-9)); /* shuffling never hurts */
		before = eps;
	}
}

static void more_rounds_cost_privacy(void **state)
{
	struct acct_bound before = { 0, 0 };

	(void)state;
	for (uint64_t count = 1; count <= 4096; count *= 2) {
		struct acct_round r = pair(7.4, 0.46, 7.4, 2.7, 20000, count);
		struct acct_bound eps = epsilon(&r, 1, 1e-6);

		below(before, eps);
		before = eps;
	}
}

static void a_smaller_delta_costs_epsilon_down_to_1e_minus_100(void **state)
{
	(void)state;
	for (uint64_t count = 1; count <= 16; count *= 16) {
		struct acct_bound before = { 0, 0 };

		for (double delta = 1e-5; delta > 1e-100; delta *= 1e-7) {
			struct acct_round r = times(count, generic(1, 99999));
			struct acct_bound eps = epsilon(&r, 1, delta);

			below(before, eps);
			assert_true(eps.upper < eps.lower * 1.01);
			before = eps;
		}
	}
}

static void each_parameter_of_the_pair_is_monotone(void **state)
{
	struct acct_round base = pair(3, 0.25, 3, 3, 1000, 1), more_p = pair(4, 0.25, 3, 3, 1000, 1),
			  more_beta = pair(3, 0.3, 3, 3, 1000, 1), more_q = pair(3, 0.25, 3.5, 3.5, 1000, 1),
			  less_q2 = pair(3, 0.25, 3, 1, 1000, 1);
	struct acct_bound eps = epsilon(&base, 1, 1e-6);

	(void)state;
	below(eps, epsilon(&more_p, 1, 1e-6));
	below(eps, epsilon(&more_beta, 1, 1e-6));
	below(eps, epsilon(&more_q, 1, 1e-6));
	below(epsilon(&less_q2, 1, 1e-6), eps);
}

static void a_huge_p_is_an_infinite_p(void **state)
{
	struct acct_round huge = pair(1e300, 0.4, 5, 5, 5000, 1), inf = pair(INFINITY, 0.4, 5, 5, 5000, 1);
	struct acct_bound a = epsilon(&huge, 1, 1e-6), b = epsilon(&inf, 1, 1e-6);

	(void)state;
	assert_true(fabs(a.upper - b.upper) < 1e-9 && fabs(a.lower - b.lower) < 1e-9);
}

static void a_count_of_k_is_k_rounds(void **state)
{
	struct acct_round one[8], all = pair(20, 0.7, 20, 1, 5000, 8);

	(void)state;
	for (size_t i = 0; i < 8; i++)
		one[i] = pair(20, 0.7, 20, 1, 5000, 1);
	struct acct_bound a = epsilon(one, 8, 1e-9), b = epsilon(&all, 1, 1e-9);
	assert_true(a.lower == b.lower && a.upper == b.upper);
}

static void the_order_of_rounds_does_not_matter(void **state)
{
	struct acct_round r[3] = { times(5, generic(1, 9999)), times(7, bins(16, 20000)),
		pair(9, 0.3, 4, 2, 20000, 3) },
			  s[3];

	(void)state;
	s[0] = r[2];
	s[1] = r[0];
	s[2] = r[1];
	struct acct_bound a = epsilon(r, 3, 1e-7), b = epsilon(s, 3, 1e-7);
	assert_true(fabs(a.upper - b.upper) < 1e-6 * a.upper && fabs(a.lower - b.lower) < 1e-6 * a.upper);
}

static void epsilon_and_delta_invert_each_other(void **state)
{
	struct acct_round r[2] = { times(3, generic(2, 9999)), times(4, bins(8, 5000)) };

	(void)state;
	for (size_t n = 1; n <= 2; n++) {
		struct acct_bound eps = epsilon(r, n, 1e-7);

		assert_true(delta_at(r, n, eps.upper).lower <= 1e-7);
		assert_true(delta_at(r, n, eps.lower).upper >= 1e-7);
	}
}

static void alone_the_local_guarantee_is_all_there_is(void **state)
{
	(void)state;
	for (double eps0 = 0.1; eps0 < 20; eps0 *= 3) {
		struct acct_round r = generic(eps0, 0);
		/* binary response: delta(eps) = (e^eps0 - e^eps) / (e^eps0 + 1) */
		for (double part = 0; part < 1; part += 0.3) {
			struct acct_bound d = delta_at(&r, 1, part * eps0);
			double truth = (exp(eps0) - exp(part * eps0)) / (exp(eps0) + 1);

			assert_true(d.lower <= truth * (1 + 1e-12) && d.upper >= truth * (1 - 1e-12));
			assert_true(d.upper - d.lower <= 1e-8 * truth);
		}
		struct acct_bound eps = epsilon(&r, 1, 1e-15);
		assert_true(fabs(eps.upper - eps0) < 1e-7 * eps0 && fabs(eps.lower - eps0) < 1e-7 * eps0);
		assert_true(delta_at(&r, 1, eps0 * (1 + 1e-9)).upper < 1e-15);
	}
}

static void alone_repeated_rounds_never_exceed_basic_composition(void **state)
{
	(void)state;
	for (uint64_t count = 2; count <= 64; count *= 2) {
		struct acct_round r = times(count, generic(1, 0));

		assert_true(epsilon(&r, 1, 1e-60).upper <= (double)count * (1 + 1e-9));
	}
}

static void truthful_bins_leak_with_the_chance_that_no_dummy_hides(void **state)
{
	/* P(no dummy in either bin the victim's message is not in: Q = 0) = (1 - 1/k)^N: infinite loss. */
	struct acct_round r = times(3, bins(16, 40));
	double hidden = 1 - pow(1 - 1.0 / 16, 40), leak = 1 - pow(hidden, 3);
	struct acct_bound eps;

	(void)state;
	eps = epsilon(&r, 1, leak * 0.999);
	assert_true(isinf(eps.lower) && isinf(eps.upper));
	assert_true(delta_at(&r, 1, 600).upper >= leak * (1 - 1e-9));
	r = bins(16, 40);
	eps = epsilon(&r, 1, (1 - hidden) * 1.01);
	assert_true(isfinite(eps.upper));
	r = bins(16, 0);
	assert_true(isinf(epsilon(&r, 1, 0.5).lower));
	assert_true(delta_at(&r, 1, 1).lower >= 1 - 1e-6);
}

static void dummies_help_and_never_beyond_as_many_honest_others_would_all_in_blanket(void **state)
{
	double p = exp(3), z = p + 15;
	struct acct_round r = { .cells = 3,
		.others = 9999,
		.count = 1,
		.cell = { { 1 / z, p, 1 }, { 1 / z, 1, p }, { 14 / z, 1, 1 } } };
	struct acct_bound before = epsilon(&r, 1, 1e-8);

	(void)state;
	for (r.dummies = 1000; r.dummies <= 1000000; r.dummies *= 10) {
		struct acct_bound eps = epsilon(&r, 1, 1e-8);
		struct acct_round alone = r;

		alone.others = 0;
		below(eps, before);
		below(eps, epsilon(&alone, 1, 1e-8));
		before = eps;
	}
}

static void a_one_sided_list_is_bounded_in_its_worse_direction(void **state)
{
	struct acct_round r = { .cells = 3,
		.others = 500,
		.count = 1,
		.cell = { { 0.2, 2.5, 1 }, { 0.1, 0.5, 4 }, { 0.5, 0.9, 0.8 } } },
			  s = r;

	(void)state;
	for (size_t j = 0; j < 3; j++) {
		s.cell[j].u = r.cell[j].v;
		s.cell[j].v = r.cell[j].u;
	}
	for (uint64_t count = 1; count <= 4; count += 3) {
		r.count = s.count = count;
		struct acct_bound a = epsilon(&r, 1, 1e-6), b = epsilon(&s, 1, 1e-6);
		assert_true(fabs(a.upper - b.upper) < 1e-9 && fabs(a.lower - b.lower) < 1e-9);
	}
}

static void a_delta_above_the_total_variation_needs_no_epsilon(void **state)
{
	(void)state;
	for (uint64_t count = 1; count <= 16; count *= 16) {
		struct acct_round r = times(count, generic(1, 99999));
		struct acct_bound eps = epsilon(&r, 1, 0.01);

		assert_true(eps.lower == 0 && eps.upper == 0);
	}
}

static void equal_inputs_lose_nothing(void **state)
{
	struct acct_round r = {
		.cells = 2, .others = 5, .count = 7, .cell = { { 0.5, 1, 1 }, { 0.25, 2, 2 } }
	};
	struct acct_bound eps = epsilon(&r, 1, 1e-9), delta = delta_at(&r, 1, 0);

	(void)state;
	assert_true(eps.lower == 0 && eps.upper == 0 && delta.lower == 0 && delta.upper == 0);
}

static void cells_of_one_ratio_may_be_split_at_will(void **state)
{
	struct acct_round r = pair(3, 0.25, 3, 1, 2000, 4), s = r;
	double part = r.cell[2].omega / 5;

	(void)state;
	s.cells = 7;
	for (size_t j = 2; j < 7; j++)
		s.cell[j] = (struct acct_cell){ part, r.cell[2].u, r.cell[2].v };
	struct acct_bound a = epsilon(&r, 1, 1e-6), b = epsilon(&s, 1, 1e-6);
	assert_true(fabs(a.upper - b.upper) < 1e-9 && fabs(a.lower - b.lower) < 1e-9);
}

static void the_largest_inputs_allowed_are_answered(void **state)
{
	struct acct_round r = times(ACCT_MAX_COUNT, generic(2, ACCT_MAX_REPORTS - 1));
	struct acct_bound eps = epsilon(&r, 1, 1e-9);

	(void)state;
	assert_true(eps.upper < 1 && eps.lower > 0.5 * eps.upper);
}

static void *ask_from_a_thread(void *out)
{
	struct acct_round r = times(16, generic(1, 9999));

	for (int i = 0; i < 4; i++)
		if (acct_epsilon(&r, 1, 1e-6, out))
			return NULL;
	return out;
}

static void threads_may_ask_at_once(void **state)
{
	struct acct_bound got[4];
	pthread_t thread[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ask_from_a_thread, &got[i]), 0);
	for (size_t i = 0; i < 4; i++) {
		void *done;

		assert_int_equal(pthread_join(thread[i], &done), 0);
		assert_non_null(done);
		assert_true(got[i].upper == got[0].upper && got[i].lower == got[0].lower);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_inputs_lose_nothing),
		cmocka_unit_test(a_delta_above_the_total_variation_needs_no_epsilon),
		cmocka_unit_test(alone_the_local_guarantee_is_all_there_is),
		cmocka_unit_test(alone_repeated_rounds_never_exceed_basic_composition),
		cmocka_unit_test(more_participants_never_cost_privacy),
		cmocka_unit_test(a_larger_local_epsilon_costs_privacy),
		cmocka_unit_test(more_rounds_cost_privacy),
		cmocka_unit_test(a_smaller_delta_costs_epsilon_down_to_1e_minus_100),
		cmocka_unit_test(each_parameter_of_the_pair_is_monotone),
		cmocka_unit_test(a_huge_p_is_an_infinite_p),
		cmocka_unit_test(a_count_of_k_is_k_rounds),
		cmocka_unit_test(the_order_of_rounds_does_not_matter),
		cmocka_unit_test(epsilon_and_delta_invert_each_other),
		cmocka_unit_test(truthful_bins_leak_with_the_chance_that_no_dummy_hides),
		cmocka_unit_test(dummies_help_and_never_beyond_as_many_honest_others_would_all_in_blanket),
		cmocka_unit_test(a_one_sided_list_is_bounded_in_its_worse_direction),
		cmocka_unit_test(cells_of_one_ratio_may_be_split_at_will),
		cmocka_unit_test(the_largest_inputs_allowed_are_answered),
		cmocka_unit_test(threads_may_ask_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
