/* pt_multi_analysis.h - computes the loss and the answer of rounds of pt_multi.h. */
#pragma once

#include "pt_multi.h"
#include "pt_protocol.h"

/* Initialisers for the columns that such rows have in common.  The row also has support(). */
#define PT_MULTI_ANALYSIS                                                                            \
	.tallies = pt_multi_tallies, .estimate = pt_multi_estimate, .influence = pt_multi_influence, \
	.expected_error = pt_multi_expected_error

/* Set the row, the bins and the dummies of *out, and nothing else.  CM_ECONFIG unless q is a histogram and
 * there are dummies. */
CM_CHECK enum cm_rc pt_multi_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
/* The same for rows without a local guarantee, which send the true value.  If the plan gives no `size`, the
 * faces of a dummy, it is chosen so that there are 62 dummies for each face (epsilon 1 at delta 1e-8).
 * instead: the row to recommend if the plan asks for a local guarantee. */
CM_CHECK enum cm_rc pt_multi_derive_true(const struct pt_protocol *row, const char *instead,
	const struct qy_query *q, const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
/* Number of counts: the supports of the items and, with dummy_chance, the messages that are not NULL. */
uint32_t pt_multi_tallies(const struct pt_randomizer *p);

/* The number of certain dummies among the messages of `participants` honest clients and the shuffler.
 * CM_EPROTO if it is out of the accountant's range. */
CM_CHECK enum cm_rc pt_multi_blanket(
	const struct pt_randomizer *p, uint64_t participants, uint64_t *dummies, struct cm_err *err);

/* The estimate() for counts that are supports.  CM_EDATA if a count exceeds the number of messages. */
CM_CHECK enum cm_rc pt_multi_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* The influence() of such rows: each of a liar's messages may support every item, or none. */
CM_CHECK enum cm_rc pt_multi_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err);
double pt_multi_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
