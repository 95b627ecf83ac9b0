/* pl_auto.h - chooses the protocol of every round of a plan that says protocol "auto". */
#pragma once

#include "pl_plan.h"

/* The requirements of an `automatic` round that may cost `cost` (epsilon, alone).  The result borrows
 * r->query. */
struct pl_need pl_need_of(const struct pl_plan *p, const struct pl_round *r, double cost);

/* Choose for every round that is `automatic`: its protocol, request, randomizer, epsilon0 and why.  The other
 * rounds keep theirs.  Rounds that give no epsilon get equal shares of what the plan's other rounds leave:
 * the largest share with which all of them fit together, by the accountant, in thousandths of the budget and
 * to about a hundredth of itself.  CM_ECONFIG: *at is the round at fault, and err says what it would need. */
CM_CHECK enum cm_rc pl_auto(struct pl_plan *p, const struct pl_round **at, struct cm_err *err);
