/* test_acct_bits_classes.c - rounds of bits of several guarantees against enumeration, independent values and
 * random laws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "acct_parsed.h"
#include "bit_laws.h"

#define MANY    2100
#define CLASSES 3

/* Others of up to three guarantees, and coins. */
struct crowd {
	size_t count[CLASSES], coins;
	double eps[CLASSES];
};

/* Chances of a one, where ones[c] of class c hold 1. */
static size_t chances_of(const struct crowd *w, const size_t ones[CLASSES], long double *chance)
{
	size_t n = 0;

	for (size_t c = 0; c < CLASSES; c++)
		for (size_t i = 0; i < w->count[c]; i++)
			chance[n++] = 1 / (1 + expl(i < ones[c] ? -(long double)w->eps[c]
								: (long double)w->eps[c]));
	for (size_t i = 0; i < w->coins; i++)
		chance[n++] = 0.5L;
	return n;
}

static long double largest_among(const struct crowd *w, double eps0, double eps)
{
	long double p = 1 / (1 + expl(-(long double)eps0)), q = 1 / (1 + expl((long double)eps0)), most = 0;
	long double chance[MOST];
	size_t ones[CLASSES] = { 0 }, c;

	do {
		size_t n = chances_of(w, ones, chance);

		most = fmaxl(most, delta_among(chance, n, p, q, expl((long double)eps)));
		for (c = 0; c < CLASSES && ones[c] == w->count[c]; c++)
			ones[c] = 0;
		if (c < CLASSES)
			ones[c]++;
	} while (c < CLASSES);
	return most;
}

static struct acct_round round_among(const struct crowd *w, double eps0)
{
	double eps[2] = { w->eps[1], w->eps[2] };
	size_t count[2] = { w->count[1], w->count[2] };
	char text[300];
	int at = snprintf(
		text, sizeof text, "rr:eps0=%.17g,n=%zu", eps0, 1 + w->count[0] + w->count[1] + w->count[2]);

	if (count[0] > 0 && count[1] > 0)
		(void)snprintf(text + at, sizeof text - (size_t)at,
			",others_eps=%.17g/%.17g,others_n=%zu/%zu", eps[0], eps[1], count[0], count[1]);
	else if (count[0] + count[1] > 0)
		(void)snprintf(text + at, sizeof text - (size_t)at, ",others_eps=%.17g,others_n=%zu",
			eps[count[0] > 0 ? 0 : 1], count[0] + count[1]);
	struct acct_round r = parsed(text).round;

	r.dummies = w->coins;
	return r;
}

static struct crowd some_crowd(double eps0, size_t most)
{
	struct crowd w = { .eps = { eps0 } };

	for (size_t c = 0; c < CLASSES; c++) {
		w.count[c] = below(most);
		if (c > 0)
			w.eps[c] = below(4) ? exp(5 * uniform() - 3) : eps0 * (1 + 1e-3 * uniform());
	}
	w.count[1] += w.count[0] + w.count[1] + w.count[2] == 0;
	w.coins = below(3) ? 0 : below(4);
	return w;
}

/* Every data set, one number of ones for each class: the answer is their largest loss. */
static void every_input_of_several_guarantees(void **state)
{
	(void)state;
	for (int i = 0; i < 1500; i++) {
		double eps0 = exp(5 * uniform() - 3), eps = below(20) ? eps0 * uniform() : 0;
		struct crowd w = some_crowd(eps0, i < 1000 ? 4 : 8);
		struct acct_round r = round_among(&w, eps0);
		char what[200];

		(void)snprintf(what, sizeof what, "%d: %zu of %.17g, %zu of %g, %zu of %g, %zu coins, eps %g",
			i, w.count[0], eps0, w.count[1], w.eps[1], w.count[2], w.eps[2], w.coins, eps);
		holds(delta_of(&r, eps), (double)largest_among(&w, eps0, eps), 1e-5, what);
	}
}

/* Guarantees next to nothing: the lower end stays a data set's, also where the answer was found by an
 * independent program. */
static void guarantees_that_are_next_to_nothing(void **state)
{
	struct acct_round r = parsed("rr:eps0=10,n=7,others_eps=0.001/5/1e-09,others_n=1/1/2").round;
	struct acct_bound b = delta_of(&r, 9.9);

	(void)state;
	assert_true(b.lower <= 0.0118200070 * (1 + 1e-8) && b.upper >= 0.0118200070 * (1 - 1e-8));
	for (int i = 0; i < 300; i++) {
		double eps0 = exp(20 * uniform() - 18), eps = eps0 * uniform();
		struct crowd w = some_crowd(eps0, 4);
		char what[200];

		for (size_t c = 1; c < CLASSES; c++)
			w.eps[c] = exp(30 * uniform() - 28);
		r = round_among(&w, eps0);
		(void)snprintf(what, sizeof what, "%zu of %.17g, %zu of %g, %zu of %g, %zu coins, eps %g",
			w.count[0], eps0, w.count[1], w.eps[1], w.count[2], w.eps[2], w.coins, eps);
		holds(delta_of(&r, eps), (double)largest_among(&w, eps0, eps), 1e-4, what);
	}
}

