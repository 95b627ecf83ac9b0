/* acct_exact.h - exact laws, term by term: the outcomes of a small round, and the number of its blanket
 * messages.
 *
 * Given a list (acct_list.h), it computes the masses of the round's outcomes under both inputs, sorts them
 * for many questions, and computes points of their curve.
 *
 * Errors.  The number of blanket others is the convolution of the levels' binomials.  Each binomial is cut
 * where everything beyond is below 1e-60; the tails are added to the upper end, and 1e-290 per convolution
 * for underflow.  Masses have a relative error below 6e-14 max(4096, M), M blanket messages, which is the
 * same under P and Q.  Underflow of the scaling by 1/(1+E) is charged at 1e-300 on both sides.
 *
 * In a composition only a range of each cell's count N_j is listed.  N_j is Bin(M-1, w_j), plus 1 if the
 * victim is in j: P(N_j > k) <= P(Bin >= k) and P(N_j < k) <= P(Bin <= k-1) under both inputs, each at most
 * e^{-m KL(k/m, w)} (Chernoff).  So the outcomes outside have a chance of at most 2 cells e^{log cut} given
 * M; with the values of M left out, 1e-3 of the round's tail.
 *
 * Sorted outcomes are summed from both ends in extended precision: H = a P(loss > eps) - b Q(loss > eps).
 * Sums are charged (4 DBL_EPSILON + size LDBL_EPSILON)(aP + bQ).  An outcome that rounding put on the wrong
 * side of eps has |loss - eps| <= e = 16 DBL_EPSILON (1+eps) and |ap - bq| <= 2e ap.  So 2e (aP + bQ) is
 * added to the upper bound.  The lower bound needs no such term, since {computed loss > eps} is a test,
 * too. */
#pragma once

#include "acct_list.h"
#include "acct_point.h"

/* The outcomes of a small round.  All members are zero if none are listed.  Once the outcomes are sorted,
 * `order` replaces p and q. */
struct acct_exact {
	double *p, *q; /* masses of each outcome under the victim's two inputs */
	size_t outcomes;
	struct acct_order *order;
	double missed; /* mass of the outcomes left out, under either input */
	/* bound on the rounding error that summing adds to P(A) and Q(A) of any set A of outcomes, relative
	 * to P(A) + Q(A); outcomes themselves have mass_error */
	double test_error;
	/* bound on the relative error of a listed mass; an outcome's masses under both inputs are off by
	 * the same factor */
	double mass_error;
};

/* List the outcomes of a round that has few; else *e stays zero. */
ACCT_CHECK enum acct_rc acct_exact_list(struct acct_exact *e, const struct acct_list *l);
void acct_exact_fini(struct acct_exact *e);

/* List the outcomes again: at most `most` of them, leaving out outcomes whose total chance is at most
 * `missed`. If more than `most` are needed, *e keeps its list if that leaves out no more than `missed`, and
 * is emptied otherwise. */
ACCT_CHECK enum acct_rc acct_exact_relist(
	struct acct_exact *e, const struct acct_list *l, double missed, size_t most);

/* Sort the outcomes: from now on a point takes a search instead of a sum. */
ACCT_CHECK enum acct_rc acct_exact_order(struct acct_exact *e, bool symmetric);

/* Compute one point of the curve of these outcomes, and the work that it takes, in the unit of struct
 * acct_work. */
void acct_exact_at(const struct acct_exact *e, double eps, bool swap, struct acct_point *at);
double acct_exact_work(const struct acct_exact *e);

/* How many messages of the others are blanket: the law of that number, term by term. */

/* chance[i] is the chance of first + i blanket messages, with a relative error of 1e-10. */
struct acct_count {
	double *chance;
	size_t size; /* number of terms; 0: the law has more terms than asked for */
	double first;
	double missed; /* upper bound on the chance of all numbers left out */
};

/* Compute the law with at most `most` terms.  The terms left out have a chance of about 4 * tail for each
 * group.  Call acct_count_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_count_init(
	struct acct_count *c, const struct acct_list *l, double tail, double most);
void acct_count_fini(struct acct_count *c);
