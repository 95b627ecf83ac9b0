/* test_acct_lower.c - the method "lower" where reports are not among the mechanisms of acct_mech.h: noise,
 * metric privacy, and counters; and of every kind of round it is not above what is charged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_bags.h"
#include "acct_method.h"
#include "acct_parsed.h"

static double lower(const char *text, double epsilon)
{
	struct acct_spec s = parsed(text);
	struct acct_method_answer a;
	const char *why = "";

	if (acct_method_find("lower")->delta(&s, 1, epsilon, &a, &why))
		fail_msg("%s: %s", text, why);
	return a.bound.lower;
}

static void is_this(const char *text, double epsilon, double truth, double short_of)
{
	double low = lower(text, epsilon);

	if (!(low <= truth * (1 + 1e-9) + 1e-14 && low >= truth * (1 - short_of) - 1e-14))
		fail_msg("%s: at epsilon %g lower is %.12g, not %.12g", text, epsilon, low, truth);
}

/* Three outputs, written out from the definition of metric privacy; the others are as far away as they may
 * be. */
static void some_noise_of_metric_privacy(void **state)
{
	static struct bags bags;
	const double d = 1, most = 2.5, far = exp(-most), keep = exp(d) / (1 + exp(d)), all = 1 - far;
	const double z = all * keep * far;
	const double law[3][3] = { { all * keep, all * (1 - keep), far },
		{ all * (1 - keep), all * keep, far }, { z, z, 1 - 2 * z } };

	(void)state;
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++)
			for (int y = 0; y < 3; y++)
				assert_true(law[a][y] <=
					    exp(a == 2 || b == 2 ? most : d) * law[b][y] * (1 + 1e-14));
	for (size_t n = 1; n <= 6; n++) {
		struct law p = { .mass = { 1 } }, q;
		char text[100];

		assert_true(bags_init(&bags, 3, n));
		for (size_t i = 1; i < n; i++)
			law_add(&bags, &p, law[2]);
		q = p;
		law_add(&bags, &p, law[0]);
		law_add(&bags, &q, law[1]);
		(void)snprintf(text, sizeof text, "metric:distance=1,most=2.5,n=%zu", n);
		for (double e = 0; e < 1; e += 0.2)
			is_this(text, e, hockey(&bags, &p, &q, exp(e)), 1e-6);
	}
}

#define CELLS 900

/* Laplace noise about x in a cell of a fine grid from `from` on. */
static double density(double x, double y)
{
	return exp(-fabs(y - x)) / 2;
}

/* Two participants, the other at `most`: the integral over both reports, by their middles. */
static double two_on_a_line(double distance, double most, double e)
{
	const double from = -14, step = (28 + most) / CELLS;
	double sum = 0, swapped = 0;

	for (int i = 0; i < CELLS; i++)
		for (int j = 0; j < CELLS; j++) {
			double a = from + step * (i + 0.5), b = from + step * (j + 0.5);
			double p = density(0, a) * density(most, b) + density(0, b) * density(most, a);
			double q = density(distance, a) * density(most, b) +
				   density(distance, b) * density(most, a);

			sum += fmax(0, p - e * q) / 2 * step * step;
			swapped += fmax(0, q - e * p) / 2 * step * step;
		}
	return fmax(sum, swapped);
}

static void noise_on_a_line(void **state)
{
	static const double most[] = { 1, 3 };

	(void)state;
	for (size_t k = 0; k < 2; k++)
		for (double e = 0; e < 0.9; e += 0.2) {
			char text[100];

			(void)snprintf(text, sizeof text, "metric-laplace:distance=1,most=%g,n=1", most[k]);
			is_this(text, e, 1 - exp((e - 1) / 2), 2e-2);
			text[strlen(text) - 1] = '2';
			/* Integrating by middles is exact to about 1e-4. */
			is_this(text, e, two_on_a_line(1, most[k], exp(e)) * (1 + 5e-4), 5e-2);
		}
	is_this("laplace-noise:eps0=1,n=1", 0.3, 1 - exp((0.3 - 1) / 2), 2e-2);
	is_this("laplace-noise:eps0=1,n=2", 0.3, two_on_a_line(1, 1, exp(0.3)) * (1 + 5e-4), 5e-2);
}

