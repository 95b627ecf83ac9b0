/* cl_pins.h - the plans that this client has seen, and its pins: which entries of a plan it will answer.
 *
 * A plan is stored with the analyzer's signature for the population's life.  The client pins a plan before
 * its first report under it: it composes the entries that its own policy allows, keeps those that fit the
 * plan's slice, and never changes that choice.  The slice is spent whole at that moment, whether or not the
 * client answers; slices add up. */
#pragma once

#include "cl_pin.h"

struct cl_db;

/* ---- Plans ---- */

/* A plan that the shuffler sent, and the hash that was requested.  cl_plan_learn stores it, durable on
 * return.  CM_EPROTO: the hash differs, the analyzer did not sign it, or it belongs to another population;
 * it is not stored then.  A plan that contradicts earlier ones is stored as evidence. */
struct cl_offered_plan {
	const uint8_t *bytes, *signature; /* CR_SIGN_LEN bytes of signature */
	size_t len;
	uint8_t hash[PR_HASH_LEN]; /* the hash that was requested */
};
CM_CHECK enum cm_rc cl_plan_learn(struct cl_db *db, const struct cl_offered_plan *offered,
	const char *population, const struct cr_verifier *analyzer, int64_t now_ms, struct cm_err *err);
/* Load the plan of this hash.  CM_ENOINPUT: it is not stored.  CM_EPERM: it contradicts earlier plans; err
 * says how, and *out holds the plan.  Free with rd_plan_fini in all cases. */
CM_CHECK enum cm_rc cl_plan_find(
	struct cl_db *db, const uint8_t hash[PR_HASH_LEN], struct rd_plan *out, struct cm_err *err);

/* ---- Pins ---- */

/* Load the pin of a plan.  CM_ENOINPUT: the plan is not pinned. */
CM_CHECK enum cm_rc cl_pin_find(
	struct cl_db *db, const uint8_t plan_hash[PR_HASH_LEN], struct cl_pin *out, struct cm_err *err);
/* Store a pin, whose slice counts from now on; durable on return. */
CM_CHECK enum cm_rc cl_pin_put(
	struct cl_db *db, const struct cl_pin *pin, int64_t now_ms, struct cm_err *err);
/* Add up the slices of all pins. */
CM_CHECK enum cm_rc cl_pin_slices(struct cl_db *db, struct rd_slices *out, struct cm_err *err);

typedef enum cm_rc cl_pin_each_fn(void *user, const struct cl_pin *pin, struct cm_err *err);
/* Visit every pin in the order of plan numbers.  Stops at the first result that is not CM_OK, and returns
 * it. */
CM_CHECK enum cm_rc cl_pin_each(struct cl_db *db, cl_pin_each_fn *each, void *user, struct cm_err *err);
