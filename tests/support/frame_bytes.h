/* frame_bytes.h - bytes as a field of a frame, decoded. */
#pragma once

#include "wire_bytes.h"

#include "pr_msg.h"

/* Field numbers of tombola.proto. */
enum { HELLO = 1, ERROR = 2, SUBMIT = 5, EXTEND = 9 };

static struct cm_err err;

static inline void start(struct cm_buf *b)
{
	cm_buf_init(b, 8u << 20);
}

/* b as the field `kind` of a Frame. */
static inline enum cm_rc decode_as(uint32_t kind, const struct cm_buf *b)
{
	struct cm_buf frame;
	struct pr_frame f;
	enum cm_rc rc;

	start(&frame);
	wb_bytes(&frame, kind, b->data, b->len);
	rc = pr_decode(frame.data, frame.len, &f, &err);
	assert_int_equal(rc == CM_OK, f.frame != NULL);
	pr_free(&f);
	cm_buf_fini(&frame);
	return rc;
}
