/* pl_cost.h - computes what a plan would spend, before anything is deployed. */
#pragma once

#include "pl_plan.h"

/* One round of the plan, where every round has its min_reports: the accountant's verdict, what a device
 * sends, and the expected error of the answer. */
struct pl_cost {
	struct rd_verdict verdict;
	bool run;                /* the round fits, so the verdicts on later rounds include it */
	double largest_epsilon0; /* where it does not fit: the largest epsilon0 that would; 0: none would */
	uint32_t least_dummies;  /* where it does not fit: the fewest dummies that would; 0: none would */
	uint32_t messages;       /* messages of one device */
	uint64_t bytes;          /* bytes of those messages, sealed */
	double error;            /* expected root mean square error, in counts or in the units of a mean */
};
/* Fill cost[p->rounds], which the caller provides. */
CM_CHECK enum cm_rc pl_plan_cost(const struct pl_plan *p, struct pl_cost *cost, struct cm_err *err);
