/* shuffled.h - the exact law of a shuffled round of up to seven reports of four symbols. */
#pragma once

#include <math.h>
#include <string.h>

#define SYMBOLS    4
#define MOST_CODES 4096 /* histograms of at most 7 reports of 4 symbols, base 8 */
#define SIDE       8    /* weights of the symbols: 1, 8, 64, 512 */

/* mass[code]: chance of the histogram, one digit of base SIDE per symbol. */
struct law {
	double mass[MOST_CODES];
};

/* One more report, drawn from p. */
static inline void law_add(struct law *l, const double p[SYMBOLS])
{
	static const unsigned weight[SYMBOLS] = { 1, SIDE, SIDE * SIDE, SIDE * SIDE * SIDE };
	double next[MOST_CODES] = { 0 };

	for (unsigned c = 0; c < MOST_CODES; c++)
		for (unsigned s = 0; s < SYMBOLS && l->mass[c] > 0; s++)
			if (p[s] > 0)
				next[c + weight[s]] += l->mass[c] * p[s];
	memcpy(l->mass, next, sizeof next);
}

static inline double hockey(const struct law *a, const struct law *b, double eps)
{
	double sum = 0;

	for (unsigned c = 0; c < MOST_CODES; c++)
		sum += fmax(0, a->mass[c] - exp(eps) * b->mass[c]);
	return sum;
}

/* k-ary response of a participant with E = p who holds `input`. */
static inline void grr_report(double law[SYMBOLS], unsigned k, double p, unsigned input)
{
	for (unsigned s = 0; s < SYMBOLS; s++)
		law[s] = s >= k ? 0 : (s == input ? p : 1) / (p + k - 1);
}
