/* acct_words.h - the kinds of words of s signs (ACCT_WORDS of acct_families.h): doc/imitation.md, "Spreads".
 *
 * The victim's two inputs differ in some signs; of these the other's is the first input's in `first` and the
 * second's in `second`, and of those that they share it has none: a sign that all three share tells less.
 * That is (s+1)(s+2)/2 - 1 kinds. */
#pragma once

#include "acct_family.h"

/* The largest delta, over the numbers of the kinds, of `places` places, where the blanket loses `part`, eta
 * in all.  Never below it; INFINITY where it cannot be computed.  *work: added to. */
double acct_words_largest(const struct acct_list *l, double part, double eta, double places, double eps,
	double most, double *work);

extern const struct acct_family acct_words_family;
