/* pl_auto.h - chooses the protocol of every round of a plan that says protocol "auto". */
#pragma once

#include "pl_plan.h"

/* What a round that is `automatic` asks for when it may cost this much alone; its query is borrowed. */
struct pl_need pl_need_of(const struct pl_plan *p, const struct pl_round *r, double cost);

/* Choose for every round that is `automatic`: its protocol, request, randomizer, epsilon0 and why.  The other
 * rounds keep theirs.  Rounds that give no epsilon share equally what the plan's other rounds leave: the
 * greatest share, in thousandths of the budget and to about a hundredth of itself, with which the accountant
 * lets all of them together fit.  CM_ECONFIG: *at is the round at fault, and err says what it would need. */
CM_CHECK enum cm_rc pl_auto(struct pl_plan *p, const struct pl_round **at, struct cm_err *err);
