/* pt_quantile.h - level counts to quantiles of a bounded number, with intervals. */
#pragma once

#include "pt_protocol.h"

/* Probabilities that a round for quantiles answers, in order, and what they are called. */
#define PT_QUANTILES_ASKED 5u
extern const double pt_quantile_at[PT_QUANTILES_ASKED];

/* Of the median of numbers spread evenly over the range: by what the variance of the distribution function
 * there and rounding to a level come to. */
double pt_quantile_expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants);

/* The q-quantiles, inf{ x : at least a share q of the participants is at or below x }, from the levels that
 * MIXBINS with these parameters sent.  Reports and counts have been checked.
 *
 * value: the distribution function of the levels, made monotone, read between the levels; biased by rounding,
 * at most a level.  Intervals hold the quantile of the values themselves, whatever they are: they end at
 * levels, and rounding is counted.  variance: of a normal law with as wide an interval.  Joint intervals:
 * Sidak over the probabilities. */
CM_CHECK enum cm_rc pt_quantile_estimate(const struct pt_query *q, const struct pt_params *p,
	const uint64_t *counts, uint64_t reports, double dummies, struct pt_estimate *out,
	struct cm_err *err);
