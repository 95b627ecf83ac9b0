/* cl_times.h - computes until when a round's readings are read.  The moment is fixed before the first is
 * read, and follows from public data.  No I/O, no clock.
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

#include <stddef.h>
#include <stdint.h>

/* the shortest `prepare` with which end_ms and last_ms are the same moment */
#define CL_TIMES_PREPARE_MS 1000
#define CL_TIMES_SHORT_MS   10000 /* milliseconds for reading if `prepare` is shorter */

struct cl_times_of {
	int64_t from_ms; /* when the round came */
	int64_t deadline_ms;
	int64_t prepare_ms; /* as configured */
	size_t devices;     /* number of listed devices */
	uint32_t numbers;   /* numbers of one value */
	int64_t judging_ms; /* how long the round was judged before the first reading is read */
	/* rows that each device may have waiting, where readings are held; 0 means the usual one */
	uint64_t rows;
};
struct cl_times {
	int64_t end_ms;  /* reading ends at this moment or later */
	int64_t last_ms; /* and not after this one; both are the same unless there is little time */
};
struct cl_times cl_times_make(const struct cl_times_of *of);
