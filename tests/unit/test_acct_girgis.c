/* test_acct_girgis.c - the closed forms against reference values, 50-digit sums and each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "acct_binomial.h"
#include "acct_girgis.h"
#include "analyses.h"

static const struct {
	const char *name;
	enum acct_girgis_kind kind;
} kinds[] = {
	{ "rdp_ub1_refined", ACCT_GIRGIS_UB1_REFINED },
	{ "rdp_ub1", ACCT_GIRGIS_UB1 },
	{ "rdp_ub2", ACCT_GIRGIS_UB2 },
	{ "rdp_special_exact", ACCT_GIRGIS_SPECIAL },
	{ "rdp_lb", ACCT_GIRGIS_LB },
	{ "rdp_subsampled_shuffle", ACCT_GIRGIS_SUBSAMPLED },
	{ "compose_rdp_ub1_cks", ACCT_GIRGIS_UB1 },
	{ "compose_rdp_lb_cks", ACCT_GIRGIS_LB },
	{ "poisson_zw_ub1_cks", ACCT_GIRGIS_POISSON },
	{ "wor_wbk_ub1_cks", ACCT_GIRGIS_WOR },
	{ "ub1_refined", ACCT_GIRGIS_UB1_REFINED },
	{ "ub1", ACCT_GIRGIS_UB1 },
	{ "lb", ACCT_GIRGIS_LB },
	{ "special", ACCT_GIRGIS_SPECIAL },
	{ "sub21", ACCT_GIRGIS_SUBSAMPLED },
	{ "poisson", ACCT_GIRGIS_POISSON },
	{ "wor", ACCT_GIRGIS_WOR },
};

static bool find_kind(const char *name, enum acct_girgis_kind *kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, name) == 0) {
			*kind = kinds[i].kind;
			return true;
		}
	return false;
}

static struct acct_girgis read_row(const char *params)
{
	double n = row_value(params, "n"), m = row_value(params, "m"), k = row_value(params, "k");
	double gamma = row_value(params, "gamma"), sampled = row_value(params, "sampled");

	n = m > 0 ? m : k > 0 ? k : n;
	return (struct acct_girgis){ row_value(params, "eps0"), (uint64_t)n,
		gamma > 0     ? gamma
		: sampled > 0 ? sampled
			      : 1 };
}

static size_t divergence_rows(const char *section)
{
	struct csv c;
	size_t rows = 0;

	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *params = csv_get(&c, "params");
		double want = atof(csv_get(&c, "value")), rtol = atof(csv_get(&c, "rtol")), got;
		unsigned order = (unsigned)row_value(params, "order");
		enum acct_girgis_kind kind = ACCT_GIRGIS_UB1;

		if (strcmp(csv_get(&c, "section"), section) != 0)
			continue;
		assert_true(find_kind(csv_get(&c, "method"), &kind));
		struct acct_girgis g = read_row(params);
		assert_int_equal(acct_girgis_rdp(kind, &g, order, &got), ACCT_OK);
		/* The reference adds chances in doubles: its moment is good to 2e-9.  Against 50 digits:
		 * fifty_digits_agree. */
		bool near = kind == ACCT_GIRGIS_LB && fabs(got - want) * (order - 1) < 2e-9;
		if (!near && !is_close(got, want, rtol))
			fail_msg("%s %s: %.14g, want %.14g", csv_get(&c, "method"), params, got, want);
		rows++;
	}
	fclose(c.file);
	return rows;
}

static void the_divergences_are_reproduced(void **state)
{
	(void)state;
	assert_int_equal(divergence_rows("girgis"), 22);
	assert_int_equal(divergence_rows("girgis21"), 2);
}

