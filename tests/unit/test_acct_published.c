/* test_acct_published.c - the published reduction: the values of papers, and that they are too small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_parsed.h"
#include "csv.h"

#define MOST 8

static struct acct_round published(const struct acct_spec *s)
{
	struct acct_round r;
	const char *why = "";

	if (acct_spec_published(s, &r, &why))
		fail_msg("%s: %s", s->name, why);
	return r;
}

static void the_published_intervals_are_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/pairs.csv"));
	while (csv_next(&c)) {
		static struct acct_round r[MOST];
		struct acct_bound got;
		char *save = NULL;
		size_t n = 0;

		if (strcmp(csv_get(&c, "bound"), "published") != 0)
			continue;
		double delta = atof(csv_get(&c, "delta")), eps = atof(csv_get(&c, "eps_query"));
		double eps_lower = atof(csv_get(&c, "eps_lower")), eps_upper = atof(csv_get(&c, "eps_upper"));
		double delta_lower = atof(csv_get(&c, "delta_lower")),
		       delta_upper = atof(csv_get(&c, "delta_upper"));
		for (char *text = strtok_r((char *)csv_get(&c, "rounds_spec"), " ", &save); text;
			text = strtok_r(NULL, " ", &save)) {
			struct acct_spec s = parsed(text);

			assert_true(n < MOST);
			r[n++] = published(&s);
		}
		assert_int_equal(acct_epsilon(r, n, delta, &got), ACCT_OK);
		overlap(csv_get(&c, "case"), got, eps_lower, eps_upper, 1e-3);
		assert_int_equal(acct_delta(r, n, eps, &got), ACCT_OK);
		overlap(csv_get(&c, "case"), got, delta_lower, delta_upper, 1e-2);
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows, 18);
}

/* "p=3/2" */
static double parameter(const char *text)
{
	char *end;
	double x = strtod(strchr(text, '=') + 1, &end);

	return *end == '/' ? x / strtod(end + 1, NULL) : x;
}

/* "9/200" */
static double fraction(const char *text)
{
	char *end;
	double x = strtod(text, &end);

	return *end == '/' ? x / strtod(end + 1, NULL) : x;
}

/* The row's randomizer as a round. */
static struct acct_spec row_spec(const struct csv *c)
{
	const char *kind = csv_get(c, "randomizer"), *n = csv_get(c, "n");
	double x = parameter(csv_get(c, "params"));
	unsigned a = 0, b = 0;
	char text[200];

	if (sscanf(kind, "grr%u", &a) == 1)
		snprintf(text, sizeof text, "grr:k=%u,eps0=%.17g,n=%s", a, log(x), n);
	else if (sscanf(kind, "rappor%u", &a) == 1)
		snprintf(text, sizeof text, "rappor:d=%u,eps0=%.17g,n=%s", a, 2 * log(x), n);
	else if (sscanf(kind, "vrr%u,%u", &a, &b) == 2)
		snprintf(text, sizeof text, "vrr:s=%u,eps0=%.17g,n=%s", b, b * log(x), n);
	else if (sscanf(kind, "subset%u,%u", &a, &b) == 2)
		snprintf(text, sizeof text, "subset:d=%u,k=%u,eps0=%.17g,n=%s", a, b, log(x), n);
	else if (sscanf(kind, "olh%u,%u", &a, &b) == 2)
		snprintf(text, sizeof text, "olh:d=%u,l=%u,eps0=%.17g,n=%s", a, b, log(x), n);
	else
		fail_msg("no such randomizer '%s'", kind);
	return parsed(text);
}

