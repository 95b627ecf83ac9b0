/* es_vector.h - signs of coordinates to the mean of a vector, with intervals.
 *
 * A coordinate x of [low, high] is h in [-1, 1] of half the range about its middle, and a participant's sign
 * of it is +1 with chance (1 + h) / 2.  Each message is about coordinate j with chance 1 / G and then shows a
 * sign of mean slope * h_j, or of mean 0 if it is a dummy.  With S_j the sum of the signs shown and n
 * participants, G S_j / (n slope) estimates the mean of h_j without bias. */
#pragma once

#include "es_estimate.h"

struct pt_signs {
	double groups;    /* G, 1 or more */
	double slope;     /* (0, 1] */
	uint64_t dummies; /* N, of all participants */
};

/* Variance of the estimate of a mean h, in units of half the range squared: ((n + N) G / slope^2 - n h^2) /
 * n^2, exact when all hold h, and more than there is when they differ. */
double es_signs_variance(const struct pt_signs *s, double n, double h);

/* One item per coordinate from sum[dimension] of its signs.  `reports` 1..PR_ROUND_REPORTS_MAX, else
 * CM_EDATA.
 *
 * Intervals, pointwise and simultaneous (Sidak), of the means that do not reject what was seen: by the exact
 * law of S_j where fewer than 2000 messages are expected about a coordinate, else normal with the variance at
 * the mean in question (Wilson).  They are not cut to the range; `projected` is.  noise_floor: the absolute
 * value whose estimate is told apart from 0 (or from the end of the range next to it); below_noise: the joint
 * interval includes that.  Labels are the columns' names, or numbers from 0. */
CM_CHECK enum cm_rc es_vector_estimate(const struct qy_query *q, const struct pt_signs *s, const int64_t *sum,
	uint64_t reports, struct es_estimate *out, struct cm_err *err);
/* Root mean square over the coordinates at the worst values, those in the middle of the range. */
double es_vector_expected_error(const struct qy_query *q, const struct pt_signs *s, uint64_t participants);

/* The items of an estimate with their labels: the columns' names, or numbers that live in e.  CM_EINTERNAL
 * out of memory.  e is the caller's to finish in either case. */
CM_CHECK enum cm_rc es_vector_items(const struct qy_query *q, struct es_estimate *e, struct cm_err *err);
