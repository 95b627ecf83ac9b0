/* acct_exact.h - lists the outcomes of a small round, and sorts them for many questions.
 *
 * Errors.  The number of blanket others is the convolution of the levels' binomials.  Each is cut where what
 * lies beyond is below 1e-60; the tails are added above, and 1e-290 per convolution for underflow.  Masses
 * are off by less than 6e-14 max(4096, M) of themselves, M blanket messages, alike under P and Q.  Underflow
 * of the scaling by 1/(1+E) is charged at 1e-300 on both sides.
 *
 * In a composition only a range of each cell's count N_j is listed.  N_j is Bin(M-1, w_j), plus 1 if the
 * victim is in j: P(N_j > k) <= P(Bin >= k) and P(N_j < k) <= P(Bin <= k-1) under both inputs, each at most
 * e^{-m KL(k/m, w)} (Chernoff).  So the outcomes outside have a chance of at most 2 cells e^{log cut} given
 * M; with the values of M left out, 1e-3 of the round's tail.
 *
 * Sorted outcomes are summed from both ends in extended precision: H = a P(loss > eps) - b Q(loss > eps).
 * Sums are charged (4 DBL_EPSILON + size LDBL_EPSILON)(aP + bQ).  An outcome on the wrong side of eps by
 * rounding has |loss - eps| <= e = 16 DBL_EPSILON (1+eps) and |ap - bq| <= 2e ap: above, 2e (aP + bQ) is
 * charged.  Below nothing is, for {computed loss > eps} is a test in any case. */
#pragma once

#include "acct_curve.h"

/* Fill p, q, outcomes and missed of c when the round has few outcomes; else leave them zero. */
ACCT_CHECK enum acct_rc acct_exact_list(struct acct_curve *c);

/* List the outcomes again: at most `most` of them, leaving out outcomes of chance `missed` at most.  Where
 * there are too many, c keeps the list it has if that leaves out no more, else none. */
ACCT_CHECK enum acct_rc acct_exact_relist(struct acct_curve *c, double missed, size_t most);

/* Sort the outcomes of c: from now on a point takes a search instead of a sum.  Frees p and q. */
ACCT_CHECK enum acct_rc acct_exact_order(struct acct_curve *c);

void acct_order_free(struct acct_order *o); /* NULL allowed */

void acct_exact_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at);