/* Two counts; under either input one of them has a message more.  chance[k] is that of k other messages. */
static double two_counts(const double *chance, int n, double e)
{
	double sum = 0;

	for (int a = 0; a <= n; a++)
		for (int b = 0; b <= n; b++) {
			double p = (a > 0 ? chance[a - 1] : 0) * (b < n ? chance[b] : 0);
			double q = (a < n ? chance[a] : 0) * (b > 0 ? chance[b - 1] : 0);

			sum += fmax(0, p - e * q);
		}
	return sum;
}

static void two_counters(void **state)
{
	double chance[40] = { 0 }, sum = 0;

	(void)state;
	for (int k = 0; k <= 16; k++)
		sum += chance[k] = exp(-0.5 * abs(k - 8));
	for (int k = 0; k <= 16; k++)
		chance[k] /= sum;
	for (double e = 0; e < 1.2; e += 0.2)
		is_this("noise:epsilon=1,mean=8,n=5", e, two_counts(chance, 17, exp(e)), 5e-3);
	for (int k = 0; k <= 6; k++)
		chance[k] = tgamma(7) / tgamma(k + 1) / tgamma(7 - k) * pow(0.3, k) * pow(0.7, 6 - k);
	for (double e = 0; e < 1.2; e += 0.2)
		is_this("balcer-cheu:t=.3,d=4,coins=2,n=3", e, two_counts(chance, 7, exp(e)), 5e-3);
}

/* Every way to a lower bound, alone and repeated. */
static void it_is_not_above_what_is_charged(void **state)
{
	static const char *const text[] = { "mixbins:k=16,eps0=1,dummies=1000",
		"mixbins:k=2,eps0=1,chance=0.2", "words:w=2,eps0=1,dummies=100", "noise:epsilon=.1,mean=400",
		"hashed:b=16,dummies=2000", "hashed:b=4,dummies=100,chance=.1",
		"hashed:b=4,dummies=100,sampling=0.1", "laplace-noise:eps0=1", "metric:distance=1,most=4",
		"metric-laplace:distance=1,most=4", "balcer-cheu:t=.1,d=4", "balcer-cheu:t=.1,sampling=.1",
		"cheu:f=.2", "cheu:f=.2,dummies=10,sampling=.2", "gspa-pooled:k=4,eps0=1/2,least=200/300",
		"grr:k=4,eps0=1,sampling=.1", "grr:k=4,eps0=1,defect=1e-8",
		"rr:eps0=1,others_eps=0.5/2,others_n=100/200", "bins:k=4,dummies=100,sampling=.1",
		"rappor:d=4,eps0=1,sampling=.2", "vrr:s=2,eps0=2,sampling=.2", "generic:eps0=1,sampling=.5",
		"pair:p=3,beta=.2,q=3", "pair:p=inf,beta=.5,q=3,q2=2", "cells:omega=.1/.1/.2,u=4/2/2,v=2/4/2",
		"cells:omega=.1/.1/.2,u=4/2/2,v=2/4/2,dummies=50,others_share=.5,others_n=300",
		"cells:omega=.25/.25,u=3/1,v=1/3,messages=1", "ss-topk:k=2,levels=4,eps0=1,padded=500",
		"planar:w=8,h=8,eps0=3", "planar:w=16,h=16,eps0=3,sampling=.1",
		"planar-laplace:distance=1,most=1", "rr:eps0=2,poisson=.3", "vrr:s=2,eps0=2,poisson=.3",
		"privset:d=8,k=2,s=2,eps0=2,poisson=.4", "duchi:d=4,eps0=2,poisson=.4",
		"laplace-levels:b=10,eps0=2,poisson=.5", "gspa-pooled:k=2,eps0=1/2,least=200/300",
		"gspa-classes:k=2,eps0=1/2,least=200/300", "gspa-classes:k=9,eps0=1/4,least=900/200" };
	static const char *const also[] = { "", ",count=20" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		for (size_t k = 0; k < 2; k++) {
			struct acct_method_answer low;
			struct acct_bound high;
			struct acct_spec s;
			char full[200];
			const char *why = "";

			(void)snprintf(full, sizeof full, "%s,n=1000%s", text[i], also[k]);
			s = parsed(full);
			if (acct_method_find("lower")->epsilon(&s, 1, 1e-6, &low, &why))
				fail_msg("%s: %s", full, why);
			assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &high), ACCT_OK);
			if (!(low.bound.lower <= high.upper))
				fail_msg("%s: %g is above %g", full, low.bound.lower, high.upper);
			if (!(low.bound.lower >= 0.5 * high.upper))
				fail_msg("%s: %g is far below %g", full, low.bound.lower, high.upper);
		}
}

