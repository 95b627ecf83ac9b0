/* acct_thin.h - chooses the number L for bounds by thin participants: doc/imitation.md.
 *
 * Each of n participants but the victim is imagined to be "thin" with chance eta = L/n: its report then
 * tells nothing of its input, and the victim imitates a thin one.  Where at least one is thin, such a bound
 * has a delta of its own; where nobody is, it charges the delta of the round's cells. */
#pragma once

#include "acct_list.h"
#include "acct_point.h"

/* A choice of L, and how many of n participants may then be thin. */
struct acct_thin {
	/* mean: L; eta: L/n, the chance of each to be thin; few: more than this are thin with a chance of
	 * at most e^-L; many: more than this with a chance of at most e^-250, which has no weight */
	double mean, eta, few, many;
};

/* Compute two upper bounds on delta: *good where between one and `few` participants are thin; *bad where
 * none is, or more than `few` but at most `many`, so that only the cells of the n - many others who are not
 * thin hide the victim.  Returns false if there is no bound with this L. */
typedef bool acct_thin_fn(void *ctx, const struct acct_thin *t, double *good, double *bad);

/* Estimates from which the first L is chosen, each at least 1; they need not be exact.  ratio is *bad
 * divided by *good (acct_thin_fn); grow is the percentage by which delta grows when L grows by one per cent
 * of n. */
struct acct_guess {
	double ratio, grow;
};

/* Make these estimates.  held: a point of the curve of a data set that loses much; cells: the point that
 * the cells charge; blanket: the chance that a message is blanket. */
struct acct_guess acct_thin_guess(
	const struct acct_point *held, const struct acct_point *cells, double blanket, double eps);

/* The least upper bound on delta found with a few choices of L, at most 1.  Adds to *work; beyond `most` no
 * further choice is tried. */
double acct_thin_least(
	double n, struct acct_guess guess, acct_thin_fn *bounds, void *ctx, double most, const double *work);

/* An upper bound on delta of n participants with the cells in r->cell and r->cells; 1 where it cannot be
 * computed.  Overwrites the rest of *r.  Adds to *work. */
double acct_thin_cells(struct acct_round *r, double n, double eps, double most, double *work);
