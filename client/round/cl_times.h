/* cl_times.h - until when a round's readings are read: fixed before the first is, by what is public.  No I/O,
 * no clock.
 *
 * One device's rows and bytes are bounded (cl_share.h), so they delay the others' by milliseconds.  Reading
 * has half of `prepare`, and more for many devices or long values; a file that is read sooner waits until
 * then, and what is not read then does not count.  So sealing, which costs the same whatever was read, begins
 * at a moment that no reading moves, on a busy machine, too.
 *
 * A device may take long to judge a plan's first round.  Such a round counts as come whole multiples of
 * `prepare` later: what judging takes does not depend on readings, and reading has its time all the same.
 *
 * A `prepare` of less than a second, or a round shorter than ten of it, leaves a busy machine too little
 * time: reading may go on for ten seconds there, and sealing begins when it ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CL_TIMES_PREPARE_MS 1000  /* the shortest `prepare` for which the two moments are one */
#define CL_TIMES_SHORT_MS   10000 /* milliseconds for reading if `prepare` is shorter */

struct cl_times_of {
	int64_t from_ms; /* when the round came */
	int64_t deadline_ms;
	int64_t prepare_ms; /* as configured */
	size_t devices;     /* listed */
	uint32_t numbers;   /* of a value */
	int64_t judging_ms; /* that the round was judged for, before the first reading is read */
	uint64_t rows;      /* that each device may have waiting, where readings are held; 0: one is usual */
};
struct cl_times {
	int64_t end_ms;  /* reading does not end before */
	int64_t last_ms; /* and not after; the same moment unless there is little time */
};
struct cl_times cl_times_make(const struct cl_times_of *of);
