/* es_matrix.h - estimates how many participants hold each value, from the symbols that they sent, by the
 * inverse of the matrix of chances.  No I/O, no state.
 *
 * Each of n participants sends one of k symbols, with chance p(y|x) if it holds value x.  With S the
 * inverse of the matrix p, row y column j, the score S(y, j) has mean 1 for a holder of j and 0 for others,
 * so the sum of the scores of all symbols sent is an unbiased estimate of the number of holders of j.  The
 * score of a holder of x has the variance v(x, j) = sum_y p(y|x) S(y, j)^2 - [x = j]. */
#pragma once

#include "es_estimate.h"
#include "es_honest.h"

struct es_matrix {
	uint32_t k;
	double *score;    /* S(y, j) is at [y * k + j]; owned */
	double *variance; /* v(x, j) is at [x * k + j]; owned */
};

/* Invert the matrix.  chance[x * k + y] is p(y|x), so that each row sums to 1; k 2 or more.  CM_EDATA:
 * no inverse exists, since some values cannot be told apart, or a cell of it is off by more than 1e-6.
 * CM_EINTERNAL: out of memory.  The time grows as k^3: 256 values take some 50 ms. */
CM_CHECK enum cm_rc es_matrix_init(struct es_matrix *m, uint32_t k, const double *chance, struct cm_err *err);
void es_matrix_fini(struct es_matrix *m);

/* Set all of item[k] but label and none, and the noise floor.  counts[k]: how often each symbol came, from
 * `reports` participants, 1..PR_ROUND_REPORTS_MAX.  The variance is that of the scores that came, but not
 * below the variance at the projected answer, nor below the least that any values have.  Intervals follow
 * Student's law with the skewness of the scores (es_studentised).  `projected` is the nearest answer whose
 * counts are not negative and sum to the reports.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc es_matrix_items(const struct es_matrix *m, const uint64_t *counts, uint64_t reports,
	struct qy_item *item, double *floor, struct cm_err *err);
/* The expected root mean square error of a count.  Half of the weight is on a value when participants are
 * spread evenly over all values, half on a value that a tenth holds while the others are spread evenly. */
double es_matrix_expected_error(const struct es_matrix *m, uint64_t participants);
/* Set out[k], the items of `honest` devices, where `lied` of the symbols are the liars'.  A liar's symbol
 * adds its score, S(y, j).  The variance is the largest that the honest devices' values can give it. */
void es_matrix_honest(const struct es_matrix *m, const uint64_t *counts, double lied, uint64_t honest,
	struct es_honest *out);
