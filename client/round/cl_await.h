/* cl_await.h - the time in which a round's payload is fetched, before the round is prepared.
 *
 * It is the same whatever comes of the fetch, and is waited for whole: when a client prepares and sends does
 * not show whether and when the payload came. */
#pragma once

#include "cl_context.h"
#include "cl_plans.h"

struct cl_await {
	const struct cl_context *context; /* borrowed, as plans are */
	struct cl_plans *plans;
	uv_timer_t timer;
	uint64_t round;   /* whose payload is fetched, or was; 0: none */
	int64_t until_ms; /* wall clock: when that ends */
	void (*on_over)(void *user);
	void *user;
};
void cl_await_init(struct cl_await *a, const struct cl_context *context, struct cl_plans *plans,
	void (*on_over)(void *user), void *user);
/* No callback follows.  Once, after init. */
void cl_await_close(struct cl_await *a);

/* Begin to fetch the payload of this round; or go on, if that was begun.  When its time is over, what has not
 * come is given up.  CM_EIO, CM_EINTERNAL. */
CM_CHECK enum cm_rc cl_await_begin(struct cl_await *a, const struct rd_descriptor *d, struct cm_err *err);
/* Is there anything to do but wait for the end of that time? */
bool cl_await_waits(const struct cl_await *a);
/* When a round is prepared that has a payload, by the wall clock; 0: it has none. */
int64_t cl_await_until(const struct cl_await *a);
/* Another round comes. */
void cl_await_stop(struct cl_await *a);
/* The round is over: its payload is erased. */
void cl_await_forget(struct cl_await *a);
