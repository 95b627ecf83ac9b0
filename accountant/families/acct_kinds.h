/* acct_kinds.h - bounds the loss where reports of other participants have one of a few kinds of law:
 * doc/imitation.md.
 *
 * A *kind* is the law of the report of another participant with a certain input, described by its
 * likelihood ratios to the victim's two laws.  The bound is the largest loss over all numbers of
 * participants of every kind. */
#pragma once

#include "acct_list.h"

#define ACCT_KINDS 44u
#define ACCT_ATOMS 8u

/* A part of a kind's law R: messages of mass `mass`, at which R0/R = u, R1/R = v, and R is `ratio` times
 * the blanket.  R0 and R1 are the victim's laws. */
struct acct_atom {
	double mass, u, v, ratio;
};

struct acct_kind {
	size_t atoms;
	struct acct_atom atom[ACCT_ATOMS];
};

/* kind[0] is the kind of the victim's first input. */
struct acct_kinds {
	size_t kinds;
	double absent; /* chance that a participant is silent, whatever its kind */
	struct acct_kind kind[ACCT_KINDS];
};

/* Thin a kind: imagine that a part eta of its reports is drawn from the blanket, of this mass, and missing
 * here (doc/imitation.md); `first` is as in struct acct_shares, and which part of the blanket is quiet
 * follows from the kind's atoms.  acct_kinds_thinned() does the same for all kinds of k, into *thin. */
void acct_kinds_thin(struct acct_kind *k, double blanket, double eta, double first);
void acct_kinds_thinned(
	const struct acct_kinds *k, double blanket, double eta, double first, struct acct_kinds *thin);

/* The share of the blanket that thin participants take where the victim's two laws are alike before they
 * draw everywhere. */
#define ACCT_KINDS_FIRST 0.75

/* The blanket's mass in those cells of a list, silence left out, in which u and v are the same. */
double acct_kinds_quiet(const struct acct_list *l);

/* Set r's cells to the victim's laws relative to the law R of one kind, as if all others were of this kind.
 * The kind is the one that loses most in the limit of many participants, where the loss grows with the sum
 * of (R0 - R1)^2 / R. */
void acct_kinds_most(const struct acct_kinds *k, struct acct_round *r);

/* The least work that acct_kinds_largest takes. */
double acct_kinds_work(const struct acct_kinds *k);

/* Compute the largest delta over all ways to divide `places` places among the kinds, where each place is
 * the victim's with the same chance.  The result is never below the true value, and INFINITY where it
 * cannot be computed.  Adds to *work. */
double acct_kinds_largest(const struct acct_kinds *k, double places, double eps, double most, double *work);
