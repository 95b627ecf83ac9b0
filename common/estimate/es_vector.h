/* es_vector.h - estimates the mean of a vector, with intervals, from signs of its coordinates.
 *
 * A coordinate x in [low, high] is scaled to h in [-1, 1]: the middle of the range is 0.  The participant's
 * sign for it is +1 with chance (1 + h) / 2, else -1.  Each message is about coordinate j with chance 1 / G.
 * Its sign then has the mean slope * h_j, or 0 if the message is a dummy.  Let S_j be the sum of the signs
 * that came for j from n participants.  G S_j / (n slope) is an unbiased estimate of the mean of h_j. */
#pragma once

#include "es_estimate.h"
#include "es_honest.h"

struct pt_signs {
	double groups;    /* the number of groups G, 1 or more */
	double slope;     /* how much the mean of a sign grows with h, (0, 1] */
	uint64_t dummies; /* the number N of dummies of all participants */
};

/* Variance of the estimate of a mean h, in units of (half the range)^2:
 * ((n + N) G / slope^2 - n h^2) / n^2.  It is exact when all participants hold h, and too large otherwise. */
double es_signs_variance(const struct pt_signs *s, double n, double h);

/* Estimate one item for each coordinate.  sum[dimension]: S_j of each.  reports: 1..PR_ROUND_REPORTS_MAX,
 * else CM_EDATA.
 *
 * Intervals hold for each item alone, and for all together (Sidak).  They contain all means whose law of S_j
 * does not reject the S_j that came.  The law is exact where fewer than 2000 messages are expected about a
 * coordinate, else normal with the variance at that mean (Wilson).  Intervals may exceed the range;
 * `projected` does not.  noise_floor: the smallest absolute value that is significantly different from 0, or
 * from the end of the range next to 0; below_noise: the joint interval includes that point.  Labels are the
 * columns' names, or numbers from 0. */
CM_CHECK enum cm_rc es_vector_estimate(const struct qy_query *q, const struct pt_signs *s, const int64_t *sum,
	uint64_t reports, struct es_estimate *out, struct cm_err *err);
/* The expected root mean square error of a coordinate at the worst values, the middle of the range. */
double es_vector_expected_error(const struct qy_query *q, const struct pt_signs *s, uint64_t participants);

/* Allocate the items of an estimate with their labels: the columns' names, or numbers that e owns.
 * CM_EINTERNAL: out of memory.  Free with es_estimate_fini in either case. */
CM_CHECK enum cm_rc es_vector_items(const struct qy_query *q, struct es_estimate *e, struct cm_err *err);

/* Set out[dimension], the means of `honest` devices: of the signs that came for coordinate j, lied[j] are the
 * liars', but for a chance of es_known_tail for each.  s: of the honest devices' messages.  The ends of an
 * interval rise with the sum of the signs. CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc es_vector_honest(const struct qy_query *q, const struct pt_signs *s, const int64_t *sum,
	const uint64_t *lied, uint64_t honest, struct es_honest *out, struct cm_err *err);
