/* cl_payload_wait.h - waits for the payload of a round, before the round is prepared.
 *
 * The wait has the same length whether the payload comes or not, and its end is always waited for.  So the
 * time at which a client prepares and sends does not show whether and when the payload came. */
#pragma once

#include "cl_context.h"
#include "cl_plans.h"

struct cl_payload_wait {
	const struct cl_context *context; /* borrowed, like plans */
	struct cl_plans *plans;
	uv_timer_t timer;
	uint64_t round;   /* the round for which the wait began; 0 if there is none */
	int64_t until_ms; /* wall time at which the wait ends */
	void (*on_over)(void *user);
	void *user;
};
void cl_payload_wait_init(struct cl_payload_wait *w, const struct cl_context *context, struct cl_plans *plans,
	void (*on_over)(void *user), void *user);
/* Call once after init; no callback follows. */
void cl_payload_wait_close(struct cl_payload_wait *w);

/* Begin to fetch the payload of this round, or continue if that was begun already.  A payload that is not
 * complete when the wait ends is given up.  CM_EIO, CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_payload_wait_begin(
	struct cl_payload_wait *w, const struct rd_descriptor *d, struct cm_err *err);
/* Whether the fetch is decided and only the end of the wait is still to come. */
bool cl_payload_wait_lasts(const struct cl_payload_wait *w);
/* Wall time at which the round whose payload was fetched is prepared; 0 if there was no such round. */
int64_t cl_payload_wait_until(const struct cl_payload_wait *w);
/* End the wait because another round comes. */
void cl_payload_wait_stop(struct cl_payload_wait *w);
/* Erase the payload, because its round is over. */
void cl_payload_wait_forget(struct cl_payload_wait *w);
