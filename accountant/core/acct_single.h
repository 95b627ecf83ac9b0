/* acct_single.h - delta and epsilon of one round, from single points of its curve. */
#pragma once

#include "acct_plan.h"

#define ACCT_MOST_EPSILON 690.0 /* beyond it exp leaves the range of a double */

/* Bounds on delta at eps in [0, ACCT_MOST_EPSILON], and -d delta / d eps there, which is only a guide.
 * They hold for the plan's first round, without acct_plan_blur. */
void acct_single_delta(const struct acct_plan *p, double eps, struct acct_bound *delta, double *slope);

/* Near the largest loss, where points of the curve are wide: an upper bound on delta of any plan, from
 * points before eps; 1 if they say nothing; beyond the largest loss, the mass of infinite loss.  known is
 * an interval of delta at eps; if it is narrow, only two points are tried. */
double acct_single_near_largest(
	const struct acct_plan *p, double eps, double shift, const struct acct_bound *known);

/* Bounds on epsilon at delta, without acct_plan_blur; the upper end may be INFINITY.  They are at most 2e-4
 * apart unless points are wide or the work is spent.  Cost: 10 to 20 points. */
void acct_single_epsilon(struct acct_plan *p, double delta, struct acct_bound *eps);
