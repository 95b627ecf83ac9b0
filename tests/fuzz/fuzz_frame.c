/* fuzz_frame.c - any stream of bytes through framing and bounded decoding; what is accepted survives
 * re-encoding. */
#include <stdlib.h>
#include <string.h>

#include "pr_frame.h"
#include "pr_msg.h"
#include "unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static void one(const uint8_t *body, size_t len)
{
	struct cm_buf first, second;
	struct pr_frame f;
	struct cm_err err;
	enum cm_rc rc = pr_decode(body, len, &f, &err);

	require(rc == CM_OK || rc == CM_EPROTO);
	if (rc == CM_OK) {
		require(unpacks_to(&tombola__v1__frame__descriptor, body, len, &f.frame->base));
		cm_buf_init(&first, PR_FRAME_MAX + 4);
		cm_buf_init(&second, PR_FRAME_MAX + 4);
		require(pr_encode(f.frame, &first, &err) == CM_OK);
		pr_free(&f);
		require(pr_decode(first.data + 4, first.len - 4, &f, &err) == CM_OK);
		require(pr_encode(f.frame, &second, &err) == CM_OK);
		require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
		cm_buf_fini(&first);
		cm_buf_fini(&second);
	}
	pr_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cm_buf in;
	struct cm_err err;
	const uint8_t *body;
	size_t len, step = size > 0 ? data[0] % 7 + 1u : 1;

	one(data, size);
	cm_buf_init(&in, PR_FRAME_MAX + 4 + 8);
	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;
		enum cm_rc rc;

		require(cm_buf_put(&in, data + at, n) == CM_OK);
		while ((rc = pr_frame_next(&in, &body, &len, &err)) == CM_OK) {
			one(body, len);
			cm_buf_drop(&in, 4 + len);
		}
		if (rc == CM_EPROTO)
			break;
	}
	cm_buf_fini(&in);
	return 0;
}
