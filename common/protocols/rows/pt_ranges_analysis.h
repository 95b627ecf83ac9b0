/* pt_ranges_analysis.h - the answer of pt_ranges.h, for whatever the slots' counts say. */
#pragma once

#include "pt_ranges.h"
#include "pt_slots_analysis.h"

/* Every node, coarse to fine, and the symbol of none last, if there is one: estimate() but for the law. */
CM_CHECK enum cm_rc pt_ranges_answer(const struct qy_query *q, const struct pt_randomizer *p,
	pt_slot_law *law, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* expected_error() but for the law. */
double pt_ranges_error(
	const struct qy_query *q, const struct pt_randomizer *p, pt_slot_before *law, uint64_t participants);
