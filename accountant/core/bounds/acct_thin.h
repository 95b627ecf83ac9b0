/* acct_thin.h - chooses the stages of bounds by thin participants: doc/imitation.md.
 *
 * Each of n participants but the victim is imagined to be "thin" with some chance: its report then tells
 * nothing of its input, and the victim imitates a thin one.  Who is thin is drawn in stages, up to the first
 * in which anybody is.  Each stage has a delta of its own; where nobody is thin in any, the delta of the
 * round's cells is charged. */
#pragma once

#include "acct_list.h"
#include "acct_point.h"

/* One stage. */
struct acct_thin {
	/* eta: the chance of each participant to be thin by the end of the stage, those before it included;
	 * few: more than this become thin in the stage with a chance that has little weight; many: more than
	 * this in any stage so far with a chance of at most e^-250, which has none */
	double eta, few, many;
};

/* Compute two upper bounds on delta: *good where between one and `few` participants become thin in this
 * stage; and, if bad is not NULL, *bad where none is thin by its end, or more than `few` but at most `many`
 * become so in one stage, and only the cells of the n - many others hide the victim.  Returns false if there
 * is no bound with this eta. */
typedef bool acct_thin_fn(void *ctx, const struct acct_thin *t, double *good, double *bad);

/* Estimates from which the stages are chosen, each at least 1; they need not be exact.  ratio is *bad
 * divided by *good (acct_thin_fn); grow is the percentage by which delta grows when eta grows by one per
 * cent. */
struct acct_guess {
	double ratio, grow;
};

/* Make these estimates.  held: a point of the curve of a data set that loses much; cells: the point that
 * the cells charge; blanket: the chance that a message is blanket. */
struct acct_guess acct_thin_guess(
	const struct acct_point *held, const struct acct_point *cells, double blanket, double eps);

/* The least upper bound on delta found with a few choices of stages, at most 1.  blanket: the chance that a
 * message is blanket.  Adds to *work; beyond `most` no
 * further choice is tried. */
double acct_thin_least(double n, double blanket, struct acct_guess guess, acct_thin_fn *bounds, void *ctx,
	double most, const double *work);

/* An upper bound on delta of n participants with the cells in r->cell and r->cells; 1 where it cannot be
 * computed.  Overwrites the rest of *r.  Adds to *work. */
double acct_thin_cells(struct acct_round *r, double n, double eps, double most, double *work);
