/* test_acct_convert.c - from Renyi divergences to epsilon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "acct_renyi.h"
#include "analyses.h"

static void the_conversions_are_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0, best = 0;
	double got;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *method = csv_get(&c, "method"), *params = csv_get(&c, "params");
		enum acct_renyi_way way = strstr(method, "classic") ? ACCT_RENYI_CLASSIC
					  : strstr(method, "cks")   ? ACCT_RENYI_CKS
								    : ACCT_RENYI_OPTIMAL;

		if (strcmp(csv_get(&c, "section"), "convert") != 0)
			continue;
		assert_int_equal(acct_renyi_convert(way, row_value(params, "order"), row_value(params, "rdp"),
					 atof(csv_get(&c, "delta")), &got),
			ACCT_OK);
		if (!is_close(got, atof(csv_get(&c, "value")), atof(csv_get(&c, "rtol"))))
			fail_msg("%s %s: %.14g", method, params, got);
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows, 9);
	assert_true(csv_open(&c, TEST_DATA "/acct-analyses.csv"));
	while (csv_next(
		&c)) { /* pairs that attain the bound: none is lower, and ours is at most 1e-9 above it */
		const char *params = csv_get(&c, "params");
		double want = atof(csv_get(&c, "value"));

		if (strcmp(csv_get(&c, "what"), "convert") != 0)
			continue;
		assert_int_equal(acct_renyi_convert(ACCT_RENYI_OPTIMAL, row_value(params, "order"),
					 row_value(params, "rdp"), row_value(params, "delta"), &got),
			ACCT_OK);
		if (!(got >= want * (1 - 1e-15) && got <= want * (1 + 1e-9)))
			fail_msg("%s: %.16g, want %.16g", params, got, want);
		best++;
	}
	fclose(c.file);
	assert_int_equal(best, 6);
}

static void each_conversion_is_below_the_one_before(void **state)
{
	(void)state;
	for (double alpha = 1.001; alpha < 9e4; alpha = 1 + (alpha - 1) * 2.7)
		for (double rdp = 1e-12; rdp < 1e3; rdp *= 17)
			for (double delta = 1e-30; delta < 0.9; delta *= 31) {
				double a, b, c;

				assert_int_equal(
					acct_renyi_convert(ACCT_RENYI_CLASSIC, alpha, rdp, delta, &a), 0);
				assert_int_equal(
					acct_renyi_convert(ACCT_RENYI_CKS, alpha, rdp, delta, &b), 0);
				assert_int_equal(
					acct_renyi_convert(ACCT_RENYI_OPTIMAL, alpha, rdp, delta, &c), 0);
				if (!(c >= 0 && c <= b * (1 + 1e-10) + 1e-10 && b <= a * (1 + 1e-10)))
					fail_msg("order %g rdp %g delta %g: %.15g %.15g %.15g", alpha, rdp,
						delta, a, b, c);
			}
}

/* A Gaussian has the curve alpha rho; the best order of the CKS conversion, and its epsilon, are those that a
 * dense row of orders finds. */
static enum acct_rc gaussian(void *user, double alpha, double *rdp)
{
	*rdp = alpha * *(const double *)user;
	return ACCT_OK;
}

static void the_search_finds_the_best_order(void **state)
{
	(void)state;
	for (double rho = 1e-8; rho < 100; rho *= 30)
		for (double delta = 0.1; delta > 1e-20; delta *= 1e-4)
			for (int integers = 0; integers < 2; integers++) {
				double eps, order, one, best = INFINITY;

				assert_int_equal(acct_renyi_minimise(gaussian, &rho, integers, 1e6,
							 ACCT_RENYI_CKS, delta, &eps, &order),
					ACCT_OK);
				for (double alpha = integers ? 2 : 1.02; alpha < 1e6;
					alpha = integers ? ceil(alpha * 1.001) : 1 + (alpha - 1) * 1.003) {
					assert_int_equal(acct_renyi_convert(ACCT_RENYI_CKS, alpha,
								 alpha * rho, delta, &one),
						ACCT_OK);
					best = fmin(best, one);
				}
				if (!(eps <= best * (1 + 1e-4) + 1e-12))
					fail_msg("rho %g delta %g: %.9g at %g, best %.9g", rho, delta, eps,
						order, best);
				assert_true(order >= 1 + 1 / 64.0 - 1e-9 && order <= 1e6);
				assert_true(!integers || floor(order) >= order);
			}
}

/* A divergence so small that e^rdp - 1 has no double: an unknown loss must not become 0. */
static void the_least_divergences_are_not_nothing(void **state)
{
	double eps;

	(void)state;
	for (int exponent = -300; exponent >= -323; exponent--)
		for (double alpha = 1.001; alpha < 3; alpha += 0.333) {
			assert_int_equal(acct_renyi_convert(
						 ACCT_RENYI_OPTIMAL, alpha, pow(10, exponent), 1e-250, &eps),
				ACCT_OK);
			assert_true(eps > 0);
		}
}

static enum acct_rc broken(void *user, double alpha, double *rdp)
{
	(void)user;
	*rdp = alpha;
	return ACCT_ENOMEM;
}

static void faults_are_refused(void **state)
{
	double eps = 9, rho = 1;

	(void)state;
	for (unsigned way = 0; way < 3; way++) {
		for (int i = 0; i < 6; i++) {
			double order = ((double[]){ 1, 0.5, -3, NAN, INFINITY, 2 * ACCT_MOST_ORDER })[i];

			assert_int_equal(acct_renyi_convert(way, order, 1, 0.1, &eps), ACCT_EDOMAIN);
		}
		for (int i = 0; i < 4; i++) {
			double delta = ((double[]){ 0, 1, NAN, -1 })[i];

			assert_int_equal(acct_renyi_convert(way, 2, 1, delta, &eps), ACCT_EDOMAIN);
		}
		assert_int_equal(acct_renyi_convert(way, 2, -1, 0.1, &eps), ACCT_EDOMAIN);
		assert_int_equal(acct_renyi_convert(way, 2, NAN, 0.1, &eps), ACCT_EDOMAIN);
	}
	assert_int_equal(
		acct_renyi_minimise(gaussian, &rho, false, 1, ACCT_RENYI_CKS, 0.1, &eps, NULL), ACCT_EDOMAIN);
	assert_int_equal(
		acct_renyi_minimise(gaussian, &rho, false, 10, ACCT_RENYI_CKS, 1, &eps, NULL), ACCT_EDOMAIN);
	assert_int_equal(
		acct_renyi_minimise(broken, NULL, false, 10, ACCT_RENYI_CKS, 0.1, &eps, NULL), ACCT_ENOMEM);
	assert_true(eps == 9); /* untouched */
}

static void the_ends_are_exact(void **state)
{
	double eps;

	(void)state;
	for (unsigned way = 0; way < 3; way++) {
		assert_int_equal(acct_renyi_convert(way, 2, INFINITY, 0.1, &eps), ACCT_OK);
		assert_true(isinf(eps));
		assert_int_equal(acct_renyi_convert(way, 2, 0, 0.1, &eps), ACCT_OK);
		assert_true(eps <= 0); /* equal laws */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_conversions_are_reproduced),
		cmocka_unit_test(each_conversion_is_below_the_one_before),
		cmocka_unit_test(the_search_finds_the_best_order),
		cmocka_unit_test(the_ends_are_exact),
		cmocka_unit_test(the_least_divergences_are_not_nothing),
		cmocka_unit_test(faults_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
