/* acct_families.h - the families of laws, which rows and texts hand in with a round (acct_round.family).
 *
 * No I/O.  A family knows every law that a report may have, so its bound on a round's loss is below the
 * bound that the cells alone give (doc/imitation.md).  Texts and ledgers state a family by its number;
 * these numbers and those of enum acct_messages do not overlap. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

enum acct_families {
	/* At every value each law of a report is either the smallest law or p times it.  Every two laws
	 * have the same cells: (a: p, 1), (a: 1, p), (c: p, p) and (e: 1, 1).  shape[0] is the mass, under
	 * the smallest law, of the values at which three laws are all larger; it is the same for every
	 * three.  The round has no dummies and no levels. */
	ACCT_SETS = 4,
	/* A report is a label, as with ACCT_LABELLED_BITS, and s bits.  Given the label and the input the
	 * bits are independent.  Each bit has with chance g/(1+g) the value that label and input decide.
	 * The s + 1 cells are (C(s,k) (1+g)^-s: g^(s-k), g^k).  The round has no dummies and no levels. */
	ACCT_WORDS,
	/* Level x of 0..b sends level y with chance w a^|x-y|, where w is 1/(1+a) at y = 0 and y = b, else
	 * (1-a)/(1+a).  More noise may be added to y.  The cells are those of inputs 0 and b
	 * (doc/accounting.md, `laplace-levels`).  The round has no dummies and no levels of struct
	 * acct_level. */
	ACCT_LADDER,
	/* In the next four families each law is at every value either the smallest law or p times it, but
	 * some pairs of inputs have more in common than others.  The cells are those of two inputs that
	 * have the least in common.  Each is that of a randomizer by name (doc/accounting.md), and `shape`
	 * has its parameters.  More noise may be added to reports.  The round has no dummies and no
	 * levels. */
	ACCT_WINDOWS, /* parameters of the round: `piecewise`, shape b, w */
	ACCT_STAIRS,  /* `staircase`, shape b, r */
	ACCT_DRAWS,   /* `privset`, shape d, k, s; s at most 6 */
	ACCT_SIGNS,   /* `duchi`, shape d; d even, at most 14 */
};

/* The family of this number; NULL if there is none. */
const struct acct_family *acct_family(enum acct_families which);

/* Set a round's family.  shape has three numbers; NULL stands for three zeros. */
void acct_family_set(struct acct_round *r, enum acct_families which, const double shape[3]);

/* The number by which texts and ledgers state a round's messages or its family: of enum acct_messages, or
 * of enum acct_families. */
unsigned acct_family_number(const struct acct_round *r);

/* Set a round's messages or family from its number, and the family's shape from the text's other keys:
 * `triple` is shape[0] of ACCT_SETS, `shape` is the shape of the families after ACCT_LADDER.  *why is set
 * as in acct.h. */
ACCT_CHECK enum acct_rc acct_family_read(
	struct acct_round *r, unsigned number, double triple, const double shape[3], const char **why);

#ifdef __cplusplus
}
#endif
