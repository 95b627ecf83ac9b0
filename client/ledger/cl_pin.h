/* cl_pin.h - decides once what this client takes of a plan: a pin.  Does not know where pins are stored. */
#pragma once

#include <stdatomic.h>

#include "cl_policy.h"
#include "rd_plan.h"

struct cl_pin {
	uint8_t plan_hash[PR_HASH_LEN];
	uint64_t number;       /* the plan's number */
	double epsilon, delta; /* the plan's slice */
	bool adaptive;
	struct rd_pin pin;
	/* What the composition assumed: the more cautious of the policy's and the plan's assumptions. */
	double honest_fraction;
	int64_t colluders;
	bool trusted; /* the composition relied on the shuffler's dummies */
};
/* Decide which entries of a plan this client takes, beside the plans whose slices are pinned.  CM_EPERM: the
 * plan has more entries than the policy's max_plan_entries, it is adaptive and accept_adaptive is false, or
 * the policy allows none of its entries.  CM_EBUDGET: its slice does not fit beside those that are pinned, or
 * no entry fits the slice.  Composes each entry once; *stop as in rd_plan_pin. */
CM_CHECK enum cm_rc cl_pin_choose(const struct cl_policy *policy, const struct rd_plan *plan,
	const struct rd_slices *pinned, const atomic_bool *stop, struct cl_pin *out, struct cm_err *err);
/* The same for a rehearsal, which nothing is pinned after: also say why entries are not taken.  After
 * CM_ELATER *out has the entries that were taken until then. */
CM_CHECK enum cm_rc cl_pin_explain(const struct cl_policy *policy, const struct rd_plan *plan,
	const struct rd_slices *pinned, const atomic_bool *stop, struct cl_pin *out, struct rd_faults *faults,
	struct cm_err *err);
/* Make a pin that answers no entry of the plan, because it is no longer known which entries were answered. */
struct cl_pin cl_pin_closed(const struct rd_plan *plan);
/* Check that a pin is still within the policy.  CM_EPERM: the policy now trusts less; CM_EBUDGET: it now
 * allows less than all slices together. */
CM_CHECK enum cm_rc cl_pin_check(const struct cl_policy *policy, const struct cl_pin *pin,
	const struct rd_slices *pinned, struct cm_err *err);
