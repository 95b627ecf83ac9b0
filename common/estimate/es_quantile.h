/* es_quantile.h - level counts to quantiles of a bounded number, with intervals. */
#pragma once

#include "es_holders.h"

/* Of the quantiles that are asked for, root mean square, of numbers spread evenly over the range: by what the
 * variance of the distribution function there and rounding to a level come to. */
double es_quantile_expected_error(const struct qy_query *q, const struct es_counted *c);

/* The q-quantiles, inf{ x : at least a share q of the participants is at or below x }, from the levels that
 * MIXBINS with these parameters sent.  Reports and counts have been checked.
 *
 * value: the distribution function of the levels, made monotone, read between the levels; biased by rounding,
 * at most a level.  Intervals hold the quantile of the values themselves, whatever they are: they end at
 * levels, and rounding is counted.  variance: of a normal law with as wide an interval.  Joint intervals:
 * Sidak over the probabilities.  Labels: "median", or "p" and the percentage. */
CM_CHECK enum cm_rc es_quantile_estimate(const struct qy_query *q, const struct es_counted *c,
	const struct es_support *symbol, uint64_t reports, struct es_estimate *out, struct cm_err *err);
