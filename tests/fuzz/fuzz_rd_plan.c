/* fuzz_rd_plan.c - any bytes as a signed plan; what is accepted survives re-encoding, and covers its own
 * entries. */
#include <stdlib.h>
#include <string.h>

#include "rd_plan.h"
#include "unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

/* Each entry as a descriptor is that entry's first try, and no other's. */
static void look_up(const struct rd_plan *p)
{
	struct rd_descriptor d;
	struct cm_err err;

	for (size_t i = 0; i < p->entries; i++) {
		rd_plan_descriptor(p, i, &d);
		d.attempt = 1;
		require(rd_plan_entry(p, d.entry) == &p->entry[i]);
		require(rd_plan_covers(p, &d, &err) == CM_OK);
		d.attempt = p->tries + 1;
		require(rd_plan_covers(p, &d, &err) == CM_EPROTO);
		d.attempt = 1;
		d.min_reports++;
		require(rd_plan_covers(p, &d, &err) == CM_EPROTO);
	}
	require(rd_plan_entry(p, 0) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd_plan p, back;
	struct cm_buf first, second;
	struct cm_err err;

	unpack_as_read(&tombola__v1__plan__descriptor, data, size, PR_PLAN_MAX);
	if (rd_plan_decode(data, size, &p, &err) != CM_OK) {
		rd_plan_fini(&p);
		return 0;
	}
	cm_buf_init(&first, PR_PLAN_MAX);
	cm_buf_init(&second, PR_PLAN_MAX);
	require(rd_plan_encode(&p, &first, &err) == CM_OK);
	require(rd_plan_decode(first.data, first.len, &back, &err) == CM_OK);
	require(rd_plan_encode(&back, &second, &err) == CM_OK);
	require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	require(back.entries == p.entries && back.refusals == p.refusals);
	look_up(&p);
	rd_plan_fini(&back);
	rd_plan_fini(&p);
	cm_buf_fini(&first);
	cm_buf_fini(&second);
	return 0;
}
