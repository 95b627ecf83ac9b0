/* es_matrix.h - symbols to counts of values, by the inverse of the matrix of chances.  Pure.
 *
 * Each of n participants sends one of k symbols, with chance p(y|x) where it holds value x.  With S the
 * inverse of the matrix p, row y column j, the score S(y, j) has mean 1 for a holder of j and 0 for others,
 * so the sum of the scores of what was sent is an unbiased count.  Of a holder of x it has the variance v(x,
 * j) = sum_y p(y|x) S(y, j)^2 - [x = j]. */
#pragma once

#include "es_estimate.h"

#define ES_MATRIX_MOST 1024u /* values */

struct es_matrix {
	uint32_t k;
	double *score;    /* [y * k + j]; owned */
	double *variance; /* [x * k + j]; owned */
};

/* From chance[x * k + y], every row a law; k 2..ES_MATRIX_MOST.  CM_EDATA: values cannot be told apart, the
 * inverse does not exist or is off by more than 1e-6 in some cell; CM_EINTERNAL out of memory.  Time of k^3:
 * 256 values take some 50 ms. */
CM_CHECK enum cm_rc es_matrix_init(struct es_matrix *m, uint32_t k, const double *chance, struct cm_err *err);
void es_matrix_fini(struct es_matrix *m);

/* Everything of item[k] but label and none, and the noise floor, from counts[k] of `reports` participants,
 * 1..PR_ROUND_REPORTS_MAX.  Variance: of the scores that were seen, not below that of the
 * projected answer, or of any values.  Intervals:
 * Student's law with the skewness of the scores (es_studentised).  `projected` is the nearest answer with
 * counts that are not negative and sum to the reports.  CM_EINTERNAL out of memory. */
CM_CHECK enum cm_rc es_matrix_items(const struct es_matrix *m, const uint64_t *counts, uint64_t reports,
	struct qy_item *item, double *floor, struct cm_err *err);
/* Root mean square over the values: half of the weight on evenly spread participants, half on values that a
 * tenth holds while the others are spread evenly. */
double es_matrix_expected_error(const struct es_matrix *m, uint64_t participants);
