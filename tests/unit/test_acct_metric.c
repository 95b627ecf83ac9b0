/* test_acct_metric.c - metric differential privacy: total variations to twenty digits, and the cells against
 * exact losses of small shuffles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_metric.h"
#include "acct_parsed.h"

/* mpmath: (2/pi) int_0^{d/2} t K_1(t) dt; 1 - e^{-d/2}; tanh(d/2). */
static void variations_have_twenty_digits(void **state)
{
	static const double row[][4] = {
		{ 1e-6, 3.1830988618358565447e-7, 4.9999987500002083333e-7, 4.9999999999995833333e-7 },
		{ 0.01, 0.0031830160005345420351, 0.0049875208073176866474, 0.0049999583337499957838 },
		{ 0.5, 0.15525991320628675655, 0.22119921692859513175, 0.24491866240370912928 },
		{ 1, 0.29596006648799513826, 0.3934693402873665764, 0.4621171572600097585 },
		{ 3, 0.68364949767395980608, 0.77686983985157017107, 0.90514825364486643824 },
		{ 10, 0.986080672991286895, 0.9932620530009145329, 0.99990920426259513121 },
		{ 50, 0.99999999994270211584, 0.99999999998611205614, 1 },
	};
	static const enum acct_metric_noise noise[] = { ACCT_METRIC_PLANE, ACCT_METRIC_LINE,
		ACCT_METRIC_ANY };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		for (size_t k = 0; k < 3; k++) {
			double beta;

			assert_int_equal(acct_metric_variation(noise[k], row[i][0], &beta, NULL), ACCT_OK);
			if (!(beta >= row[i][k + 1] && beta <= row[i][k + 1] * (1 + 3e-12)))
				fail_msg("%g: %.20g, not %.20g", row[i][0], beta, row[i][k + 1]);
		}
}

/* Numbers at 0, 1 and 2 steps of `step` nats, Laplace noise, reports rounded to the nearest of the three. */
static double chance(double step, int input, int output)
{
	double sum = 0;

	for (int end = 0; end < 2; end++) { /* P(Y < output + 1/2) - P(Y < output - 1/2) */
		double at = (output - input + (end == 0 ? 0.5 : -0.5)) * step, sign = end == 0 ? 1 : -1;
		double below = at < 0 ? exp(at) / 2 : 1 - exp(-at) / 2;

		if (end == 0 && output == 2)
			below = 1;
		if (end == 1 && output == 0)
			below = 0;
		sum += sign * below;
	}
	return sum;
}

/* P(counts of 0s and 1s) of three reports with these inputs. */
static void counts(double step, const int input[3], double law[4][4])
{
	for (int i = 0; i < 16; i++)
		law[i / 4][i % 4] = 0;
	for (int code = 0; code < 27; code++) {
		int y[3] = { code % 3, code / 3 % 3, code / 9 }, zeros = 0, ones = 0;
		double p = 1;

		for (int i = 0; i < 3; i++) {
			p *= chance(step, input[i], y[i]);
			zeros += y[i] == 0;
			ones += y[i] == 1;
		}
		law[zeros][ones] += p;
	}
}

/* The exact delta of 3 shuffled reports, the first of 0 or of `other`, the others as given. */
static double exact(double step, int other, int a, int b, double e)
{
	const int zero[3] = { 0, a, b }, one[3] = { other, a, b };
	double p[4][4], q[4][4], forth = 0, back = 0;

	counts(step, zero, p);
	counts(step, one, q);
	for (int i = 0; i < 16; i++) {
		forth += fmax(0, p[i / 4][i % 4] - e * q[i / 4][i % 4]);
		back += fmax(0, q[i / 4][i % 4] - e * p[i / 4][i % 4]);
	}
	return fmax(forth, back);
}

/* Every step, pair of records, others' data and epsilon: none above; and some above where the domain is said
 * to be as small as the records' distance. */
static void small_shuffles_lose_no_more(void **state)
{
	size_t above = 0;

	(void)state;
	for (double step = 0.25; step <= 2; step += 0.25)
		for (int code = 0; code < 2 * 9 * 8; code++) {
			int other = 1 + code % 2, a = code / 2 % 3, b = code / 6 % 3;
			double eps = other * step * (code / 18) / 8;
			struct acct_round far = { .others = 2, .count = 1 }, near = far;
			struct acct_bound d, wrong;

			assert_int_equal(
				acct_metric_cells(ACCT_METRIC_LINE, other * step, 2 * step, &far, NULL),
				ACCT_OK);
			assert_int_equal(
				acct_metric_cells(ACCT_METRIC_LINE, other * step, other * step, &near, NULL),
				ACCT_OK);
			assert_int_equal(acct_delta(&far, 1, eps, &d), ACCT_OK);
			assert_int_equal(acct_delta(&near, 1, eps, &wrong), ACCT_OK);
			double loss = exact(step, other, a, b, exp(eps));
			if (!(loss <= d.upper * (1 + 1e-9) + 1e-15))
				fail_msg("step %g, 0 or %d among %d %d, epsilon %g: %.15g above %.15g", step,
					other, a, b, eps, loss, d.upper);
			above += loss > wrong.upper * (1 + 1e-9) + 1e-15;
		}
	assert_true(above > 0);
}

