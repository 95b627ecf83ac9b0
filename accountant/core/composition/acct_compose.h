/* acct_compose.h - the composition of laws on one grid: delta as a function of epsilon, with error terms.
 *
 * The laws are tilted by e^{lambda loss} before the transform, so that a delta of 1e-20 keeps its relative
 * accuracy (doc/accounting.md, "Composition").  Let f_i be the tilted laws and g their product.  These
 * errors are charged:
 *
 * Window.  It has N points around psi'.  The tilted mass outside it is bounded by Chernoff (below 1e-12,
 * else N grows).  Where this mass is wrapped into the window it only raises the sum, so the upper bound
 * needs nothing more; from the lower bound e^{psi - lambda epsilon} times it is subtracted.  The upper
 * bound also adds the P-mass beyond the window.
 *
 * Rounding of the transform.  ||error||_2 <= eta (sum count_i ||f_i||_2 + ||g||_2) + 4 counts ulp ||g||_2,
 * times 1.01 e^{counts eta sqrt(N)}; eta is acct_fft_error.  For fl(F_i) = F_i + D_i, ||D_i|| <= eta
 * sqrt(N) ||f_i||. The f_i are laws, so |F_i| <= 1 and |F_i^K - (F_i+D_i)^K| <= K |D_i| e^{K |D_i|}. K-1
 * squarings and products cost (K-1) sqrt(5) ulp of |F_i|^K (Brent, Percival, Zimmermann 2007); 4 are
 * charged.  Transforming back adds eta ||g|| and divides by sqrt(N).  By Cauchy-Schwarz the sum is off by
 * e^{psi} ||error||_2 sqrt(sum_{l > epsilon} e^{-2 lambda l}).  A negative g is set to 0, which does not
 * increase the error.
 *
 * Other rounding.  delta is off by a factor 1 +- (1e-10 + counts (1e-11 + (64 + 4 lambda l_max) ulp) + 4
 * ulp |exponents|).  With l' the first loss above epsilon, A = sum g e^{-lambda (l-l')} and B = sum g
 * e^{-(lambda+1)(l-l')} are summed from the top, A := g + e^{-lambda h} A, so no exponent is above 0.
 * e^{epsilon-l'} B is subtracted from A, and (4 N (1 + (lambda+1) h) + 16 |largest exponent| + 64) ulp of A
 * are charged.  Underflow is charged with 1e-290.
 *
 * The laws: 1e-11 a round.  Atoms are differences of slopes, but an error of a slope only moves mass
 * between neighbouring corners.  So a curve has a relative error of at most 16384 * 3 ulp, and likewise the
 * sums over atoms.  A relative error r of every H_i gives delta one of at most counts r: replace the rounds
 * one by one. */
#pragma once

#include "acct_law.h"

struct acct_part {
	const struct acct_law *law;
	double count;
};

/* What the composition should be most accurate for, delta or epsilon; the other one is NAN. */
struct acct_aim {
	double delta, epsilon;
};

struct acct_sum {
	/* h: the grid's step; lambda: the exponent of the tilt */
	double h, lambda;
	long first; /* the loss of g[0] is first * h */
	size_t size;
	double *g; /* mass of each grid point under the tilted law, not negative */
	double *above,
		/* sums over j >= i of g[j] e^{-lambda l}, and of g[j] e^{-(lambda+1) l}, where l is the
		 * loss of j less that of i */
		*above1;
	double psi; /* psi(lambda): log of E e^{lambda L} of the composed loss L, where it is finite */
	/* mass of infinite loss */
	double infinite;
	double noise;    /* bound on the 2-norm of the rounding error of the transform */
	double wrapped;  /* bound on the tilted mass outside the window, which is wrapped into it */
	double beyond;   /* bound on the P-mass above the window */
	double relative; /* bound on the relative error of all other roundings */
	double adding;   /* bound on the relative error of the sums in above[] and above1[] */
	double work;     /* work done, in the unit of struct acct_work */
};

/* Compose the laws.  ACCT_ELIMIT when the window needs more than 2^23 points. */
ACCT_CHECK enum acct_rc acct_sum_init(
	struct acct_sum *s, const struct acct_part *part, size_t parts, double h, struct acct_aim aim);
void acct_sum_fini(struct acct_sum *s);

/* The steps of acct_sum_init, for a caller that keeps products of transforms (acct_frame.h). */

/* psi(lambda) = sum of count * log E[e^{lambda L}; L finite] over the parts, and its first two
 * derivatives. */
void acct_parts_cumulant(const struct acct_part *part, size_t parts, double h, double lambda, double psi[3]);
/* Find the tilt lambda up to a factor `within`: about where the integrand of delta has its peak.  Any tilt
 * is sound; a good one leaves the least error. */
double acct_parts_tilt(
	const struct acct_part *part, size_t parts, double h, struct acct_aim aim, double within);
/* Set all fields except noise, wrapped, beyond and infinite, from h, lambda, first, size and g.  psi is its
 * value at lambda, counts the number of rounds, longest the largest finite loss of one round. */
ACCT_CHECK enum acct_rc acct_sum_settle(struct acct_sum *s, double psi, double counts, double longest);

/* Bounds on delta(eps) of the composed laws, from above and from below. */
double acct_sum_delta_above(const struct acct_sum *s, double eps);
double acct_sum_delta_below(const struct acct_sum *s, double eps);

/* An epsilon at which delta is certainly at most (above) or certainly more than (below) the given one;
 * above may be INFINITY, below may be 0.  The crossing is searched from the top: left of the peak of the
 * tilted law the errors grow without bound, and there the bounds become the trivial ones.
 *
 * from may be NULL.  Where several deltas are asked of one sum in ascending order, it points to a number
 * that is SIZE_MAX for the first and that each call updates: the search then continues where the last one
 * ended.  Searches above and below need a number each. */
double acct_sum_epsilon_above(const struct acct_sum *s, double delta, size_t *from);
double acct_sum_epsilon_below(const struct acct_sum *s, double delta, size_t *from);
