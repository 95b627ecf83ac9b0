/* test_acct_routes.c - independent routes to the same numbers: listing, summing, inverting, gridding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_compose.h"
#include "acct_exact.h"
#include "acct_invert.h"

static struct acct_list list(double p, double beta, double q, double q2, uint64_t n, uint64_t dummies)
{
	struct acct_round r = { .others = n - 1, .dummies = dummies, .count = 1 };
	struct acct_list l;

	assert_int_equal(acct_cells_pair(p, beta, q, q2, &r, NULL), ACCT_OK);
	assert_int_equal(acct_list_init(&l, &r, NULL), ACCT_OK);
	return l;
}

static void overlap(struct acct_point a, struct acct_point b)
{
	assert_true(a.lo <= b.hi && b.lo <= a.hi);
}

static void inversion_agrees_with_the_list_of_outcomes(void **state)
{
	static const uint64_t ns[] = { 1, 2, 3, 5, 9, 20 }, dummies[] = { 0, 1, 4 };

	(void)state;
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 3; j++) {
			struct acct_list l = list(5, 0.4, 5, 2, ns[i], dummies[j]);
			struct acct_curve c;

			assert_int_equal(acct_curve_init(&c, &l), ACCT_OK);
			assert_true(c.exact.outcomes > 0);
			for (double eps = 0; eps < 1.9; eps += 0.1) {
				struct acct_point a, b;

				acct_exact_at(&c.exact, eps, false, &a);
				acct_invert_within(&l, eps, false, INFINITY, ACCT_INVERT_WIDTH, &b);
				overlap(a, b);
				if (ns[i] >= 5 && a.hi > 1e-3)
					assert_true(b.hi - b.lo < 2e-3 * b.hi);
			}
			acct_curve_fini(&c);
		}
}

static void in_order_the_list_gives_the_same_points(void **state)
{
	struct acct_round lopsided = { .cells = 3,
		.others = 12,
		.count = 1,
		.cell = { { 0.2, 2.5, 1 }, { 0.1, 0.5, 4 }, { 0.5, 0.9, 0.8 } } };
	struct acct_list l[] = { list(5, 0.4, 5, 2, 9, 3), list(INFINITY, 1, 4, 4, 12, 0),
		list(1e12, 0.3, 1e12, 2, 3, 1), list(3, 0.25, 3, 1, 1, 0) };

	(void)state;
	assert_int_equal(acct_list_init(&l[3], &lopsided, NULL), ACCT_OK);
	for (size_t i = 0; i < sizeof l / sizeof *l; i++) {
		struct acct_curve sums, order;

		assert_int_equal(acct_curve_init(&sums, &l[i]), ACCT_OK);
		assert_int_equal(acct_curve_init(&order, &l[i]), ACCT_OK);
		assert_true(sums.exact.outcomes > 0);
		assert_int_equal(acct_exact_order(&order.exact, order.list.symmetric), ACCT_OK);
		for (int k = 0; k < 400; k++) {
			/* every tenth exactly at a loss */
			size_t o = (size_t)k % sums.exact.outcomes;
			double loss = fabs(log(sums.exact.p[o] / sums.exact.q[o]));
			double eps = k % 10 || !(loss < 100) ? 0.07 * k : loss;
			struct acct_point a, b;

			acct_exact_at(&sums.exact, eps, k & 1, &a);
			acct_exact_at(&order.exact, eps, k & 1, &b);
			overlap(a, b);
			assert_true(b.hi - b.lo <= 1.001 * (a.hi - a.lo) + 1e-13 * exp(-eps));
			assert_true(fabs(a.slope - b.slope) < 1e-6 || k % 10 == 0);
		}
		acct_curve_fini(&sums);
		acct_curve_fini(&order);
	}
}

