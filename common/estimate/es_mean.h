/* es_mean.h - estimates the mean of a bounded number, with its interval, from the symbols that were sent.
 *
 * A participant's number is rounded at random to one of the levels 0..b (pt_levels.h), and a symbol is drawn
 * by the level's law.  Every symbol has two scores whose means under the law of any level l are l and l^2. */
#pragma once

#include "es_estimate.h"
#include "es_honest.h"

/* How levels become symbols. */
struct es_rule {
	uint32_t levels;  /* 2 or more */
	uint32_t symbols; /* at most PR_TALLIES_MAX */
	const void *of;   /* the parameters, which are the first argument of law and scores; borrowed */
	/* Fill chance[symbols]: the chance of each symbol at this level. */
	void (*law)(const void *of, uint32_t level, double *chance);
	/* Fill first[symbols] and second[symbols]: the two scores of each symbol. */
	void (*scores)(const void *of, double *first, double *second);
};

/* Fill moment[levels]: the second moment of the first score at each level.  False: out of memory. */
bool es_mean_moments(const struct es_rule *rule, double *moment);

/* Compute an interval for the quantity that an unbiased sum of independent scores estimates.  Each end
 * misses it with chance `tail`, to first order in the skewness.  value: the sum; variance: its estimated
 * variance; third: the sum of the scores' third central moments; freedom: degrees of freedom of the
 * variance, which are 2 over its squared relative error. */
void es_studentised(double value, double variance, double third, double freedom, double tail, double *lower,
	double *upper);

/* Estimate as pt_protocol.estimate does, from one symbol of each of `reports` participants and `dummies`
 * uniform symbols.  The value is the mean of the first scores, over b and scaled to the range; it is
 * unbiased.  The variance is the spread of the first scores, less the part that is certainly the spread of
 * the values themselves.  It is too small by its own sampling error at most, for which Student's law widens
 * the interval.  The caller has checked reports and counts. */
CM_CHECK enum cm_rc es_mean_estimate(const struct qy_query *q, const struct es_rule *rule,
	const uint64_t *counts, uint64_t reports, double dummies, struct es_estimate *out,
	struct cm_err *err);

/* What one message may add to the sum of levels, and how far it varies. */
struct es_scores {
	double least, most; /* the least and the largest first score of a symbol */
	double dummy;       /* the mean of a dummy's score */
	/* the largest variance of the score of a participant's message, rounding included, whatever its
	 * number is; and the variance of a dummy's score */
	double variance, of_dummy;
};
/* Compute them.  False: out of memory. */
bool es_scores_of(const struct es_rule *rule, struct es_scores *out);

/* Set the item of the mean or sum of `honest` devices, of whose batch counts[symbols] came.  `lied` of these
 * messages are the liars', `dummies` are uniform symbols beside the honest devices' own.  joint: as in
 * es_honest_normal.  The variance is the largest that the law allows, since liars could make an estimated one
 * small.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc es_mean_honest(const struct qy_query *q, const struct es_rule *rule,
	const uint64_t *counts, double lied, uint64_t honest, double dummies, size_t joint,
	struct es_honest *out, struct cm_err *err);