static size_t epsilon_rows(const char *section)
{
	struct csv c;
	size_t rows = 0;

	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *params = csv_get(&c, "params");
		double want = atof(csv_get(&c, "value")), got;
		struct acct_girgis g = read_row(params);
		enum acct_girgis_kind kind = ACCT_GIRGIS_UB1;
		unsigned order;

		if (strcmp(csv_get(&c, "section"), section) != 0 || !find_kind(csv_get(&c, "method"), &kind))
			continue; /* clones and compositions: test_acct_basic */
		assert_int_equal(acct_girgis_epsilon(kind, &g, (uint64_t)row_value(params, "T"),
					 ACCT_RENYI_CKS, atof(csv_get(&c, "delta")), &got, &order),
			ACCT_OK);
		if (!is_close(got, want, atof(csv_get(&c, "rtol"))))
			fail_msg("%s %s: %.14g at %u, want %.14g", csv_get(&c, "method"), params, got, order,
				want);
		rows++;
	}
	fclose(c.file);
	return rows;
}

static void the_figures_are_reproduced(void **state)
{
	(void)state;
	assert_int_equal(epsilon_rows("girgis-fig4"), 20);
	assert_int_equal(epsilon_rows("girgis-fig5"), 6);
}

static void fifty_digits_agree(void **state)
{
	struct csv c;
	size_t rows = 0, binomials = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/acct-analyses.csv"));
	while (csv_next(&c)) {
		const char *what = csv_get(&c, "what"), *params = csv_get(&c, "params");
		double want = atof(csv_get(&c, "value")), got;
		enum acct_girgis_kind kind = ACCT_GIRGIS_UB1;

		if (strcmp(what, "binomial") == 0) {
			double n = row_value(params, "n"), p = row_value(params, "p"),
			       k = row_value(params, "k");

			assert_true(fabs(acct_binomial_log(n, p, k) - want) <= acct_binomial_error(n, p, k));
			assert_true(
				acct_binomial_error(n, p, k) < 1e-10 * (1 + fabs(want)) + 1e-13 * sqrt(n));
			binomials++;
		}
		if (!find_kind(what, &kind))
			continue;
		struct acct_girgis g = read_row(params);
		assert_int_equal(acct_girgis_rdp(kind, &g, (unsigned)row_value(params, "order"), &got), 0);
		/* Upper bounds are at or above the value, the lower one at or below. */
		double slack = kind == ACCT_GIRGIS_SPECIAL ? 2e-3 : kind == ACCT_GIRGIS_LB ? 1e-8 : 1e-9;
		bool sound = kind == ACCT_GIRGIS_LB ? got <= want * (1 + 1e-16) : got >= want * (1 - 1e-16);
		if (!sound || !is_close(got, want, slack))
			fail_msg("%s %s: %.17g, want %.17g", what, params, got, want);
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows, 11 + 4 + 10 + 3 + 8);
	assert_int_equal(binomials, 6);
}

/* Forty digits; the second lies at the end of the axis of the paper's figure 2c, which shows 10^10. */
static void what_the_paper_compares_with_is_its_formula(void **state)
{
	static const struct {
		struct acct_girgis g;
		unsigned order;
		double want;
	} row[] = { { { 0.1, 10000, 1 }, 100, 0.00033001913263045998 },
		{ { 5, 10000, 1 }, 100, 210858998960.902 }, { { 3, 1000000, 1 }, 2, 237.13875673522118 } };
	double got;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(
			acct_girgis_rdp(ACCT_GIRGIS_ERLINGSSON, &row[i].g, row[i].order, &got), ACCT_OK);
		assert_true(got >= row[i].want * (1 - 1e-15) && got <= row[i].want * (1 + 1e-12));
	}
	assert_false(acct_girgis_is_proved(ACCT_GIRGIS_ERLINGSSON));
}

static void tails_of_binomials_are_bounded(void **state)
{
	(void)state;
	for (double n = 1; n < 3000; n = 3 * n + 2)
		for (double p = 0.002; p < 1; p = p < 0.5 ? 3 * p : 0.3 + 0.7 * p + 0.01)
			for (double log_tail = -0.5; log_tail > -900; log_tail *= 3) {
				double last = acct_binomial_last(n, p, log_tail), tail = 0;

				for (double k = last + 1; k <= n; k++)
					tail += exp(acct_binomial_log(n, p, k) - log_tail);
				assert_true(tail <= 1);
				assert_true(last <= n && last >= floor((n + 1) * p) - 1);
			}
}

