/* es_holders.h - answers about those who have a reading, where a symbol counts those who have none.  Pure.
 *
 * A mean or a quantile of the holders is a ratio of two sums that are estimated together.  Its interval is
 * Fieller's (1954): all ratios r for which the estimate of numerator - r denominator is not significantly off
 * zero.  Where zero holders cannot be excluded the ratio is undefined, and the range is all that is known. */
#pragma once

#include "es_histogram.h"

/* One batch of MIXBINS as it was counted. */
struct es_counted {
	const uint64_t *counts; /* of the bins */
	uint32_t bins;          /* the symbol's is the last */
	double keep, other;     /* P and Q */
	double n;               /* participants */
	double dummies;         /* uniform messages beside theirs, in all */
};

/* Estimates of how many hold each bin: unbiased ones, and plausible ones (none below zero, n in all) that
 * variances are taken at. */
struct es_held {
	double *count, *plausible; /* bins each, owned */
};
/* False out of memory.  Free with es_held_fini in either case. */
bool es_held(const struct es_counted *c, struct es_held *out);
void es_held_fini(struct es_held *h);

/* Two sums over all participants, of a score and of a weight of what they hold, estimated without bias; and
 * the variance of that given what they hold, at the plausible counts. */
struct es_sums {
	double score, weight;
	double of_score, together, of_weight; /* variances and covariance */
};
/* Add to *out what one batch says of score[bins] and weight[bins].  O(bins). */
void es_sums_add(const struct es_counted *c, const struct es_held *h, const double *score,
	const double *weight, struct es_sums *out);
/* Variance of the estimated score of one participant who holds bin x, beside one who holds another. */
double es_score_variance(const struct es_counted *c, const double *score, uint32_t x);
/* Of one dummy. */
double es_score_dummy_variance(const struct es_counted *c, const double *score);

/* The item that counts those who hold the symbol: its value, intervals and whether it is told apart from
 * none. joint: of how many items together the joint interval is.  *floor: as of a histogram.  CM_EINTERNAL
 * out of memory. */
CM_CHECK enum cm_rc es_none_item(const struct es_support *s, uint64_t count, uint64_t reports, size_t joint,
	struct qy_item *item, double *floor, struct cm_err *err);

/* The mean or sum item from the sum of levels 0..b (score) and the holders (weight), rounding to a level
 * counted; as q->kind asks. */
void es_holders_mean(const struct qy_query *q, const struct es_sums *s, double b, struct qy_item *item);