/* With a few hundred participants, and few blanket messages, what is charged is at most a tenth above what a
 * data set loses. */
static void small_rounds_are_charged_little_more(void **state)
{
	static const char *const text[] = { "vrr:s=4,eps0=3,n=300", "vrr:s=2,eps0=3,n=300",
		"privset:d=10,k=2,s=2,eps0=3,n=500", "privset:d=10,k=2,s=2,eps0=5,n=1000",
		"olh:l=4,triple=0.0625,eps0=5,n=1000", "subset:d=12,k=3,eps0=5,n=1000",
		"subset:d=12,k=3,eps0=1,n=120", "harmony:eps0=1,n=300", "laplace-levels:b=10,eps0=3,n=300" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_method_answer low;
		struct acct_bound high;
		struct acct_spec s = parsed(text[i]);
		const char *why = "";

		if (acct_method_find("lower")->epsilon(&s, 1, 1e-6, &low, &why))
			fail_msg("%s: %s", text[i], why);
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &high), ACCT_OK);
		if (!(high.upper >= low.bound.lower && high.upper <= 1.1 * low.bound.lower))
			fail_msg("%s: %g is charged, %g lost", text[i], high.upper, low.bound.lower);
	}
}

/* ---- randomizers that have the given cells ---- */

#define OUTPUTS 5

/* Every way in which n reports may come, of which one is the victim's: counts of outputs. */
static double shuffled(
	const double law[][OUTPUTS], const size_t *other, size_t others, size_t outputs, double e)
{
	static struct bags bags;
	struct law p = { .mass = { 1 } }, q;

	assert_true(bags_init(&bags, outputs, others + 1));
	for (size_t i = 0; i < others; i++)
		law_add(&bags, &p, law[other[i]]);
	q = p;
	law_add(&bags, &p, law[0]);
	law_add(&bags, &q, law[1]);
	return fmax(hockey(&bags, &p, &q, e), hockey(&bags, &q, &p, e));
}

/* Theorem C: p = 3, beta = 0.2, q = 3, q2 = 2, written out. */
static void a_pair_is_lost_by_a_randomizer_with_its_parameters(void **state)
{
	const double law[3][OUTPUTS] = { { 0.3, 0.1, 0.6, 0 }, { 0.1, 0.3, 0.6, 0 }, { 0.1, 0.1, 0.3, 0.5 } };
	const size_t other[5] = { 2, 2, 2, 2, 2 };
	double apart = 0;

	(void)state;
	for (int y = 0; y < 4; y++) {
		assert_true(law[0][y] <= 3 * law[1][y] + 1e-15 && law[1][y] <= 3 * law[0][y] + 1e-15);
		assert_true(fmax(law[0][y], law[1][y]) <= 3 * law[2][y] + 1e-15);
		apart += fabs(law[0][y] - law[1][y]) / 2;
	}
	assert_true(fabs(apart - 0.2) < 1e-15);
	for (size_t others = 0; others < 6; others++)
		for (double e = 0; e < 1; e += 0.2) {
			char text[100];

			(void)snprintf(text, sizeof text, "pair:p=3,beta=.2,q=3,q2=2,n=%zu", others + 1);
			is_this(text, e, shuffled(law, other, others, 4, exp(e)), 1e-6);
		}
}

/* Two others of the whole blanket, two of half of it, and a dummy. */
static void cells_are_lost_by_a_randomizer_that_has_them(void **state)
{
	const double law[5][OUTPUTS] = { { 0.4, 0.2, 0.4, 0 }, { 0.2, 0.4, 0.4, 0 }, { 0.1, 0.1, 0.2, 0.6 },
		{ 0.05, 0.05, 0.1, 0.8 }, { 0.25, 0.25, 0.5, 0 } };
	const size_t other[5] = { 2, 2, 3, 3, 4 };

	(void)state;
	for (double e = 0; e < 1.4; e += 0.2) {
		is_this("cells:omega=.1/.1/.2,u=4/2/2,v=2/4/2,n=3", e, shuffled(law, other, 2, 4, exp(e)),
			1e-6);
		is_this("cells:omega=.1/.1/.2,u=4/2/2,v=2/4/2,n=5,others_share=.5,others_n=2,dummies=1", e,
			shuffled(law, other, 5, 4, exp(e)), 1e-6);
	}
}

