/* cl_budget.h - the figures of the policy's budget, and what shuffler and analyzer together could have
 * learned. */
#pragma once

#include "cl_pins.h"
#include "cl_policy.h"
#include "rd_figure.h"
#include "rd_together.h"

struct cl_budget {
	struct rd_figure
		figure; /* while a loss is not accepted, all of the budget counts as pinned and used */
	size_t plans;   /* number of pinned plans */
};
CM_CHECK enum cm_rc cl_budget_read(
	struct cl_db *db, const struct cl_policy *policy, struct cl_budget *out, struct cm_err *err);
/* What this client used of a pinned plan. */
struct cl_plan_use {
	double epsilon;  /* of the entries that have a charge; of a closed plan, the slice */
	double share;    /* epsilon / slice, 0..1 */
	size_t answered; /* number of entries that have a charge */
};
/* plan: the pin's plan (cl_plan_find). */
CM_CHECK enum cm_rc cl_budget_of(struct cl_db *db, const struct cl_pin *pin, const struct rd_plan *plan,
	struct cl_plan_use *out, struct cm_err *err);

/* The sum of epsilon0 over all charges of this ledger.  CM_EDATA: one is damaged. */
CM_CHECK enum cm_rc cl_budget_together(struct cl_db *db, struct rd_together *out, struct cm_err *err);
