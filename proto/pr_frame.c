/* pr_frame.c - splits a stream of bytes into length-prefixed frames. */
#include "pr_frame.h"

#include "pr_limits.h"

#define PREFIX 4u

enum cm_rc pr_frame_next(const struct cm_buf *in, const uint8_t **body, size_t *len, struct cm_err *err)
{
	uint32_t n;

	if (in->len < PREFIX)
		return CM_EMORE;
	n = cm_get_be32(in->data);
	if (n > PR_FRAME_MAX)
		return cm_fail(err, CM_EPROTO, "frame of %lu bytes, at most %lu", (unsigned long)n,
			(unsigned long)PR_FRAME_MAX);
	if (in->len - PREFIX < n)
		return CM_EMORE;
	*body = in->data + PREFIX;
	*len = n;
	return CM_OK;
}
