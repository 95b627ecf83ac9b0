/* es_mean.h - symbols to the mean of a bounded number, with its interval.
 *
 * A participant's number is rounded at random to one of the levels 0..b (pt_levels.h), and a symbol is drawn
 * by the level's law.  Every symbol has two scores whose means under the law of any level l are l and l^2. */
#pragma once

#include "es_estimate.h"

/* How levels become symbols. */
struct es_rule {
	uint32_t levels;  /* 2 or more */
	uint32_t symbols; /* at most PR_TALLIES_MAX */
	const void *of;   /* what law and scores are given: the parameters that they follow from; borrowed */
	/* chance[symbols] of a level. */
	void (*law)(const void *of, uint32_t level, double *chance);
	/* first[symbols], second[symbols]. */
	void (*scores)(const void *of, double *first, double *second);
};

/* moment[levels]: second moment of the first score at every level.  False out of memory. */
bool es_mean_moments(const struct es_rule *rule, double *moment);

/* Ends of an interval of an unbiased sum of independent scores that each miss what is estimated with chance
 * `tail`, to the first order in the skewness: of its variance, of the sum of the scores' third central
 * moments, and of the freedom of the variance, 2 over its squared relative error. */
void es_studentised(double value, double variance, double third, double freedom, double tail, double *lower,
	double *upper);

/* As pt_protocol.estimate, for one symbol of each of `reports` participants and `dummies` more that are
 * uniform.  Unbiased: the mean of the first scores, over b and scaled to the range.  Variance: the spread of
 * the first scores, less what is certainly the values' own; not understated but by its own sampling error,
 * for which Student's law widens the interval.  The caller has checked reports and counts. */
CM_CHECK enum cm_rc es_mean_estimate(const struct qy_query *q, const struct es_rule *rule,
	const uint64_t *counts, uint64_t reports, double dummies, struct es_estimate *out,
	struct cm_err *err);
