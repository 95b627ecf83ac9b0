/* cl_spawn_frame.h - what the client and its spawner of programs tell each other, over a stream.  No I/O.
 *
 * A frame, integers little-endian: u32 length of what follows; u8 kind; then what stands above the kind. */
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
	/* u32 job, serial; 4 d bytes, or none: no answer */
	CL_SPAWN_ANSWER,
};

#define CL_SPAWN_MAX (17u << 20) /* bytes of a frame */

struct cl_spawn_frame {
	enum cl_spawn_kind kind;
	uint32_t job;     /* READY: what this host lacks */
	uint32_t serial;  /* ROW, ANSWER: the device's number in the job */
	uint32_t lane;    /* ROW */
	uint32_t program; /* BEGIN, as the rest */
	uint32_t features, classes, dimension;
	uint64_t budget_ns, processor_ns; /* of a device */
	uint8_t keep;         /* so many lanes, each with one process for all its devices; 0: one for each */
	const uint8_t *bytes; /* payload, row or answer; borrowed */
	size_t len;
};

/* Append a frame.  CM_EDATA: too long; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_spawn_put(struct cm_buf *out, const struct cl_spawn_frame *f);
/* The frame that begins at in[at], and the bytes that it takes; f->bytes points into `in`.  CM_EMORE: it is
 * not whole yet.  CM_EDATA: that is no frame, and nothing after it can be read. */
CM_CHECK enum cm_rc cl_spawn_take(
	const struct cm_buf *in, size_t at, struct cl_spawn_frame *f, size_t *taken, struct cm_err *err);
