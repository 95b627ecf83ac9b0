/* fuzz_record.c - any bytes as a ledger record; what is accepted can be written again. */
#include <stdlib.h>
#include <string.h>

#include "rd_record.h"
#include "unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd_record r, back;
	struct rd_chain chain = { 0 };
	struct cm_buf first, second;
	struct cm_err err;

	unpack_as_read(&tombola__v1__record__descriptor, data, size, PR_RECORD_MAX);
	if (rd_record_decode(data, size, &r, &err) != CM_OK) {
		rd_record_fini(&r);
		return 0;
	}
	cm_buf_init(&first, PR_RECORD_MAX);
	cm_buf_init(&second, PR_RECORD_MAX);
	require(rd_record_encode(&r, &first, &err) == CM_OK);
	require(rd_record_decode(first.data, first.len, &back, &err) == CM_OK);
	require(rd_record_encode(&back, &second, &err) == CM_OK);
	require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	chain.seq = r.seq - 1;
	require(rd_chain_extend(&chain, data, size, NULL, &err) == CM_OK);
	require(chain.seq == r.seq);
	require(rd_chain_extend(&chain, data, size, NULL, &err) != CM_OK);
	rd_record_fini(&back);
	rd_record_fini(&r);
	cm_buf_fini(&first);
	cm_buf_fini(&second);
	return 0;
}
