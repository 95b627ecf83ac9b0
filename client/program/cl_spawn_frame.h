/* cl_spawn_frame.h - what the client and its spawner of programs tell each other, over a stream.  No I/O.
 *
 * A frame, integers little-endian: u32 length of what follows; u8 kind; then
 *   BEGIN   u32 job, u32 program, u32 features, u32 classes, u32 dimension, u64 budget in ns, u8 keep;
 * payload ROW     u32 job, u32 serial, u32 lane; the device's 4 (m + 1) bytes END     u32 job READY   u32
 * what this host lacks (cl_cell.h) ANSWER  u32 job, u32 serial; 4 d bytes, or none: no answer */
#pragma once

#include "cm_buf.h"

enum cl_spawn_kind {
	CL_SPAWN_BEGIN = 1,
	CL_SPAWN_ROW,
	CL_SPAWN_END,
	CL_SPAWN_READY,
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
	uint64_t budget_ns;
	uint8_t keep;         /* so many lanes, each with one process for all its devices; 0: one for each */
	const uint8_t *bytes; /* payload, row or answer; borrowed */
	size_t len;
};

/* Append a frame.  CM_EDATA: too long; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_spawn_put(struct cm_buf *out, const struct cl_spawn_frame *f);
/* The frame that begins at in[at], and the bytes that it takes; f->bytes points into `in`.  CM_EMORE: it is
 * not whole yet. CM_EDATA: that is no frame, and nothing after it can be read. */
CM_CHECK enum cm_rc cl_spawn_take(
	const struct cm_buf *in, size_t at, struct cl_spawn_frame *f, size_t *taken, struct cm_err *err);
