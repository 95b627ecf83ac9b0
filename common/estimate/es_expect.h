/* es_expect.h - computes the error to expect of an answer before anybody was asked.  No I/O, no state.
 *
 * Each error is the root mean square error of a row's unbiased estimator, from its exact variance. */
#pragma once

#include "es_holders.h"

/* The error of a count in a histogram of `items`: the root of the mean of two variances, that of an average
 * item, which participants / items hold, and that of a heavy item, which a tenth of the participants
 * holds. */
double es_support_expected_error(const struct es_support *s, uint64_t participants, uint32_t items);

/* The factor from the mean of n participants to the query's answer: n if it asks for their sum, else 1. */
double es_mean_scale(const struct qy_query *q, double n);

/* The error of a mean or sum, in the units of its range, at the values where it is largest.  moment[l], l =
 * 0..b: second moment of the score that estimates level l.  The error includes the rounding of values to
 * levels, and `dummies` scores of dummies in the whole round, each of variance dummy_variance. */
double es_mean_expected_error(const struct qy_query *q, uint64_t participants, uint32_t b,
	const double *moment, double dummies, double dummy_variance);

/* The error of a mean or sum, in the units of its range, from levels that randomized response sends: a level
 * is kept with chance c->keep, becomes each other level with chance c->other, and is sent among c->dummies
 * uniform messages.  c->counts is not read. */
double es_response_expected_error(const struct qy_query *q, const struct es_counted *c);
