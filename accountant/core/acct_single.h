/* acct_single.h - delta and epsilon of one round, from single points of its curve. */
#pragma once

#include "acct_plan.h"

#define ACCT_MOST_EPSILON 690.0 /* beyond it exp leaves the range of a double */

/* Bounds on delta at eps in [0, ACCT_MOST_EPSILON], and in *slope about -d delta / d eps there, a guide for
 * a search.  They are those of the plan's first round, repeated once, and do not include the rounding that
 * acct_plan_blur charges. */
void acct_single_delta(const struct acct_plan *p, double eps, struct acct_bound *delta, double *slope);

/* An upper bound on delta near the largest loss, where a point of the curve is wide: it follows from points
 * before eps.  The result is 1 if they say nothing and, beyond the largest loss, the mass of infinite loss.
 * known is an interval of delta at eps; if it is narrow, only two points are tried.  shift is what
 * acct_plan_blur charges. */
double acct_single_near_largest(
	const struct acct_plan *p, double eps, double shift, const struct acct_bound *known);

/* Bounds on epsilon at delta, without the rounding that acct_plan_blur charges; the upper end may be
 * INFINITY.  They are at most a relative 2e-4 apart unless points are wide or the work is spent.  Cost: 10
 * to 20 points. */
void acct_single_epsilon(struct acct_plan *p, double delta, struct acct_bound *eps);
