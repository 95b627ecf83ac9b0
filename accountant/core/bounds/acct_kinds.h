/* acct_kinds.h - an upper bound on the privacy curve of a round that knows every law that a report may have,
 * and not only the part that all have in common.
 *
 * Theorem and proof: doc/imitation.md.  A *kind* is what an input of another participant makes of its report,
 * seen by its likelihood ratios to the victim's two laws.  The bound is the largest over all numbers of
 * participants of every kind. */
#pragma once

#include "acct_thin.h"
#include "acct_triples.h"

#define ACCT_KINDS ACCT_TRIPLES_ENDS
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

/* The kinds of a checked round, if inputs differ in what they have in common those of the victim's inputs
 * that have least; kinds is 0 where its messages have none, or too many, and of words and ladders, which
 * have their own (acct_words.h, acct_ladder.h). */
void acct_kinds_of(const struct acct_list *l, struct acct_kinds *k);

/* Of a round whose messages are such (acct_triples.h); NULL: no memory, or too many.  free() it. */
struct acct_triples *acct_kinds_triples(const struct acct_list *l);

/* Adds the kinds of the ends of t. */
void acct_kinds_ends(const struct acct_triples *t, struct acct_kinds *k);

/* What is tried at this eps, where the blanket loses `part`, eta in all: the kinds of the list, and of other
 * pairs of inputs those that may lose more.  t: of the list, or NULL.  False: too many, or no memory.  *work:
 * added to. */
bool acct_kinds_tried(const struct acct_triples *t, const struct acct_kinds *k, double part, double eta,
	double eps, struct acct_kinds *thin, double *work);

/* Of reports that are thin (doc/imitation.md) the blanket loses `part`, eta in all: what a kind is then. */
void acct_kinds_thin(struct acct_kind *k, double part, double eta);

/* Everybody else is of the kind that loses most in the limit of many participants, where that is sum (R0 -
 * R1)^2 / R: the victim's cells relative to its law. */
void acct_kinds_most(const struct acct_kinds *k, struct acct_round *r);

/* The kinds of a list that has some, and the data sets in which all others are of the one that loses most.
 * acct_kinds_free() it. */
struct acct_known;
ACCT_CHECK enum acct_rc acct_kinds_new(const struct acct_list *l, struct acct_known **out);
void acct_kinds_free(struct acct_known *k);

/* One point of such a list, before defect and sampling: above, the lesser of the bound and the cells'; below,
 * what those data sets lose.  most, width: of struct acct_work.  Returns the work done. */
double acct_kinds_curve_at(const struct acct_list *l, const struct acct_known *k, double eps, double most,
	double width, struct acct_point *at);
/* What those data sets lose, alone: in the direction that loses more. */
double acct_kinds_held_at(
	const struct acct_known *k, double eps, double most, double width, struct acct_point *at);

/* What acct_kinds_largest costs at the least. */
double acct_kinds_work(const struct acct_kinds *k);

/* The largest delta, over the numbers of the kinds, of `places` places of which each is the victim's with the
 * same chance.  Never below it; INFINITY where it cannot be computed.  *work: added to. */
double acct_kinds_largest(const struct acct_kinds *k, double places, double eps, double most, double *work);
