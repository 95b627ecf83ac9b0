/* test_acct_third.c - what data sets lose in which everybody else holds a third symbol: against every way to
 * order a few reports, and against the sums over both counts of hundreds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acct_bags.h"
#include "acct_method.h"
#include "acct_parsed.h"

#define SYMBOLS 6
#define MOST    400

static double lower(const char *text, bool epsilon, double at)
{
	struct acct_spec s = parsed(text);
	struct acct_method_answer a;
	const struct acct_method *method = acct_method_find("lower");
	const char *why = "";

	if ((epsilon ? method->epsilon : method->delta)(&s, 1, at, &a, &why))
		fail_msg("%s: %s", text, why);
	return a.bound.lower;
}

/* Set the law of a response on k symbols of this guarantee, at symbol x; x = k: a uniform dummy. */
static void response(size_t k, double eps, size_t x, double law[SYMBOLS])
{
	for (size_t y = 0; y < k; y++)
		law[y] = x == k ? 1 / (double)k : (y == x ? exp(eps) : 1) / (exp(eps) + (double)k - 1);
}

/* `eps` of others of each class, and how many dummies; counts[0] is that of the victim's class. */
struct group {
	const char *text;
	size_t k, classes;
	double eps[3];
	size_t count[3], dummies;
};

/* Join all symbols from the third on. */
static void join(size_t k, double law[SYMBOLS])
{
	for (size_t y = 3; y < k; y++)
		law[2] += law[y];
}

enum data { THIRD, THIRD_JOINED, UNIFORM };

/* What is lost where all others hold the third symbol, or where their reports are uniform. */
static double lost(const struct group *g, enum data data, double e)
{
	static struct bags bags;
	struct law p = { .mass = { 1 } }, q;
	double law[SYMBOLS];
	size_t all = 1 + g->dummies, joined = data == THIRD_JOINED ? g->k : 0;

	for (size_t c = 0; c < g->classes; c++)
		all += g->count[c];
	assert_true(bags_init(&bags, joined > 0 ? 3 : g->k, all));
	for (size_t i = 0; i < g->dummies; i++) {
		response(g->k, 0, g->k, law);
		join(joined, law);
		law_add(&bags, &p, law);
	}
	for (size_t c = 0; c < g->classes; c++)
		for (size_t i = 0; i < g->count[c]; i++) {
			response(g->k, g->eps[c], data == UNIFORM ? g->k : 2, law);
			join(joined, law);
			law_add(&bags, &p, law);
		}
	q = p;
	response(g->k, g->eps[0], 0, law);
	join(joined, law);
	law_add(&bags, &p, law);
	response(g->k, g->eps[0], 1, law);
	join(joined, law);
	law_add(&bags, &q, law);
	return hockey(&bags, &p, &q, e);
}

static void a_few_reports(void **state)
{
	static const struct group group[] = {
		{ "mixbins:k=3,eps0=1,dummies=2,n=4", 3, 1, { 1 }, { 3 }, 2 },
		{ "mixbins:k=4,eps0=3,dummies=1,n=6", 4, 1, { 3 }, { 5 }, 1 },
		{ "mixbins:k=6,eps0=2,dummies=3,n=2", 6, 1, { 2 }, { 1 }, 3 },
		{ "words:w=2,eps0=2,dummies=4,n=3", 4, 1, { 2 }, { 2 }, 4 },
		{ "gspa-pooled:k=3,eps0=1/2,least=3/3,n=6", 3, 2, { 2, 1 }, { 2, 3 }, 0 },
		{ "gspa-pooled:k=5,eps0=.5/2/1,least=2/1/1,n=5", 5, 3, { 2, 1, .5 }, { 1, 1, 2 }, 0 },
		{ "grr:k=3,eps0=2,others_eps=.3/1,others_n=2/3,n=7", 3, 3, { 2, .3, 1 }, { 1, 2, 3 }, 0 },
	};

	int won = 0;

	(void)state;
	for (size_t i = 0; i < sizeof group / sizeof *group; i++)
		for (double e = 0; e < 1.8; e += 0.2) {
			double third = lost(&group[i], THIRD_JOINED, exp(e)),
			       even = lost(&group[i], UNIFORM, exp(e)), truth = fmax(third, even),
			       low = lower(group[i].text, false, e);

			assert_true(third <= lost(&group[i], THIRD, exp(e)) * (1 + 1e-12));
			won += third > even;
			if (!(low <= truth * (1 + 1e-9) + 1e-15 && low >= truth * (1 - 1e-6) - 1e-13))
				fail_msg("%s: at epsilon %g lower is %.12g, not %.12g", group[i].text, e, low,
					truth);
		}
	assert_true(won > 30);
}

