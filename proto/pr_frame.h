/* pr_frame.h - length-prefixed frames: a stream of bytes in, whole frames out.  No I/O. */
#pragma once

#include "cm_buf.h"
#include "pr_limits.h"

/* The next whole frame at the start of `in`: *body points into in->data and lives until `in` changes; drop
 * 4 + *len bytes when done.  CM_EMORE: not yet.  CM_EPROTO: longer than PR_FRAME_MAX, said from the 4 length
 * bytes alone, before any of it is buffered. */
CM_CHECK enum cm_rc pr_frame_next(
	const struct cm_buf *in, const uint8_t **body, size_t *len, struct cm_err *err);
