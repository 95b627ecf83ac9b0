/* cl_pin.h - what this client takes of a plan, decided once: a pin.  Nothing of where it is kept. */
#pragma once

#include <stdatomic.h>

#include "cl_policy.h"
#include "rd_plan.h"

struct cl_pin {
	uint8_t plan_hash[PR_HASH_LEN];
	uint64_t number;       /* of the plan */
	double epsilon, delta; /* its slice */
	bool adaptive;
	struct rd_pin pin;
	/* By what it was composed: of the policy and the plan, what trusts less. */
	double honest_fraction;
	int64_t colluders;
	bool trusted; /* the shuffler's messages counted */
};
/* Decide what this client takes of a plan, beside the slices that are pinned.  CM_EPERM: its policy allows no
 * entry of it; CM_EBUDGET: its slice does not fit beside those pinned, or no entry fits the slice.  Costs a
 * composition an entry; *stop as in rd_plan_pin. */
CM_CHECK enum cm_rc cl_pin_choose(const struct cl_policy *policy, const struct rd_plan *plan,
	const struct rd_slices *pinned, const atomic_bool *stop, struct cl_pin *out, struct cm_err *err);
/* The pin of a plan of which nothing will be answered: who took part in it is not known any more. */
struct cl_pin cl_pin_closed(const struct rd_plan *plan);
/* Is what was pinned still within the policy?  CM_EPERM: it trusts less than then; CM_EBUDGET: it allows less
 * than all slices together. */
CM_CHECK enum cm_rc cl_pin_check(const struct cl_policy *policy, const struct cl_pin *pin,
	const struct rd_slices *pinned, struct cm_err *err);
