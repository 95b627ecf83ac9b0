/* test_acct_edges.c - corners where rounding, underflow, a long tail or a peer's odd parameters could hide
 * loss.  Exact values: tests/data/make-acct-edges.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "acct.h"
#include "acct_composition.h"

static struct acct_bound delta_of(const struct acct_round *r, double eps)
{
	struct acct_bound d = { NAN, NAN };

	assert_int_equal(acct_delta(r, 1, eps, &d), ACCT_OK);
	assert_true(d.lower >= 0 && !signbit(d.lower) && d.lower <= d.upper);
	return d;
}

static void encloses(const struct acct_round *r, double eps, double truth)
{
	struct acct_bound d = delta_of(r, eps);

	if (!(d.lower <= truth && truth <= d.upper))
		fail_msg("%.17g is not in [%.17g, %.17g]", truth, d.lower, d.upper);
}

/* One input never reaches two of the cells; what is missing of omega hides nothing in them. */
static struct acct_round hidden(double missing, double part)
{
	double rest = 1 - missing - 2 * part;

	return (struct acct_round){ .cells = 3,
		.others = 1,
		.count = 1,
		.cell = { { part, 0.5 / part, 0 }, { part, 0, 0.5 / part },
			{ rest, 0.5 / rest, 0.5 / rest } } };
}

static void a_blanket_that_misses_1e_minus_14_is_not_a_whole_one(void **state)
{
	struct acct_round a = hidden(1.3e-14, 1e-15), b = hidden(1.3e-14, 1e-16);

	(void)state;
	encloses(&a, 40, 6.9940054162198060554e-15);
	encloses(&b, 40, 6.5558269965196809841e-15);
}

static void what_is_left_of_omega_is_not_lost_to_cancellation(void **state)
{
	struct acct_round r = { .cells = 3,
		.others = 1,
		.dummies = 7,
		.count = 1,
		.cell = { { 0.0009514711352945061, 0.6666146255646663, 3.2803474290115426 },
			{ 0.999048526694115, 1.0003175072586625, 0.9978282507948227 },
			{ 2.165157778235789e-09, 1.6499091878939585, 0.11880174730285897 } } };

	(void)state;
	encloses(&r, 2.5544391701925493, 1.275111005983017569e-79);
}

static void a_chance_of_infinite_loss_is_right_among_1e12_messages(void **state)
{
	struct acct_round r = { .cells = 3,
		.others = 1000000000000u,
		.count = 1,
		.cell = { { 1e-12, 1e12, 0 }, { 1e-12, 0, 1e12 }, { 1 - 2e-12, 0, 0 } } };
	double others = 0.36787944117125838927, mixed = 0.40656965974041617009;
	struct acct_bound eps;

	(void)state;
	encloses(&r, 50, others);
	assert_int_equal(acct_epsilon(&r, 1, others * (1 - 1e-8), &eps), ACCT_OK);
	assert_true(isinf(eps.lower) && isinf(eps.upper));
	assert_int_equal(acct_epsilon(&r, 1, others * (1 + 1e-8), &eps), ACCT_OK);
	assert_true(isfinite(eps.lower));
	r.others = 500000000000u;
	r.dummies = 400000000000u;
	encloses(&r, 50, mixed);
}

static void underflow_hides_no_delta(void **state)
{
	struct acct_round r = { .cells = 2,
		.others = 1,
		.count = 1,
		.cell = { { 1e-10, 1, 1e-300 }, { 1 - 1e-10, 1, 1 / (1 - 1e-10) } } };

	(void)state;
	encloses(&r, 685, 9.9689752309295640192e-21);
}

/* k-ary response, k = 4096, p = 2981: one report of the victim's symbol outweighs thousands of others. */
static struct acct_round lopsided(uint64_t n)
{
	double p = 2981, z = p + 4095;

	return (struct acct_round){ .cells = 3,
		.others = n - 1,
		.count = 1,
		.cell = { { 1 / z, p, 1 }, { 1 / z, 1, p }, { 4094 / z, 1, 1 } } };
}

static void a_long_tail_on_one_side_does_not_spoil_the_other(void **state)
{
	static const struct {
		uint64_t n;
		double eps, delta;
	} known[] = { { 200, 3.5, 0.0042586037714832857925 }, { 200, 4.0, 0.00013581281441537057263 },
		{ 1000, 2.5, 0.00093959608450552969037 } };

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct acct_round r = lopsided(known[i].n);
		struct acct_bound d = delta_of(&r, known[i].eps);

		encloses(&r, known[i].eps, known[i].delta);
		assert_true(d.upper < d.lower * 1.01);
	}
}

