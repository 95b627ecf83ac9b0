/* cl_budget.h - how much of the policy's budget is pinned, how much of the pinned part is used, and what
 * shuffler and analyzer together could have learned. */
#pragma once

#include "cl_pins.h"
#include "cl_policy.h"
#include "rd_together.h"

struct cl_budget {
	struct rd_slices slices; /* the slices of all pinned plans, spent whole */
	size_t plans;
	double pinned; /* the slices' share of the budget, of epsilon or delta the larger; 1: all of it */
	/* Share of the budget whose entries were answered or whose filters are used up.  It says when no
	 * entry is left to answer; it is no measure of privacy loss. */
	double used;
};
CM_CHECK enum cm_rc cl_budget_read(
	struct cl_db *db, const struct cl_policy *policy, struct cl_budget *out, struct cm_err *err);
/* How much of a pinned plan is used, 0..1, and how many of its entries this client reported to. */
CM_CHECK enum cm_rc cl_budget_of(
	struct cl_db *db, const struct cl_pin *pin, double *share, size_t *answered, struct cm_err *err);

/* The sum of epsilon0 over all charges of this ledger.  CM_EDATA: one is damaged. */
CM_CHECK enum cm_rc cl_budget_together(struct cl_db *db, struct rd_together *out, struct cm_err *err);
