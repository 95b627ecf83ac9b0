/* pr_frame.h - splits a stream of bytes into length-prefixed frames.  No I/O. */
#pragma once

#include "cm_buf.h"
#include "pr_limits.h"

/* Find the next whole frame at the start of `in`: *body points into in->data and is valid until `in`
 * changes; drop 4 + *len bytes when done.  CM_EMORE: the frame is not complete.  CM_EPROTO: it is longer
 * than PR_FRAME_MAX, which the 4 length bytes alone decide, before any of it is buffered. */
CM_CHECK enum cm_rc pr_frame_next(
	const struct cm_buf *in, const uint8_t **body, size_t *len, struct cm_err *err);