/* A response on four levels in one coordinate; everybody else holds the first level or the third, or sends
 * nothing. */
static void the_largest_coordinates(void **state)
{
	const double z = exp(1) + 3, up = exp(1) / z, low = 1 / z;
	const double law[4][OUTPUTS] = { { up, low, low, low }, { low, up, low, low }, { low, low, up, low },
		{ 0.25, 0.25, 0.25, 0.25 } };

	(void)state;
	for (double e = 0; e < 1; e += 0.2) {
		double most = 0, dummies = 0;

		for (size_t kind = 0; kind < 4; kind++) {
			const size_t other[4] = { kind, kind, kind, kind };

			dummies = shuffled(law, other, 4, 4, exp(e));
			most = fmax(most, dummies);
		}
		is_this("ss-topk:k=1,levels=4,eps0=1,padded=5", e, most, 1e-6);
		is_this("ss-topk:k=1,levels=4,eps0=1,padded=5,n=2", e, dummies, 1e-6);
	}
}

/* Any randomizer: binary response or ternary, everybody else at the victim's first input, at the third, or
 * uniform. */
static void any_randomizer(void **state)
{
	const double p = exp(2), b = 1 + p, t = 2 + p;
	const double binary[3][OUTPUTS] = { { p / b, 1 / b }, { 1 / b, p / b }, { 0.5, 0.5 } };
	const double ternary[3][OUTPUTS] = { { p / t, 1 / t, 1 / t }, { 1 / t, p / t, 1 / t },
		{ 1 / t, 1 / t, p / t } };
	int won = 0;

	(void)state;
	for (size_t others = 0; others < 8; others++)
		for (double e = 0; e < 2; e += 0.2) {
			const size_t first[8] = { 0 }, third[8] = { 2, 2, 2, 2, 2, 2, 2, 2 };
			double two = fmax(shuffled(binary, first, others, 2, exp(e)),
				       shuffled(binary, third, others, 2, exp(e))),
			       three = shuffled(ternary, third, others, 3, exp(e));
			char text[100];

			(void)snprintf(text, sizeof text, "generic:eps0=2,n=%zu", others + 1);
			is_this(text, e, fmax(two, three), 1e-6);
			won += three > two;
		}
	assert_true(won > 0);
}

/* Two hashes: everybody else at a third value, whose hash is as uniform as a dummy's, or at the victim's
 * first, where only the second's hash is counted. */
static void a_third_hash(void **state)
{
	const double law[3][OUTPUTS] = { { 0, 0.5, 0.5, 0 }, { 0.5, 0, 0.5, 0 }, { 0.25, 0.25, 0.25, 0.25 } };
	const double counted[3][OUTPUTS] = { { 0, 1 }, { 0.5, 0.5 }, { 0.25, 0.75 } };
	const size_t third[7] = { 2, 2, 2, 2, 2, 2, 2 }, first[7] = { 2, 2, 2, 2, 2, 0, 0 };
	int won = 0;

	(void)state;
	for (double e = 0; e < 1.2; e += 0.2) {
		double one = shuffled(law, third, 7, 4, exp(e)), two = shuffled(counted, first, 7, 2, exp(e));

		is_this("hashed:b=2,dummies=5,n=3", e, fmax(one, two), 1e-6);
		won += one > two;
	}
	assert_true(won > 0);
}

/* ---- places ---- */

/* A grid of two by two cells is a circle of four places on each axis, with its ends joined. */
static void two_by_two(double a, double law[4][OUTPUTS])
{
	static const int place[4] = { 0, 1, 1, 0 };

	memset(law, 0, 4 * sizeof *law);
	for (int x = 0; x < 4; x++) {
		double sum = 0;

		for (int z = 0; z < 16; z++) {
			int i = abs(z % 4 - x % 2), j = abs(z / 4 - x / 2);
			double d = hypot(i < 4 - i ? i : 4 - i, j < 4 - j ? j : 4 - j);
			double chance = exp(-a * ceil(1024 * d) / 1024);

			law[x][place[z % 4] + 2 * place[z / 4]] += chance;
			sum += chance;
		}
		for (int y = 0; y < 4; y++)
			law[x][y] /= sum;
	}
}

