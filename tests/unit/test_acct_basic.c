/* test_acct_basic.c - composition of guarantees, clones and the closed form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "acct_basic.h"
#include "analyses.h"

static struct acct_round row_cells(const char *method, const char *params)
{
	double eps0 = row_value(params, "eps0"), p = exp(eps0), m = row_value(params, "m");
	struct acct_round r = { .others = (uint64_t)(m > 0 ? m : row_value(params, "n")) - 1,
		.count = (uint64_t)row_value(params, "T") };

	if (strstr(method, "2rr_pair")) {
		r.cells = 2;
		r.cell[0] = (struct acct_cell){ 1 / (p + 1), p, 1 };
		r.cell[1] = (struct acct_cell){ p / (p + 1), 1 / p, 1 };
	} else if (strstr(method, "strong")) {
		assert_int_equal(acct_cells_generic(eps0, &r, NULL), ACCT_OK);
	} else {
		assert_int_equal(acct_basic_clone(eps0, &r, NULL), ACCT_OK);
	}
	if (strcmp(method, "clone_sub_kov") == 0)
		r.sampling = row_value(params, "gamma");
	return r;
}

static void the_figures_are_reproduced(void **state)
{
	struct csv c;
	size_t composed = 0, guarantees = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *method = csv_get(&c, "method"), *params = csv_get(&c, "params");
		double want = atof(csv_get(&c, "value")), rtol = atof(csv_get(&c, "rtol")),
		       delta = atof(csv_get(&c, "delta")), got;

		if (!starts(csv_get(&c, "section"), "girgis-fig"))
			continue;
		if (starts(method, "compose_pld_")) {
			struct acct_round r = row_cells(method, params);
			struct acct_bound eps;

			assert_int_equal(acct_epsilon(&r, 1, delta, &eps), ACCT_OK);
			if (!is_close(eps.lower, want, rtol) || !is_close(eps.upper, want, rtol))
				fail_msg("%s %s: [%.10g, %.10g], want %.10g", method, params, eps.lower,
					eps.upper, want);
			composed++;
		} else if (starts(method, "clone_")) {
			struct acct_round r = row_cells(method, params);

			assert_int_equal(
				acct_basic_epsilon(ACCT_BASIC_ADVANCED, &r, 1, delta, &got), ACCT_OK);
			if (!is_close(got, want, rtol))
				fail_msg("%s %s: %.10g, want %.10g", method, params, got, want);
			guarantees++;
		}
	}
	fclose(c.file);
	assert_int_equal(composed, 24);
	assert_int_equal(guarantees, 13);
}

static void sums_are_sums(void **state)
{
	struct acct_guarantee g[] = { { 0.5, 1e-6, 3 }, { 0.25, 1e-7, 10 }, { 0, 0, 1 } };
	double eps, delta;

	(void)state;
	assert_int_equal(acct_basic_sum(g, 3, &eps, &delta), ACCT_OK);
	assert_true(eps >= 4 && is_close(eps, 4, 1e-14) && delta >= 4e-6 && is_close(delta, 4e-6, 1e-14));
	g[0].delta = 0.5;
	assert_int_equal(acct_basic_sum(g, 3, &eps, &delta), ACCT_OK);
	assert_true(delta <= 1);
}

/* 100 times (0.1, 1e-8) at slack 1e-6, by hand: tanh(0.05) = 0.0499583749, sum e^2 = 1, so
 * 10 * 0.0499583749 + sqrt(2 log(min(1e6, e + 1e6))) = 0.499583749 + 5.256521770; three times: the sum. */
static void advanced_composition_is_its_formula(void **state)
{
	struct acct_guarantee g = { 0.1, 1e-8, 100 };
	double eps, delta;

	(void)state;
	assert_int_equal(acct_basic_advanced(&g, 1, 1e-6, &eps, &delta), ACCT_OK);
	assert_true(is_close(eps, 5.756105519, 1e-9) && is_close(delta, 2e-6, 1e-14));
	g.count = 3;
	assert_int_equal(acct_basic_advanced(&g, 1, 1e-6, &eps, &delta), ACCT_OK);
	assert_true(is_close(eps, 0.3, 1e-14));
	/* sum e^2 = 0.01: the second logarithm, log(e + 0.1e6) = 11.5129526475 */
	g = (struct acct_guarantee){ 0.001, 0, 10000 };
	assert_int_equal(acct_basic_advanced(&g, 1, 1e-6, &eps, &delta), ACCT_OK);
	assert_true(is_close(eps, 10 * tanh(0.0005) + 0.1 * sqrt(2 * 11.5129526475), 1e-9));
}

