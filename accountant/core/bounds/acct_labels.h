/* acct_labels.h - an upper bound on the privacy curve of a round whose messages are bits with public
 * labels.
 *
 * A report is a label, drawn by one law whatever the value is, and a bit whose chance of a one, given the
 * label, lies in [Q, P], P = e^eps0 Q = 1 - Q.  Theorem and proof: doc/imitation.md, where B is the number
 * of thin participants and delta' what is charged if there is none.
 *
 * Choices, here and in acct_known.h, are those of acct_thin.c: stages, until the chance that nobody is thin,
 * times delta', adds little.  In a stage B is replaced by `few`, which more exceed with as small a chance
 * (Chernoff).  Where B exceeds a number that has a chance of e^-250, everything is taken to be disclosed. */
#pragma once

#include "acct_thin.h"

/* Compute an upper bound on H = delta/(1 + e^eps), eps [0, 700]; *hi is at most the trivial bound (1-y)/2.
 * guess helps to choose the stages.  Returns the work done, in the unit of
 * struct acct_work; beyond `most` the bound is trivial.  Cost: 20 microseconds and more. */
double acct_labels_at(
	const struct acct_bit_facts *b, struct acct_guess guess, double eps, double most, double *hi);

/* Compute the largest delta of a batch of bits for any p.  Each bit's chance of a one is known: P for p of
 * the `places`, Q for the rest of them, 1/2 for the `fair` ones.  One of all these bits is the victim's
 * instead, each with the same chance, and has chance P or Q.  The numbers are whole, places at least 1, eps
 * in [0, eps0).  The result is never below the true value, and INFINITY where it cannot be computed.  Adds
 * to *work. */
double acct_labels_largest(double places, double fair, double eps0, double eps, double most, double *work);
