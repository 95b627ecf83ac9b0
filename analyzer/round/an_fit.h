/* an_fit.h - compares a plan with the shuffler's policy, before the plan is signed and its slice is spent. No
 * I/O.
 *
 * The shuffler judges for itself what it is asked to take (sh_policy.h); this only says in advance which keys
 * of the plan file and of the shuffler's policy do not fit.  The Policy is a peer's: its numbers may be
 * any. */
#pragma once

#include "an_state.h"
#include "pr_msg.h"

#define AN_FIT_TEXT 200u

/* Report one fault.  r: the round, or the first of several recurrences; NULL: it is the whole plan's. */
typedef void an_fit_fn(void *user, const struct pl_round *r, const char *text);

/* Check whether a plan that was made of this file fits the policy, and return the number of faults; `say` is
 * called for each.  Only the plan's entries are judged, but every round of the file if the plan is adaptive.
 * pinned: its slice is among those that were taken. */
size_t an_fit_plan(const struct pl_plan *p, const struct rd_plan *made, bool pinned,
	const Tombola__V1__Policy *says, an_fit_fn *say, void *user);
