/* pl_auto.h - the rounds of a plan that leave their protocol to us. */
#pragma once

#include "pl_plan.h"

/* Choose for every round that is `automatic`: its protocol, request, params, epsilon0 and why.  The others
 * have theirs already.
 *
 * Rounds that say no epsilon share equally what the plan's others leave: the greatest share, in thousandths
 * of the budget and to about a hundredth of itself, with which the accountant lets all of them together fit.
 * CM_ECONFIG: *at is the round it is about, and err says what would be needed. */
CM_CHECK enum cm_rc pl_auto(struct pl_plan *p, const struct pl_round **at, struct cm_err *err);
