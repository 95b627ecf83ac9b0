/* multi_rows.h - the rows of one wide message among wide dummies, for their tests. */
#pragma once

#include <math.h>

#include "single_rows.h"

static inline struct pt_params made_of(const char *row, uint32_t d, const struct pt_request *r)
{
	struct pt_query q = histogram(d);
	struct pt_params p;

	if (pt_find(row)->derive(&q, r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(pt_find(row)->check(&q, &p, &err), CM_OK);
	return p;
}

static inline struct pt_params hashed(uint32_t d, uint32_t cells, uint32_t dummies)
{
	struct pt_request r = { .epsilon0 = INFINITY, .dummies = dummies, .size = cells };

	return made_of("hashed", d, &r);
}

static inline struct pt_params cheu(uint32_t d, double epsilon0, uint32_t dummies)
{
	struct pt_request r = { .epsilon0 = epsilon0, .dummies = dummies };

	return made_of("cheu", d, &r);
}

static inline long double chance(uint64_t threshold)
{
	return ldexpl((long double)threshold, -64);
}

static inline void close_to(double got, long double want, double relative)
{
	if (!(fabsl(got - want) <= relative * fabsl(want)))
		fail_msg("%.17g, not %.17Lg", got, want);
}
