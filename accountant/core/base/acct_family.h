/* acct_family.h - what the core asks of a randomizer all of whose laws are known.
 *
 * The core knows no randomizer: whoever does hands a family in with the round (acct_round.family), as a
 * profile hands in a curve.  A family must say the truth, for its bound is charged.  Each of the others is
 * thin (acct_thin.h) with chance eta, and then the blanket loses `part`. */
#pragma once

#include "acct_list.h"

/* One question: the blanket loses `part`, eta in all; how many places there are; epsilon; the work that it
 * may take. */
struct acct_thinned {
	double part, eta, places, eps, most;
};

struct acct_family {
	unsigned number; /* what texts and ledgers call such messages, above ACCT_LABELLED_BITS */
	size_t cells;    /* where a list has more, there are too many kinds for their work to be worth it */
	/* Are the cells of a round within its ranges, and the shape, those of this family? */
	bool (*fits)(const struct acct_round *r);
	/* A round of two cells: is a report nothing but a bit (doc/binary.md), as where there are two inputs?
	 * NULL: it says more, a label say. */
	bool (*bits)(const struct acct_round *r);
	/* What the family keeps of a list, to be closed; and the cells of data sets that lose much, in
	 * held->cell and held->cells. */
	enum acct_rc (*open)(const struct acct_list *l, void **kept, struct acct_round *held);
	void (*close)(void *kept); /* NULL: nothing is kept */
	/* What `largest` costs at the least. */
	double (*work)(const struct acct_list *l, const void *kept);
	/* The largest delta over the numbers of all kinds of law that the others may have, for every two
	 * inputs of the victim: never below it, INFINITY where it cannot be computed.  False: no bound.
	 * *work: added to. */
	bool (*largest)(const struct acct_list *l, const void *kept, const struct acct_thinned *t,
		double *delta, double *work);
};
