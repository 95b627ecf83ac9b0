/* acct_ends.h - ends of intervals computed from numbers that may overflow, underflow or cancel.  For all of
 * accountant/.
 *
 * The rule: no NaN and no infinity is ever read as "no loss".  fmin() and fmax() return their other
 * argument where one is NaN.  That is right in two places: where a bound that holds is tightened (fmin of
 * upper ends, fmax of lower ends: a NaN has shown nothing, and the bound continues to hold), and where
 * grids and steps are chosen, since any value is sound there.  It is wrong where the larger of two upper
 * ends, or the positive part of one, is taken: there, use the functions below. */
#pragma once

#include <math.h>

/* The upper end x, or `trivial`, which another argument proves, if x is larger or NaN. */
static inline double acct_upper_end(double x, double trivial)
{
	return x <= trivial ? x : trivial;
}

/* The lower end x, or 0, which always holds, if x is less or NaN. */
static inline double acct_lower_end(double x)
{
	return x > 0 ? x : 0;
}

/* The larger of two upper ends: INFINITY where either is NaN. */
static inline double acct_larger(double a, double b)
{
	return a >= b ? a : b > a ? b : INFINITY;
}