/* k times eps-DP at delta' is what k binary randomized responses lose: sums of binomials (Kairouz, Oh,
 * Viswanath 2015, Theorem 3.3).  No composition of guarantees may be below it. */
static void composition_is_above_randomized_responses(void **state)
{
	(void)state;
	for (double e = 0.01; e < 3; e *= 1.9)
		for (double k = 2; k < 200; k = 3 * k + 1)
			for (double slack = 0.1; slack > 1e-9; slack /= 30) {
				struct acct_guarantee g = { e, 0, k };
				double eps, delta, exact = 0, p = 1 / (1 + exp(-e));

				assert_int_equal(acct_basic_advanced(&g, 1, slack, &eps, &delta), ACCT_OK);
				for (double i = 0; i <= k; i++) {
					double c = lgamma(k + 1) - lgamma(i + 1) - lgamma(k - i + 1);
					double x = exp(c + i * log(p) + (k - i) * log(1 - p)) -
						   exp(eps + c + i * log(1 - p) + (k - i) * log(p));

					exact += fmax(0, x);
				}
				assert_true(exact <= delta * (1 + 1e-9));
			}
}

static void composition_of_guarantees_is_above_the_composition(void **state)
{
	(void)state;
	for (uint64_t count = 1; count < 100; count *= 4) {
		struct acct_round r[2] = { { .others = 2000, .count = count },
			{ .others = 500, .count = 1 } };
		struct acct_bound pld;
		double sum, advanced;

		assert_int_equal(acct_cells_generic(1, &r[0], NULL), ACCT_OK);
		assert_int_equal(acct_basic_clone(0.5, &r[1], NULL), ACCT_OK);
		assert_int_equal(acct_epsilon(r, 2, 1e-6, &pld), ACCT_OK);
		assert_int_equal(acct_basic_epsilon(ACCT_BASIC_SUM, r, 2, 1e-6, &sum), ACCT_OK);
		assert_int_equal(acct_basic_epsilon(ACCT_BASIC_ADVANCED, r, 2, 1e-6, &advanced), ACCT_OK);
		assert_true(sum > pld.upper && advanced > pld.upper);
		assert_true(count < 64 || advanced < sum);
	}
}

static void clones_appear_with_their_chance(void **state)
{
	(void)state;
	for (double eps0 = 1e-3; eps0 < 300; eps0 *= 7) {
		struct acct_round clone = { .count = 1 }, strong = { .count = 1 };

		assert_int_equal(acct_basic_clone(eps0, &clone, NULL), ACCT_OK);
		assert_int_equal(acct_cells_generic(eps0, &strong, NULL), ACCT_OK);
		assert_int_equal(clone.cells, 2);
		assert_true(is_close(clone.cell[0].omega + clone.cell[1].omega, exp(-eps0), 1e-12));
		assert_true(
			is_close(strong.cell[0].omega + strong.cell[1].omega, 2 / (exp(eps0) + 1), 1e-12));
		assert_true(is_close(log(clone.cell[0].u / clone.cell[0].v), eps0, 1e-12));
		assert_int_equal(acct_round_check(&clone, NULL), ACCT_OK);
	}
}

/* By hand: p = e, beta = (e-1)/(e+1), q = e: r = 1/(e+1) = 0.268941421, c = max(0, 4(1-3r)/(9(1-2r))) =
 * 0.185766; (p+1) beta/(p-1) = 1. */
