/* test_acct_gspa_laws.c - personalised participants against exact laws: the pair's outcomes, and every data
 * set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_gspa.h"

/* The pair itself, outcome by outcome: law[a][b] of the others, then the victim. */
#define MOST_OTHERS 12

static double pair_delta(const struct acct_gspa_class *c, size_t n, size_t victim, double e)
{
	double law[MOST_OTHERS + 2][MOST_OTHERS + 2] = { { 1 } }, sum = 0;
	double a1 = 1 / (1 + exp(-c[victim].epsilon)), a0 = 1 / (1 + exp(c[victim].epsilon));

	for (size_t i = 0; i < n; i++) {
		double one = (1 - c[i].delta) / (1 + exp(c[i].epsilon));

		if (i == victim)
			continue;
		for (size_t a = n; a-- > 0;)
			for (size_t b = n; b-- > 0;)
				law[a][b] = law[a][b] * (1 - 2 * one) +
					    one * ((a ? law[a - 1][b] : 0) + (b ? law[a][b - 1] : 0));
	}
	for (size_t a = 0; a <= n; a++)
		for (size_t b = 0; b <= n; b++) {
			double left = a ? law[a - 1][b] : 0, right = b ? law[a][b - 1] : 0;

			sum += fmax(0, a1 * left + a0 * right - e * (a0 * left + a1 * right));
		}
	return c[victim].delta + (1 - c[victim].delta) * sum;
}

static const struct acct_gspa_class various[] = { { 0.3, 0, 1 }, { 2, 0.01, 1 }, { 0.7, 0, 1 }, { 5, 0, 1 },
	{ 0.05, 0.3, 1 }, { 1, 0, 1 }, { 1, 0, 1 }, { 3, 1e-6, 1 }, { 0.3, 0, 1 }, { 9, 0, 1 },
	{ 0.001, 0, 1 } };

#define VARIOUS (sizeof various / sizeof *various)

static void delta_is_the_sum_over_the_pairs_outcomes(void **state)
{
	(void)state;
	for (size_t n = 2; n <= VARIOUS; n++)
		for (size_t victim = 0; victim < n; victim++)
			for (double eps = 0; eps < various[victim].epsilon;
				eps += various[victim].epsilon / 7) {
				double want = pair_delta(various, n, victim, exp(eps));
				struct acct_bound got, back;

				assert_int_equal(
					acct_gspa_delta(various, n, victim, eps, &got, NULL), ACCT_OK);
				assert_true(got.lower <= want * (1 + 1e-12) + 1e-16);
				assert_true(got.upper >= want * (1 - 1e-12) - 1e-16);
				assert_true(got.upper - got.lower <= 1e-11 * got.upper + 1e-14);
				if (want < 1e-9 || want - various[victim].delta < 1e-6)
					continue;
				assert_int_equal(
					acct_gspa_epsilon(various, n, victim, want, &back, NULL), ACCT_OK);
				assert_true(back.lower <= eps + 1e-8 && back.upper >= eps - 1e-8);
				assert_true(back.upper - back.lower <= 1e-8);
			}
}

/* Histograms of at most 3 reports of 2k symbols, the last k of them in the clear; base 4. */
#define MOST_CODES 4096

struct law {
	double mass[MOST_CODES];
	unsigned k, codes;
};

static void report(struct law *l, const struct acct_gspa_class *c, unsigned input)
{
	static double next[MOST_CODES];
	double z = exp(c->epsilon) + l->k - 1;

	memset(next, 0, l->codes * sizeof *next);
	for (unsigned code = 0; code < l->codes; code++)
		for (unsigned s = 0, weight = 1; s < 2 * l->k && l->mass[code] > 0; s++, weight *= 4) {
			double chance = s < l->k ? (1 - c->delta) * (s == input ? exp(c->epsilon) : 1) / z
						 : (s == l->k + input ? c->delta : 0);

			if (chance > 0)
				next[code + weight] += l->mass[code] * chance;
		}
	memcpy(l->mass, next, l->codes * sizeof *next);
}

