/* sh_live.h - the rounds that are under way here, and the jobs for those that are released or over.
 *
 * A job is slow work for one round, on any thread: it reads a bucket, or deletes the messages of a round
 * that is over.  One job runs at a time.  No I/O except the store's. */
#pragma once

#include "sh_round.h"

/* Most rounds that are sealed or being released at a time, in addition to the open one. */
#define SH_ROUNDS_MAX 8u

enum sh_job_kind {
	SH_JOB_NONE,
	SH_JOB_READ,  /* read a bucket that is asked for, or the one after it */
	SH_JOB_ERASE, /* delete the messages of a round that is over */
};
/* A job between its begin and its end, in the caller's memory.  Only `kind` concerns the caller. */
struct sh_job {
	enum sh_job_kind kind;
	struct sh_round *round;     /* borrowed */
	struct sh_segment *segment; /* for a reading */
	enum cm_rc rc;
	struct cm_err err;
};

/* Zeroed, it has no rounds. */
struct sh_live {
	struct sh_round *round[SH_ROUNDS_MAX + 1]; /* in no order; owned */
	size_t n;
	/* rounds whose messages are still to be deleted, in this order */
	struct sh_round *over[SH_ROUNDS_MAX + 1];
	size_t overs;
	const struct sh_job *job; /* the job between its begin and its end; NULL if there is none */
};

void sh_live_fini(struct sh_live *l);
/* Find the live round with this id, or the one that is collecting.  NULL if there is none. */
struct sh_round *sh_live_find(const struct sh_live *l, const uint8_t *round_id);
struct sh_round *sh_live_collecting(const struct sh_live *l);
/* Retire a live round that is over (sh_round_over): it is no longer found, and a job deletes its
 * messages. */
void sh_live_over(struct sh_live *l, struct sh_round *r);
/* Whether the messages of this round are still to be deleted. */
bool sh_live_erases(const struct sh_live *l, const uint8_t *round_id);

/* On the event loop: choose the next job; returns j->kind.  Unless it is SH_JOB_NONE, call run and end
 * before the next begin.  erasures: begin only erasures. */
enum sh_job_kind sh_job_begin(struct sh_live *l, bool erasures, struct sh_job *j);
/* On any thread: do the slow work.  It uses the job, the store, and the round's vault and this segment of
 * the round, which the loop leaves alone until the end. */
void sh_job_run(struct sh_job *j);
/* On the event loop: apply the result.  A bucket that was read can be pulled; an erased round is
 * settled. */
CM_CHECK enum cm_rc sh_job_end(struct sh_live *l, struct sh_job *j, struct cm_err *err);
