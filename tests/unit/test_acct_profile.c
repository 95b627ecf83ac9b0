/* test_acct_profile.c - curves from distributions, trade-off and Renyi curves, and the distribution that
 * leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acct_export.h"
#include "acct_parsed.h"
#include "acct_profile.h"

static struct acct_round round_of(const struct acct_profile *p, uint64_t count)
{
	return (struct acct_round){ .event = ACCT_PROFILE, .profile = p, .count = count };
}

/* Both questions have the same answer, up to their widths. */
static void agree(const struct acct_round *a, const struct acct_round *b, double width)
{
	for (double eps = 0; eps < 4; eps += 0.37) {
		struct acct_bound x, y;

		assert_int_equal(acct_delta(a, 1, eps, &x), ACCT_OK);
		assert_int_equal(acct_delta(b, 1, eps, &y), ACCT_OK);
		if (!(x.lower <= y.upper && y.lower <= x.upper && x.upper <= y.upper * (1 + width) + 1e-15 &&
			    x.lower >= y.lower * (1 - width) - 1e-15))
			fail_msg("epsilon %g: [%.15g, %.15g] and [%.15g, %.15g]", eps, x.lower, x.upper,
				y.lower, y.upper);
	}
}

/* A pair of two outcomes of losses 1 and -1/2, as masses, as errors, and as cells of one participant. */
struct pair {
	double p[2], q[2];
};

static struct pair lopsided(void)
{
	double p = (exp(0.5) - 1) / (exp(0.5) - exp(-1));

	return (struct pair){ { p, 1 - p }, { p * exp(-1), (1 - p) * exp(0.5) } };
}

static struct acct_round cells_of(const struct pair *s, uint64_t count)
{
	struct acct_round r = { .cells = 2, .count = count };

	for (size_t i = 0; i < 2; i++) {
		double omega = (s->p[i] + s->q[i]) / 2;

		r.cell[i] = (struct acct_cell){ omega, s->p[i] / omega, s->q[i] / omega };
	}
	return r;
}

/* Rounds of the profile lose as much as rounds of the pair.  Frees the profile. */
static void expect_pair(struct acct_profile *p, const struct pair *s)
{
	for (uint64_t count = 1; count < 40; count *= 3) {
		struct acct_round a = round_of(p, count), b = cells_of(s, count);

		agree(&a, &b, count > 1 ? 1e-2 : 1e-9);
	}
	acct_profile_free(p);
}

static void masses_are_the_pair_they_came_from(void **state)
{
	const struct pair s = lopsided();
	const double forward[] = { s.p[1], 0, 0, s.p[0] }, back[] = { s.q[0], 0, 0, s.q[1] };
	const struct acct_pmf remove = { .lower = -1, .p = forward, .size = 4 },
			      add = { .lower = -2, .p = back, .size = 4 };
	struct acct_profile *p;

	(void)state;
	assert_int_equal(acct_profile_of_pmf(0.5, &remove, &add, &p), ACCT_OK);
	expect_pair(p, &s);
}

static void errors_of_tests_are_the_pair_they_came_from(void **state)
{
	const struct pair s = lopsided();
	const double fpr[] = { 0.9, s.q[0] }, fnr[] = { 0.2, s.p[1] }; /* the first is no corner */
	struct acct_profile *p;

	(void)state;
	assert_int_equal(acct_profile_of_trade_off(fpr, fnr, 2, &p), ACCT_OK);
	expect_pair(p, &s);
}

static void missing_and_infinite_mass_is_an_infinite_loss(void **state)
{
	const double half[] = { 0.25, 0.5, 0.2 };
	const struct acct_pmf m = { .lower = -1, .p = half, .size = 3, .infinite = 0.01 };
	struct acct_profile *p;
	struct acct_bound d;

	(void)state;
	assert_int_equal(acct_profile_of_pmf(1, &m, NULL, &p), ACCT_OK);
	struct acct_round r = round_of(p, 1);
	assert_int_equal(acct_delta(&r, 1, 3, &d), ACCT_OK);
	assert_true(d.upper >= 0.05 - 1e-15 && d.upper < 0.05 + 1e-9 && d.lower > 0.0499);
	assert_int_equal(acct_delta(&r, 1, 0, &d), ACCT_OK);
	assert_true(fabs(d.upper - (0.05 + 0.2 * -expm1(-1))) < 1e-9);
	acct_profile_free(p);
}

/* A curve that is no pair's has no lower end, and its infinite loss may be there. */
static void a_bound_is_no_lower_end(void **state)
{
	const double epsilon[] = { 0.5, 1 }, delta[] = { 0.1, 0.01 };
	struct acct_profile *p;
	struct acct_bound b;

	(void)state;
	assert_int_equal(
		acct_profile_of_points(epsilon, (const double *const[2]){ delta, NULL }, 2, &p), ACCT_OK);
	for (uint64_t count = 1; count <= 3; count++) {
		struct acct_round r = round_of(p, count);

		assert_int_equal(acct_delta(&r, 1, 5, &b), ACCT_OK);
		assert_true(b.lower <= 0 && b.upper >= -expm1((double)count * log1p(-0.01)));
		assert_true(b.upper < 0.0101 * (double)count);
		assert_int_equal(acct_epsilon(&r, 1, 0.005, &b), ACCT_OK);
		assert_true(b.lower <= 0 && isinf(b.upper));
	}
	struct acct_round one = round_of(p, 1);
	assert_int_equal(acct_delta(&one, 1, 0.5, &b), ACCT_OK);
	assert_true(b.upper >= 0.1 && b.upper < 0.1 + 1e-9);
	acct_profile_free(p);
}

