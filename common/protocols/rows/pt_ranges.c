/* pt_ranges.c - how many numbers lie in an interval: a tree of intervals, where each level is a slot of
 * MIXBINS. */
#include "pt_ranges.h"

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_slots.h"

/* The number of levels of the tree below its root; 0 if the leaves are no power of the fanout. */
static uint32_t depth(const struct qy_query *q)
{
	uint32_t nodes = 1, levels = 0;

	while (q->fanout >= 2 && nodes < q->leaves && nodes <= PR_CATEGORIES_MAX) {
		nodes *= q->fanout;
		levels++;
	}
	return nodes == q->leaves && nodes <= PR_CATEGORIES_MAX ? levels : 0;
}

enum cm_rc pt_ranges_query(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_RANGES)
		return cm_fail(err, code, "%s: answers ranges only", row->name);
	if (depth(q) == 0)
		return cm_fail(err, code,
			"%s: %u leaves are no power of the fanout %u, or not between 2 and %u", row->name,
			(unsigned)q->leaves, (unsigned)q->fanout, PR_CATEGORIES_MAX);
	return CM_OK;
}

void pt_ranges_slots(const struct qy_query *q, struct pt_randomizer *p)
{
	uint32_t nodes = 1;

	p->slots.kinds = depth(q);
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		nodes *= q->fanout;
		p->slots.slot[i] =
			(struct pt_slot){ .count = 1, .groups = 1, .each.bins = nodes + qy_query_symbols(q) };
	}
}

enum cm_rc pt_ranges_fit(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	struct pt_randomizer want = { 0 };

	pt_ranges_slots(q, &want);
	if (p->slots.kinds != want.slots.kinds)
		return cm_fail(err, CM_EPROTO, "%s: %u slots for a tree of %u levels", p->row->name,
			(unsigned)p->slots.kinds, (unsigned)want.slots.kinds);
	for (uint32_t i = 0; i < p->slots.kinds; i++)
		if (p->slots.slot[i].count != 1 || p->slots.slot[i].groups != 1 ||
			p->slots.slot[i].each.bins != want.slots.slot[i].each.bins)
			return cm_fail(err, CM_EPROTO, "%s: slot %u is not its level's", p->row->name, i + 1);
	return CM_OK;
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_ranges_query(p->row, q, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_slots_check(p, err);
	return rc == CM_OK ? pt_ranges_fit(q, p, err) : rc;
}

uint32_t pt_ranges_nodes(const struct qy_query *q, const struct pt_randomizer *p, uint32_t i)
{
	return p->slots.slot[i].each.bins - qy_query_symbols(q);
}

/* The node of level i that contains the number.  The grids are nested, so no secret is divided.  The upper
 * end of the range belongs to the last node. */
uint64_t pt_ranges_word(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room)
{
	uint64_t nodes = pt_ranges_nodes(q, p, i), node = (value->x * nodes) >> 32;

	(void)group;
	(void)rng;
	(void)room;
	return pt_choose(
		pt_equal_mask(value->x, QY_NUMBER_NONE), nodes, node - (1 & pt_equal_mask(node, nodes)));
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	pt_slots_encode(q, p, value, pt_ranges_word, rng, records, room);
}

const struct pt_device pt_device_ranges = {
	.name = "ranges",
	.summary = "a tree of intervals, a slot of mixbins for each level: counts of ranges",
	.parameters = &pt_slots_layout,
	.kinds = QY_RANGES,
	.none_symbol = QY_RANGES,
	.check = check,
	.encode = encode,
	PT_SLOTS_DEVICE,
};
