/* acct_family.h - the interface to a randomizer all of whose laws are known.
 *
 * The core knows no randomizer: a caller that does hands a family in with the round (acct_round.family), as
 * a profile hands in a curve.  A family must tell the truth, for its bound is charged.  Each of the other
 * participants is thin (acct_thin.h) with chance eta, by which the blanket loses `part`. */
#pragma once

#include "acct_list.h"

/* One question: what the blanket loses (`part`), the chance eta that a participant is thin, the number of
 * places, epsilon, and the work that the answer may take. */
struct acct_thinned {
	double part, eta, places, eps, most;
};

struct acct_family {
	/* the number by which texts and ledgers call such messages, above ACCT_LABELLED_BITS */
	unsigned number;
	size_t cells; /* with more cells there are too many kinds to be worth the work */
	/* Are the round's cells, whose numbers are within their ranges, and its shape those of this
	 * family? */
	bool (*fits)(const struct acct_round *r);
	/* In a round of two cells: is a report only a bit (doc/binary.md), as it is where there are two
	 * inputs?  NULL: a report says more, for example a label. */
	bool (*bits)(const struct acct_round *r);
	/* Make what the family keeps of a list, which the caller closes; and set in held->cell and
	 * held->cells the cells of data sets that lose much. */
	enum acct_rc (*open)(const struct acct_list *l, void **kept, struct acct_round *held);
	void (*close)(void *kept); /* NULL: there is nothing to release */
	/* The least work that `largest` takes. */
	double (*work)(const struct acct_list *l, const void *kept);
	/* Compute the largest delta, for any two inputs of the victim, over all ways in which the others
	 * may have the kinds of law that the family knows: never below it, INFINITY where it cannot be
	 * computed.  Returns false if there is no bound.  Adds to *work. */
	bool (*largest)(const struct acct_list *l, const void *kept, const struct acct_thinned *t,
		double *delta, double *work);
};
