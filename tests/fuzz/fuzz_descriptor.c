/* fuzz_descriptor.c - any bytes as a descriptor; what is accepted survives re-encoding. */
#include <stdlib.h>
#include <string.h>

#include "rd_descriptor.h"
#include "unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd_descriptor d, back;
	struct cm_buf first, second;
	struct cm_err err;
	struct pt_loss loss;

	unpack_as_read(&tombola__v1__descriptor__descriptor, data, size, PR_DESCRIPTOR_MAX);
	if (rd_descriptor_decode(data, size, &d, &err) != CM_OK) {
		rd_descriptor_fini(&d);
		return 0;
	}
	cm_buf_init(&first, PR_DESCRIPTOR_MAX);
	cm_buf_init(&second, PR_DESCRIPTOR_MAX);
	require(rd_descriptor_encode(&d, &first, &err) == CM_OK);
	require(rd_descriptor_decode(first.data, first.len, &back, &err) == CM_OK);
	require(rd_descriptor_encode(&back, &second, &err) == CM_OK);
	require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	if (rd_loss(&d, &loss, &err) == CM_OK) {
		const char *why;

		require(loss.parts >= 1 && loss.parts <= PT_PARTS_MAX);
		for (size_t i = 0; i < loss.parts; i++)
			require(acct_round_check(&loss.part[i], &why) == ACCT_OK);
	}
	rd_descriptor_fini(&back);
	rd_descriptor_fini(&d);
	cm_buf_fini(&first);
	cm_buf_fini(&second);
	return 0;
}
