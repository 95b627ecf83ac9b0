/* cd_times.h - computes the moments of a round: until when its readings are read, when sending begins, and
 * when each frame is sent.  They follow from public data and random draws.  No I/O, no clock.
 *
 * The moment at which reading ends is fixed before the first reading is read.
 *
 * One device's rows and bytes are bounded (cl_share.h), so they delay the others' by milliseconds.  Reading
 * takes half of `prepare`, and more for many devices or long values; a file that is read sooner waits until
 * then, and rows that are not read then do not count.  So sealing, which costs the same whatever was read,
 * begins at a moment that no reading moves, on a busy machine, too.
 *
 * A device may take long to judge a plan's first round.  Such a round is treated as if it had come whole
 * multiples of `prepare` later: the time for judging does not depend on readings, and reading still gets
 * its full time.
 *
 * A `prepare` of less than a second, or a round that lasts less than ten seconds, leaves a busy machine too
 * little time: reading may go on for ten seconds then, and sealing begins when it ends. */
#pragma once

#include <stdbool.h>

#include "cr_rand.h"

/* the shortest `prepare` with which end_ms and last_ms are the same moment */
#define CD_TIMES_PREPARE_MS 1000
#define CD_TIMES_SHORT_MS   10000 /* milliseconds for reading if `prepare` is shorter */

struct cd_times_of {
	int64_t from_ms; /* when the round came */
	int64_t deadline_ms;
	int64_t prepare_ms; /* as configured */
	size_t devices;     /* number of listed devices */
	uint32_t numbers;   /* numbers of one value */
	int64_t judging_ms; /* how long the round was judged before the first reading is read */
	/* rows that each device may have waiting, where readings are held; 0 means the usual one */
	uint64_t rows;
};
struct cd_times {
	int64_t end_ms;  /* reading ends at this moment or later */
	int64_t last_ms; /* and not after this one; both are the same unless there is little time */
};
struct cd_times cd_times_make(const struct cd_times_of *of);

/* Whether sending may begin: every one of `devices` was given to a job and every job has ended.  Otherwise
 * the time at which one device's message leaves could depend on another device's reading. */
bool cd_send_may_begin(unsigned jobs, size_t given_to_jobs, size_t devices);
/* The moment at which sending begins if all is sealed at now_ms: the first of from + step, from + 2 step,
 * ... that has not passed.  So the moment does not reveal how long sealing took, except in steps.  A step
 * is at least a millisecond and at most a tenth of the time up to `deadline`. */
int64_t cd_send_start(int64_t from_ms, int64_t deadline_ms, int64_t step_ms, int64_t now_ms);
/* The next moment of sending, when k moments (k >= 1, including this one) are spread uniformly over [now,
 * end]: the smallest of k uniform draws. */
int64_t cd_send_spread(int64_t now_ms, int64_t end_ms, uint64_t k, const struct cr_rng *rng);
