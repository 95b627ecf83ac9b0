/* pt_marginals_analysis.h - computes the answer of pt_marginals.h for any law of the slots' counts. */
#pragma once

#include "pt_marginals.h"
#include "pt_slots_analysis.h"

/* Estimate every combination of every marginal: estimate() for a given law. */
CM_CHECK enum cm_rc pt_marginals_answer(const struct qy_query *q, const struct pt_randomizer *p,
	pt_slot_law *law, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* The expected error of a combination's count, for a given law: see expected_error() of struct
 * pt_protocol. */
double pt_marginals_error(const struct pt_randomizer *p, pt_slot_before *law, uint64_t participants);
/* The honest devices' counts of every combination: influence() for a given law. */
CM_CHECK enum cm_rc pt_marginals_honest(const struct pt_randomizer *p, pt_slot_honest *law,
	const uint64_t *counts, const struct pt_crowd *crowd, struct es_honest *out, struct cm_err *err);
