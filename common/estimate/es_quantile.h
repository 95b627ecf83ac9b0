/* es_quantile.h - estimates quantiles of a bounded number, with intervals, from counts of levels. */
#pragma once

#include "es_holders.h"

/* The expected root mean square error of the quantiles that q asks for, where the numbers are spread evenly
 * over the range.  It follows from the variance of the distribution function at each quantile and from the
 * rounding to levels. */
double es_quantile_expected_error(const struct qy_query *q, const struct es_counted *c);

/* Estimate the q-quantiles, inf{ x : at least a share q of the participants is at or below x }, from the
 * levels that row `mixbins` with these parameters sent.  The caller has checked reports and counts.
 *
 * value: where the distribution function of the levels, made monotone and interpolated between levels,
 * reaches q; rounding biases it by at most one level.  The intervals contain the quantile of the values
 * themselves, however these are distributed: they end at levels and include the rounding.  variance: that of
 * a normal law with an interval as wide.  Joint intervals: Sidak over the probabilities.  Labels: "median",
 * or "p" and the percentage. */
CM_CHECK enum cm_rc es_quantile_estimate(const struct qy_query *q, const struct es_counted *c,
	const struct es_support *symbol, uint64_t reports, struct es_estimate *out, struct cm_err *err);

/* Set the items of the quantiles that q asks for, of the honest devices in a batch: es_honest.h.  batch: the
 * score and the weight are not read.  A level is rejected only if it is for all messages that the liars may
 * have sent, with the largest variance that honest devices' values can give.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc es_quantile_honest(
	const struct qy_query *q, const struct es_batch *batch, struct es_honest *out, struct cm_err *err);
/* The number of quantiles that q asks for. */
uint32_t es_quantile_asked(const struct qy_query *q);
