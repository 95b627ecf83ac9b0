/* cl_preparation.h - a round's preparation on the thread pool: the offered descriptor is judged, and the
 * readings are read (cl_prepare.h). */
#pragma once

#include "cl_context.h"
#include "cl_plans.h"

struct cl_preparation {
	const struct cl_context *context; /* borrowed, like plans */
	struct cl_plans *plans;
	struct cm_buf descriptor; /* of the current round, as received */
	uint8_t signature[PR_SIGNATURE_LEN];
	struct cl_prepared prepared; /* the result, with err */
	struct cm_err err;
	int64_t from;          /* wall time just before the readings are read */
	struct cl_input input; /* of the current work */
	bool by_mqtt;          /* input is not used */
	uv_work_t work;
	bool works; /* the thread pool has work: nobody else touches prepared, err and the database */
	void (*done)(void *user);
	void *user;
};
void cl_preparation_init(struct cl_preparation *p, const struct cl_context *context, struct cl_plans *plans);
void cl_preparation_fini(struct cl_preparation *p);

/* Keep an offered descriptor.  CM_EPROTO: it is incomplete. */
CM_CHECK enum cm_rc cl_preparation_offer(
	struct cl_preparation *p, const Tombola__V1__Round *round, struct cm_err *err);
/* Whether these are the bytes of the descriptor that is kept. */
bool cl_preparation_is(const struct cl_preparation *p, const uint8_t *descriptor, size_t len);
/* Keep the active round as judged and resumed: only its stored reports are sent. */
CM_CHECK enum cm_rc cl_preparation_resume(
	struct cl_preparation *p, const struct cl_active *active, struct cm_err *err);
/* A descriptor while the round with the sequence number `active` is under way: another one of the same number
 * is recorded as refused. */
void cl_preparation_look(const struct cl_preparation *p, uint64_t active);
/* Forget the judgement; and the descriptor, too. */
void cl_preparation_forget(struct cl_preparation *p);
void cl_preparation_drop(struct cl_preparation *p);

/* Start work on the thread pool; done(user) follows when it returns.  judge: the whole preparation, with the
 * readings of *input; NULL: without readings, they are drawn afterwards.  from_ms: when that begins, by the
 * wall clock; 0: now.  draw: the judged round's readings, from p->input, at p->from. */
CM_CHECK enum cm_rc cl_preparation_judge(struct cl_preparation *p, const struct cl_input *input,
	int64_t from_ms, void (*done)(void *user), void *user, struct cm_err *err);
CM_CHECK enum cm_rc cl_preparation_draw(
	struct cl_preparation *p, void (*done)(void *user), void *user, struct cm_err *err);
