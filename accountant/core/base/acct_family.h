/* acct_family.h - the interface to a randomizer all of whose laws are known.
 *
 * The core knows no randomizer: a caller that does hands a family in with the round (acct_round.family), as
 * a profile hands in a curve.  A family must tell the truth, for its bound is charged.  The bound imagines
 * that each of the other participants is "thin" with chance eta: a thin participant's report is drawn from
 * the blanket, so it tells nothing (acct_thin.h, doc/imitation.md).  What is drawn there is taken from the
 * blanket, which loses the share `part`. */
#pragma once

#include "acct_list.h"

/* One question about thin participants: `part`, the share that the blanket loses; eta, the chance that a
 * participant is thin; the number of places at which the victim's report may be; epsilon; and the most work
 * that the answer may take. */
struct acct_thinned {
	double part, eta, places, eps, most;
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
	/* The least work that a call of `largest` takes, in the unit of struct acct_work. */
	double (*work)(const struct acct_list *l, const void *kept);
	/* Compute an upper bound on delta, the largest for any two inputs of the victim and any inputs of
	 * the others; INFINITY where it cannot be computed.  Returns false if there is no bound.  Adds to
	 * *work. */
	bool (*largest)(const struct acct_list *l, const void *kept, const struct acct_thinned *t,
		double *delta, double *work);
};