/* Exact fractions: data sets on which the published value is below the loss there is. */
static void the_published_value_is_below_the_exact_loss_and_the_proved_bound_above(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/counterexamples.csv"));
	while (csv_next(&c)) {
		struct acct_spec s = row_spec(&c);
		struct acct_round r = published(&s);
		struct acct_bound paper, proved;
		double truth = fraction(csv_get(&c, "exact_delta_fraction")),
		       printed = fraction(csv_get(&c, "published_fraction")),
		       eps = log(fraction(csv_get(&c, "exp_eps")));

		assert_int_equal(acct_delta(&r, 1, eps, &paper), ACCT_OK);
		assert_int_equal(acct_delta(&s.round, 1, eps, &proved), ACCT_OK);
		if (!(paper.lower <= printed * (1 + 1e-9) && paper.upper >= printed * (1 - 1e-9) &&
			    paper.upper - paper.lower <= 1e-6 * paper.upper))
			fail_msg("%s n=%s: published [%.15g, %.15g] is not %.15g", csv_get(&c, "randomizer"),
				csv_get(&c, "n"), paper.lower, paper.upper, printed);
		if (!(paper.upper < truth && truth <= proved.upper * (1 + 1e-12)))
			fail_msg("%s n=%s: published %.15g, exact %.15g, proved %.15g",
				csv_get(&c, "randomizer"), csv_get(&c, "n"), paper.upper, truth,
				proved.upper);
		double level = atof(csv_get(&c, "level_pair"));
		if (!(proved.lower <= level * (1 + 1e-12) && proved.upper >= level * (1 - 1e-12)))
			fail_msg("%s n=%s: proved [%.15g, %.15g] is not %.15g", csv_get(&c, "randomizer"),
				csv_get(&c, "n"), proved.lower, proved.upper, level);
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows, 91);
}

static void without_a_residual_the_published_pair_is_the_proved_one(void **state)
{
	static const char *const text[] = { "rr:eps0=2,n=1000", "generic:eps0=1,n=500",
		"duchi:eps0=1,d=3,n=100", "pair:p=inf,beta=1,q=4,n=100", "vrr:s=1,eps0=1,n=100" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec s = parsed(text[i]);
		struct acct_round r = published(&s);
		struct acct_bound a, b;

		assert_int_equal(acct_epsilon(&r, 1, 1e-6, &a), ACCT_OK);
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &b), ACCT_OK);
		assert_true(fabs(a.upper - b.upper) <= 1e-9 * b.upper);
	}
}

/* Bins among N dummies: C ~ Bin(N, 2/k), as published. */
static void dummies_count_as_others(void **state)
{
	struct acct_spec bins = parsed("bins:k=16,dummies=999"),
			 pair = parsed("pair:p=inf,beta=1,q=16,n=1000");
	struct acct_round r = published(&bins);
	struct acct_bound a, b;

	(void)state;
	assert_int_equal(acct_epsilon(&r, 1, 1e-6, &a), ACCT_OK);
	assert_int_equal(acct_epsilon(&pair.round, 1, 1e-6, &b), ACCT_OK);
	assert_true(fabs(a.upper - b.upper) <= 1e-9 * b.upper);
}

static void the_rest_of_the_round_is_kept(void **state)
{
	struct acct_spec s = parsed("grr:k=5,eps0=1,n=100,count=7");
	struct acct_round r = published(&s);

	(void)state;
	assert_true(r.count == 7 && r.others == 99 && r.dummies == 0);
}

static void no_pair_is_refused(void **state)
{
	struct acct_spec s = parsed("cells:omega=.5/.5,u=1/1,v=1/1,n=9"); /* p = 1 */
	struct acct_round r = { .count = 77 };
	const char *why = NULL;

	(void)state;
	assert_int_equal(acct_spec_published(&s, &r, &why), ACCT_EDOMAIN);
	assert_non_null(strstr(why, "(p, beta, q)"));
	assert_int_equal(r.count, 77);
	s = parsed("grr:k=3,eps0=1,n=9");
	s.round.levels = 1;
	assert_int_equal(acct_spec_published(&s, &r, &why), ACCT_EDOMAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_intervals_are_reproduced),
		cmocka_unit_test(the_published_value_is_below_the_exact_loss_and_the_proved_bound_above),
		cmocka_unit_test(without_a_residual_the_published_pair_is_the_proved_one),
		cmocka_unit_test(dummies_count_as_others),
		cmocka_unit_test(the_rest_of_the_round_is_kept),
		cmocka_unit_test(no_pair_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
