/* acct_families.h - the families of laws that there are, which rows and texts hand in with a round
 * (acct_round.family).
 *
 * Pure.  A family knows every law that a report may have, so its bound on a round's loss is below that of the
 * cells (doc/imitation.md).  Texts and ledgers know a family by its number, as they know enum
 * acct_messages. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

enum acct_families {
	/* Of the laws that a report may have, whatever its input, each is at every value the smallest of all
	 * or p times that; every two have the same cells, which are (a: p, 1), (a: 1, p), (c: p, p) and (e:
	 * 1, 1), and every three have the same, shape[0]: of the smallest law, the mass where all three are
	 * larger.  No dummies, no levels. */
	ACCT_SETS = 4,
	/* A report is a label, as with ACCT_LABELLED_BITS, and s bits, cells = s + 1.  Given the label and
	 * the input each bit is independent of the others, and one of its two values, which the input
	 * decides, has chance g/(1+g).  The cells are (C(s,k) (1+g)^-s: g^(s-k), g^k).  No dummies, no
	 * levels. */
	ACCT_WORDS,
	/* Levels 0..b, and what level x sends is y of them with the chance w a^|x-y|, w = 1/(1+a) at y = 0
	 * and b, (1-a)/(1+a) between; or it is more noise in y.  The cells are those of 0 and b:
	 * doc/accounting.md, `laplace-levels`.  No dummies, no levels of guarantees. */
	ACCT_LADDER,
	/* Every law is the smallest of all or p times that, and two inputs may have less in common than
	 * others: the cells are those of two that have least in common (doc/accounting.md, the rows named).
	 * `shape` says which randomizer it is.  Reports may be more noise in what is meant.  No dummies, no
	 * levels. */
	ACCT_WINDOWS, /* `piecewise`: b, w */
	ACCT_STAIRS,  /* `staircase`: b, r */
	ACCT_DRAWS,   /* `privset`: d, k, s, s at most 6 */
	ACCT_SIGNS,   /* `duchi`: d even, at most 14 */
};

/* The family of this number; NULL if there is none. */
const struct acct_family *acct_family(enum acct_families which);

/* Says of a round that its reports are of this family.  shape: three numbers; NULL: none. */
void acct_family_set(struct acct_round *r, enum acct_families which, const double shape[3]);

/* The number that texts and ledgers give to a round's messages: enum acct_messages, or enum acct_families. */
unsigned acct_family_number(const struct acct_round *r);

/* The other way, with what else a text says of the messages: triple is shape[0] of sets, shape is that of the
 * families after ACCT_LADDER.  *why as in acct.h. */
ACCT_CHECK enum acct_rc acct_family_read(
	struct acct_round *r, unsigned number, double triple, const double shape[3], const char **why);

#ifdef __cplusplus
}
#endif
