/* cl_budget.h - how much of the policy's budget is pinned, how much of the pinned part is used, and what
 * shuffler and analyzer together could have learned. */
#pragma once

#include "cl_pins.h"
#include "cl_policy.h"
#include "rd_together.h"

struct cl_budget {
	struct rd_slices slices; /* the slices of all pinned plans; each counts in full */
	size_t plans;
	/* the share of the budget that the slices take, of epsilon or delta, whichever is larger; 1: all of
	 * it */
	double pinned;
	/* Share of the budget whose entries were answered or whose filters are used up.  It shows when no
	 * entry is left to answer, and does not measure privacy loss. */
	double used;
};
CM_CHECK enum cm_rc cl_budget_read(
	struct cl_db *db, const struct cl_policy *policy, struct cl_budget *out, struct cm_err *err);
/* How much of a pinned plan is used, 0..1, and how many of its entries this client reported to. */
CM_CHECK enum cm_rc cl_budget_of(
	struct cl_db *db, const struct cl_pin *pin, double *share, size_t *answered, struct cm_err *err);

/* The sum of epsilon0 over all charges of this ledger.  CM_EDATA: one is damaged. */
CM_CHECK enum cm_rc cl_budget_together(struct cl_db *db, struct rd_together *out, struct cm_err *err);