static void the_closed_form_is_its_formula(void **state)
{
	double p = exp(1), beta = (p - 1) / (p + 1), r = 1 / (p + 1), n = 1e6, eps;
	double reach = sqrt(16 * log(4e6) / (r * (n - 1))) + 2 / (r * (n - 1));

	(void)state;
	assert_int_equal(acct_basic_closed(p, beta, p, 1000000, 1e-6, &eps), ACCT_OK);
	assert_true(is_close(eps, log1p(beta * reach), 1e-12));
	/* beta below its largest: c matters. */
	double b = 0.2, s = b * p / ((p - 1) * p), c = 4 * (1 - 3 * s) / (9 * (1 - 2 * s));
	reach = sqrt(16 * log(4e6) / (s * (n - 1))) + 2 / (s * (n - 1));
	assert_int_equal(acct_basic_closed(p, b, p, 1000000, 1e-6, &eps), ACCT_OK);
	assert_true(is_close(eps, log1p(b / ((1 - c) * (p + 1) * b / (p - 1) + c) * reach), 1e-12));
	/* too few participants: the local guarantee */
	assert_int_equal(acct_basic_closed(p, beta, p, 100, 1e-6, &eps), ACCT_OK);
	assert_true(is_close(eps, 1, 1e-14));
}

/* Forty digits of the formulas. */
static void the_closed_forms_of_clones_are_their_formulas(void **state)
{
	double eps;

	(void)state;
	assert_int_equal(acct_basic_clones_closed(1, 10000, 1e-6, &eps), ACCT_OK);
	assert_true(eps >= 0.21402565193083783 && eps < 0.21402565193083783 * (1 + 1e-13));
	assert_int_equal(acct_basic_clones_closed(0.1, 1000, 1e-2, &eps), ACCT_OK);
	assert_true(eps >= 0.03243221374297527 && eps < 0.03243221374297527 * (1 + 1e-13));
	assert_int_equal(acct_basic_clones_closed(4, 1000000, 1e-8, &eps), ACCT_OK);
	assert_true(eps >= 0.22636839622603651 && eps < 0.22636839622603651 * (1 + 1e-13));
	assert_int_equal(acct_basic_erlingsson(0.1, 10000, 1e-6, &eps), ACCT_OK);
	assert_true(eps >= 0.044603066266198061 && eps < 0.044603066266198061 * (1 + 1e-13));
	assert_int_equal(acct_basic_erlingsson(0.4, 1000, 1e-3, &eps), ACCT_OK);
	assert_true(eps >= 0.39894195270458638 && eps < 0.39894195270458638 * (1 + 1e-13));
	assert_int_equal(acct_basic_closed_tight(exp(1), tanh(0.5), exp(1), 10000, 1e-6, &eps), ACCT_OK);
	assert_true(is_close(eps, 0.071547704836165031, 1e-12));
	assert_int_equal(acct_basic_closed_tight(5, 0.1, 5, 100000, 1e-6, &eps), ACCT_OK);
	assert_true(is_close(eps, 0.015023461655737812, 1e-12));
	assert_int_equal(acct_basic_closed_tight(3, 0.25, 3, 1000000, 1e-8, &eps), ACCT_OK);
	assert_true(is_close(eps, 0.0062826010534213648, 1e-12));
}

