/* pl_make.h - decides which rounds of a plan fit together, and makes the plan that is signed. */
#pragma once

#include "pl_plan.h"

/* Receives the accountant's verdict on round i, and the account of the rounds that were accepted before it.
 * Returning CM_EMORE ends pl_plan_accept without a fault. */
typedef enum cm_rc pl_judged_fn(void *user, size_t i, const struct rd_account *before,
	const struct rd_verdict *v, struct cm_err *err);
/* Judge the plan's rounds in order, and accept each that fits beside those accepted before it.  This is the
 * only place that decides which rounds fit.  Each round costs one composition.  Another thread may set *stop
 * to end it with CM_ELATER; NULL: no thread will. */
CM_CHECK enum cm_rc pl_plan_accept(const struct pl_plan *p, const atomic_bool *stop, pl_judged_fn *judged,
	void *user, struct cm_err *err);
/* Append the bytes of the plan to be signed to out.  Accepted rounds become its entries, the others its
 * refused rounds; an adaptive plan has neither.  number: of the population's plans, from 1.  previous: hash
 * of the plan before, zeroes for the first. */
CM_CHECK enum cm_rc pl_plan_make(const struct pl_plan *p, uint64_t number,
	const uint8_t previous[PR_HASH_LEN], const atomic_bool *stop, struct cm_buf *out, struct cm_err *err);

/* Check that the signed plan would not be too long if all its rounds were accepted.  Composes nothing.
 * CM_ECONFIG: it would be too long.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc pl_plan_size_check(const struct pl_plan *p, struct cm_err *err);
