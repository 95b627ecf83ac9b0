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

/* Three outputs, written out from the definition of metric privacy; others as far away as they may be. */
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
			/* The middles are exact to about 1e-4. */
			is_this(text, e, two_on_a_line(1, most[k], exp(e)) * (1 + 5e-4), 5e-2);
		}
	is_this("laplace-noise:eps0=1,n=1", 0.3, 1 - exp((0.3 - 1) / 2), 2e-2);
	is_this("laplace-noise:eps0=1,n=2", 0.3, two_on_a_line(1, 1, exp(0.3)) * (1 + 5e-4), 5e-2);
}

/* Two counts; one has a message more under either input.  chance[k] is that of k other messages. */
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
		"rappor:d=4,eps0=1,sampling=.2", "vrr:s=2,eps0=2,sampling=.2", "generic:eps0=1,sampling=.5" };
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

/* One draw decides for both counters; a place's noise has no cells; what the shuffler leaves has no law. */
static void what_it_cannot_say_it_refuses(void **state)
{
	static const char *const text[] = { "balcer-cheu:t=.1,d=4,sampling=.1,n=100", "cheu:f=.2,d=2,n=100",
		"planar-laplace:distance=1,most=4,n=100", "ss-topk:k=2,levels=4,eps0=1,padded=500,n=100",
		"pair:p=3,beta=.2,q=3,n=100" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec s = parsed(text[i]);
		struct acct_method_answer a;
		const char *why = NULL;

		assert_int_equal(acct_method_find("lower")->epsilon(&s, 1, 1e-6, &a, &why), ACCT_EDOMAIN);
		assert_non_null(why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_noise_of_metric_privacy),
		cmocka_unit_test(noise_on_a_line),
		cmocka_unit_test(two_counters),
		cmocka_unit_test(it_is_not_above_what_is_charged),
		cmocka_unit_test(what_it_cannot_say_it_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
