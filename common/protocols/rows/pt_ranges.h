/* pt_ranges.h - how many numbers lie in an interval: a tree of intervals, where each level is a slot of
 * MIXBINS.  The row "hierarchy" uses it, too. */
#pragma once

#include "pt_device.h"

/* Check that the row answers the question, and that the leaves are a power of the fanout.  If not, returns
 * `code`. */
CM_CHECK enum cm_rc pt_ranges_query(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
/* Check that a peer's slots, which are possible, are the levels of the question's tree.  CM_EPROTO if
 * not. */
CM_CHECK enum cm_rc pt_ranges_fit(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* The node of each level (pt_word). */
uint64_t pt_ranges_word(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room);
/* Set the slots, coarsest level first, except for what a request decides. */
void pt_ranges_slots(const struct qy_query *q, struct pt_randomizer *p);
/* The bins of slot i: one for each node of its level, and one more, the last, if there is a symbol of
 * none. */
uint32_t pt_ranges_nodes(const struct qy_query *q, const struct pt_randomizer *p, uint32_t i);
