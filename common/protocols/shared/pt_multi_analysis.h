/* pt_multi_analysis.h - what rounds of pt_multi.h cost, and what their counts say. */
#pragma once

#include "pt_multi.h"
#include "pt_protocol.h"

/* The columns that such rows have in common; they have support(). */
#define PT_MULTI_ANALYSIS \
	.tallies = pt_multi_tallies, .estimate = pt_multi_estimate, .expected_error = pt_multi_expected_error

/* Row, bins and dummies of *out, nothing else set.  CM_ECONFIG unless q is a histogram and there are
 * dummies. */
CM_CHECK enum cm_rc pt_multi_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
/* The same for rows without a local guarantee, which send the true value: `size` faces of a dummy, chosen for
 * 62 dummies a face (epsilon 1 at delta 1e-8) when the plan does not say.  instead: the row to name to who
 * asks for a local guarantee. */
CM_CHECK enum cm_rc pt_multi_derive_true(const struct pt_protocol *row, const char *instead,
	const struct qy_query *q, const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
/* Supports of the items; with dummy_chance, also the messages that are not NULL. */
uint32_t pt_multi_tallies(const struct pt_randomizer *p);

/* Dummies that are certain among the messages of `participants` honest clients and the shuffler.  CM_EPROTO
 * if out of the accountant's range. */
CM_CHECK enum cm_rc pt_multi_blanket(
	const struct pt_randomizer *p, uint64_t participants, uint64_t *dummies, struct cm_err *err);

/* As pt_protocol.estimate for counts that are supports: each at most the number of messages, else
 * CM_EDATA. */
CM_CHECK enum cm_rc pt_multi_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
double pt_multi_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
