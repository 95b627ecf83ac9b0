/* test_acct_own.c - randomizers by their probabilities: against named ones, and against every data set of few
 * participants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acct_mech.h"
#include "acct_method.h"
#include "acct_own.h"
#include "acct_parsed.h"

#define PEOPLE  4
#define SYMBOLS 3
#define COUNTS  ((PEOPLE + 1) * (PEOPLE + 1))

static struct acct_spec own(
	const double *p, size_t inputs, size_t outputs, const char *keys, struct acct_profile **owned)
{
	const struct acct_matrix m = { inputs, outputs, p };
	struct acct_spec s;
	char why[256] = "";

	if (acct_own_matrix(&m, keys, &s, owned, why, sizeof why))
		fail_msg("%s", why);
	return s;
}

/* A named randomizer's cells are those of its worst pair, so both say the same of it. */
static void a_named_randomizer_is_its_matrix(void **state)
{
	static struct mech m;
	static double p[MECH_INPUTS * MECH_OUTPUTS];
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; mech_case(i, 1, &m); i++) {
		struct acct_profile *owned;
		struct acct_bound a, b;
		char text[200];

		/* The work is that of all pairs of inputs. */
		if (m.dummies || m.truthful || m.inputs > 6)
			continue;
		for (size_t x = 0; x < m.inputs; x++)
			for (size_t y = 0; y < m.outputs; y++)
				p[x * m.outputs + y] = m.law[x][y];
		struct acct_spec s = own(p, m.inputs, m.outputs, "n=200", &owned);
		snprintf(text, sizeof text, "%s,n=200", m.text);
		struct acct_spec named = parsed(text);
		named.round.messages = ACCT_ANY_MESSAGES;
		named.round.family = NULL;
		memset(named.round.shape, 0, sizeof named.round.shape);
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &a), ACCT_OK);
		assert_int_equal(acct_epsilon(&named.round, 1, 1e-6, &b), ACCT_OK);
		/* Of two inputs with two ratios a matrix is binary response, and charged less than cells. */
		bool less = m.above || s.round.messages == ACCT_BITS;
		if (!((a.upper >= b.lower || less) && a.upper <= 1.01 * b.upper))
			fail_msg("%s: at most %g, not [%g, %g]", m.text, a.upper, b.lower, b.upper);
		acct_profile_free(owned);
		compared++;
	}
	assert_true(compared >= 15);
}

/* The law of the counts of the first two symbols when the participants hold these inputs. */
static void law_of(const double p[SYMBOLS][SYMBOLS], const size_t held[PEOPLE], double law[COUNTS])
{
	for (size_t i = 0; i < COUNTS; i++)
		law[i] = 0;
	for (size_t sent = 0; sent < 81; sent++) {
		size_t rest = sent, count[SYMBOLS] = { 0 };
		double chance = 1;

		for (size_t i = 0; i < PEOPLE; i++, rest /= SYMBOLS) {
			chance *= p[held[i]][rest % SYMBOLS];
			count[rest % SYMBOLS]++;
		}
		law[count[0] * (PEOPLE + 1) + count[1]] += chance;
	}
}

static double delta_of(const double a[COUNTS], const double b[COUNTS], double eps)
{
	double sum = 0;

	for (size_t i = 0; i < COUNTS; i++)
		sum += fmax(0, a[i] - exp(eps) * b[i]);
	return sum;
}

static double lower_of(const struct acct_spec *s, double eps)
{
	struct acct_method_answer a = { .bound = { 0, 0 } };
	const char *why = "";

	if (acct_method_find("lower")->delta(s, 1, eps, &a, &why))
		fail_msg("%s", why);
	return a.bound.lower;
}

/* Every input of the others, every pair of the victim's: never above, and somewhere more than half of it. And
 * "lower" is what some of them lose. */