/* The lower bound, the exact special pair and both closed forms; below them all, the pair of the strong
 * clones. */
static void the_bounds_are_ordered(void **state)
{
	(void)state;
	for (double eps0 = 0.05; eps0 < 5; eps0 *= 3)
		for (uint64_t n = 1; n < 20000; n = 7 * n + 3)
			for (unsigned order = 2; order < 100; order = 4 * order + 1) {
				struct acct_girgis g = { eps0, n, 1 };
				struct acct_round r = { .others = n - 1, .count = 1 };
				struct acct_bound pair;
				double v[4], alpha = order;
				enum acct_girgis_kind row[] = { ACCT_GIRGIS_LB, ACCT_GIRGIS_SPECIAL,
					ACCT_GIRGIS_UB1_REFINED, ACCT_GIRGIS_UB1 };

				for (int i = 0; i < 4; i++)
					assert_int_equal(acct_girgis_rdp(row[i], &g, order, &v[i]), ACCT_OK);
				assert_int_equal(acct_cells_generic(eps0, &r, NULL), ACCT_OK);
				assert_int_equal(acct_renyi(&r, &alpha, 1, &pair), ACCT_OK);
				if (!(v[0] <= v[1] && v[1] <= v[2] * (1 + 1e-3) && v[2] <= v[3]))
					fail_msg("eps0 %g n %g order %u: %g %g %g %g", eps0, (double)n, order,
						v[0], v[1], v[2], v[3]);
				/* binary randomized response is one of the randomizers the pair covers */
				if (!(v[0] <= pair.upper && pair.lower <= v[1]))
					fail_msg("eps0 %g n %g order %u: %g [%g %g] %g", eps0, (double)n,
						order, v[0], pair.lower, pair.upper, v[1]);
			}
}

static void sampling_everybody_is_no_better(void **state)
{
	struct acct_girgis g = { 1, 1000, 1 };
	double plain, sampled, fewer;

	(void)state;
	for (unsigned order = 2; order < 40; order += 9) {
		assert_int_equal(acct_girgis_rdp(ACCT_GIRGIS_UB1, &g, order, &plain), ACCT_OK);
		for (unsigned kind = ACCT_GIRGIS_SUBSAMPLED; kind <= ACCT_GIRGIS_WOR; kind++) {
			struct acct_girgis some = { 1, 1000, 0.05 };

			assert_int_equal(acct_girgis_rdp(kind, &g, order, &sampled), ACCT_OK);
			assert_int_equal(acct_girgis_rdp(kind, &some, order, &fewer), ACCT_OK);
			assert_true(sampled >= plain && fewer < plain);
		}
	}
}

static void only_proved_kinds_say_so(void **state)
{
	(void)state;
	assert_true(acct_girgis_is_proved(ACCT_GIRGIS_UB1) &&
		    acct_girgis_is_proved(ACCT_GIRGIS_UB1_REFINED) &&
		    acct_girgis_is_proved(ACCT_GIRGIS_SPECIAL) && acct_girgis_is_proved(ACCT_GIRGIS_WOR));
	assert_false(acct_girgis_is_proved(ACCT_GIRGIS_UB2) || acct_girgis_is_proved(ACCT_GIRGIS_LB) ||
		     acct_girgis_is_proved(ACCT_GIRGIS_SUBSAMPLED) ||
		     acct_girgis_is_proved(ACCT_GIRGIS_POISSON));
}

