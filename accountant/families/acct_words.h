/* acct_words.h - the kinds of words of s signs (ACCT_WORDS of acct_families.h): doc/imitation.md,
 * "Spreads".
 *
 * The victim's two inputs differ in some signs.  In `first` of these the other's input has the sign of the
 * first input, in `second` of these the sign of the second.  Where the victim's two inputs agree, the
 * other's input differs from both: a sign that all three share tells less.  This gives (s+1)(s+2)/2 - 1
 * kinds. */
#pragma once

#include "acct_family.h"

/* Compute the largest delta over all ways to divide `places` places among the kinds, where a part eta of
 * the reports is missing, for which the blanket loses `share` (acct_family.h).  The result is never below the
 * true value, and INFINITY where it cannot be computed.  Adds to *work. */
double acct_words_largest(const struct acct_list *l, struct acct_shares share, double eta, double places,
	double eps, double most, double *work);

extern const struct acct_family acct_words_family;