static void divergences_bound_the_normal_noise_they_came_from(void **state)
{
	double alpha[60], rdp[60];
	struct acct_profile *p;
	struct acct_bound b, own;

	(void)state;
	for (size_t i = 0; i < 60; i++) {
		alpha[i] = 1.1 * pow(1.12, (double)i);
		rdp[i] = alpha[i] / 50; /* mu 0.2 */
	}
	assert_int_equal(acct_profile_of_renyi(alpha, rdp, 60, &p), ACCT_OK);
	for (uint64_t count = 1; count <= 16; count *= 4) {
		struct acct_round r = round_of(p, count), normal = parsed("gaussian:sigma=5").round;

		normal.count = count;
		assert_int_equal(acct_epsilon(&r, 1, 1e-6, &b), ACCT_OK);
		assert_int_equal(acct_epsilon(&normal, 1, 1e-6, &own), ACCT_OK);
		assert_true(b.lower <= 0 && b.upper >= own.upper && b.upper < 1.4 * own.upper);
	}
	acct_profile_free(p);
}

/* The distribution's own deltas, summed here, are above the composition's and near them. */
static void what_leaves_dominates(void **state)
{
	const struct acct_round r[] = { parsed("grr:k=4,eps0=2,n=500,count=3").round,
		parsed("gaussian:sigma=4").round };
	struct acct_profile *back;
	struct acct_pld pld;
	double total = 0;

	(void)state;
	assert_int_equal(acct_export_pld(r, 2, 0, 1e-10, 300, &pld), ACCT_OK);
	for (size_t i = 0; i < pld.size; i++)
		total += pld.p[i];
	assert_true(fabs(total + pld.infinite - 1) < 1e-9 && pld.infinite < 1.1e-10);
	for (double eps = 0; eps < 2; eps += 0.137) {
		double delta = pld.infinite;
		struct acct_bound own;

		for (size_t i = 0; i < pld.size; i++) {
			double loss = (double)(pld.lower + (long)i) * pld.step;

			if (loss > eps)
				delta += pld.p[i] * -expm1(eps - loss);
		}
		assert_int_equal(acct_delta(r, 2, eps, &own), ACCT_OK);
		assert_true(delta >= own.lower && delta >= own.upper * (1 - 5e-3));
		assert_true(delta <= own.upper * 1.05 + 1e-10);
	}
	const struct acct_pmf m = { pld.lower, pld.p, pld.size, pld.infinite };
	assert_int_equal(acct_profile_of_pmf(pld.step, &m, NULL, &back), ACCT_OK);
	struct acct_round again = round_of(back, 1);
	struct acct_bound b, own;
	assert_int_equal(acct_epsilon(&again, 1, 1e-6, &b), ACCT_OK);
	assert_int_equal(acct_epsilon(r, 2, 1e-6, &own), ACCT_OK);
	assert_true(b.upper >= own.lower && b.upper < own.upper * 1.01);
	acct_profile_free(back);
	acct_pld_fini(&pld);
}

static void what_is_no_curve_is_refused(void **state)
{
	static const double one[] = { 1, 2, NAN }, less[] = { 0.5, 0.7 }, more[] = { 0, 1 };
	struct acct_pmf m = { .lower = 0, .p = one, .size = 1 };
	struct acct_profile *p = NULL;
	const char *why = "";

	(void)state;
	assert_int_equal(acct_profile_of_pmf(0, &m, NULL, &p), ACCT_EDOMAIN);
	assert_int_equal(acct_profile_of_pmf(NAN, &m, NULL, &p), ACCT_EDOMAIN);
	m.infinite = 0.1;
	assert_int_equal(acct_profile_of_pmf(1, &m, NULL, &p), ACCT_EDOMAIN);
	m = (struct acct_pmf){ .p = one + 2, .size = 1 };
	assert_int_equal(acct_profile_of_pmf(1, &m, NULL, &p), ACCT_EDOMAIN);
	m = (struct acct_pmf){ .lower = -2000000, .p = one, .size = 1 };
	assert_int_equal(acct_profile_of_pmf(1, &m, NULL, &p), ACCT_EDOMAIN);
	assert_int_equal(acct_profile_of_trade_off(one, one, 2, &p), ACCT_EDOMAIN);
	assert_int_equal(acct_profile_of_renyi(one, one, 1, &p), ACCT_EDOMAIN);
	assert_int_equal(acct_profile_of_renyi(one + 1, one + 2, 1, &p), ACCT_EDOMAIN);
	assert_null(p);
	assert_int_equal(
		acct_profile_of_points(more, (const double *const[2]){ less, NULL }, 2, &p), ACCT_OK);
	struct acct_round r = round_of(p, 1);
	assert_int_equal(acct_round_check(&r, &why), ACCT_EDOMAIN); /* delta rises */
	assert_non_null(strstr(why, "not increase"));
	acct_profile_free(p);
	r.profile = NULL;
	assert_int_equal(acct_round_check(&r, &why), ACCT_EDOMAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masses_are_the_pair_they_came_from),
		cmocka_unit_test(errors_of_tests_are_the_pair_they_came_from),
		cmocka_unit_test(missing_and_infinite_mass_is_an_infinite_loss),
		cmocka_unit_test(a_bound_is_no_lower_end),
		cmocka_unit_test(divergences_bound_the_normal_noise_they_came_from),
		cmocka_unit_test(what_leaves_dominates),
		cmocka_unit_test(what_is_no_curve_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
