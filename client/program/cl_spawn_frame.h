/* cl_spawn_frame.h - the frames that the client and its spawner of programs exchange over a stream.  No
 * I/O.
 *
 * A frame, with integers little-endian: u32 length of the rest; u8 kind; then the fields that the comment
 * above the kind lists. */
#pragma once

#include "cm_buf.h"

enum cl_spawn_kind {
	/* u32 job, program, features, classes, dimension; u64 budget in ns; u64 processor time in
	 * ns; u8 keep; payload */
	CL_SPAWN_BEGIN = 1,
	/* u32 job, serial, lane; the device's 4 (m + 1) bytes */
	CL_SPAWN_ROW,
	/* u32 job */
	CL_SPAWN_END,
	/* u32 what this host lacks (cl_cell.h) */
	CL_SPAWN_READY,
	/* u32 job, serial; 4 d bytes, or none if there is no answer */
	CL_SPAWN_ANSWER,
};

#define CL_SPAWN_MAX (17u << 20) /* most bytes of a frame */

struct cl_spawn_frame {
	enum cl_spawn_kind kind;
	uint32_t job;     /* in READY: what this host lacks */
	uint32_t serial;  /* in ROW and ANSWER: the device's number in the job */
	uint32_t lane;    /* in ROW */
	uint32_t program; /* in BEGIN, like the members below */
	uint32_t features, classes, dimension;
	uint64_t budget_ns, processor_ns; /* time for one device */
	/* number of lanes, each with one process for all its devices; 0: each device has a process */
	uint8_t keep;
	const uint8_t *bytes; /* payload, row or answer; borrowed */
	size_t len;
};

/* Append a frame.  CM_EDATA: it is too long; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_spawn_put(struct cm_buf *out, const struct cl_spawn_frame *f);
/* Decode the frame that begins at in[at], and return its length; f->bytes points into `in`.  CM_EMORE: the
 * frame is incomplete.  CM_EDATA: it is no frame, and nothing after it can be read. */
CM_CHECK enum cm_rc cl_spawn_take(
	const struct cm_buf *in, size_t at, struct cl_spawn_frame *f, size_t *taken, struct cm_err *err);
