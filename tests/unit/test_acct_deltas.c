/* test_acct_deltas.c - one composition asked at many deltas says what it says at each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acct_spec.h"
#include "acct_state.h"

#define DELTAS 12u

static struct acct_round round_of(const char *text)
{
	struct acct_spec s;
	char why[200];

	assert_int_equal(acct_spec_parse(text, &s, why, sizeof why), ACCT_OK);
	return s.round;
}

/* The deltas fall and rise again, so that their order is not that of the sums; one occurs twice. */
static void fill(double delta[DELTAS])
{
	for (size_t i = 0; i < DELTAS; i++)
		delta[i] = pow(10, -(double)(1 + (i * 5) % 11));
}

static void many_deltas_overlap_one_delta_and_are_as_narrow(void **state)
{
	static const char *const text[] = { "generic:eps0=2,n=10000", "grr:k=16,eps0=3,n=10000,count=8",
		"vrr:s=4,eps0=4,n=10000,count=64", "pair:p=5,beta=0.4,q=5,q2=2,n=500,count=9",
		"generic:eps0=2,n=1000,count=5,defect=1e-5", "generic:eps0=1,n=5,count=3",
		"bins:k=16,dummies=1000,count=16", "grr:k=4,eps0=2,n=1000,count=7,sampling=0.1" };
	double delta[DELTAS];

	(void)state;
	fill(delta);
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_round r = round_of(text[i]);
		struct acct_bound all[DELTAS], one;

		assert_int_equal(acct_epsilons(&r, 1, delta, DELTAS, all), ACCT_OK);
		for (size_t j = 0; j < DELTAS; j++) {
			assert_int_equal(acct_epsilon(&r, 1, delta[j], &one), ACCT_OK);
			assert_true(all[j].lower <= one.upper && one.lower <= all[j].upper);
			assert_true(all[j].lower <= all[j].upper);
			if (isfinite(one.upper))
				assert_true(all[j].upper <= one.upper * (1 + 1e-3));
			else
				assert_true(isinf(all[j].upper));
			assert_true(all[j].lower >= one.lower * (1 - 1e-3));
			for (size_t k = 0; k < DELTAS; k++)
				assert_true(delta[k] < delta[j] || all[k].lower <= all[j].upper);
		}
	}
}

static void one_delta_among_one_is_the_single_question(void **state)
{
	struct acct_round r[2] = { round_of("grr:k=16,eps0=3,n=10000,count=8"),
		round_of("generic:eps0=1,n=4000,count=3") };
	struct acct_bound all, one;
	double delta = 1e-6;

	(void)state;
	assert_int_equal(acct_epsilons(r, 2, &delta, 1, &all), ACCT_OK);
	assert_int_equal(acct_epsilon(r, 2, delta, &one), ACCT_OK);
	assert_true(all.lower >= one.lower && all.lower <= one.lower);
	assert_true(all.upper >= one.upper && all.upper <= one.upper);
}

static void a_refused_delta_answers_none(void **state)
{
	static const double bad[] = { 0, 1, -1, NAN, 1e-250 };
	struct acct_round r = round_of("generic:eps0=1,n=100,count=3");

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		double delta[] = { 1e-3, bad[i] };
		struct acct_bound out[2] = { { 7, 7 }, { 7, 7 } };

		assert_int_equal(acct_epsilons(&r, 1, delta, 2, out), i < 4 ? ACCT_EDOMAIN : ACCT_EPRECISION);
		assert_true(out[0].lower > 6 && out[1].lower > 6);
	}
	assert_int_equal(acct_epsilons(&r, 1, bad, 0, NULL), ACCT_EDOMAIN);
}

/* Each round's points are few, so the width tells whether the work was shared well; tails of a thinned law,
 * of a plain one and of one question must agree. */
static void a_thousand_different_rounds_are_narrow(void **state)
{
	enum { ROUNDS = 1000 };
	struct acct_round *r = calloc(ROUNDS, sizeof *r);
	struct acct_state *s = acct_state_new(1e-6);
	struct acct_bound one, grown;

	(void)state;
	assert_true(r && s);
	for (size_t i = 0; i < ROUNDS; i++) {
		char text[80];

		(void)snprintf(text, sizeof text, "generic:eps0=%g,n=100000", 0.5 + 2e-3 * (double)i);
		r[i] = round_of(text);
		assert_int_equal(acct_state_add(s, &r[i]), ACCT_OK);
	}
	assert_int_equal(acct_epsilon(r, ROUNDS, 1e-6, &one), ACCT_OK);
	assert_int_equal(acct_state_epsilon(s, NULL, &grown), ACCT_OK);
	assert_true(one.upper - one.lower < ACCT_STATE_WIDTH * one.upper);
	assert_true(grown.upper - grown.lower < ACCT_STATE_WIDTH * grown.upper);
	assert_true(one.lower <= grown.upper && grown.lower <= one.upper);
	acct_state_free(s);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_deltas_overlap_one_delta_and_are_as_narrow),
		cmocka_unit_test(one_delta_among_one_is_the_single_question),
		cmocka_unit_test(a_refused_delta_answers_none),
		cmocka_unit_test(a_thousand_different_rounds_are_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
