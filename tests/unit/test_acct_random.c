/* test_acct_random.c - random cell lists: the fast routes against sums over every outcome. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_curve.h"
#include "acct_invert.h"
#include "random_rounds.h"

static void curve_of(const struct acct_round *r, struct acct_curve *c)
{
	struct acct_list l;

	assert_int_equal(acct_list_init(&l, r, NULL), ACCT_OK);
	assert_int_equal(acct_curve_init(c, &l), ACCT_OK);
}

static void the_inversion_encloses_the_sum_over_outcomes(void **state)
{
	(void)state;
	seed = 20240229;
	for (int i = 0; i < 60; i++) {
		struct acct_round r = random_round(12);
		struct acct_curve c;

		curve_of(&r, &c);
		for (int k = 0; k < 8 && c.exact.outcomes > 0; k++) {
			double eps = k ? pow(10, -2 + 2.8 * uniform()) : 0,
			       other = pow(10, -2 + 2.8 * uniform());
			double step = tanh(other / 2) - tanh(eps / 2);
			struct acct_point exact, fast;

			acct_exact_at(&c.exact, eps, k % 2, &exact);
			acct_invert_within(&c.list, eps, k % 2, INFINITY, ACCT_INVERT_WIDTH, &fast);
			assert_true(fast.lo <= exact.hi && exact.lo <= fast.hi);
			acct_exact_at(&c.exact, other, k % 2, &exact);
			double line = fast.lo - fast.slope * step - fast.slope_err * fabs(step);
			assert_true(line <= exact.hi * (1 + 1e-9) + 1e-15);
		}
		acct_curve_fini(&c);
	}
}

/* Lopsided lists: tiny cells, tiny blankets, large and nearly equal ratios. */
static struct acct_round lopsided_round(void)
{
	for (;;) {
		struct acct_round r = { .cells = 2 + below(5), .count = 1 };
		double spread = pow(10, -3 + 3.9 * uniform()), omega = 0, u = 0, v = 0;
		double blanket = below(2) ? 1 - pow(10, -15 * uniform()) : pow(10, -5 * uniform());

		for (size_t j = 0; j < r.cells; j++)
			omega += r.cell[j].omega = uniform() * pow(10, -8 * uniform() * uniform()) + 1e-12;
		for (size_t j = 0; j < r.cells; j++) {
			r.cell[j].omega *= blanket / omega;
			r.cell[j].u = below(6) ? exp(spread * (2 * uniform() - 1)) : 0;
			r.cell[j].v = below(6) ? exp(spread * (2 * uniform() - 1)) : 0;
			u += r.cell[j].omega * r.cell[j].u;
			v += r.cell[j].omega * r.cell[j].v;
		}
		if (u < 1e-12 || v < 1e-12)
			continue;
		for (size_t j = 0; j < r.cells; j++) {
			r.cell[j].u /= u;
			r.cell[j].v /= v;
		}
		r.others = below(12);
		r.dummies = below(2) ? below(6) : 0;
		random_levels(&r, blanket, 6);
		if (acct_round_check(&r, &(const char *){ NULL }) == ACCT_OK)
			return r;
	}
}

static void a_limit_on_work_widens_the_bounds_of_a_lopsided_list_and_never_moves_them(void **state)
{
	static const double limits[] = { 0, 1e5, 1e7 };

	(void)state;
	seed = 99991;
	for (int i = 0; i < 1500; i++) {
		struct acct_round r = lopsided_round();
		struct acct_curve c;

		curve_of(&r, &c);
		for (int k = 0; k < 3 && c.exact.outcomes > 0 && c.exact.outcomes < 3000; k++) {
			double eps = pow(10, -3 + 4.3 * uniform());
			struct acct_point exact, fast;

			acct_exact_at(&c.exact, eps, k % 2, &exact);
			acct_invert_within(&c.list, eps, k % 2, limits[k], ACCT_INVERT_WIDTH, &fast);
			double blur = 3e-14 * exact.slope + 1e-300; /* a few ulps of epsilon */
			assert_false(fast.hi < exact.lo - blur);
			assert_false(fast.lo > exact.hi + blur);
			assert_false(fast.lo > fast.hi);
		}
		acct_curve_fini(&c);
	}
}

