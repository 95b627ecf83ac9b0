/* acct_bits_bound.h - bounds on the worth of every test in a round of bits, for all numbers m up to a given
 * one.  Private to acct_bits.c, whose header has the certificate.
 *
 * Over theta.  The range [-P1, 1-P2] in which a maximum may lie is cut into cells of length h.  At their ends
 * a function f, one of S and S_1, and its derivative are known; the cubic that has both is off by at most
 * h^4/384 of the fourth derivative, which is at most the sum of moduli times |s+it|^4.  A cubic lies between
 * its Bernstein coefficients f(0), f(0) + h f'(0)/3, f(h) - h f'(h)/3, f(h).  Near a maximum they exceed it
 * by h^2/24 of the true second derivative, about f over the variance of the tilted law; that and the fourth
 * derivative choose h.  Any h is sound. */
#pragma once

#include "acct_bits_sum.h"

#define ACCT_BITS_STEPS 512  /* cells of theta */
#define ACCT_BITS_NODE  50.0 /* work of a node's terms at one m */
#define ACCT_BITS_TURN  30.0 /* the same of its rotation to one theta */

struct acct_bits_search {
	const struct acct_bits_sum *f;
	struct acct_bits_terms terms;
	double tolerance;      /* relative width of delta */
	double low, high;      /* of the largest h so far: found, and not exceeded by the m that are done */
	double best_m, best_j; /* where low was found */
	double spent, most;
};

/* Sets the terms. */
void acct_bits_search_at(struct acct_bits_search *s, double m);

/* Bounds at one m, of S(m + u, theta) for all u <= 0, for theta in one of `cells` parts of its range. */
struct acct_bits_bound {
	size_t cells;
	double sup;                   /* the largest of most[] */
	double theta;                 /* about where */
	double size;                  /* of |S|, whatever theta */
	double most[ACCT_BITS_STEPS]; /* of S at u = 0 */
	double rise[ACCT_BITS_STEPS]; /* its least derivative */
	double bend[ACCT_BITS_STEPS]; /* the largest second derivative */
};

/* About `allowed` is what a cell's bound may be too large. */
void acct_bits_bound_at(struct acct_bits_search *s, double m, double allowed, struct acct_bits_bound *b);

/* How far below m no part exceeds `target`. */
double acct_bits_reach(const struct acct_bits_bound *b, double target);