/* ---- hundreds ---- */

static double choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Add `count` messages of the two symbols with this chance to the law of how many there are. */
static void add(double law[MOST], size_t count, double chance)
{
	double sum[MOST] = { 0 };

	for (size_t i = 0; i <= count; i++) {
		double at = exp(choose((double)count, (double)i) + (double)i * log(chance) +
				(double)(count - i) * log1p(-chance));

		for (size_t j = 0; i + j < MOST; j++)
			sum[i + j] += at * law[j];
	}
	for (size_t j = 0; j < MOST; j++)
		law[j] = sum[j];
}

/* Every number of reports of the first symbol and of the second. */
static double both_counts(const double law[MOST], double p, double q, double e)
{
	double sum = 0;

	for (size_t t = 0; t < MOST; t++)
		for (size_t i = 0; i <= t; i++) {
			double even = exp(choose((double)t, (double)i) - (double)t * log(2)),
			       j = (double)(t - i);
			double before = t > 0 ? law[t - 1] * 2 / (double)t : 0;
			double one = before * (p * (double)i + q * j) + (1 - p - q) * law[t];
			double two = before * (q * (double)i + p * j) + (1 - p - q) * law[t];

			sum += even * fmax(0, one - e * two);
		}
	return sum;
}

static void hundreds(void **state)
{
	static const struct {
		const char *text;
		double k, eps0;
		size_t count[2];
		double chance[2];
	} round[] = {
		{ "mixbins:k=16,eps0=3,dummies=500,n=600", 16, 3, { 599, 500 }, { 2, 2 / 16.0 } },
		{ "gspa-pooled:k=4,eps0=1/2,least=100/150", 4, 2, { 149, 100 }, { 2, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		double law[MOST] = { 1 }, z = exp(round[i].eps0) + round[i].k - 1;
		double epsilon = lower(round[i].text, true, 1e-6);

		add(law, round[i].count[0], 2 / z);
		add(law, round[i].count[1],
			round[i].chance[1] > 0 ? round[i].chance[1] : 2 / (exp(1) + round[i].k - 1));
		for (double e = 0.1; e < 0.5; e += 0.1) {
			double truth = both_counts(law, exp(round[i].eps0) / z, 1 / z, exp(e)),
			       low = lower(round[i].text, false, e);

			if (!(low <= truth * (1 + 1e-9) && low >= truth * (1 - 1e-6)))
				fail_msg("%s: at epsilon %g lower is %.12g, not %.12g", round[i].text, e, low,
					truth);
		}
		assert_true(
			fabs(both_counts(law, exp(round[i].eps0) / z, 1 / z, exp(epsilon)) - 1e-6) < 1e-11);
	}
}

/* What is charged is that loss but for a few per cent. */
static void it_is_what_is_charged(void **state)
{
	static const char *const text[] = { "mixbins:k=16,dummies=1000,eps0=5,n=10000",
		"words:w=2,dummies=1000,eps0=3,n=1000", "words:w=2,dummies=1000,eps0=5,n=1000000",
		"gspa-pooled:k=4,eps0=1/2,least=100/150,n=10000" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec s = parsed(text[i]);
		double low = lower(text[i], true, 1e-6);
		struct acct_bound high;

		assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &high), ACCT_OK);
		if (!(low <= high.upper && low > 0.97 * high.upper))
			fail_msg("%s: %g is charged, %g lost", text[i], high.upper, low);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_reports),
		cmocka_unit_test(hundreds),
		cmocka_unit_test(it_is_what_is_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
