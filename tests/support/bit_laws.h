/* bit_laws.h - what rounds of up to MOST bits lose, by the laws of their number of ones. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "acct.h"
#include "uniform.h"

#define MOST  64
#define SLACK 1e-12 /* of sums of doubles */

static inline size_t below(size_t n)
{
	return (size_t)((double)n * uniform());
}

/* Probabilities of 0..bits ones, extended by one bit. */
static inline void add_bit(long double *law, size_t *bits, long double one)
{
	law[*bits + 1] = 0;
	for (size_t j = ++*bits; j > 0; j--)
		law[j] = law[j] * (1 - one) + law[j - 1] * one;
	law[0] *= 1 - one;
}

/* delta of "the victim's bit has chance r1" against "r0", among others of these chances: the best of all
 * tests, in either direction. */
static inline long double delta_among(
	const long double *chance, size_t others, long double r1, long double r0, long double e)
{
	long double law[2][MOST + 2] = { { 1 }, { 1 } }, sum[2] = { 0, 0 };
	size_t bits[2] = { 0, 0 };

	for (int way = 0; way < 2; way++) {
		for (size_t i = 0; i < others; i++)
			add_bit(law[way], &bits[way], chance[i]);
		add_bit(law[way], &bits[way], way == 0 ? r1 : r0);
	}
	for (size_t j = 0; j <= bits[0]; j++)
		for (int way = 0; way < 2; way++)
			sum[way] += fmaxl(0, law[way][j] - e * law[1 - way][j]);
	return fmaxl(sum[0], sum[1]);
}

static inline struct acct_bound delta_of(const struct acct_round *r, double eps)
{
	struct acct_bound b = { -1, -1 };

	assert_int_equal(acct_delta(r, 1, eps, &b), ACCT_OK);
	return b;
}

/* The interval holds the value, but for rounding, and is narrow. */
static inline void holds(struct acct_bound b, double value, double width, const char *what)
{
	if (!(b.lower <= value * (1 + SLACK) + 1e-17 && b.upper >= value * (1 - SLACK) - 1e-17))
		fail_msg("%s: [%.15g, %.15g] misses %.15g", what, b.lower, b.upper, value);
	if (!(b.upper - b.lower <= width * b.upper + 1e-12)) /* rounding moves epsilon by 1e-14 and more */
		fail_msg("%s: [%.15g, %.15g] is wide", what, b.lower, b.upper);
}
