/* test_acct_renyi.c - Renyi divergences of rounds against sums over all outcomes, and what follows from
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>

#include "acct_basic.h"
#include "acct_examples.h"
#include "acct_pair.h"
#include "acct_renyi.h"
#include "acct_renyi_parts.h"
#include "analyses.h"

static struct acct_bound one_order(const struct acct_round *r, double alpha)
{
	struct acct_bound got = { NAN, NAN };

	assert_int_equal(acct_renyi(r, &alpha, 1, &got), ACCT_OK);
	assert_true(got.lower >= 0 && got.lower <= got.upper);
	return got;
}

static struct acct_round read_cells(const char *params)
{
	double p = exp(row_value(params, "eps0"));
	struct acct_round r = { .others = (uint64_t)row_value(params, "others"),
		.dummies = (uint64_t)row_value(params, "dummies"),
		.count = 1 };

	if (params_is(params, "cells", "generic")) {
		r.cells = 2;
		r.cell[0] = (struct acct_cell){ 1 / (p + 1), p, 1 };
		r.cell[1] = (struct acct_cell){ 1 / (p + 1), 1, p };
	} else if (params_is(params, "cells", "equal")) {
		r.cells = 2;
		r.cell[0] = (struct acct_cell){ 1 / (p + 1), p, 1 };
		r.cell[1] = (struct acct_cell){ p / (p + 1), 1 / p, 1 };
	} else {
		assert_true(params_is(params, "cells", "krr5"));
		r.cells = 3;
		r.cell[0] = (struct acct_cell){ 1 / (p + 4), p, 1 };
		r.cell[1] = (struct acct_cell){ 1 / (p + 4), 1, p };
		r.cell[2] = (struct acct_cell){ 3 / (p + 4), 1, 1 };
	}
	return r;
}

static void sums_over_all_outcomes_are_enclosed(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/acct-analyses.csv"));
	while (csv_next(&c)) {
		const char *params = csv_get(&c, "params");
		double want = atof(csv_get(&c, "value"));

		if (strcmp(csv_get(&c, "what"), "renyi") != 0)
			continue;
		struct acct_round r = read_cells(params);
		struct acct_bound got = one_order(&r, row_value(params, "order"));
		double width = params_is(params, "cells", "generic") ? 1e-9 : 1e-3;

		if (!(got.lower <= want * (1 + 1e-13) && got.upper >= want * (1 - 1e-13)))
			fail_msg("%s: [%.15g, %.15g] misses %.15g", params, got.lower, got.upper, want);
		if (!(got.upper - got.lower <= width * got.upper))
			fail_msg("%s: [%.12g, %.12g] is wide", params, got.lower, got.upper);
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows, 213);
}

static void the_clone_rows_are_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *method = csv_get(&c, "method"), *params = csv_get(&c, "params");
		double want = atof(csv_get(&c, "value")), rtol = atof(csv_get(&c, "rtol"));
		struct acct_round r = generic(1, (uint64_t)row_value(params, "n") - 1);
		struct acct_bound got;

		if (strcmp(csv_get(&c, "section"), "clone") != 0)
			continue;
		if (strstr(method, "strong"))
			r = generic(row_value(params, "eps0"), r.others);
		else
			assert_int_equal(acct_basic_clone(row_value(params, "eps0"), &r, NULL), ACCT_OK);
		if (starts(method, "rdp_pair_")) {
			got = one_order(&r, row_value(params, "order"));
			assert_true(got.upper - got.lower <= rtol * want);
		} else {
			assert_int_equal(acct_delta(&r, 1, row_value(params, "eps"), &got), ACCT_OK);
			assert_true(got.upper - got.lower <= 1e-2 * want);
		}
		if (!(got.lower <= want * (1 + rtol) && got.upper >= want * (1 - rtol)))
			fail_msg("%s %s: [%.14g, %.14g], want %.14g", method, params, got.lower, got.upper,
				want);
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows, 12);
}

/* One message: log((p^alpha + p^(1-alpha))/(p+1))/(alpha-1). */
static void one_message_has_a_closed_form(void **state)
{
	(void)state;
	for (double eps0 = 0.01; eps0 < 300; eps0 *= 3)
		for (double alpha = 1.01; alpha < 1e5; alpha *= 2.5) {
			struct acct_round r = generic(eps0, 0);
			struct acct_bound got = one_order(&r, alpha);
			double z = (alpha - 1) * eps0, e = exp(-eps0);
			/* divided by p: p^(alpha-1) = e^z */
			double s = z > 600 ? z - log1p(e) : log1p((expm1(z) + e * expm1(-z)) / (1 + e));
			double want = s / (alpha - 1);

			/* the closed form itself cancels where z is small */
			double slack = 1e-12 + 1e-15 / (z * fmin(1, alpha * eps0));
			if (!(got.lower <= want * (1 + slack) && got.upper >= want * (1 - slack)))
				fail_msg("eps0 %g order %g: [%.15g, %.15g], want %.15g", eps0, alpha,
					got.lower, got.upper, want);
		}
}