/* Boxes cut to 1e-6 and to 1e-12, against all outcomes. */
static void what_a_list_leaves_out_is_as_rare_as_it_says(void **state)
{
	(void)state;
	for (double missed = 1e-6; missed > 1e-13; missed *= 1e-6)
		for (uint64_t dummies = 0; dummies <= 30; dummies += 30) {
			struct acct_list l = list(20, 0.1, 20, 1, 60, dummies);
			struct acct_curve all, some;
			double mass[2] = { 0, 0 };

			assert_int_equal(acct_curve_init(&all, &l), ACCT_OK);
			assert_int_equal(acct_curve_init(&some, &l), ACCT_OK);
			assert_true(all.exact.outcomes == 0 || dummies == 0);
			assert_int_equal(
				acct_exact_relist(&some.exact, &some.list, missed, 1000000), ACCT_OK);
			assert_true(some.exact.outcomes > 0 && some.exact.missed <= missed &&
				    some.exact.missed > missed / 100);
			for (size_t i = 0; i < some.exact.outcomes; i++) {
				mass[0] += some.exact.p[i];
				mass[1] += some.exact.q[i];
			}
			for (int way = 0; way < 2; way++)
				assert_true(
					mass[way] <= 1 + 1e-11 && 1 - mass[way] <= some.exact.missed + 1e-11);
			if (missed > 1e-9) /* and something is left out */
				assert_true(1 - mass[0] > 1e-10);
			assert_int_equal(acct_exact_order(&some.exact, some.list.symmetric), ACCT_OK);
			for (double eps = 0; eps < 2; eps += 0.1) {
				struct acct_point a, b;

				acct_invert_within(&l, eps, false, INFINITY, ACCT_INVERT_WIDTH, &a);
				acct_exact_at(&some.exact, eps, false, &b);
				overlap(a, b);
			}
			/* No room: a list that misses no more stays, another goes. */
			assert_int_equal(acct_exact_relist(&some.exact, &some.list, missed, 10), ACCT_OK);
			assert_true(some.exact.outcomes > 0);
			assert_int_equal(
				acct_exact_relist(&some.exact, &some.list, missed / 1e3, 10), ACCT_OK);
			assert_true(some.exact.outcomes == 0);
			acct_curve_fini(&all);
			acct_curve_fini(&some);
		}
}

static double log_binomial(double n, double k, double p)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p);
}

/* (1/n) E(sum X)+ by three nested sums over a multinomial: the blanket identity read literally. */
static double direct(double p, double beta, double q, double q2, double n, double eps)
{
	double pa = beta / (1 - 1 / p), r = pa / q, w = (1 - pa * (1 + 1 / p)) / q2, e = exp(eps), sum = 0;
	double x1 = q - e * q / p, x2 = q / p - e * q, x3 = q2 * (1 - e);

	for (double m = 0; m <= n; m++) {
		double lm = log_binomial(n, m, 2 * r);

		if (lm < -60)
			continue;
		for (double c = 0; c <= n - m; c++) {
			double lc = lm + log_binomial(n - m, c, w / (1 - 2 * r));

			if (lc < -60)
				continue;
			for (double a = m; a >= 0 && a * x1 + (m - a) * x2 + c * x3 > 0; a--)
				sum += exp(lc + log_binomial(m, a, 0.5)) * (a * x1 + (m - a) * x2 + c * x3);
		}
	}
	return sum / n;
}

static void inversion_agrees_with_the_identity_summed_directly(void **state)
{
	static const double eps[] = { 0, 0.05, 0.2, 0.35 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct acct_list l = list(4, 0.3, 4, 2, 400, 0);
		struct acct_point a;
		double h = direct(4, 0.3, 4, 2, 400, eps[i]) / (1 + exp(eps[i]));

		acct_invert_within(&l, eps[i], false, INFINITY, ACCT_INVERT_WIDTH, &a);
		assert_true(a.lo <= h * (1 + 1e-10) && a.hi >= h * (1 - 1e-10));
		assert_true(a.hi - a.lo < 2e-3 * a.hi);
	}
}

