/* pt_levels_analysis.h - the mean or the quantiles of a bounded number from levels that were sent by
 * MIXBINS. */
#pragma once

#include "es_mean.h"
#include "pt_levels.h"
#include "pt_lied_analysis.h"
#include "pt_protocol.h"

/* The number of bins that makes the mean most accurate at this epsilon0 and number of participants. */
uint32_t pt_levels_choose(double epsilon0, double dummies, uint64_t n);
/* Functions of the rows that send a level by MIXBINS. */
CM_CHECK enum cm_rc pt_levels_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
double pt_levels_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
/* Estimate a mean from the counts of levels, for any number of messages: es_mean.h. */
CM_CHECK enum cm_rc pt_levels_mean(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, uint64_t reports, double dummies, struct es_estimate *out,
	struct cm_err *err);
/* The influence() of such rows: a liar's messages may all state the lowest level, or the highest, or none. */
CM_CHECK enum cm_rc pt_levels_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err);
/* Set the mean or sum from a batch of levels without the symbol of none, as one of `joint` items. */
CM_CHECK enum cm_rc pt_levels_honest(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, const struct pt_lied *lied, size_t joint, struct es_honest *out,
	struct cm_err *err);
/* The scores of a level that MIXBINS sends.  False: out of memory. */
bool pt_levels_scores(const struct pt_randomizer *p, struct es_scores *out);