static void the_ends_are_kl_and_the_largest_loss(void **state)
{
	(void)state;
	for (uint64_t others = 0; others <= 12; others += 4) {
		struct acct_round r = generic(1.5, others);
		struct acct_list l;
		double p = exp(1.5), kl = 0, w = 2 / (p + 1);

		for (uint64_t m = 1; m <= others + 1; m++)
			for (uint64_t a = 0; a <= m; a++) {
				double b = (double)(m - a), x = (double)a;
				double mass = exp(lgamma((double)others + 1) - lgamma((double)m) -
						      lgamma((double)others - (double)m + 2)) *
					      pow(w, (double)m - 1) * pow(1 - w, (double)(others + 1 - m)) *
					      exp(lgamma((double)m + 1) - lgamma(x + 1) - lgamma(b + 1)) *
					      pow(0.5, (double)m);
				double u = 2 * (p * x + b) / ((double)m * (p + 1)),
				       v = 2 * (x + p * b) / ((double)m * (p + 1));
				kl += mass * u * log(u / v);
			}
		struct acct_bound near = one_order(&r, 1 + 1e-7), far = one_order(&r, ACCT_MOST_ORDER);
		assert_true(is_close(near.upper, kl, 1e-6) && is_close(near.lower, kl, 1e-6));
		assert_int_equal(acct_list_init(&l, &r, NULL), ACCT_OK);
		/* (all^alpha chance)^(1/(alpha-1)): the largest loss but for log(chance)/alpha */
		assert_true(far.upper <= l.largest + 1e-13 && far.lower > 1.5 - 40.0 / ACCT_MOST_ORDER);
	}
}

static void divergences_are_monotone_and_add_up(void **state)
{
	static const double alpha[] = { 1.1, 1.7, 2, 3.5, 8, 20, 64, 256 };
	struct acct_bound got[8], more[8], thrice[8];

	(void)state;
	for (int cells = 0; cells < 2; cells++) {
		struct acct_round r = generic(2, 500);

		if (cells == 1)
			assert_int_equal(acct_cells_pair(exp(2), 0.3, exp(2), 3, &r, NULL), ACCT_OK);
		assert_int_equal(acct_renyi(&r, alpha, 8, got), ACCT_OK);
		r.others = 600;
		assert_int_equal(acct_renyi(&r, alpha, 8, more), ACCT_OK);
		r.count = 3;
		assert_int_equal(acct_renyi(&r, alpha, 8, thrice), ACCT_OK);
		for (int i = 0; i < 8; i++) {
			assert_true(i == 0 || got[i].lower > got[i - 1].upper);
			assert_true(more[i].upper < got[i].lower);
			assert_true(is_close(thrice[i].upper, 3 * more[i].upper, 1e-14));
			assert_true(is_close(thrice[i].lower, 3 * more[i].lower, 1e-14));
		}
	}
}

/* Masses of all outcomes of a round of two cells. */
static size_t outcomes(const struct acct_round *r, double p[], double q[])
{
	double w = r->cell[0].omega + r->cell[1].omega, n = (double)r->others;
	size_t k = 0;

	for (double b = 0; b <= n; b++)
		for (double x = 0; x <= b + 1; x++, k++) {
			double m = b + 1, y = m - x;
			double mass = exp(lgamma(n + 1) - lgamma(b + 1) - lgamma(n - b + 1)) * pow(w, b) *
				      pow(1 - w, n - b) * exp(lgamma(m + 1) - lgamma(x + 1) - lgamma(y + 1)) *
				      pow(r->cell[0].omega / w, x) * pow(r->cell[1].omega / w, y) * w / m;
			p[k] = mass * (x * r->cell[0].u + y * r->cell[1].u);
			q[k] = mass * (x * r->cell[0].v + y * r->cell[1].v);
		}
	return k;
}

