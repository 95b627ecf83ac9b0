/* cl_lane.h - one program that computes values of devices: the bytes to send to it, and whether its output
 * is an answer.  No I/O.
 *
 * The program reads standard input.  Integers are little-endian, and each frame is a u32 length and that
 * many bytes:
 *   1.  four u32: 1 (the version), m features, K classes (0: no label), d numbers of an answer
 *   2.  the payload, which may be empty
 *   3.  for each device m float32 and a u32, its class (0 without a label) After the last device its input
 *   ends.  On standard output the program writes d float32, little-endian, for each device, and nothing
 *   else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

#define CL_LANE_HEAD 20u /* length of the first frame, in bytes */

/* What all devices of a round have in common. */
struct cl_lane_job {
	uint32_t features, classes, dimension;
	const uint8_t *payload; /* borrowed while a lane is in use */
	size_t payload_len;
};

struct cl_lane {
	const struct cl_lane_job *job; /* borrowed */
	uint8_t head[CL_LANE_HEAD + 4];
	uint8_t *row;    /* the frame of the device at hand */
	uint8_t *answer; /* room for 4 d bytes */
	size_t row_len, row_sent;
	size_t head_sent, payload_sent;
	size_t got;  /* number of bytes of the answer so far */
	bool broken; /* the program wrote too much, or its output cannot be relied on any more */
	bool ended;  /* the program closed its output */
};

/* Allocate rows and answers for this job.  CM_EINTERNAL: out of memory.  Call cl_lane_fini on success and
 * on failure. */
CM_CHECK enum cm_rc cl_lane_init(struct cl_lane *l, const struct cl_lane_job *job, struct cm_err *err);
/* Wipe and free what devices left.  Accepts a zeroed struct. */
void cl_lane_fini(struct cl_lane *l);

/* A new process has this lane and has been sent nothing yet. */
void cl_lane_begin(struct cl_lane *l);
/* Set the next device, a row of 4 (m + 1) bytes.  The previous answer is forgotten. */
void cl_lane_give(struct cl_lane *l, const uint8_t *row);
/* The bytes to write next to the program.  Returns how many; 0 if there are none. */
size_t cl_lane_next(const struct cl_lane *l, const uint8_t **bytes);
void cl_lane_wrote(struct cl_lane *l, size_t n);
/* Take n bytes that the program wrote.  n 0: it closed its output. */
void cl_lane_read(struct cl_lane *l, const uint8_t *bytes, size_t n);
/* The device's answer, 4 d bytes, when its time is over; NULL if it has none. */
const uint8_t *cl_lane_answer(const struct cl_lane *l);
/* Whether the same process can be sent another device. */
bool cl_lane_goes_on(const struct cl_lane *l);