/* Tilted, almost all of the mass vanishes: what is left must not come from a difference. */
static void the_excess_survives_where_the_transform_nearly_vanishes(void **state)
{
	struct acct_round r = { .cells = 3,
		.count = 1,
		.cell = { { 6.4390219714310777e-09, 0, 2.0617504133870885 },
			{ 0.0063806842562226214, 2.0346119450230327, 0 },
			{ 0.46708844554928203, 2.113128237274561, 2.1409221235356695 } } };
	struct acct_curve c;

	(void)state;
	curve_of(&r, &c);
	for (double eps = 2; eps < 3; eps += 0.01) {
		struct acct_point exact, fast;

		acct_exact_at(&c.exact, eps, true, &exact);
		acct_invert_within(&c.list, eps, true, 0, ACCT_INVERT_WIDTH, &fast);
		assert_true(fast.lo <= exact.hi && fast.hi >= exact.lo);
	}
	acct_curve_fini(&c);
}

/* delta of two rounds, each with P and Q exchanged or not. */
static double product(const struct acct_curve c[2], const int swap[2], double eps)
{
	const double *p[2], *q[2];
	double e = exp(eps), sum = 0;

	for (int i = 0; i < 2; i++) {
		p[i] = swap[i] ? c[i].exact.q : c[i].exact.p;
		q[i] = swap[i] ? c[i].exact.p : c[i].exact.q;
	}
	for (size_t a = 0; a < c[0].exact.outcomes; a++)
		for (size_t b = 0; b < c[1].exact.outcomes; b++)
			sum += fmax(0, p[0][a] * p[1][b] - e * q[0][a] * q[1][b]);
	return sum;
}

static void two_rounds_enclose_the_sum_over_pairs_of_outcomes_in_every_direction(void **state)
{
	(void)state;
	seed = 17;
	for (int i = 0; i < 25; i++) {
		struct acct_round r[2] = { random_round(4), random_round(4) };
		struct acct_curve c[2];
		double eps = 2.5 * uniform(), missed;
		struct acct_bound got;

		curve_of(&r[0], &c[0]);
		curve_of(&r[1], &c[1]);
		assert_true(c[0].exact.outcomes > 0 && c[1].exact.outcomes > 0);
		missed = c[0].exact.missed + c[1].exact.missed;
		assert_int_equal(acct_delta(r, 2, eps, &got), ACCT_OK);
		double same = fmax(product(c, (int[2]){ 0, 0 }, eps), product(c, (int[2]){ 1, 1 }, eps));
		double mixed = fmax(product(c, (int[2]){ 0, 1 }, eps), product(c, (int[2]){ 1, 0 }, eps));
		assert_true(got.upper >= fmax(same, mixed) * (1 - 1e-9));
		assert_true(got.lower <= same * (1 + 1e-9) + missed);
		if (fmax(same, mixed) > 0 && got.upper > 0 && got.upper < 0.9) {
			struct acct_bound eps_at;

			assert_int_equal(acct_epsilon(r, 2, fmin(0.99, got.upper * 1.001), &eps_at), ACCT_OK);
			assert_true(eps_at.lower <= eps * (1 + 1e-6));
		}
		acct_curve_fini(&c[0]);
		acct_curve_fini(&c[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_inversion_encloses_the_sum_over_outcomes),
		cmocka_unit_test(the_excess_survives_where_the_transform_nearly_vanishes),
		cmocka_unit_test(a_limit_on_work_widens_the_bounds_of_a_lopsided_list_and_never_moves_them),
		cmocka_unit_test(two_rounds_enclose_the_sum_over_pairs_of_outcomes_in_every_direction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