static void the_divergence_of_a_product_is_the_sum(void **state)
{
	struct acct_round a = generic(1, 5), b = generic(2.5, 7);
	double p[2][64], q[2][64];
	size_t n[2] = { outcomes(&a, p[0], q[0]), outcomes(&b, p[1], q[1]) };

	(void)state;
	for (double alpha = 1.5; alpha < 40; alpha *= 3) {
		double s = 0;

		for (size_t i = 0; i < n[0]; i++)
			for (size_t j = 0; j < n[1]; j++)
				s += pow(p[0][i] * p[1][j], alpha) * pow(q[0][i] * q[1][j], 1 - alpha);
		struct acct_bound x = one_order(&a, alpha), y = one_order(&b, alpha);
		double want = log(s) / (alpha - 1);
		assert_true(
			x.lower + y.lower <= want * (1 + 1e-10) && x.upper + y.upper >= want * (1 - 1e-10));
		assert_true(is_close(x.upper + y.upper, want, 1e-8));
	}
}

static void the_two_routes_agree(void **state)
{
	(void)state;
	for (double eps0 = 0.2; eps0 < 6; eps0 *= 5)
		for (uint64_t others = 12; others < 20000; others *= 11) {
			struct acct_round r = generic(eps0, others);
			struct acct_renyi_grid g;
			struct acct_list l;

			assert_int_equal(acct_list_init(&l, &r, NULL), ACCT_OK);
			assert_true(acct_pair_is(&r, &l));
			assert_int_equal(acct_renyi_grid_init(&g, &l, 1e-4), ACCT_OK);
			for (double alpha = 1.3; alpha < 5000; alpha *= 4) {
				struct acct_bound a, b;

				acct_pair_moment(&l, alpha, 0.2, &a);
				assert_int_equal(acct_renyi_grid_at(&g, alpha, &b), ACCT_OK);
				if (!(a.lower <= b.upper && b.lower <= a.upper))
					fail_msg("eps0 %g others %g order %g: [%.12g, %.12g] [%.12g, %.12g]",
						eps0, (double)others, alpha, a.lower, a.upper, b.lower,
						b.upper);
				double wide = (acct_log_one(b.upper) - acct_log_one(b.lower)) /
					      acct_log_one(b.upper);
				if (alpha < 200 && !(wide < 1e-3))
					fail_msg("eps0 %g others %g order %g: width %g", eps0, (double)others,
						alpha, wide);
			}
			acct_renyi_grid_fini(&g);
		}
}

/* Numbers of a fixed row, in (0, 1). */
static double next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*seed >> 12) + 0.5) * 0x1p-52;
}

static struct acct_round random_cells(uint64_t *seed)
{
	struct acct_round r = { .count = 1 + (uint64_t)(20 * next(seed) * next(seed)) };
	double sum = 0, u = 0, v = 0;

	r.cells = 2 + (size_t)(4 * next(seed));
	r.others = (uint64_t)exp(10 * next(seed));
	r.dummies = next(seed) < 0.3 ? (uint64_t)(20 * next(seed)) : 0;
	for (size_t j = 0; j < r.cells; j++) {
		r.cell[j] = (struct acct_cell){ next(seed), exp(3 * next(seed)), exp(3 * next(seed)) };
		sum += r.cell[j].omega;
	}
	for (size_t j = 0; j < r.cells; j++) {
		r.cell[j].omega *= 0.9 / sum;
		u += r.cell[j].omega * r.cell[j].u;
		v += r.cell[j].omega * r.cell[j].v;
	}
	for (size_t j = 0; j < r.cells; j++) {
		r.cell[j].u /= u;
		r.cell[j].v /= v;
	}
	if (next(seed) < 0.3)
		r.sampling = next(seed);
	if (next(seed) < 0.3) {
		r.levels = 1;
		r.level[0] = (struct acct_level){ next(seed), (uint64_t)(50 * next(seed)) };
	}
	return r;
}

static void epsilon_is_never_below_the_composition(void **state)
{
	uint64_t seed = 1;
	double closest = INFINITY;

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct acct_round r[2] = { random_cells(&seed), random_cells(&seed) };
		size_t n = 1 + (size_t)(2 * next(&seed));
		double delta = pow(10, -1 - 10 * next(&seed)), eps, order;
		struct acct_bound pld;

		assert_int_equal(acct_epsilon(r, n, delta, &pld), ACCT_OK);
		assert_int_equal(acct_renyi_epsilon(r, n, delta, &eps, &order), ACCT_OK);
		if (!(eps >= pld.lower && order > 1))
			fail_msg("row %d: %.12g at %g, composition [%.12g, %.12g]", i, eps, order, pld.lower,
				pld.upper);
		if (pld.lower > 0)
			closest = fmin(closest, eps / pld.upper);
	}
	assert_true(closest < 1.3); /* and is of use */
}

