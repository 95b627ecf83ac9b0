/* pt_marginals.h - counts of combinations of several fields' categories: a slot of MIXBINS for each
 * marginal. */
#pragma once

#include "pt_device.h"

/* Of "parallel", too.
 *
 * Is the column in this marginal? */
bool pt_marginals_has(const struct qy_query *q, uint32_t marginal, uint32_t column);
/* What a column can be: its categories, and the symbol of none. */
uint32_t pt_marginals_faces(const struct qy_query *q, uint32_t column);
/* Combinations of marginal i, or something above PR_CATEGORIES_MAX. */
uint32_t pt_marginals_combinations(const struct qy_query *q, uint32_t i);
/* Are these marginals that the row can answer?  `code` otherwise. */
CM_CHECK enum cm_rc pt_marginals_query(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err);
/* The slots, but for what a request says. */
void pt_marginals_slots(const struct qy_query *q, struct pt_randomizer *p);
/* Are a peer's slots, which are possible, the question's marginals?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_marginals_fit(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* The combination of each marginal (pt_word). */
uint64_t pt_marginals_word(const struct qy_query *q, const struct pt_randomizer *p,
	const struct qy_value *value, uint32_t i, uint32_t group, const struct cr_rng *rng, void *room);
