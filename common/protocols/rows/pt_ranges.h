/* pt_ranges.h - how many numbers lie in an interval: a tree of intervals, a slot of MIXBINS for each
 * level. */
#pragma once

#include "pt_device.h"

/* Of "hierarchy", too.
 *
 * Does the row answer the question, of leaves that are a power of the fanout?  `code` otherwise. */
CM_CHECK enum cm_rc pt_ranges_query(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
/* Are a peer's slots, which are possible, the levels of the question's tree?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_ranges_fit(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* The node of each level (pt_word). */
uint64_t pt_ranges_word(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room);
/* The slots, coarsest level first, but for what a request says. */
void pt_ranges_slots(const struct qy_query *q, struct pt_randomizer *p);
/* A slot has a bin for each node of its level, and the last for the symbol of none, if there is one. */
uint32_t pt_ranges_nodes(const struct qy_query *q, const struct pt_randomizer *p, uint32_t i);