/* One of two records is drawn, and told with Laplace noise: the victim's, 0 or 1 nat away, or another at 3.
 * Where the report is below 0 alone, delta(0.7) is above 0.052. */
static void a_sample_may_hold_a_record_that_is_further_away(void **state)
{
	const char text[] = "metric-laplace:distance=3,most=3,n=1,sampling=0.5";
	double loss = ((1 + exp(-3)) - exp(0.7) * (exp(-1) + exp(-3))) / 4;
	struct acct_spec s;
	struct acct_bound d;
	char why[200];

	(void)state;
	assert_int_equal(
		acct_spec_parse("metric-laplace:distance=1,most=3,n=1,sampling=0.5", &s, why, sizeof why),
		ACCT_EDOMAIN);
	assert_non_null(strstr(why, "up to most apart"));
	assert_int_equal(acct_spec_parse(text, &s, why, sizeof why), ACCT_OK);
	assert_int_equal(acct_delta(&s.round, 1, 0.7, &d), ACCT_OK);
	assert_true(loss > 0.052 && d.upper >= loss);
}

static double epsilon(const char *text)
{
	struct acct_spec s = parsed(text);
	struct acct_bound e;

	assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &e), ACCT_OK);
	return e.upper;
}

/* A larger distance or domain loses more; the plane's noise loses least; any noise at the diameter loses what
 * any local randomizer does. */
static void names_are_ordered(void **state)
{
	double plane = epsilon("planar-laplace:distance=1,most=3,n=10000"),
	       line = epsilon("metric-laplace:distance=1,most=3,n=10000"),
	       any = epsilon("metric:distance=1,most=3,n=10000");

	(void)state;
	assert_true(plane < line && line < any);
	assert_true(any < epsilon("metric:distance=2,most=3,n=10000"));
	assert_true(any < epsilon("metric:distance=1,most=4,n=10000"));
	assert_true(fabs(epsilon("metric:distance=3,most=3,n=10000") / epsilon("generic:eps0=3,n=10000") -
			    1) < 1e-6);
}

/* Laplace noise on [0, 1] by its own name: what FLAME's SS-Simple composes. */
static void laplace_noise_has_a_name(void **state)
{
	struct acct_spec s = parsed("laplace-noise:eps0=0.01,n=1000,count=7850");
	struct acct_bound e;

	(void)state;
	assert_int_equal(acct_epsilon(&s.round, 1, 5e-6, &e), ACCT_OK);
	assert_true(e.upper > 0.09003 && e.upper < 0.0905); /* a loss that occurs; elsewhere, .0904 */
	assert_true(s.laplace && s.no_inputs);
	assert_true(fabs(s.beta + expm1(-0.005)) < 1e-15);
}

static void faults_are_named(void **state)
{
	struct acct_round r = { .others = 77 };
	const char *why = NULL;
	double beta;

	(void)state;
	assert_int_equal(acct_metric_variation(ACCT_METRIC_PLANE, 0, &beta, &why), ACCT_EDOMAIN);
	assert_int_equal(acct_metric_variation(ACCT_METRIC_PLANE, NAN, &beta, &why), ACCT_EDOMAIN);
	assert_int_equal(acct_metric_variation((enum acct_metric_noise)7, 1, &beta, &why), ACCT_EDOMAIN);
	assert_int_equal(acct_metric_cells(ACCT_METRIC_LINE, 2, 1, &r, &why), ACCT_EDOMAIN);
	assert_non_null(strstr(why, "most"));
	assert_int_equal(acct_metric_cells(ACCT_METRIC_LINE, 1, NAN, &r, &why), ACCT_EDOMAIN);
	assert_int_equal(r.others, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variations_have_twenty_digits),
		cmocka_unit_test(small_shuffles_lose_no_more),
		cmocka_unit_test(a_sample_may_hold_a_record_that_is_further_away),
		cmocka_unit_test(names_are_ordered),
		cmocka_unit_test(laplace_noise_has_a_name),
		cmocka_unit_test(faults_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
