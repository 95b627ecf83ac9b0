/* sh_live.h - the rounds that are under way here, and the jobs for those that are released or over.
 *
 * A job is slow work for one round, on any thread: a bucket is read, or the messages of a round that is over
 * are deleted.  One job at a time.  No I/O but the store's. */
#pragma once

#include "sh_round.h"

/* Most rounds that are sealed or being released at a time, in addition to the open one. */
#define SH_ROUNDS_MAX 8u

enum sh_job_kind {
	SH_JOB_NONE,
	SH_JOB_READ,  /* read a bucket that is asked for, or the one after it */
	SH_JOB_ERASE, /* delete the messages of a round that is over */
};
/* Between its begin and its end, in the caller's memory.  Only `kind` concerns the caller. */
struct sh_job {
	enum sh_job_kind kind;
	struct sh_round *round;     /* borrowed */
	struct sh_segment *segment; /* of a reading */
	enum cm_rc rc;
	struct cm_err err;
};

/* A zeroed struct has none. */
struct sh_live {
	struct sh_round *round[SH_ROUNDS_MAX + 1]; /* in no order; owned */
	size_t n;
	struct sh_round *over[SH_ROUNDS_MAX + 1]; /* whose messages are still to be deleted, in their order */
	size_t overs;
	const struct sh_job *job; /* between its begin and its end; NULL: none */
};

void sh_live_fini(struct sh_live *l);
/* The live round with this id; the one that is collecting; or NULL. */
struct sh_round *sh_live_find(const struct sh_live *l, const uint8_t *round_id);
struct sh_round *sh_live_collecting(const struct sh_live *l);
/* A live round is over (sh_round_over): it is no longer found, and a job deletes its messages. */
void sh_live_over(struct sh_live *l, struct sh_round *r);
/* Whether these messages are still to be deleted. */
bool sh_live_erases(const struct sh_live *l, const uint8_t *round_id);

/* On the loop: what is to be done now; returns j->kind.  Unless it is SH_JOB_NONE, run and end follow before
 * the next begin.  erasures: nothing else is begun. */
enum sh_job_kind sh_job_begin(struct sh_live *l, bool erasures, struct sh_job *j);
/* On any thread: the slow work.  It touches the job, the store, and of the round its vault and this segment,
 * which the loop leaves alone until the end. */
void sh_job_run(struct sh_job *j);
/* On the loop: what was read can be pulled, what was erased is settled. */
CM_CHECK enum cm_rc sh_job_end(struct sh_live *l, struct sh_job *j, struct cm_err *err);
