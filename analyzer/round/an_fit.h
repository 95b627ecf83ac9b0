/* an_fit.h - compares a plan with the shuffler's policy, before the plan is signed and its slice is spent.
 * No I/O.
 *
 * The shuffler itself judges what it is asked to take (sh_policy.h).  This file only reports in advance
 * which keys of the plan file and of the shuffler's policy do not fit.  The Policy comes from a peer, so
 * its numbers may have any value. */
#pragma once

#include "an_state.h"
#include "pr_msg.h"

#define AN_FIT_TEXT 200u

/* Report one fault.  r: the round, or the first of several recurrences; NULL if the fault concerns the
 * whole plan. */
typedef void an_fit_fn(void *user, const struct pl_round *r, const char *text);

/* Check whether a plan that was made from this file fits the policy, and return the number of faults; `say`
 * is called for each.  Only the plan's entries are judged, except that in an adaptive plan every round of
 * the file is.  pinned: the plan's slice is already among those that were taken. */
size_t an_fit_plan(const struct pl_plan *p, const struct rd_plan *made, bool pinned,
	const Tombola__V1__Policy *says, an_fit_fn *say, void *user);
