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

/* What the composition should be most accurate for: a delta, or an epsilon (the other is NAN). */
struct acct_aim {
	double delta, epsilon;
};

struct acct_sum {
	double h, lambda;
	long first; /* loss / h of g[0] */
	size_t size;
	double *g; /* tilted masses, non-negative */
	double *above,
		*above1;  /* sums from the top of g e^{-lambda l}, g e^{-(lambda+1) l}, l from the centre */
	double centre;    /* loss */
	double log_scale; /* psi(lambda) - lambda * centre */
	double infinite;
	size_t from;     /* below this index exponentials overflow: no answer there */
	double noise;    /* l2 norm of the transform's rounding */
	double wrapped;  /* tilted mass outside the window */
	double beyond;   /* P-mass above the window */
	double relative; /* rounding of everything else */
	double exponent; /* the largest exponent of above[], above1[] */
	double work;     /* done, as in struct acct_work */
};

/* ACCT_ELIMIT when the window needs more than 2^23 points. */
ACCT_CHECK enum acct_rc acct_sum_init(
	struct acct_sum *s, const struct acct_part *part, size_t parts, double h, struct acct_aim aim);
void acct_sum_fini(struct acct_sum *s);

/* The pieces of acct_sum_init, for products that are kept (acct_frame.h). */

/* psi(lambda) = sum of count * log E[e^{lambda L}; L finite] with its first two derivatives. */
void acct_parts_cumulant(const struct acct_part *part, size_t parts, double h, double lambda, double psi[3]);
/* The tilt, to a factor `within`: about where the integrand of delta has its peak.  Any value is sound. */
double acct_parts_tilt(
	const struct acct_part *part, size_t parts, double h, struct acct_aim aim, double within);
/* Everything but noise, wrapped, beyond and infinite follows from h, lambda, first, size and g.  psi: at
 * lambda; counts: rounds; longest: largest finite loss of one. */
ACCT_CHECK enum acct_rc acct_sum_settle(struct acct_sum *s, double psi, double counts, double longest);

/* Bounds on delta(eps) of the composed laws. */
double acct_sum_delta_above(const struct acct_sum *s, double eps);
double acct_sum_delta_below(const struct acct_sum *s, double eps);

/* An epsilon at which delta is certainly at most (above) or certainly more than (below) the given one;
 * above may be INFINITY, below may be 0. */
double acct_sum_epsilon_above(const struct acct_sum *s, double delta);
double acct_sum_epsilon_below(const struct acct_sum *s, double delta);
