/* test_acct_sampled.c - defects and sampling against sums over every outcome of small mechanisms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_answers.h"
#include "acct_examples.h"
#include "shuffled.h"

/* A list that is not symmetric. */
static const struct acct_round revealing = {
	.cells = 2, .count = 1, .cell = { { 0.3, 2.5, 0.5 }, { 0.25, 1, 3.4 } }
};

static void a_defect_adds_an_infinite_loss_to_every_round(void **state)
{
	struct acct_round plain = { .others = 400, .count = 1 }, r;

	(void)state;
	assert_int_equal(acct_cells_generic(1, &plain, NULL), ACCT_OK);
	r = plain;
	r.defect = 1e-4;
	for (double eps = 0; eps < 0.2; eps += 0.04) {
		struct acct_bound d = delta_at(&plain, eps), with = delta_at(&r, eps);

		assert_true(fabs(with.upper - (1e-4 + (1 - 1e-4) * d.upper)) < 1e-9 * with.upper);
		assert_true(fabs(with.lower - (1e-4 + (1 - 1e-4) * d.lower)) < 1e-9 * with.upper);
	}
	/* At delta equal to the defect the loss is that of somebody who hides among nobody; below it there is
	 * no bound. */
	assert_true(epsilon(&r, 1e-4).upper >= 1 && epsilon(&r, 1e-4).upper < 1 + 1e-9);
	assert_true(isinf(epsilon(&r, 0.99e-4).lower));
	/* K rounds have the defect 1 - (1-d)^K, and the delta of the rest. */
	plain.count = r.count = 30;
	double lost = -expm1(30 * log1p(-1e-4));
	for (double eps = 0; eps < 1; eps += 0.2) {
		struct acct_bound d = delta_at(&plain, eps), with = delta_at(&r, eps);

		assert_true(with.lower <= lost + (1 - lost) * d.upper);
		assert_true(with.upper >= lost + (1 - lost) * d.lower);
		assert_true(with.upper - with.lower < 5e-3 * with.upper);
	}
	assert_true(isinf(epsilon(&r, 0.9 * lost).lower));
	assert_true(epsilon(&r, 1.01 * lost).upper < INFINITY);
}

static void a_defect_is_all_that_equal_inputs_lose(void **state)
{
	struct acct_round r = {
		.cells = 2, .others = 5, .cell = { { 0.5, 1, 1 }, { 0.25, 2, 2 } }, .defect = 0.01
	};

	(void)state;
	for (r.count = 1; r.count <= 7; r.count += 6) {
		double lost = -expm1((double)r.count * log1p(-0.01));

		for (double eps = 0; eps < 3; eps++)
			expect(delta_at(&r, eps), lost, 1e-6);
		assert_true(isinf(epsilon(&r, 0.99 * lost).lower));
		assert_true(epsilon(&r, 1.001 * lost).upper < 1e-6);
	}
}

/* Two of a population of four, each subset with the same chance: every data set of binary and ternary
 * response. */
static void no_data_set_of_a_sampled_mechanism_loses_more_than_the_bound(void **state)
{
	enum { POPULATION = 4, DRAWN = 2 };

	(void)state;
	for (unsigned k = 2; k <= 3; k++)
		for (double eps = 0; eps < 1; eps += 0.15) {
			double p = 4, worst = 0, report[SYMBOLS];
			struct acct_round r = grr_victim(k, p);
			struct acct_bound d;

			r.others = DRAWN - 1;
			r.sampling = (double)DRAWN / POPULATION;
			d = delta_at(&r, eps);
			for (unsigned v = 0; v < k * k * k; v++)
				for (unsigned x = 0; x < k; x++) {
					static struct law side[2], one;
					unsigned held[2][POPULATION] = { { v % k, v / k % k, v / k / k, 0 },
						{ 0, 0, 0, x } };

					memset(side, 0, sizeof side);
					memcpy(held[1], held[0], 3 * sizeof held[0][0]);
					for (unsigned s = 0; s < 2; s++)
						for (unsigned i = 0; i < POPULATION; i++)
							for (unsigned j = i + 1; j < POPULATION; j++) {
								memset(&one, 0, sizeof one);
								one.mass[0] = 1.0 / 6;
								grr_report(report, k, p, held[s][i]);
								law_add(&one, report);
								grr_report(report, k, p, held[s][j]);
								law_add(&one, report);
								for (unsigned c = 0; c < MOST_CODES; c++)
									side[s].mass[c] += one.mass[c];
							}
					worst = fmax(worst, fmax(hockey(&side[0], &side[1], eps),
								    hockey(&side[1], &side[0], eps)));
				}
			assert_true(worst <= d.upper * (1 + 1e-12));
			if (eps < 0.5)
				assert_true(worst > 0.3 * d.upper);
		}
}