/* 10,000 of n's messages are sure to be blanket when omega sums to one: then dummies and others are alike. */
static void others_that_are_always_blanket_are_dummies(void **state)
{
	struct acct_list a = list(INFINITY, 1, 2, 2, 10001, 0), b = list(INFINITY, 1, 2, 2, 1, 10000),
			 c = list(INFINITY, 1, 2, 2, 6001, 4000);

	(void)state;
	assert_true(a.blanket == 1);
	for (double eps = 0; eps < 0.1; eps += 0.02) {
		struct acct_point x, y, z;

		acct_invert_within(&a, eps, false, INFINITY, ACCT_INVERT_WIDTH, &x);
		acct_invert_within(&b, eps, false, INFINITY, ACCT_INVERT_WIDTH, &y);
		acct_invert_within(&c, eps, false, INFINITY, ACCT_INVERT_WIDTH, &z);
		overlap(x, y);
		overlap(x, z);
		/* z is smoothed less: its bound of 1/M is the coarser one */
		assert_true(fabs(x.lo - y.lo) < 1e-9 * x.lo && fabs(x.lo - z.lo) < 1e-4 * x.lo);
	}
}

static void the_line_of_a_point_is_below_the_curve(void **state)
{
	struct acct_list l = list(7, 0.5, 7, 3, 3000, 100);

	(void)state;
	for (double eps = 0; eps < 0.5; eps += 0.05) {
		struct acct_point a, b;

		acct_invert_within(&l, eps, false, INFINITY, ACCT_INVERT_WIDTH, &a);
		for (double other = 0; other < 0.5; other += 0.05) {
			double step = tanh(other / 2) - tanh(eps / 2);

			acct_invert_within(&l, other, false, INFINITY, ACCT_INVERT_WIDTH, &b);
			assert_true(a.lo - a.slope * step - a.slope_err * fabs(step) <= b.hi * (1 + 1e-9));
		}
	}
}

/* E(Y - y)+ of a law, Y = tanh(loss/2), nu-mass = p / (1 + Y). */
static double law_curve(const struct acct_law *law, double h, double eps)
{
	double sum = law->infinite / 2 * (1 - tanh(eps / 2));

	for (size_t i = 0; i < law->size; i++) {
		double loss = h * (double)law->at[i];

		if (loss > eps) /* p (1 - e^(eps - loss)) / (1 + e^eps) */
			sum += law->p[i] * -expm1(eps - loss) / (1 + exp(eps));
	}
	return sum;
}

/* even: a loss from which on nodes are thinned. */
static void check_laws(const struct acct_list *l, double h, long stride, double even)
{
	struct acct_curve c;
	struct acct_nodes nodes;
	struct acct_law above, below[2];

	assert_int_equal(acct_curve_init(&c, l), ACCT_OK);
	assert_int_equal(acct_nodes_thinned(&nodes, &c, h, stride, acct_law_range(&c, 1e-12), even,
				 acct_curve_deviation(&c)),
		ACCT_OK);
	assert_int_equal(nodes.at != NULL, even < acct_law_range(&c, 1e-12));
	assert_int_equal(acct_law_above(&above, &nodes), ACCT_OK);
	for (int way = 0; way < 2; way++)
		assert_int_equal(acct_law_below(&below[way], &nodes, way), ACCT_OK);
	for (int way = 0; way < 2; way++) {
		double total = below[way].infinite, total_above = above.infinite;

		for (size_t i = 0; i < above.size; i++) {
			total_above += above.p[i];
			total += below[way].p[i];
			assert_true(above.p[i] >= 0 && below[way].p[i] >= 0);
		}
		assert_true(fabs(total_above - 1) < 1e-12 && fabs(total - 1) < 1e-12);
		for (int i = 0; i < 200; i++) {
			double eps = h * (double)stride * 0.37 * i;
			struct acct_point a;

			acct_curve_at(&c, eps, way == 1, &a);
			assert_true(law_curve(&above, h, eps) >= a.lo * (1 - 1e-10));
			assert_true(law_curve(&below[way], h, eps) <= a.hi * (1 + 1e-10));
		}
		acct_law_fini(&below[way]);
	}
	acct_law_fini(&above);
	acct_nodes_fini(&nodes);
	acct_curve_fini(&c);
}