static void no_data_set_loses_more(void **state)
{
	static const double matrix[][SYMBOLS][SYMBOLS] = {
		{ { 0.7, 0.2, 0.1 }, { 0.2, 0.6, 0.2 }, { 0.1, 0.3, 0.6 } },
		{ { 0.5, 0.25, 0.25 }, { 0.25, 0.5, 0.25 }, { 0.25, 0.25, 0.5 } },
		{ { 0.9, 0.05, 0.05 }, { 0.3, 0.4, 0.3 }, { 0.05, 0.05, 0.9 } },
		{ { 0.6, 0.1, 0.3 }, { 0.1, 0.6, 0.3 }, { 0.2, 0.2, 0.6 } },
	};

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		double held = 0;
		struct acct_profile *owned;
		struct acct_spec s = own(&matrix[k][0][0], SYMBOLS, SYMBOLS, "n=4", &owned);

		assert_true((owned == NULL) == (k == 1)); /* only the second treats all inputs alike */
		for (double eps = 0; eps < 2.5; eps += 0.2) {
			double most = 0;
			struct acct_bound b;

			for (size_t others = 0; others < 27; others++)
				for (size_t pair = 0; pair < 9; pair++) {
					size_t x[PEOPLE] = { pair / 3, others % 3, others / 3 % 3,
						others / 9 };
					double one[COUNTS], two[COUNTS];

					law_of(matrix[k], x, one);
					x[0] = pair % 3;
					law_of(matrix[k], x, two);
					most = fmax(most, delta_of(one, two, eps));
				}
			assert_int_equal(acct_delta(&s.round, 1, eps, &b), ACCT_OK);
			if (!(most <= b.upper + 1e-12 && (eps > 0.5 || most > 0.5 * b.upper)))
				fail_msg("matrix %zu, epsilon %g: %g, but at most %g", k, eps, most, b.upper);
			if (!(lower_of(&s, eps) <= most * (1 + 1e-9) + 1e-14))
				fail_msg("matrix %zu, epsilon %g: %g, lower %g", k, eps, most,
					lower_of(&s, eps));
			held = fmax(held, most > 1e-6 ? lower_of(&s, eps) / most : 0);
		}
		assert_true(held > 0.9);
		acct_profile_free(owned);
	}
}

/* Two inputs and three outputs: nobody sends the blanket's law.  The loss of "all others hold one of the two"
 * by an independent program: 0.1564 at delta 1e-5. */
static void no_input_has_the_law_of_the_blanket(void **state)
{
	static const double p[] = { 20. / 81, 60. / 81, 1. / 81, 1. / 81, 60. / 81, 20. / 81 };
	struct acct_profile *owned;
	struct acct_spec s = own(p, 2, 3, "n=2000", &owned);
	struct acct_method_answer a = { .bound = { 0, 0 } };
	const char *why = "";

	(void)state;
	assert_int_equal(acct_method_find("lower")->epsilon(&s, 1, 1e-5, &a, &why), ACCT_OK);
	assert_true(a.bound.lower <= 0.15645 && a.bound.lower >= 0.15);
	acct_profile_free(owned);
}

/* Two inputs whose outputs have two ratios are binary response, however many outputs there are. */
static void a_matrix_of_bits_costs_what_bits_cost(void **state)
{
	const double e = exp(3);
	double few[2][2] = { { e / (1 + e), 1 / (1 + e) }, { 1 / (1 + e), e / (1 + e) } }, many[2][4];
	struct acct_bound bits, two, four;
	struct acct_profile *owned;
	struct acct_round r = parsed("rr:eps0=3,n=10000").round;

	(void)state;
	for (size_t x = 0; x < 2; x++)
		for (size_t y = 0; y < 4; y++)
			many[x][y] = few[x][y / 2] * (y % 2 ? 0.3 : 0.7);
	struct acct_spec a = own(&few[0][0], 2, 2, "n=10000", &owned),
			 b = own(&many[0][0], 2, 4, "n=10000", &owned);
	assert_int_equal(acct_epsilon(&r, 1, 1e-6, &bits), ACCT_OK);
	assert_int_equal(acct_epsilon(&a.round, 1, 1e-6, &two), ACCT_OK);
	assert_int_equal(acct_epsilon(&b.round, 1, 1e-6, &four), ACCT_OK);
	assert_true(fabs(two.upper - bits.upper) < 1e-9 && fabs(four.upper - bits.upper) < 1e-9 &&
		    bits.upper < 0.17);
}