/* Everybody's inputs; the victim is the last. */
static double true_delta(const struct acct_gspa_class *c, unsigned n, unsigned k, unsigned inputs,
	const unsigned victim[2], double e)
{
	static struct law l[2];
	double sum = 0;

	for (int side = 0; side < 2; side++) {
		unsigned rest = inputs;

		memset(&l[side], 0, sizeof *l);
		l[side].k = k;
		l[side].codes = 1;
		for (unsigned s = 0; s < 2 * k; s++)
			l[side].codes *= 4;
		l[side].mass[0] = 1;
		for (unsigned i = 0; i + 1 < n; i++, rest /= k)
			report(&l[side], &c[i], rest % k);
		report(&l[side], &c[n - 1], victim[side]);
	}
	for (unsigned code = 0; code < l->codes; code++)
		sum += fmax(0, l[0].mass[code] - e * l[1].mass[code]);
	return sum;
}

static void compare(const struct acct_gspa_class *c, unsigned n, unsigned k, double eps)
{
	struct acct_round r;
	struct acct_bound levels, direct = { 0, 1 };
	unsigned inputs = 1;

	assert_int_equal(acct_gspa_round(c, n, k, n - 1, &r, NULL), ACCT_OK);
	assert_int_equal(acct_delta(&r, 1, eps, &levels), ACCT_OK);
	if (k == 2)
		assert_int_equal(acct_gspa_delta(c, n, n - 1, eps, &direct, NULL), ACCT_OK);
	for (unsigned i = 1; i < n; i++)
		inputs *= k;
	for (unsigned v = 0; v < inputs; v++)
		for (unsigned x = 0; x < k * k; x++) {
			const unsigned victim[2] = { x / k, x % k };
			double truth = true_delta(c, n, k, v, victim, exp(eps));

			assert_true(truth <= levels.upper * (1 + 1e-12) + 1e-15);
			assert_true(truth <= direct.upper * (1 + 1e-12) + 1e-15);
		}
}

static void no_data_set_loses_more_than_the_bound(void **state)
{
	static const struct acct_gspa_class users[][3] = { { { 0.5, 0, 1 }, { 2, 0, 1 }, { 1, 0, 1 } },
		{ { 0.1, 0.2, 1 }, { 3, 0, 1 }, { 2, 0.01, 1 } },
		{ { 4, 0, 1 }, { 0.2, 0, 1 }, { 4, 0, 1 } } };

	(void)state;
	for (size_t i = 0; i < sizeof users / sizeof *users; i++)
		for (unsigned n = 2; n <= 3; n++)
			for (unsigned k = 2; k <= 3; k++)
				for (double eps = 0; eps < 2; eps += 0.45)
					compare(&users[i][3 - n], n, k, eps);
}

static void anybody_dominates_every_victim(void **state)
{
	struct acct_bound any, one;

	(void)state;
	for (double eps = 0; eps < 9; eps += 0.6) {
		assert_int_equal(
			acct_gspa_delta(various, VARIOUS, ACCT_GSPA_ANYBODY, eps, &any, NULL), ACCT_OK);
		for (size_t v = 0; v < VARIOUS; v++) {
			assert_int_equal(acct_gspa_delta(various, VARIOUS, v, eps, &one, NULL), ACCT_OK);
			assert_true(one.lower <= any.upper);
		}
	}
}

static void more_company_never_loses_more(void **state)
{
	struct acct_bound more, less, bold;

	(void)state;
	for (double eps = 0; eps < 1; eps += 0.1)
		for (size_t n = 3; n <= VARIOUS; n++) {
			struct acct_gspa_class c[VARIOUS];

			memcpy(c, various, sizeof c);
			assert_int_equal(acct_gspa_delta(c, n - 1, 1, eps, &less, NULL), ACCT_OK);
			assert_int_equal(acct_gspa_delta(c, n, 1, eps, &more, NULL), ACCT_OK);
			assert_true(more.lower <= less.upper);
			c[n - 1].epsilon *= 2; /* another's noise, or the victim's own */
			c[1].delta *= 2;
			assert_int_equal(acct_gspa_delta(c, n, 1, eps, &bold, NULL), ACCT_OK);
			assert_true(more.lower <= bold.upper);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delta_is_the_sum_over_the_pairs_outcomes),
		cmocka_unit_test(no_data_set_loses_more_than_the_bound),
		cmocka_unit_test(anybody_dominates_every_victim),
		cmocka_unit_test(more_company_never_loses_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
