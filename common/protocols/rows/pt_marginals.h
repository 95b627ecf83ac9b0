/* pt_marginals.h - counts of combinations of several fields' categories: each marginal is a slot of
 * MIXBINS.  The row "parallel" uses it, too. */
#pragma once

#include "pt_device.h"

/* Is the column in this marginal? */
bool pt_marginals_has(const struct qy_query *q, uint32_t marginal, uint32_t column);
/* The number of values of a column: its categories, and the symbol of none. */
uint32_t pt_marginals_faces(const struct qy_query *q, uint32_t column);
/* The number of combinations of marginal i, or a number above PR_CATEGORIES_MAX if there are too many. */
uint32_t pt_marginals_combinations(const struct qy_query *q, uint32_t i);
/* Check that the row can answer these marginals.  If not, returns `code`. */
CM_CHECK enum cm_rc pt_marginals_query(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
/* Set the slots, except for what a request decides. */
void pt_marginals_slots(const struct qy_query *q, struct pt_randomizer *p);
/* Check that a peer's slots, which are possible, are the question's marginals.  CM_EPROTO if not. */
CM_CHECK enum cm_rc pt_marginals_fit(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* The combination of each marginal (pt_word). */
uint64_t pt_marginals_word(const struct qy_query *q, const struct pt_randomizer *p,
	const struct qy_value *value, uint32_t i, uint32_t group, const struct cr_rng *rng, void *room);
