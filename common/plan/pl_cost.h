/* pl_cost.h - what a plan would spend, before anything is deployed. */
#pragma once

#include "pl_plan.h"

/* What the plan would spend if every round were filled: fits, and the accountant's verdict, per round; what a
 * device sends, and how good the answer is to be. */
struct pl_cost {
	struct rd_verdict verdict;
	bool run;                /* fits, so it is part of what later rounds add to */
	double largest_epsilon0; /* of a round that does not fit: 0 when nothing would */
	uint32_t least_dummies;  /* the same; 0 when nothing would */
	uint32_t messages;       /* of one device */
	uint64_t bytes;          /* of those messages, sealed */
	double error;            /* expected, root mean square: counts, or the units of a mean */
};
/* cost[p->rounds], the caller's. */
CM_CHECK enum cm_rc pl_plan_cost(const struct pl_plan *p, struct pl_cost *cost, struct cm_err *err);