static void faults_are_refused(void **state)
{
	static const struct acct_girgis bad[] = { { 0, 10, 1 }, { -1, 10, 1 }, { NAN, 10, 1 }, { 700, 10, 1 },
		{ 1, 0, 1 }, { 1, ACCT_MAX_REPORTS + 1, 1 }, { 1, 10, 0 }, { 1, 10, 1.5 }, { 1, 10, NAN },
		{ 1, 10, 0.5 } };
	struct acct_girgis good = { 1, 10, 1 };
	double out = 3;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(acct_girgis_rdp(ACCT_GIRGIS_UB1, &bad[i], 2, &out), ACCT_EDOMAIN);
		assert_int_equal(
			acct_girgis_epsilon(ACCT_GIRGIS_UB1, &bad[i], 1, ACCT_RENYI_CKS, 0.1, &out, NULL),
			ACCT_EDOMAIN);
	}
	assert_int_equal(acct_girgis_rdp(ACCT_GIRGIS_UB1, &good, 1, &out), ACCT_EDOMAIN);
	assert_int_equal(
		acct_girgis_rdp(ACCT_GIRGIS_UB1, &good, ACCT_GIRGIS_MOST_ORDER + 1, &out), ACCT_EDOMAIN);
	assert_int_equal(
		acct_girgis_rdp(ACCT_GIRGIS_WOR, &good, ACCT_GIRGIS_MOST_BELOW + 1, &out), ACCT_EDOMAIN);
	assert_int_equal(acct_girgis_rdp(ACCT_GIRGIS_UB2, &good, 2, &out), ACCT_EDOMAIN); /* its condition */
	assert_int_equal(acct_girgis_epsilon(ACCT_GIRGIS_UB2, &good, 1, ACCT_RENYI_CKS, 0.1, &out, NULL),
		ACCT_EDOMAIN);
	assert_int_equal(acct_girgis_epsilon(ACCT_GIRGIS_UB1, &good, 0, ACCT_RENYI_CKS, 0.1, &out, NULL),
		ACCT_EDOMAIN);
	assert_int_equal(
		acct_girgis_epsilon(ACCT_GIRGIS_UB1, &good, 1, ACCT_RENYI_CKS, 1, &out, NULL), ACCT_EDOMAIN);
	good.n = ACCT_GIRGIS_MOST_SUMMED + 1;
	assert_int_equal(acct_girgis_rdp(ACCT_GIRGIS_LB, &good, 2, &out), ACCT_EDOMAIN);
	assert_int_equal(acct_girgis_rdp(ACCT_GIRGIS_SPECIAL, &good, 2, &out), ACCT_EDOMAIN);
	assert_true(out == 3); /* untouched */
}

/* Beyond the range of a double: terms that are infinite together must not vanish, and the least of two large
 * terms is still the least of them.  With one message n = 1 the sum is 1 + f^2 2 e^{eps(2)}, eps(2) = 2 eps0,
 * to 1e-200. */
static void large_epsilons_lose_nothing(void **state)
{
	(void)state;
	struct acct_girgis alone = { 600, 1, 0.5 }, all = { 400, 1000, 1 };
	double rdp, before = 0;

	assert_int_equal(acct_girgis_rdp(ACCT_GIRGIS_WOR, &alone, 2, &rdp), ACCT_OK);
	assert_true(rdp >= 1200 + log(0.5));
	for (unsigned order = 2; order <= 8; order++) {
		assert_int_equal(acct_girgis_rdp(ACCT_GIRGIS_UB1, &all, order, &rdp), ACCT_OK);
		/* S has the terms of order i = 3..order, e^{i eps0} or so, and once more in the tail. */
		assert_true(rdp * (order - 1) >= order * all.eps0);
		assert_true(order < 4 || rdp >= before);
		before = rdp < INFINITY ? 0 : INFINITY;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_divergences_are_reproduced),
		cmocka_unit_test(the_figures_are_reproduced),
		cmocka_unit_test(fifty_digits_agree),
		cmocka_unit_test(what_the_paper_compares_with_is_its_formula),
		cmocka_unit_test(tails_of_binomials_are_bounded),
		cmocka_unit_test(the_bounds_are_ordered),
		cmocka_unit_test(sampling_everybody_is_no_better),
		cmocka_unit_test(large_epsilons_lose_nothing),
		cmocka_unit_test(only_proved_kinds_say_so),
		cmocka_unit_test(faults_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