static void infinite_losses_have_infinite_divergence(void **state)
{
	struct acct_round r = { .cells = 3, .others = 1000000, .count = 1 };
	struct acct_bound got;
	double eps;

	(void)state;
	/* the mass of infinite loss is (1/2)^1000000: no double, but no 0 either */
	r.cell[0] = (struct acct_cell){ 0.25, 4, 0 };
	r.cell[1] = (struct acct_cell){ 0.25, 0, 4 };
	r.cell[2] = (struct acct_cell){ 0.5, 0, 0 };
	got = one_order(&r, 2);
	assert_true(isinf(got.lower) && isinf(got.upper));
	assert_int_equal(acct_renyi_epsilon(&r, 1, 1e-6, &eps, NULL), ACCT_OK);
	assert_true(isinf(eps));
}

static void nothing_is_lost_where_inputs_look_alike(void **state)
{
	struct acct_round r = { .cells = 1, .others = 10, .count = 7 };
	struct acct_bound got;
	double eps;

	(void)state;
	r.cell[0] = (struct acct_cell){ 1, 1, 1 };
	got = one_order(&r, 5);
	assert_true(got.upper <= 0 && got.lower >= 0);
	assert_int_equal(acct_renyi_epsilon(&r, 1, 1e-6, &eps, NULL), ACCT_OK);
	assert_true(eps <= 0);
}

static void faults_are_refused(void **state)
{
	static const double orders[] = { 1, 0.5, -3, NAN, INFINITY, 2 * ACCT_MOST_ORDER };
	struct acct_round r = generic(1, 100), bad = r;
	struct acct_bound got = { 7, 8 };
	double alpha = 2, eps = 9;

	(void)state;
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		assert_int_equal(acct_renyi(&r, &orders[i], 1, &got), ACCT_EDOMAIN);
	}
	assert_int_equal(acct_renyi(&r, &alpha, 0, &got), ACCT_EDOMAIN);
	bad.cell[0].u = 3;
	assert_int_equal(acct_renyi(&bad, &alpha, 1, &got), ACCT_EDOMAIN);
	bad = r;
	bad.count = 0;
	assert_int_equal(acct_renyi(&bad, &alpha, 1, &got), ACCT_EDOMAIN);
	assert_int_equal(acct_renyi_epsilon(&bad, 1, 1e-6, &eps, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_renyi_epsilon(&r, 0, 1e-6, &eps, NULL), ACCT_EDOMAIN);
	for (int i = 0; i < 4; i++) {
		double delta = ((double[]){ 0, 1, NAN, -1 })[i];

		assert_int_equal(acct_renyi_epsilon(&r, 1, delta, &eps, NULL), ACCT_EDOMAIN);
	}
	assert_true(got.lower == 7 && got.upper == 8 && eps == 9); /* untouched */
}

/* Cells a few ulp apart are merged; the largest loss is still that of the largest cell. */
static void merged_cells_keep_their_largest_loss(void **state)
{
	(void)state;
	double h = 1e-4, up = (1 + h) * (1 + 24 * DBL_EPSILON / 2);
	struct acct_round r = { .cells = 4, .count = 1 };
	double eps;

	r.cell[0] = (struct acct_cell){ 0.25, 1 + h, 1 - h };
	r.cell[1] = (struct acct_cell){ 0.25, up, 1 - h };
	r.cell[2] = (struct acct_cell){ 0.25, 1 - h, 1 + h };
	r.cell[3] = (struct acct_cell){ 0.25, 1 - h, up };
	long double truth = logl((long double)r.cell[1].u / (long double)r.cell[1].v);
	assert_int_equal(acct_renyi_epsilon(&r, 1, 1e-300, &eps, NULL), ACCT_OK);
	assert_true((long double)eps >= truth);
	assert_true(eps <= (double)truth + 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_over_all_outcomes_are_enclosed),
		cmocka_unit_test(the_clone_rows_are_reproduced),
		cmocka_unit_test(one_message_has_a_closed_form),
		cmocka_unit_test(the_ends_are_kl_and_the_largest_loss),
		cmocka_unit_test(divergences_are_monotone_and_add_up),
		cmocka_unit_test(the_divergence_of_a_product_is_the_sum),
		cmocka_unit_test(the_two_routes_agree),
		cmocka_unit_test(epsilon_is_never_below_the_composition),
		cmocka_unit_test(infinite_losses_have_infinite_divergence),
		cmocka_unit_test(nothing_is_lost_where_inputs_look_alike),
		cmocka_unit_test(merged_cells_keep_their_largest_loss),
		cmocka_unit_test(faults_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