static void the_facts_are_the_largest_of_all_pairs(void **state)
{
	static const double p[] = { 0.7, 0.2, 0.1, 0.2, 0.6, 0.2, 0.1, 0.3, 0.6 };
	struct acct_profile *owned;
	struct acct_spec s = own(p, 3, 3, "n=10,count=7,sampling=0.5,defect=1e-3", &owned);

	(void)state;
	assert_true(fabs(s.p - 7) < 1e-12 && fabs(s.q - 7) < 1e-12 && fabs(s.beta - 0.6) < 1e-12);
	assert_true(s.round.count == 7 && s.round.sampling == 0.5 && s.round.defect == 1e-3);
	assert_true(s.participants == 10 && fabs(s.eps0 - log(7)) < 1e-12);
	acct_profile_free(owned);
}

static void a_curve_takes_its_keys(void **state)
{
	static const double epsilon[] = { 0, 1 }, delta[] = { 0.3, 0.01 };
	struct acct_profile *p;
	struct acct_spec s;
	char why[256] = "";

	(void)state;
	assert_int_equal(
		acct_profile_of_points(epsilon, (const double *const[2]){ delta, NULL }, 2, &p), ACCT_OK);
	assert_int_equal(acct_own_curve(p, "count=3,defect=1e-4", &s, why, sizeof why), ACCT_OK);
	assert_true(s.round.count == 3 && s.round.defect == 1e-4 && s.round.event == ACCT_PROFILE);
	assert_int_equal(acct_own_curve(p, NULL, &s, why, sizeof why), ACCT_OK);
	assert_int_equal(acct_own_curve(p, "n=3", &s, why, sizeof why), ACCT_EDOMAIN);
	assert_non_null(strstr(why, "curve: "));
	assert_int_equal(acct_own_curve(p, "delta=0.1", &s, why, sizeof why), ACCT_EDOMAIN);
	acct_profile_free(p);
}

/* Poisson sampling is one more report, which all inputs send alike: silence. */
static void to_be_silent_by_chance_is_an_output_more(void **state)
{
	static const double p[2][3][3] = { { { 0.6, 0.2, 0.2 }, { 0.2, 0.6, 0.2 }, { 0.2, 0.2, 0.6 } },
		{ { 0.7, 0.2, 0.1 }, { 0.2, 0.6, 0.2 }, { 0.1, 0.3, 0.6 } } };
	/* The second has a law for each input: above 25 participants that takes ten times as long. */
	static const char *const sometimes[] = { "n=50,count=2,poisson=0.3", "n=20,count=2,poisson=0.3" },
				 *const always[] = { "n=50,count=2", "n=20,count=2" };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct acct_profile *owned[3];
		double more[3][4];

		for (size_t x = 0; x < 3; x++) {
			for (size_t y = 0; y < 3; y++)
				more[x][y] = 0.3 * p[k][x][y];
			more[x][3] = 0.7;
		}
		struct acct_spec a = own(&p[k][0][0], 3, 3, sometimes[k], &owned[0]),
				 b = own(&more[0][0], 3, 4, always[k], &owned[1]),
				 all = own(&p[k][0][0], 3, 3, always[k], &owned[2]);
		struct acct_bound x, y, z;
		assert_int_equal(acct_epsilon(&a.round, 1, 1e-6, &x), ACCT_OK);
		assert_int_equal(acct_epsilon(&b.round, 1, 1e-6, &y), ACCT_OK);
		assert_int_equal(acct_epsilon(&all.round, 1, 1e-6, &z), ACCT_OK);
		assert_true(fabs(x.upper - y.upper) < 1e-6 * y.upper && x.upper < 0.8 * z.upper);
		for (size_t i = 0; i < 3; i++)
			acct_profile_free(owned[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_named_randomizer_is_its_matrix),
		cmocka_unit_test(to_be_silent_by_chance_is_an_output_more),
		cmocka_unit_test(no_data_set_loses_more),
		cmocka_unit_test(no_input_has_the_law_of_the_blanket),
		cmocka_unit_test(a_matrix_of_bits_costs_what_bits_cost),
		cmocka_unit_test(the_facts_are_the_largest_of_all_pairs),
		cmocka_unit_test(a_curve_takes_its_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
