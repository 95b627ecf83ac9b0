/* pt_hierarchy.c - how many numbers lie in an interval: each device draws one level of the tree and answers
 * for it. */
#include "pt_ranges.h"
#include "pt_rows.h"
#include "pt_sampled.h"

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_ranges_query(p->row, q, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_sampled_check(p, err);
	return rc == CM_OK ? pt_ranges_fit(q, p, err) : rc;
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	pt_sampled_encode(q, p, value, pt_ranges_word, rng, records, room);
}

const struct pt_device pt_device_hierarchy = {
	.name = "hierarchy",
	.summary = "a tree of intervals, a random level of it by response: counts of ranges",
	.kinds = QY_RANGES,
	.none_symbol = QY_RANGES,
	.check = check,
	.encode = encode,
	PT_SAMPLED_DEVICE,
};
