/* acct_bits_list.c (acct_bounds.h) - computes the exact pair of a small round of bits, outcome by
 * outcome. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_bounds.h"

#define MOST_BITS 256.0
/* bound on the relative error of a test's chances: sums and products of at most some thousand positive
 * numbers in long double are off by less */
#define TEST_ERROR 1e-14

/* A test A, a set of outcomes: its chance p under the victim's first input and q under the second. */
struct test {
	long double p, q;
};

struct work {
	size_t others, coins;
	long double one, zero; /* chances that a bit is 1 if its input is 1, and if its input is 0 */
	long double *ones;     /* row m has the chances that 0..m of m bits with input 1 are 1 */
	/* laws of the number of ones: of all others and coins, of the others alone, and of the coins
	 * alone */
	long double *law, *part, *coin;
	struct test *test;
	size_t tests;
};

static long double *row(const struct work *w, size_t m)
{
	return w->ones + m * (w->others + 1);
}

static enum acct_rc work_init(struct work *w, const struct acct_bit_facts *b)
{
	size_t n = (size_t)b->others, all = n + (size_t)b->coins;

	memset(w, 0, sizeof *w);
	w->others = n;
	w->coins = (size_t)b->coins;
	w->one = 1 / (1 + expl(-(long double)b->epsilon0));
	w->zero = 1 / (1 + expl((long double)b->epsilon0));
	w->ones = calloc((n + 1) * (n + 1), sizeof *w->ones);
	w->law = calloc(all + 2, sizeof *w->law);
	w->part = calloc(all + 2, sizeof *w->part);
	w->coin = calloc(w->coins + 2, sizeof *w->coin);
	w->test = calloc((n + 1) * (all + 1), sizeof *w->test);
	if (!w->ones || !w->law || !w->part || !w->coin || !w->test)
		return ACCT_ENOMEM;
	row(w, 0)[0] = 1;
	for (size_t m = 1; m <= n; m++)
		for (size_t j = 0; j <= m; j++)
			row(w, m)[j] = (j < m ? row(w, m - 1)[j] * w->zero : 0) +
				       (j > 0 ? row(w, m - 1)[j - 1] * w->one : 0);
	w->coin[0] = 1;
	for (size_t c = 1; c <= w->coins; c++)
		for (size_t j = c + 1; j-- > 0;)
			w->coin[j] = (w->coin[j] + (j > 0 ? w->coin[j - 1] : 0)) / 2;
	return ACCT_OK;
}

static void work_fini(struct work *w)
{
	free(w->ones);
	free(w->law);
	free(w->part);
	free(w->coin);
	free(w->test);
}

/* Set w->law for m others with input 1.  The others with input 0 are zero as often as those with input 1
 * are one. */
static void set_law(struct work *w, size_t m)
{
	size_t rest = w->others - m;

	memset(w->part, 0, (w->others + 1) * sizeof *w->part);
	memset(w->law, 0, (w->others + w->coins + 1) * sizeof *w->law);
	for (size_t i = 0; i <= m; i++)
		for (size_t k = 0; k <= rest; k++)
			w->part[i + k] += row(w, m)[i] * row(w, rest)[rest - k];
	for (size_t i = 0; i <= w->others; i++)
		for (size_t k = 0; k <= w->coins; k++)
			w->law[i + k] += w->part[i] * w->coin[k];
}

/* Add the tests "more than j ones" for every j. */
static void add_tests(struct work *w)
{
	long double above = 0;

	for (size_t j = w->others + w->coins + 1; j-- > 0;) {
		long double f = w->law[j];

		w->test[w->tests++] = (struct test){ w->one * f + above, w->zero * f + above };
		above += f;
	}
}

static int by_chance(const void *a, const void *b)
{
	const struct test *x = a, *y = b;

	return x->q != y->q ? (x->q > y->q) - (x->q < y->q) : (x->p < y->p) - (x->p > y->p); // NOLINT
}

/* Keep the corners of the concave hull of the points (q, p) of the tests, from (0, 0) on, as long as it is
 * steeper than 1: at no eps >= 0 does p - e^eps q rise beyond that corner. */
static void hull(struct work *w)
{
	struct test *at = w->test;
	size_t top = 0;

	qsort(at, w->tests, sizeof *at, by_chance);
	for (size_t i = 0; i < w->tests; i++) {
		struct test t = at[i];

		while (top > 0) {
			struct test a = at[top - 1], b = top > 1 ? at[top - 2] : (struct test){ 0, 0 };

			if ((a.p - b.p) * (t.q - a.q) > (t.p - a.p) * (a.q - b.q))
				break;
			top--;
		}
		struct test before = top > 0 ? at[top - 1] : (struct test){ 0, 0 };
		if (t.p - before.p > t.q - before.q)
			at[top++] = t;
	}
	w->tests = top;
}

static enum acct_rc give(struct acct_exact *e, const struct work *w)
{
	e->p = calloc(w->tests + 1, sizeof *e->p);
	e->q = calloc(w->tests + 1, sizeof *e->q);
	if (!e->p || !e->q)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < w->tests; i++) {
		struct test before = i > 0 ? w->test[i - 1] : (struct test){ 0, 0 };

		e->p[i] = (double)(w->test[i].p - before.p);
		e->q[i] = (double)(w->test[i].q - before.q);
	}
	e->outcomes = w->tests;
	e->mass_error = TEST_ERROR;
	e->test_error = TEST_ERROR;
	return ACCT_OK;
}

enum acct_rc acct_bits_list(const struct acct_bit_facts *b, bool symmetric, struct acct_exact *e)
{
	struct work w;
	enum acct_rc rc;

	if (e->outcomes > 0 || b->labels || b->levels > 0 || b->classes > 0 ||
		b->others + b->coins > MOST_BITS)
		return ACCT_OK;
	rc = work_init(&w, b);
	for (size_t m = 0; m <= w.others && !rc; m++) {
		set_law(&w, m);
		add_tests(&w);
	}
	if (!rc) {
		hull(&w);
		rc = w.tests > 0 ? give(e, &w) : ACCT_OK;
	}
	work_fini(&w);
	return rc || e->outcomes == 0 ? rc : acct_exact_order(e, symmetric);
}
