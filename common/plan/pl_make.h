/* pl_make.h - which rounds of a plan fit together, and the plan that is signed. */
#pragma once

#include "pl_plan.h"

/* What the accountant says of round i beside the rounds that were accepted before it.  CM_EMORE ends the pass
 * without a fault. */
typedef enum cm_rc pl_judged_fn(void *user, size_t i, const struct rd_account *before,
	const struct rd_verdict *v, struct cm_err *err);
/* The plan's rounds in order: what fits beside those accepted before it is accepted.  This is the only place
 * that decides it.  Costs a composition a round; *stop (NULL: nobody will) set by another thread ends it,
 * CM_ELATER. */
CM_CHECK enum cm_rc pl_plan_accept(const struct pl_plan *p, const atomic_bool *stop, pl_judged_fn *judged,
	void *user, struct cm_err *err);
/* The bytes of the plan to be signed, the population's `number`th, appended to out: rounds that are accepted
 * are its entries, the others are refused.  previous: hash of the plan before, zeroes for the first.  An
 * adaptive plan has neither. */
CM_CHECK enum cm_rc pl_plan_make(const struct pl_plan *p, uint64_t number,
	const uint8_t previous[PR_HASH_LEN], const atomic_bool *stop, struct cm_buf *out, struct cm_err *err);

/* Could the plan be signed, would all of its rounds be accepted?  CM_ECONFIG when it is too long,
 * CM_EINTERNAL out of memory.  Nothing is composed. */
CM_CHECK enum cm_rc pl_plan_size_check(const struct pl_plan *p, struct cm_err *err);