/* The sum of omega differs from 1 by parts in 1e15 either way: the answer must not jump. */
static void a_last_bit_of_omega_changes_nothing(void **state)
{
	double p = exp(1), z = p + 15;
	struct acct_round r = { .cells = 3, .others = 20, .count = 1 };
	struct acct_bound first = { NAN, NAN }, d;

	(void)state;
	for (int bit = -4; bit <= 4; bit++) {
		double by = 1 + bit * DBL_EPSILON;

		r.cell[0] = (struct acct_cell){ 1 / z, p, 1 };
		r.cell[1] = (struct acct_cell){ 1 / z, 1, p };
		r.cell[2] = (struct acct_cell){ 14 / z * by, 1 / by, 1 / by };
		d = delta_of(&r, 0.3);
		if (bit == -4)
			first = d;
		assert_true(d.lower <= first.upper && first.lower <= d.upper);
		assert_true(d.upper - d.lower < 1e-6 * d.upper);
	}
}

static void a_difference_of_one_ulp_is_not_called_no_loss_at_all(void **state)
{
	struct acct_round r = {
		.cells = 2, .others = 3, .count = 1, .cell = { { 0.5, 1 + DBL_EPSILON, 1 }, { 0.5, 1, 1 } }
	};
	struct acct_bound eps;

	(void)state;
	/* alone it is epsilon = 2^-53 or so */
	r.others = 0;
	assert_int_equal(acct_epsilon(&r, 1, 1e-30, &eps), ACCT_OK);
	assert_true(eps.upper >= DBL_EPSILON / 2 && eps.upper < 1e-12);
	assert_true(delta_of(&r, 0).upper >= DBL_EPSILON / 4);
}

static void the_largest_loss_survives_huge_ratios(void **state)
{
	double part = 0x1p-720, u = 0x1p718; /* u / v = 1 + 1e-3 where log u is near 500 */
	struct acct_round r = { .cells = 3,
		.count = 1,
		.cell = { { part, u * 1.001, u }, { part, u, u * 1.001 }, { 0.5, 1, 1 } } };
	double mean = 2.001 * 0.25 + 0.5;
	struct acct_bound eps;

	(void)state;
	for (size_t j = 0; j < 3; j++) {
		r.cell[j].u /= mean;
		r.cell[j].v /= mean;
	}
	assert_int_equal(acct_epsilon(&r, 1, 1e-100, &eps), ACCT_OK);
	assert_true(eps.upper >= log1p(1e-3) && eps.upper < log1p(1e-3) * (1 + 1e-9));
	r.count = 3;
	assert_int_equal(acct_epsilon(&r, 1, 1e-100, &eps), ACCT_OK);
	assert_true(eps.upper >= 3 * log1p(1e-3) * (1 - 1e-15));
}

static void epsilon_zero_and_deltas_on_either_side_of_the_total_variation_are_told_apart(void **state)
{
	/* binary response alone: delta(0) = tanh(eps0/2) */
	struct acct_round r = { .cells = 2, .count = 1, .cell = { { 0.25, 3, 1 }, { 0.25, 1, 3 } } };
	struct acct_bound eps;

	(void)state;
	r.count = 1;
	encloses(&r, 0, 0.5);
	assert_int_equal(acct_epsilon(&r, 1, 0.5 * (1 - 1e-9), &eps), ACCT_OK);
	assert_true(eps.upper > 0 && eps.upper < 1e-6);
	assert_int_equal(acct_epsilon(&r, 1, 0.5 * (1 + 1e-9), &eps), ACCT_OK);
	assert_true(eps.lower == 0 && eps.upper == 0);
}

/* Cases that took many seconds before work was limited: lists of up to 64 cells, lattices, long lists of
 * rounds. */
static void every_question_ends(void **state)
{
	struct acct_round many[24], wide = { .cells = 64, .others = 30, .count = 4 };
	double u = 0, v = 0;

	(void)state;
	for (size_t j = 0; j < 64; j++) {
		wide.cell[j] =
			(struct acct_cell){ 1.0 / 70, exp(sin((double)j * 7)), exp(cos((double)j * 3)) };
		u += wide.cell[j].omega * wide.cell[j].u;
		v += wide.cell[j].omega * wide.cell[j].v;
	}
	for (size_t j = 0; j < 64; j++) {
		wide.cell[j].u /= u;
		wide.cell[j].v /= v;
	}
	for (size_t i = 0; i < 24; i++) {
		double p = exp(0.001 * (double)(i + 1)), z = p + 4095;

		many[i] = (struct acct_round){ .cells = 3,
			.others = 40 + i,
			.count = 1 + i,
			.cell = { { 1 / z, p, 1 }, { 1 / z, 1, p }, { 4094 / z, 1, 1 } } };
	}
	for (int which = 0; which < 3; which++) {
		struct acct_target target = { { 1e-15, NAN }, { 0, INFINITY }, false };
		struct acct_plan p;
		size_t n = which == 0 ? 24 : 1;
		struct acct_round *r = which == 1 ? &wide : many;

		assert_int_equal(acct_plan_init(&p, r, n), ACCT_OK);
		assert_int_equal(acct_rounds_refine(&p, &target, 1, 1e-21, ACCT_REFINEMENTS), ACCT_OK);
		assert_true(p.work.spent > 0 && p.work.spent < 3 * ACCT_MOST_WORK);
		assert_true(target.out.lower <= target.out.upper);
		acct_plan_fini(&p);
	}
}