static void grid_laws_enclose_the_curve_between_and_at_their_nodes(void **state)
{
	struct acct_round lopsided = { .cells = 3,
		.others = 30,
		.count = 1,
		.cell = { { 0.2, 2.5, 1 }, { 0.1, 0.5, 4 }, { 0.5, 0.9, 0.8 } } };
	struct acct_list l[] = { list(3, 0.25, 3, 1, 1000, 0), list(3, 0.25, 3, 1, 4, 0),
		list(INFINITY, 1, 4, 4, 12, 0), list(54, 0.9, 54, 10, 100000, 0),
		list(INFINITY, 0.5, 4, 4, 5000, 300) },
			 one_sided;

	(void)state;
	for (size_t i = 0; i < sizeof l / sizeof *l; i++) {
		check_laws(&l[i], 0.004, 1, INFINITY);
		check_laws(&l[i], 0.001, 7, INFINITY);
		check_laws(&l[i], 0.004, 1, 0.05);
		check_laws(&l[i], 0.001, 7, 0.2);
	}
	assert_int_equal(acct_list_init(&one_sided, &lopsided, NULL), ACCT_OK);
	assert_true(!one_sided.symmetric);
	check_laws(&one_sided, 0.004, 1, INFINITY);
	check_laws(&one_sided, 0.004, 2, 0.1);
}

/* Composition against convolving the laws term by term. */
static void tilted_transforms_agree_with_plain_convolution(void **state)
{
	enum { SIDE = 60, SIZE = 2 * SIDE + 1, TOTAL = 4 * SIDE + 1 };
	struct acct_list l = list(3, 0.25, 3, 1, 500, 0);
	struct acct_curve c;
	struct acct_nodes nodes;
	struct acct_law law;
	double h = 0.01, twice[TOTAL] = { 0 };

	(void)state;
	assert_int_equal(acct_curve_init(&c, &l), ACCT_OK);
	assert_int_equal(acct_nodes_init(&nodes, &c, h, 1, (SIDE - 0.5) * h), ACCT_OK);
	assert_int_equal(acct_law_above(&law, &nodes), ACCT_OK);
	assert_true(law.size <= SIZE);
	for (size_t i = 0; i < law.size; i++)
		for (size_t j = 0; j < law.size; j++)
			twice[law.at[i] + law.at[j] + 2 * SIDE] += law.p[i] * law.p[j];

	struct acct_part part = { &law, 2 };
	for (double delta = 1e-2; delta > 1e-12; delta *= 0.1) {
		struct acct_sum sum;

		assert_int_equal(acct_sum_init(&sum, &part, 1, h, (struct acct_aim){ delta, NAN }), ACCT_OK);
		double eps = acct_sum_epsilon_above(&sum, delta, NULL),
		       again = acct_sum_epsilon_below(&sum, delta, NULL);
		double plain = 1 - (1 - law.infinite) * (1 - law.infinite);
		for (int k = 0; k < TOTAL; k++)
			if (h * (k - 2 * SIDE) > eps)
				plain += twice[k] * -expm1(eps - h * (k - 2 * SIDE));
		if (isfinite(eps)) {
			assert_true(plain <= delta * (1 + 1e-12) && plain >= delta * (1 - 1e-6));
			assert_true(again <= eps && again > eps * (1 - 1e-6));
		}
		acct_sum_fini(&sum);
	}
	acct_law_fini(&law);
	acct_nodes_fini(&nodes);
	acct_curve_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inversion_agrees_with_the_list_of_outcomes),
		cmocka_unit_test(in_order_the_list_gives_the_same_points),
		cmocka_unit_test(what_a_list_leaves_out_is_as_rare_as_it_says),
		cmocka_unit_test(inversion_agrees_with_the_identity_summed_directly),
		cmocka_unit_test(others_that_are_always_blanket_are_dummies),
		cmocka_unit_test(the_line_of_a_point_is_below_the_curve),
		cmocka_unit_test(grid_laws_enclose_the_curve_between_and_at_their_nodes),
		cmocka_unit_test(tilted_transforms_agree_with_plain_convolution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