static void places_on_a_grid(void **state)
{
	double law[4][OUTPUTS], low = 0, high = 20;

	(void)state;
	for (int i = 0; i < 100; i++) {
		two_by_two((low + high) / 2, law);
		*(law[0][0] / law[3][0] < exp(2) ? &low : &high) = (low + high) / 2;
	}
	for (size_t others = 0; others < 5; others++)
		for (double e = 0; e < 1.5; e += 0.25) {
			double most = 0, found;
			char text[100];

			(void)snprintf(text, sizeof text, "planar:w=2,h=2,eps0=2,n=%zu", others + 1);
			found = lower(text, e);
			for (size_t z = 0; z < 4; z++) {
				const double three[3][OUTPUTS] = { { law[0][0], law[0][1], law[0][2],
									   law[0][3] },
					{ law[3][0], law[3][1], law[3][2], law[3][3] },
					{ law[z][0], law[z][1], law[z][2], law[z][3] } };
				const size_t other[4] = { 2, 2, 2, 2 };

				most = fmax(most, shuffled(three, other, others, 4, exp(e)));
			}
			/* With many reports one input of the others is the worst. */
			assert_true(found <= most * (1 + 1e-9) + 1e-14 && found >= 0.7 * most - 1e-14);
		}
}

/* The density of one coordinate of the plane's noise, by the other one. */
static double beside(double t)
{
	double sum = 0;

	for (double v = 0.0025; v < 30; v += 0.005)
		sum += 0.01 * exp(-hypot(t, v)) / (2 * acos(-1));
	return sum;
}

static void noise_in_a_plane(void **state)
{
	enum { STEPS = 1600 };
	static double f[STEPS + 100];
	const double step = 0.01;

	(void)state;
	for (int i = 0; i < STEPS + 100; i++)
		f[i] = beside(step * (i + 0.5) - 8.5);
	for (double e = 0; e < 0.7; e += 0.2) {
		double sum = 0;

		for (int i = 0; i < STEPS; i++) /* inputs 0 and 1 */
			sum += step * fmax(0, f[i + 50] - exp(e) * (i >= 50 ? f[i - 50] : 0));
		is_this("planar-laplace:distance=1,most=1,n=1", e, sum * (1 + 1e-3), 6e-2);
	}
}

/* One draw decides for both counters; who is drawn in the victim's place has a third input; far noise is too
 * rare for its arithmetic. */
static void what_it_cannot_say_it_refuses(void **state)
{
	static const char *const text[] = { "balcer-cheu:t=.1,d=4,sampling=.1,n=100", "cheu:f=.2,d=2,n=100",
		"planar-laplace:distance=1,most=50,n=100", "pair:p=3,beta=.2,q=3,n=100,sampling=.1",
		"cells:omega=.1/.1/.2,u=4/2/2,v=2/4/2,n=100,sampling=.1",
		"pair:p=3,beta=.2,q=3,n=100,poisson=.1",
		"planar-laplace:distance=.001,most=1,n=1000000000000" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec s = parsed(text[i]);
		struct acct_method_answer a;
		const char *why = NULL;

		if (acct_method_find("lower")->epsilon(&s, 1, 1e-6, &a, &why) != ACCT_EDOMAIN || !why)
			fail_msg("%s is not refused", text[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_noise_of_metric_privacy),
		cmocka_unit_test(noise_on_a_line),
		cmocka_unit_test(two_counters),
		cmocka_unit_test(it_is_not_above_what_is_charged),
		cmocka_unit_test(small_rounds_are_charged_little_more),
		cmocka_unit_test(a_pair_is_lost_by_a_randomizer_with_its_parameters),
		cmocka_unit_test(cells_are_lost_by_a_randomizer_that_has_them),
		cmocka_unit_test(the_largest_coordinates),
		cmocka_unit_test(any_randomizer),
		cmocka_unit_test(a_third_hash),
		cmocka_unit_test(places_on_a_grid),
		cmocka_unit_test(noise_in_a_plane),
		cmocka_unit_test(what_it_cannot_say_it_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
