/* cl_lane.h - one program that computes values of devices: the bytes that it is to be given, and whether what
 * it wrote is an answer.  No I/O.
 *
 * Standard input of a program, integers little-endian, each frame a u32 length and so many bytes:
 *   1. four u32: 1 (the version), m features, K classes (0: no label), d numbers of an answer
 *   2. the payload, which may be empty
 *   3. for each device m float32 and a u32, its class (0 without a label)
 * After the last device its input ends.  Standard output: for each device d float32, little-endian, and
 * nothing else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

#define CL_LANE_HEAD 20u /* bytes of the first frame */

/* What all devices of a round have in common. */
struct cl_lane_job {
	uint32_t features, classes, dimension;
	const uint8_t *payload; /* borrowed while a lane is in use */
	size_t payload_len;
};

struct cl_lane {
	const struct cl_lane_job *job; /* borrowed */
	uint8_t head[CL_LANE_HEAD + 4];
	uint8_t *row;    /* the device's frame */
	uint8_t *answer; /* 4 d bytes */
	size_t row_len, row_sent;
	size_t head_sent, payload_sent;
	size_t got;  /* bytes of the answer */
	bool broken; /* it wrote too much, or what it did cannot be relied on any more */
	bool ended;  /* it closed its output */
};

/* Room for rows and answers of this job.  CM_EINTERNAL: out of memory.  Call cl_lane_fini on success and on
 * failure. */
CM_CHECK enum cm_rc cl_lane_init(struct cl_lane *l, const struct cl_lane_job *job, struct cm_err *err);
/* Wipes what devices left.  A zeroed struct is fine. */
void cl_lane_fini(struct cl_lane *l);

/* A new process has this lane: it knows nothing yet. */
void cl_lane_begin(struct cl_lane *l);
/* The next device, 4 (m + 1) bytes.  The answer before it is forgotten. */
void cl_lane_give(struct cl_lane *l, const uint8_t *row);
/* What is to be written next; 0: nothing. */
size_t cl_lane_next(const struct cl_lane *l, const uint8_t **bytes);
void cl_lane_wrote(struct cl_lane *l, size_t n);
/* It wrote n bytes; 0: it closed its output. */
void cl_lane_read(struct cl_lane *l, const uint8_t *bytes, size_t n);
/* The device's answer, 4 d bytes, when its time is over; NULL: there is none. */
const uint8_t *cl_lane_answer(const struct cl_lane *l);
/* Can the same process be given another device? */
bool cl_lane_goes_on(const struct cl_lane *l);
