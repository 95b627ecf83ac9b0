/* acct_family.h - the interface to a randomizer all of whose laws are known.
 *
 * The core knows no randomizer: a caller that does hands a family in with the round (acct_round.family), as
 * a profile hands in a curve.  A family must tell the truth, for its bound is charged.  The bound imagines
 * that each of the other participants is "thin" with chance eta: a thin participant's report is drawn from
 * the blanket, so it tells nothing (acct_thin.h, doc/imitation.md).  What is drawn there is taken from the
 * blanket, which loses the shares that struct acct_shares states. */
#pragma once

#include "acct_list.h"

/* What thin participants take of the blanket.  They draw where the victim's two laws are alike, where its
 * loss does not grow by it, until the share `first` of that part of the blanket is gone, and then everywhere.
 * quiet: the share that is gone there; loud: the share that is gone of the rest, which is never more. */
struct acct_shares {
	double quiet, loud;
};

/* Compute them where a participant is thin with chance eta < blanket.  blanket: its mass; quiet: the mass of
 * the part where the two laws are alike; first [0, 1): 0 if thin participants draw everywhere alike. */
static inline struct acct_shares acct_shares_of(double eta, double blanket, double quiet, double first)
{
	double more = (eta - first * quiet) / (blanket - first * quiet);

	if (!(more > 0))
		return (struct acct_shares){ quiet > 0 ? eta / quiet : 0, 0 };
	return (struct acct_shares){ quiet > 0 ? first + (1 - first) * more : more, more };
}

/* One question about thin participants: eta, the chance that a participant is thin; what that takes of the
 * blanket of the victim's two inputs that have the least in common, and `first` (struct acct_shares); the
 * number of places at which the victim's report may be; epsilon; and the most work that the answer may
 * take. */
struct acct_thinned {
	double eta;
	struct acct_shares share;
	double first, places, eps, most;
};

struct acct_family {
	/* the number that stands for the family in texts and ledgers, as an enum acct_messages would; all
	 * are above ACCT_LABELLED_BITS */
	unsigned number;
	/* most cells of a list for which the bound is tried: with more there are too many kinds of report
	 * for it to be worth the work */
	size_t cells;
	/* Are the round's cells and its shape those of this family?  All its numbers are within their
	 * ranges. */
	bool (*fits)(const struct acct_round *r);
	/* Is a report of this round of two cells only a bit (doc/binary.md), as where there are only two
	 * inputs?  NULL: a report says more than its cell, for example a label. */
	bool (*bits)(const struct acct_round *r);
	/* Make what the family needs for its answers about a list: *kept, which the caller frees with
	 * `close`.  Also set held->cell and held->cells to the cells of data sets that lose much, from
	 * which the lower end is computed. */
	enum acct_rc (*open)(const struct acct_list *l, void **kept, struct acct_round *held);
	void (*close)(void *kept); /* NULL: there is nothing to release */
	/* The mass of the part of the blanket where the two inputs that have the least in common are alike,
	 * and *first of struct acct_shares.  NULL: thin participants draw everywhere alike. */
	double (*quiet)(const struct acct_list *l, double *first);
	/* The least work that a call of `largest` takes, in the unit of struct acct_work. */
	double (*work)(const struct acct_list *l, const void *kept);
	/* Compute an upper bound on delta, the largest for any two inputs of the victim and any inputs of
	 * the others; INFINITY where it cannot be computed.  Returns false if there is no bound.  Adds to
	 * *work. */
	bool (*largest)(const struct acct_list *l, const void *kept, const struct acct_thinned *t,
		double *delta, double *work);
};
