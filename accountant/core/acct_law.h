/* acct_law.h - a round's privacy loss as a law on a grid, from above and from below.
 *
 * Losses are multiples of h.  A law above dominates the round (Y_law >= Y in convex order), one below is
 * dominated by it; both orders survive composition (doc/accounting.md, "Loss grid"). */
#pragma once

#include "acct_curve.h"

struct acct_law {
	long *at;  /* loss / h, increasing */
	double *p; /* mass under P; with infinite it sums to 1 */
	size_t size;
	double infinite; /* mass under P of loss +infinity */
};

/* Points of the curve at the losses k * stride * h, k = 0..last. */
struct acct_nodes {
	double h; /* of the grid */
	long stride;
	size_t last;
	struct acct_point *way[2]; /* forwards; with P and Q exchanged (the same array when symmetric) */
	double infinite[2];
};

/* Loss beyond which delta of the round is below tail (infinite losses aside). */
double acct_law_range(const struct acct_curve *c, double tail);

/* ACCT_ELIMIT when the range needs more than 16384 nodes. */
ACCT_CHECK enum acct_rc acct_nodes_init(
	struct acct_nodes *n, const struct acct_curve *c, double h, long stride, double range);
void acct_nodes_fini(struct acct_nodes *n);

/* Above: of both directions at once.  Below: of one (way 0 or 1). */
ACCT_CHECK enum acct_rc acct_law_above(struct acct_law *law, const struct acct_nodes *n);
ACCT_CHECK enum acct_rc acct_law_below(struct acct_law *law, const struct acct_nodes *n, int way);
void acct_law_fini(struct acct_law *law);