/* Outside of its condition a theorem says nothing. */
static void closed_forms_answer_within_their_conditions_only(void **state)
{
	double eps = 7, edge = 16 * exp(1) * log(2 / 1e-6);

	(void)state;
	assert_int_equal(acct_basic_clones_closed(1, (uint64_t)edge, 1e-6, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_clones_closed(1, (uint64_t)edge + 1, 1e-6, &eps), ACCT_OK);
	eps = 7;
	assert_int_equal(acct_basic_erlingsson(0.5, 1000, 1e-6, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_erlingsson(0.4, 999, 1e-6, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_erlingsson(0.4, 1000, 0.01, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_erlingsson(0, 1000, 1e-6, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_closed_tight(exp(3), tanh(1.5), exp(3), 100, 1e-6, &eps), ACCT_EDOMAIN);
	assert_true(eps >= 7 && eps <= 7);
}

/* Each bound is proved from the one before it. */
static void clones_are_below_their_closed_form_and_that_below_the_first_bound(void **state)
{
	static const double eps0[] = { 1e-3, 0.1, 0.3, 0.4999 }, delta[] = { 9e-3, 1e-4, 1e-8, 1e-12 };

	(void)state;
	for (uint64_t n = 1000; n <= 1000000; n *= 10)
		for (size_t i = 0; i < 16; i++) {
			double closed, first, e = eps0[i / 4], d = delta[i % 4];
			struct acct_round r = { .others = n - 1, .count = 1 };
			struct acct_bound pair;

			assert_int_equal(acct_basic_clone(e, &r, NULL), ACCT_OK);
			assert_int_equal(acct_epsilon(&r, 1, d, &pair), ACCT_OK);
			assert_int_equal(acct_basic_erlingsson(e, n, d, &first), ACCT_OK);
			assert_true(pair.upper <= first);
			if (acct_basic_clones_closed(e, n, d, &closed) == ACCT_OK)
				assert_true(pair.upper <= closed && closed < first);
			else
				assert_true(first > 2 * e);
		}
}

static void faults_are_refused(void **state)
{
	static const struct acct_guarantee bad[] = { { -1, 0, 1 }, { NAN, 0, 1 }, { 1, -1, 1 }, { 1, 2, 1 },
		{ 1, NAN, 1 }, { 1, 0, 0 }, { 1, 0, 1.5 }, { 1, 0, NAN } };
	struct acct_guarantee good = { 1, 0, 1 };
	struct acct_round r = { .count = 1 }, empty = { .count = 1 };
	double eps = 4, delta = 5;
	const char *why = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(acct_basic_sum(&bad[i], 1, &eps, &delta), ACCT_EDOMAIN);
		assert_int_equal(acct_basic_advanced(&bad[i], 1, 0.1, &eps, &delta), ACCT_EDOMAIN);
	}
	assert_int_equal(acct_basic_sum(&good, 0, &eps, &delta), ACCT_EDOMAIN);
	for (int i = 0; i < 4; i++) {
		double x = ((double[]){ 0, 1, NAN, -1 })[i];

		assert_int_equal(acct_basic_advanced(&good, 1, x, &eps, &delta), ACCT_EDOMAIN);
		assert_int_equal(acct_basic_closed(3, 0.2, 3, 1000, x, &eps), ACCT_EDOMAIN);
	}
	assert_int_equal(acct_basic_clone(0, &r, &why), ACCT_EDOMAIN);
	assert_non_null(why);
	assert_int_equal(acct_basic_clone(NAN, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_clone(1, &r, NULL), ACCT_OK);
	assert_int_equal(acct_basic_epsilon(ACCT_BASIC_SUM, &r, 1, 0, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_epsilon(ACCT_BASIC_SUM, &r, 0, 0.1, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_epsilon(ACCT_BASIC_SUM, &empty, 1, 0.1, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_closed(1, 0.2, 3, 1000, 0.1, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_closed(INFINITY, 0.2, 3, 1000, 0.1, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_closed(3, 0.6, 3, 1000, 0.1, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_closed(3, 0.2, 1, 1000, 0.1, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_basic_closed(3, 0.2, 3, 1, 0.1, &eps), ACCT_EDOMAIN);
	assert_true(eps == 4 && delta == 5); /* untouched */
}

/* Where e^eps0 rounds to 1 there is still a loss, if delta is below the distance of two inputs. */
static void the_least_guarantees_lose_something(void **state)
{
	(void)state;
	struct acct_round r = { .others = 3, .count = 1 };
	struct acct_bound eps;

	assert_int_equal(acct_cells_generic(1e-17, &r, NULL), ACCT_OK);
	assert_int_equal(acct_epsilon(&r, 1, 1e-40, &eps), ACCT_OK);
	assert_true(eps.lower <= 1e-17 && eps.upper >= 1e-17);
	assert_int_equal(acct_basic_clone(1e-17, &r, NULL), ACCT_OK);
	assert_int_equal(acct_epsilon(&r, 1, 1e-40, &eps), ACCT_OK);
	assert_true(eps.lower <= 1e-17 && eps.upper >= 1e-17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_guarantees_lose_something),
		cmocka_unit_test(the_figures_are_reproduced),
		cmocka_unit_test(sums_are_sums),
		cmocka_unit_test(advanced_composition_is_its_formula),
		cmocka_unit_test(composition_is_above_randomized_responses),
		cmocka_unit_test(composition_of_guarantees_is_above_the_composition),
		cmocka_unit_test(clones_appear_with_their_chance),
		cmocka_unit_test(the_closed_form_is_its_formula),
		cmocka_unit_test(the_closed_forms_of_clones_are_their_formulas),
		cmocka_unit_test(closed_forms_answer_within_their_conditions_only),
		cmocka_unit_test(clones_are_below_their_closed_form_and_that_below_the_first_bound),
		cmocka_unit_test(faults_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
