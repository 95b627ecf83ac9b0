/* cl_prepare_work.h - prepares a round on the thread pool: judges the offered descriptor, and reads the
 * readings (cl_prepare.h). */
#pragma once

#include "cl_context.h"
#include "cl_plans.h"

struct cl_prepare_work {
	const struct cl_context *context; /* borrowed, like plans */
	struct cl_plans *plans;
	struct cm_buf descriptor; /* descriptor of the current round, as received */
	uint8_t signature[PR_SIGNATURE_LEN];
	struct cl_prepared prepared; /* the result, together with err */
	struct cm_err err;
	int64_t from;          /* wall time just before the readings are read */
	struct cl_input input; /* where the current work reads from */
	bool by_mqtt;          /* the readings come by MQTT later, so `input` is not used */
	uv_work_t work;
	/* the thread pool is working: no other thread may use prepared, err and the database */
	bool works;
	void (*done)(void *user);
	void *user;
};
void cl_prepare_work_init(
	struct cl_prepare_work *p, const struct cl_context *context, struct cl_plans *plans);
void cl_prepare_work_fini(struct cl_prepare_work *p);

/* Keep an offered descriptor.  CM_EPROTO: it is incomplete. */
CM_CHECK enum cm_rc cl_prepare_work_offer(
	struct cl_prepare_work *p, const Tombola__V1__Round *round, struct cm_err *err);
/* Whether these are the bytes of the descriptor that is kept. */
bool cl_prepare_work_is(const struct cl_prepare_work *p, const uint8_t *descriptor, size_t len);
/* Keep the active round as judged and resumed: only its stored reports are sent. */
CM_CHECK enum cm_rc cl_prepare_work_resume(
	struct cl_prepare_work *p, const struct cl_active *active, struct cm_err *err);
/* Compare an offered descriptor with the round under way, whose sequence number is `active`: a different
 * one with the same number is recorded as refused. */
void cl_prepare_work_look(const struct cl_prepare_work *p, uint64_t active);
/* Whether an earlier run, under another key, may have sent stored reports of the round with this sequence
 * number (0: none is stored): the shuffler would count them again, as another client's.  That is logged, and
 * *why says it.  False also after a fault of the database, which *why then has. */
bool cl_prepare_work_is_anothers(const struct cl_prepare_work *p, uint64_t sequence, struct cm_err *why);
/* Forget the judgement; cl_prepare_work_drop also forgets the descriptor. */
void cl_prepare_work_forget(struct cl_prepare_work *p);
void cl_prepare_work_drop(struct cl_prepare_work *p);

/* Start work on the thread pool; done(user) is called when it has ended.  cl_prepare_work_judge prepares the
 * whole round, with the readings of *input; if that is NULL it only judges, and the readings are drawn
 * afterwards.  from_ms is the wall time at which the preparation began; 0 means now.  cl_prepare_work_draw
 * reads the readings of the judged round from p->input, at p->from. */
CM_CHECK enum cm_rc cl_prepare_work_judge(struct cl_prepare_work *p, const struct cl_input *input,
	int64_t from_ms, void (*done)(void *user), void *user, struct cm_err *err);
CM_CHECK enum cm_rc cl_prepare_work_draw(
	struct cl_prepare_work *p, void (*done)(void *user), void *user, struct cm_err *err);
