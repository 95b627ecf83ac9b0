/* acct_compose.h - the composition of laws on one grid: delta as a function of epsilon, with error terms.
 *
 * The laws are tilted by e^{lambda loss} before the transform, so that a delta of 1e-20 keeps its relative
 * accuracy (doc/accounting.md, "Composition"). */
#pragma once

#include "acct_law.h"

struct acct_part {
	const struct acct_law *law;
	double count;
};

/* The delta for which the composition should be most accurate, or the epsilon; the other one is NAN. */
struct acct_aim {
	double delta, epsilon;
};

struct acct_sum {
	double h, lambda;
	long first; /* loss / h of g[0] */
	size_t size;
	double *g; /* tilted masses, non-negative */
	double *above,
		*above1; /* sums over j >= i of g[j] e^{-lambda l}, g[j] e^{-(lambda+1) l}, l from loss i */
	double psi;      /* log moment of the composed law at lambda */
	double infinite;
	double noise;    /* l2 norm of the transform's rounding */
	double wrapped;  /* tilted mass outside the window */
	double beyond;   /* P-mass above the window */
	double relative; /* relative error of all other roundings */
	double adding;   /* relative error of the sums in above[] and above1[] */
	double work;     /* work done, in the unit of struct acct_work */
};

/* ACCT_ELIMIT when the window needs more than 2^23 points. */
ACCT_CHECK enum acct_rc acct_sum_init(
	struct acct_sum *s, const struct acct_part *part, size_t parts, double h, struct acct_aim aim);
void acct_sum_fini(struct acct_sum *s);

/* The steps of acct_sum_init, for a caller that keeps products of transforms (acct_frame.h). */

/* psi(lambda) = sum of count * log E[e^{lambda L}; L finite] with its first two derivatives. */
void acct_parts_cumulant(const struct acct_part *part, size_t parts, double h, double lambda, double psi[3]);
/* The tilt, to a factor `within`: about where the integrand of delta has its peak.  Every value is sound. */
double acct_parts_tilt(
	const struct acct_part *part, size_t parts, double h, struct acct_aim aim, double within);
/* Sets all fields but noise, wrapped, beyond and infinite from h, lambda, first, size and g. psi: at lambda;
 * counts: number of rounds; longest: largest finite loss of one round. */
ACCT_CHECK enum acct_rc acct_sum_settle(struct acct_sum *s, double psi, double counts, double longest);

/* Bounds on delta(eps) of the composed laws. */
double acct_sum_delta_above(const struct acct_sum *s, double eps);
double acct_sum_delta_below(const struct acct_sum *s, double eps);

/* An epsilon at which delta is certainly at most (above) or certainly more than (below) the given one;
 * above may be INFINITY, below may be 0. */
double acct_sum_epsilon_above(const struct acct_sum *s, double delta);
double acct_sum_epsilon_below(const struct acct_sum *s, double delta);