/* Thousands of others whose guarantees are all next to nothing: none of their inputs loses more than the
 * upper end, at any epsilon.  The first two values have 40 digits from an independent program. */
static void a_crowd_that_is_next_to_nothing(void **state)
{
	static long double law[3][MANY + 2];
	struct acct_round r = parsed("rr:eps0=3,n=20001,others_eps=9.9e-7,others_n=20000").round;
	long double p = 1 / (1 + expl(-2)), q = 1 - p;

	(void)state;
	assert_true(delta_of(&r, 0.07179362684677569).upper >= 2.30133010577e-11);
	r = parsed("rr:eps0=2,n=2101,others_eps=9.9e-7,others_n=2100").round;
	assert_true(delta_of(&r, 0.1037324944964654).upper >= 8.69709272958e-6);
	for (size_t way = 0; way < 3; way++) {
		size_t n = 0;

		law[way][0] = 1;
		for (size_t i = 0; i < MANY; i++)
			add_bit(law[way], &n, 1 / (1 + expl(i < way * MANY / 2 ? 9.9e-7L : -9.9e-7L)));
	}
	for (int i = 0; i < 300; i++) {
		double eps = 0.2 * uniform();
		long double e = expl(eps), most = 0;

		for (size_t way = 0; way < 3; way++) {
			long double sum = 0;

			for (size_t j = 0; j <= MANY + 1; j++) {
				long double zero = j <= MANY ? law[way][j] : 0,
					    one = j > 0 ? law[way][j - 1] : 0;

				sum += fmaxl(0, zero * q + one * p - e * (zero * p + one * q));
			}
			most = fmaxl(most, sum);
		}
		struct acct_bound b = delta_of(&r, eps);
		if (!(b.upper >= (double)most * (1 - SLACK) - 1e-17 &&
			    b.upper <= (double)most * 1.02 + 1e-12))
			fail_msg("at %.17g: %.15g, and %.15Lg is lost", eps, b.upper, most);
	}
}

#define CROWD 6000

/* Thousands of others, a random part of each class holding 0: never above the answer.  Where all hold 1 they
 * lose about as much. */
static void many_of_several_guarantees(void **state)
{
	static long double law[2][CROWD + 2];

	(void)state;
	for (int i = 0; i < 60; i++) {
		double eps0 = 0.3 + 4 * uniform();
		struct crowd w = some_crowd(eps0, CROWD / 3 - 1);
		struct acct_round r = round_among(&w, eps0);
		struct acct_bound e = { 0, 0 };
		long double p = 1 / (1 + expl(-(long double)eps0)), sum = 0, scale;
		size_t n = 0;
		double variance = 0;
		bool all = below(3) == 0;

		w.coins = r.dummies = 0;
		assert_int_equal(acct_epsilon(&r, 1, 1e-6, &e), ACCT_OK);
		if (!(e.upper <= e.lower * (1 + 2e-2)))
			fail_msg("[%.12g, %.12g] is wide", e.lower, e.upper);
		law[0][0] = 1;
		for (size_t c = 0; c < CLASSES; c++) {
			double zeroes = all ? 0 : pow(uniform(), 1 + (double)below(8));

			variance += (double)w.count[c] / pow(2 * cosh(w.eps[c] / 2), 2);
			for (size_t k = 0; k < w.count[c]; k++)
				add_bit(law[0], &n,
					1 / (1 + expl(uniform() < zeroes ? (long double)w.eps[c]
									 : -(long double)w.eps[c])));
		}
		scale = expl((long double)e.upper * 0.999L);
		for (size_t j = 0; j <= n + 1; j++) {
			long double zero = j <= n ? law[0][j] : 0, one = j > 0 ? law[0][j - 1] : 0;

			sum += fmaxl(0, zero * (1 - p) + one * p - scale * (zero * p + one * (1 - p)));
		}
		assert_true(sum <= delta_of(&r, e.upper * 0.999).upper * (1 + 1e-9L));
		if (all && variance > 200 && !(sum >= 0.97L * delta_of(&r, e.upper * 0.999).upper))
			fail_msg("%g: %Lg is far below %.12g", variance, sum,
				delta_of(&r, e.upper * 0.999).upper);
	}
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_input_of_several_guarantees),
		cmocka_unit_test(guarantees_that_are_next_to_nothing),
		cmocka_unit_test(a_crowd_that_is_next_to_nothing),
		cmocka_unit_test(many_of_several_guarantees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
