/* acct_labels.h - an upper bound on the privacy curve of a round whose messages are bits with public labels.
 *
 * A report is a label, drawn by one law whatever the value is, and a bit whose chance of a one, given the
 * label, lies in [Q, P], P = e^eps0 Q = 1 - Q.  Theorem and proof: doc/imitation.md.
 *
 * Choices, here and in acct_known.h: eta = L/n.  L is so large that P(B = 0) delta' adds about as little as
 * one more of L would (acct_thin.c).  B is replaced by `few` = eL (Chernoff: more have a chance of e^-L), and
 * beyond a number of chance e^-250 everything is given away. */
#pragma once

#include "acct_thin.h"

/* An upper bound on H = delta/(1 + e^eps), eps [0, 700]: *hi is at most the trivial bound.  guess: for L.
 * Returns the work done, in the unit of struct acct_work; beyond `most` the bound is trivial.  Cost: 20
 * microseconds and more. */
double acct_labels_at(
	const struct acct_bit_facts *b, struct acct_guess guess, double eps, double most, double *hi);

/* The largest delta, over p, of a batch of bits one of which is the victim's, of chance P or Q, while of the
 * others it is told which has chance P of a one (p of the `places`), which Q (the rest of them) and which is
 * `fair`; every one of them all is the victim's instead with the same chance.  Whole numbers, places at least
 * 1, eps [0, eps0).  Never below it; INFINITY where it cannot be computed.  *work: added to. */
double acct_labels_largest(double places, double fair, double eps0, double eps, double most, double *work);
