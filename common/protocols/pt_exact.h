/* pt_exact.h - integer probabilities (thresholds of 2^64), masks for constant time, directed rounding. */
#pragma once

#include <float.h>
#include <math.h>
#include <stdint.h>

/* Distance of a threshold from the ideal one, towards more noise, in units of 2^-64.  expl, a sum and a
 * quotient are together off by less than 2^4 units.  The rest keeps pt_ratio_log of the threshold's ratio
 * at or below the requested epsilon0. */
#define PT_THRESHOLD_MARGIN 64.0L

/* 2^64 - t, exact, for t above 0. */
static inline uint64_t pt_complement(uint64_t t)
{
	return UINT64_C(0) - t;
}

static inline double pt_probability(uint64_t threshold)
{
	return ldexp((double)threshold, -64);
}

/* The least double at or above x. */
static inline double pt_round_up(long double x)
{
	double d = (double)x;

	return (long double)d < x ? nextafter(d, INFINITY) : d;
}

/* All ones if a < b, else zero, for a, b below 2^63. */
static inline uint64_t pt_below_mask(uint64_t a, uint64_t b)
{
	return UINT64_C(0) - ((a - b) >> 63);
}

/* All ones if a = b, else zero, for a, b below 2^63. */
static inline uint64_t pt_equal_mask(uint64_t a, uint64_t b)
{
	return pt_below_mask(a ^ b, 1);
}

/* Return yes if mask is all ones, no if it is zero. */
static inline uint64_t pt_choose(uint64_t mask, uint64_t yes, uint64_t no)
{
	return (mask & yes) | (~mask & no);
}