static void equal_questions_have_equal_answers_whatever_the_limit_on_work_does(void **state)
{
	double p = exp(0.001), z = p + 15;
	struct acct_round r = { .cells = 3,
		.others = 199,
		.count = 16,
		.cell = { { 1 / z, p, 1 }, { 1 / z, 1, p }, { 14 / z, 1, 1 } } };
	struct acct_bound a, b;

	(void)state;
	assert_int_equal(acct_epsilon(&r, 1, 1e-15, &a), ACCT_OK);
	assert_int_equal(acct_epsilon(&r, 1, 1e-15, &b), ACCT_OK);
	assert_memory_equal(&a, &b, sizeof a);
}

/* K rounds of binary response of one participant: k losses of eps0 against K - k of -eps0. */
static double repeated_response(double eps0, double rounds, double eps)
{
	double sum = 0, keep = -log1p(exp(-eps0)), flip = keep - eps0;

	for (double k = 0; k <= rounds; k++) {
		double loss = (2 * k - rounds) * eps0, log_p = lgamma(rounds + 1) - lgamma(k + 1) -
							       lgamma(rounds - k + 1) + k * keep +
							       (rounds - k) * flip;

		if (loss > eps)
			sum += exp(log_p) * -expm1(eps - loss);
	}
	return sum;
}

static void coarse_lattices_of_losses_are_met(void **state)
{
	static const double eps0s[] = { 0.5, 2, 5, 25 }, rounds[] = { 2, 16, 256 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 3; j++) {
			struct acct_round r = { .count = (uint64_t)rounds[j] };
			double low = 0, high = eps0s[i] * rounds[j];
			struct acct_bound eps;

			assert_int_equal(acct_cells_generic(eps0s[i], &r, NULL), ACCT_OK);
			for (int step = 0; step < 60; step++) {
				double middle = (low + high) / 2;

				if (repeated_response(eps0s[i], rounds[j], middle) > 1e-6)
					low = middle;
				else
					high = middle;
			}
			assert_int_equal(acct_epsilon(&r, 1, 1e-6, &eps), ACCT_OK);
			assert_true(eps.lower <= high * (1 + 1e-9) && eps.upper >= low * (1 - 1e-9));
			assert_true(eps.upper - eps.lower <= 1e-3 * eps.upper);
		}
}

/* No loss exceeds the local guarantee: delta is 0 from there on, and just before it at most what it was. */
static void delta_ends_at_the_largest_loss(void **state)
{
	struct acct_round r = { .others = 999, .count = 1 };
	struct acct_bound delta;

	(void)state;
	assert_int_equal(acct_cells_generic(1, &r, NULL), ACCT_OK);
	assert_int_equal(acct_delta(&r, 1, 1 + 1e-9, &delta), ACCT_OK);
	assert_true(delta.lower <= 0 && delta.upper <= 0);
	assert_int_equal(acct_delta(&r, 1, 1 - 1e-9, &delta), ACCT_OK);
	assert_true(delta.upper > 0 && delta.upper < 1e-100);
	assert_int_equal(acct_delta(&r, 1, 1e4, &delta), ACCT_OK);
	assert_true(delta.upper <= 0);
	r.count = 3;
	assert_int_equal(acct_delta(&r, 1, 3 + 1e-9, &delta), ACCT_OK);
	assert_true(delta.upper <= 0);
	r.count = 1;
	r.defect = 0.25;
	assert_int_equal(acct_delta(&r, 1, 2, &delta), ACCT_OK);
	assert_true(delta.lower <= 0.25 && delta.lower > 0.25 - 1e-8);
	assert_true(delta.upper >= 0.25 && delta.upper < 0.25 + 1e-8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delta_ends_at_the_largest_loss),
		cmocka_unit_test(a_blanket_that_misses_1e_minus_14_is_not_a_whole_one),
		cmocka_unit_test(what_is_left_of_omega_is_not_lost_to_cancellation),
		cmocka_unit_test(a_chance_of_infinite_loss_is_right_among_1e12_messages),
		cmocka_unit_test(underflow_hides_no_delta),
		cmocka_unit_test(a_long_tail_on_one_side_does_not_spoil_the_other),
		cmocka_unit_test(a_last_bit_of_omega_changes_nothing),
		cmocka_unit_test(a_difference_of_one_ulp_is_not_called_no_loss_at_all),
		cmocka_unit_test(the_largest_loss_survives_huge_ratios),
		cmocka_unit_test(
			epsilon_zero_and_deltas_on_either_side_of_the_total_variation_are_told_apart),
		cmocka_unit_test(every_question_ends),
		cmocka_unit_test(equal_questions_have_equal_answers_whatever_the_limit_on_work_does),
		cmocka_unit_test(coarse_lattices_of_losses_are_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
