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

/* One fault.  r: the round, of several recurrences the first; NULL: of the whole plan. */
typedef void an_fit_fn(void *user, const struct pl_round *r, const char *text);

/* Does a plan that was made of this file fit the policy?  Only its entries are judged, of an adaptive plan
 * every round of the file.  pinned: its slice is among those that were taken.  Each fault is told to `say`;
 * how many there are. */
size_t an_fit_plan(const struct pl_plan *p, const struct rd_plan *made, bool pinned,
	const Tombola__V1__Policy *says, an_fit_fn *say, void *user);
