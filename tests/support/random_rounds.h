/* random_rounds.h - rounds of random small cell lists, the same ones in every run. */
#pragma once

#include <math.h>

#include "acct.h"

static uint64_t seed; /* not 0 */

/* Uniform in [0, 1): xorshift64*, so that a failure comes again. */
static inline double uniform(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (double)((seed * 2685821657736338717u) >> 11) / 9007199254740992.0;
}

static inline unsigned below(unsigned n)
{
	return (unsigned)(uniform() * n);
}

/* A part of the participants has another share of the blanket than the rest, some of them all of it. */
static inline void random_levels(struct acct_round *r, double blanket, unsigned most)
{
	static const double part[] = { 1, 1 - 1e-15, 1 - 1e-7, 1e-6 };

	for (r->levels = 0; r->levels < below(4); r->levels++)
		r->level[r->levels] =
			(struct acct_level){ (below(2) ? part[below(4)] : uniform()) / blanket, below(most) };
}

/* Any pair of laws on 2..5 cells, some of them impossible under one input, with up to 16 messages. */
static inline struct acct_round random_round(unsigned most)
{
	for (;;) {
		struct acct_round r = { .cells = 2 + below(4), .count = 1 };
		double blanket = below(3) ? uniform() : 1, omega = 0, u = 0, v = 0;

		for (size_t j = 0; j < r.cells; j++)
			omega += r.cell[j].omega = uniform() * pow(10, -3 * uniform()) + 1e-9;
		for (size_t j = 0; j < r.cells; j++) {
			r.cell[j].omega *= blanket / omega;
			r.cell[j].u = below(5) ? exp(4 * uniform() - 2) : 0;
			r.cell[j].v = below(5) ? exp(4 * uniform() - 2) : 0;
			u += r.cell[j].omega * r.cell[j].u;
			v += r.cell[j].omega * r.cell[j].v;
		}
		if (u < 1e-6 || v < 1e-6)
			continue;
		for (size_t j = 0; j < r.cells; j++) {
			r.cell[j].u /= u;
			r.cell[j].v /= v;
		}
		r.others = below(most);
		r.dummies = below(2) ? below(most / 2) : 0;
		random_levels(&r, blanket, most / 2);
		if (acct_round_check(&r, &(const char *){ NULL }) == ACCT_OK)
			return r;
	}
}
