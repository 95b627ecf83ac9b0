/* exact_batch.h - the exact delta of a shuffled batch of a few messages, against the accountant's. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "acct.h"

#define BATCH_SYMBOLS 32u
#define TUPLES_MAX    32768u

/* Messages of a batch: each one's law under the victim's two values. */
struct batch {
	uint32_t symbols, messages;
	long double law[2][8][BATCH_SYMBOLS];
};

static inline int by_digit(const void *a, const void *b)
{
	return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* Hockey stick of the shuffled batch: all tuples of symbols, gathered by their multiset. */
static inline double exact_delta(const struct batch *b, double epsilon, bool reverse)
{
	static long double mass[2][TUPLES_MAX];
	uint32_t tuples = 1;
	long double sum = 0;

	for (uint32_t i = 0; i < b->messages; i++)
		tuples *= b->symbols;
	assert_true(tuples <= TUPLES_MAX);
	memset(mass, 0, sizeof mass);
	for (uint32_t t = 0; t < tuples; t++) {
		long double p[2] = { 1, 1 };
		uint8_t digit[8] = { 0 };
		uint32_t rest = t, code = 0;

		for (uint32_t i = 0; i < b->messages; i++, rest /= b->symbols) {
			digit[i] = (uint8_t)(rest % b->symbols);
			p[0] *= b->law[0][i][digit[i]];
			p[1] *= b->law[1][i][digit[i]];
		}
		qsort(digit, b->messages, 1, by_digit);
		for (uint32_t i = 0; i < b->messages; i++)
			code = code * b->symbols + digit[i];
		mass[0][code] += p[0];
		mass[1][code] += p[1];
	}
	for (uint32_t t = 0; t < tuples; t++)
		sum += fmaxl(0, mass[reverse][t] - expl((long double)epsilon) * mass[!reverse][t]);
	return (double)sum;
}

static const double some_epsilons[] = { 0, 0.25, 1, 2 };

/* Never less than the exact delta; where the theorem is exact also never more. */
static inline void expect_bound(const struct acct_round *round, const struct batch *b, bool is_exact)
{
	for (size_t i = 0; i < sizeof some_epsilons / sizeof some_epsilons[0]; i++) {
		double truth =
			fmax(exact_delta(b, some_epsilons[i], false), exact_delta(b, some_epsilons[i], true));
		struct acct_bound delta;

		assert_int_equal(acct_delta(round, 1, some_epsilons[i], &delta), ACCT_OK);
		if (!(truth <= delta.upper * (1 + 1e-12) + 1e-15))
			fail_msg("exact %.17g above %.17g at %g", truth, delta.upper, some_epsilons[i]);
		if (is_exact && truth > 0 && !(delta.upper <= truth * (1 + 1e-6)))
			fail_msg("%.17g above the exact %.17g", delta.upper, truth);
		assert_true(truth > 0 || !is_exact || delta.upper < 1e-200);
	}
}
