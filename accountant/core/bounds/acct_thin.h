/* acct_thin.h - what bounds by thin participants share: doc/imitation.md.
 *
 * Each of the others is "thin" with chance eta = L/n; the victim pretends to be one of them.  A bound knows
 * delta where enough are thin, and where nobody is it charges what cells charge.  L is chosen here. */
#pragma once

#include "acct_list.h"
#include "acct_point.h"

/* A choice of L: of n participants at most `few` are thin but with chance e^-L, and at most `many` but with
 * one of no weight. */
struct acct_thin {
	double mean, eta, few, many; /* mean: L */
};

/* Upper bounds on delta with this L: *good where enough are thin, *bad of n - many that are not.  False:
 * there is no bound with this L. */
typedef bool acct_thin_fn(void *ctx, const struct acct_thin *t, double *good, double *bad);

/* For the first choice of L, any numbers of at least 1: about how many times *good is *bad, and by how many
 * per cent delta grows where L does by one per cent of n. */
struct acct_guess {
	double ratio, grow;
};

/* From what a data set loses and what cells charge, and the chance that a message is blanket. */
struct acct_guess acct_thin_guess(
	const struct acct_point *held, const struct acct_point *cells, double blanket, double eps);

/* The least upper bound on delta found with a few choices of L, at most 1.  *work grows with each; beyond
 * `most` none is tried. */
double acct_thin_least(
	double n, struct acct_guess guess, acct_thin_fn *bounds, void *ctx, double most, const double *work);

/* An upper bound on delta of n participants with these cells; 1 where it cannot be computed.  r->cell and
 * r->cells are read, the rest is overwritten.  *work: added to. */
double acct_thin_cells(struct acct_round *r, double n, double eps, double most, double *work);
