/* pl_slice.h - the slice of the population's budget that a plan takes, beside what its rounds use of it.
 *
 * A slice is spent whole when its plan is pinned, whatever was answered.  So what the accepted rounds do not
 * use of it is lost to the population for life. */
#pragma once

#include <stdio.h>

#include "pl_plan.h"

/* The smallest slice with which all rounds of this plan fit, by the accountant at the plan's delta, as a
 * number of four decimal places, and of at least four significant digits.  It is never below what the
 * rounds are certified to cost together, and above it by less than the rounding, or by one step more where
 * the two would be equal.  p->epsilon is ignored; the plan is not adaptive.  Costs one composition of
 * all rounds, and one more for each last round that adds less than what an answer's interval is wide.
 * CM_ECONFIG: no slice that a plan may have would do. */
CM_CHECK enum cm_rc pl_slice_find(const struct pl_plan *p, double *epsilon, struct cm_err *err);

/* Whether the slice is more than a twentieth above what the accepted rounds use. */
bool pl_slice_wide(double epsilon, double used);
/* Print a warning if it is: what is lost, and what to write.  used: upper bound on epsilon of the accepted
 * rounds together, 0 if there are none.  Prints nothing for an adaptive plan, whose rounds may follow, nor
 * where no round fits, which is nobody's plan to sign. */
void pl_slice_warn(const struct pl_plan *p, double used, FILE *out);
