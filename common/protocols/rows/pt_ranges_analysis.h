/* pt_ranges_analysis.h - computes the answer of pt_ranges.h for any law of the slots' counts. */
#pragma once

#include "pt_ranges.h"
#include "pt_slots_analysis.h"

/* Estimate every node, coarse to fine, and last the symbol of none, if there is one: estimate() for a given
 * law. */
CM_CHECK enum cm_rc pt_ranges_answer(const struct qy_query *q, const struct pt_randomizer *p,
	pt_slot_law *law, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* The expected error of a node's count, for a given law: see expected_error() of struct pt_protocol. */
double pt_ranges_error(
	const struct qy_query *q, const struct pt_randomizer *p, pt_slot_before *law, uint64_t participants);
/* The honest devices' counts of every node, and of the symbol of none: influence() for a given law. */
CM_CHECK enum cm_rc pt_ranges_honest(const struct qy_query *q, const struct pt_randomizer *p,
	pt_slot_honest *law, const uint64_t *counts, const struct pt_crowd *crowd, struct es_honest *out,
	struct cm_err *err);
