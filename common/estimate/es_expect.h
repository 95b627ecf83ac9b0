/* es_expect.h - the error to expect of an answer, before anybody was asked.  Pure.
 *
 * Root mean square error of the rows' unbiased estimators, from their exact variances. */
#pragma once

#include "es_holders.h"

/* Of a count in a histogram of `items`: half the weight on an average item, which participants / items hold,
 * and half on a heavy one, which a tenth of them holds. */
double es_support_expected_error(const struct es_support *s, uint64_t participants, uint32_t items);

/* What a mean of n participants is multiplied with: n for a query of their sum, else 1. */
double es_mean_scale(const struct qy_query *q, double n);

/* Of a mean or sum in the units of its range, from the second moments of the score that estimates a level:
 * moment[l] of level l = 0..b, at the values where the variance is largest.  Rounding to a level and
 * `dummies` scores of variance dummy_variance, in all, are counted. */
double es_mean_expected_error(const struct qy_query *q, uint64_t participants, uint32_t b,
	const double *moment, double dummies, double dummy_variance);

/* Of a mean or sum from levels that randomized response sends: a level l is kept with chance c->keep and
 * becomes each other one with chance c->other, among uniform dummies.  c->counts is not read. */
double es_response_expected_error(const struct qy_query *q, const struct es_counted *c);
