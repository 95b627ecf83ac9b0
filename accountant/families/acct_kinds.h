/* acct_kinds.h - a few kinds of law that a report may have: doc/imitation.md.
 *
 * A *kind* is what an input of another participant makes of its report, seen by its likelihood ratios to the
 * victim's two laws. The bound is the largest over all numbers of participants of every kind. */
#pragma once

#include "acct_round.h"

#define ACCT_KINDS 44u
#define ACCT_ATOMS 8u

/* Reports of this kind, of law R: `mass` of R has R0/R = u, R1/R = v, and R is `ratio` times the blanket. */
struct acct_atom {
	double mass, u, v, ratio;
};

struct acct_kind {
	size_t atoms;
	struct acct_atom atom[ACCT_ATOMS];
};

/* Kind 0: that of the victim's first input. */
struct acct_kinds {
	size_t kinds;
	struct acct_kind kind[ACCT_KINDS];
};

/* Of reports that are thin (doc/imitation.md) the blanket loses `part`, eta in all: what a kind is then, and
 * what all are. */
void acct_kinds_thin(struct acct_kind *k, double part, double eta);
void acct_kinds_thinned(const struct acct_kinds *k, double part, double eta, struct acct_kinds *thin);

/* Everybody else is of the kind that loses most in the limit of many participants, where that is sum (R0 -
 * R1)^2 / R: the victim's cells relative to its law. */
void acct_kinds_most(const struct acct_kinds *k, struct acct_round *r);

/* What acct_kinds_largest costs at the least. */
double acct_kinds_work(const struct acct_kinds *k);

/* The largest delta, over the numbers of the kinds, of `places` places of which each is the victim's with the
 * same chance.  Never below it; INFINITY where it cannot be computed.  *work: added to. */
double acct_kinds_largest(const struct acct_kinds *k, double places, double eps, double most, double *work);
