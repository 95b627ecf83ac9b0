/* es_holders.h - estimates means and quantiles of the devices that have a reading (the holders), in rounds
 * in which the others send the symbol of none.  No I/O, no state.
 *
 * A mean or a quantile of the holders is a ratio of two sums that are estimated together.  Its interval is
 * Fieller's (1954): all ratios r for which the estimate of numerator - r denominator does not differ
 * significantly from zero.  If the data do not exclude that there are no holders, the ratio is undefined:
 * only its range is known. */
#pragma once

#include "es_histogram.h"
#include "es_honest.h"

/* The counts of one batch of row `mixbins`, and the law of its messages. */
struct es_counted {
	const uint64_t *counts; /* number of messages that state each bin */
	uint32_t bins;          /* number of bins; the last one is the symbol of none */
	/* chance that a message is its sender's bin, and chance that it is any one other bin */
	double keep, other;
	double n;       /* number of participants */
	double dummies; /* number of uniform messages besides the participants' */
};

/* Two estimates of how many participants hold each bin.  `count` is unbiased.  `plausible` has no number
 * below 0 and sums to n; variances are computed as if it were true. */
struct es_held {
	double *count, *plausible; /* owned arrays, one number for each bin */
};
/* Estimate them.  False: out of memory.  Free with es_held_fini in either case. */
bool es_held(const struct es_counted *c, struct es_held *out);
void es_held_fini(struct es_held *h);

/* Unbiased estimates of two sums over all participants: of a score and of a weight of the bin that each
 * holds.  The variances are those of the estimates given what participants hold, at the plausible counts. */
struct es_sums {
	double score, weight;
	/* variance of the score's sum, covariance, variance of the weight's sum */
	double of_score, together, of_weight;
};
/* Add one batch's estimates for score[bins] and weight[bins] to *out.  O(bins). */
void es_sums_add(const struct es_counted *c, const struct es_held *h, const double *score,
	const double *weight, struct es_sums *out);
/* The variance of the estimated score of one participant who holds bin x, compared with one who holds
 * another. */
double es_score_variance(const struct es_counted *c, const double *score, uint32_t x);
/* The variance that one dummy adds to the estimate. */
double es_score_dummy_variance(const struct es_counted *c, const double *score);

/* Set the item that counts devices that hold the symbol of none: its value, its intervals and below_noise.
 * joint: number of items for which the joint intervals hold together.  *floor: noise floor, as in struct
 * es_estimate.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc es_none_item(const struct es_support *s, uint64_t count, uint64_t reports, size_t joint,
	struct qy_item *item, double *floor, struct cm_err *err);

/* Set the item of the mean or the sum, as q->kind asks.  s: score is the sum of the holders' levels 0..b,
 * weight the number of holders.  The intervals include the error of rounding to levels. */
void es_holders_mean(const struct qy_query *q, const struct es_sums *s, double b, struct qy_item *item);

/* ---- Where some devices may have lied (es_honest.h) ---- */

/* One batch of a round, for sums over its honest devices. */
struct es_batch {
	struct es_counted c;          /* counts: as they came; n and dummies: of the honest devices alone */
	double lied;                  /* number of messages of the batch that are the liars' */
	const double *score, *weight; /* of each bin */
};
/* The sum of score * s + weight * w over the honest devices and all batches, where s and w are what a batch
 * says of the bin that a device holds: the range of its estimate, whatever the liars' messages say, and the
 * largest variance that the honest devices' values can give it. */
struct es_honest_sum {
	double least, most, variance;
};
/* Compute it.  room: as many numbers as the largest batch has bins.  O(bins). */
struct es_honest_sum es_honest_sum_of(
	const struct es_batch *batch, size_t batches, double score, double weight, double *room);
/* Do honest devices certainly hold bins of a positive weight, at the normal quantile z? */
bool es_honest_hold(const struct es_batch *batch, size_t batches, double z, double *room);

/* Set the item of the mean or the sum of the honest holders: scores are levels 0..b, weights 1 for each
 * holder in all batches together.  A mean is a ratio r of two sums.  Its interval are all r in [0, b] for
 * which some messages of the liars leave an estimate of (sum of levels) - r (number of holders) that does not
 * differ significantly from zero.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc es_holders_honest(const struct qy_query *q, const struct es_batch *batch, size_t batches,
	double b, struct es_honest *out, struct cm_err *err);