static void sampling_is_the_closed_identity(void **state)
{
	static const double gs[] = { 0.9, 0.3, 1e-3, 1e-7 };
	struct acct_round all = revealing, r;

	(void)state;
	all.others = 40;
	all.defect = 1e-3;
	for (size_t i = 0; i < 4; i++)
		for (double eps = 0; eps < 0.8; eps += 0.11) {
			double g = gs[i], inner = log1p(expm1(eps) / g);
			struct acct_bound d = delta_at(&all, inner), got;

			r = all;
			r.sampling = g;
			got = delta_at(&r, eps);
			assert_true(got.upper >= g * d.lower && got.lower <= g * d.upper);
			/* epsilon is widened by 1e-13 or so, and 1/g of it within. */
			assert_true(fabs(got.upper - g * d.upper) < (1e-8 + 1e-11 / g) * g * d.upper);
			assert_true(fabs(got.lower - g * d.lower) < (1e-8 + 1e-11 / g) * g * d.upper);
		}
	all.defect = 0;
	r = all;
	r.sampling = 1 - 1e-15;
	assert_true(fabs(epsilon(&r, 1e-5).upper - epsilon(&all, 1e-5).upper) < 1e-9);
}

/* Atoms of nu = (P+Q)/2 at Y: a base atom y of mass m becomes g y/(1-(1-g)y) of mass m (1-(1-g)y). */
struct atoms {
	double y[64], mass[64];
	size_t size;
};

static struct atoms sampled_atoms(const struct law *a, const struct law *b, double defect, double g)
{
	struct atoms s = { .size = 1 };
	double total = 0;

	for (unsigned c = 0; c < MOST_CODES; c++) {
		double m = (a->mass[c] + b->mass[c]) / 2 * (1 - defect), y = 0;

		if (m > 0)
			y = (a->mass[c] - b->mass[c]) / (a->mass[c] + b->mass[c]);
		if (m > 0 && fabs(y) > 1e-12) {
			double k = 1 - (1 - g) * fabs(y);

			s.y[s.size] = g * y / k;
			s.mass[s.size++] = m * k;
		}
	}
	for (int sign = -1; sign <= 1 && defect > 0; sign += 2) {
		s.y[s.size] = sign;
		s.mass[s.size++] = g * defect / 2;
	}
	for (size_t i = 1; i < s.size; i++)
		total += s.mass[i];
	s.mass[0] = 1 - total;
	return s;
}

static void two_sampled_rounds_with_defects_are_the_product_of_their_atoms(void **state)
{
	static const double share[] = { 1, 1, 1 };
	struct acct_round r = { .cells = 2,
		.others = 3,
		.count = 2,
		.cell = { { 0.25, 3, 1 }, { 0.25, 1, 3 } },
		.defect = 2e-3,
		.sampling = 0.3 };
	static struct law a, b;

	(void)state;
	memset(&a, 0, sizeof a);
	a.mass[0] = 1;
	for (size_t i = 0; i < 3; i++)
		law_add(&a, (double[]){ share[i] / 4, share[i] / 4, 1 - share[i] / 2, 0 });
	b = a;
	law_add(&a, (double[]){ 0.75, 0.25, 0, 0 });
	law_add(&b, (double[]){ 0.25, 0.75, 0, 0 });
	struct atoms s = sampled_atoms(&a, &b, r.defect, r.sampling);
	for (double eps = 0; eps < 1; eps += 0.1) {
		double truth = 0;

		for (size_t i = 0; i < s.size; i++)
			for (size_t j = 0; j < s.size; j++)
				truth += s.mass[i] * s.mass[j] *
					 fmax(0, (1 + s.y[i]) * (1 + s.y[j]) -
							 exp(eps) * (1 - s.y[i]) * (1 - s.y[j]));
		expect(delta_at(&r, eps), truth, 2e-2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_defect_adds_an_infinite_loss_to_every_round),
		cmocka_unit_test(a_defect_is_all_that_equal_inputs_lose),
		cmocka_unit_test(no_data_set_of_a_sampled_mechanism_loses_more_than_the_bound),
		cmocka_unit_test(sampling_is_the_closed_identity),
		cmocka_unit_test(two_sampled_rounds_with_defects_are_the_product_of_their_atoms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
