/* acct_third.h - what one round of k-ary response, k >= 3, among dummies and among others of several
 * guarantees loses where everybody else holds a third symbol.
 *
 * Reports of the victim's two symbols are counted; all others are joined, which can only lower the loss.  Let
 * T of the other messages be of the two symbols, with the law f: each of them is either symbol with the same
 * chance.  The victim sends its own symbol with chance p, the other with q, and a third with s = 1-p-q.  Of
 * t messages of the two symbols i are of the first with the two chances
 *     C(t, i) 2^-t [ f(t-1) (2/t) (p i + q (t-i)) + s f(t) ]    and the same with i and t-i exchanged,
 * since C(t-1, i-1) 2^-(t-1) = C(t, i) 2^-t 2i/t.  The difference of the first and E times the second grows
 * with i, so the best test given t is i > j.  With G = P(Bin(t, 1/2) > j) and P(Bin(t-1, 1/2) > j-1) = G +
 * P(Bin(t-1, 1/2) = j)/2 it achieves
 *     f(t-1) [(p-q) (1+E)/2 P(Bin(t-1, 1/2) = j) - (p+q) (E-1) G] - s f(t) (E-1) G.
 * The sum over any t, of any tests, is a lower bound. */
#pragma once

#include "acct_spec.h"

/* Is s one round of k-ary response, k >= 3, with dummies or levels, repeated once, in which everybody takes
 * part? */
bool acct_third_is(const struct acct_spec *s);

/* Set *lower to a lower bound on epsilon at the delta `at`, or on delta at the epsilon `at`; acct_third_is(s)
 * is true.  It is 0 if there are so many messages that it would take more than about a second. */
void acct_third_lower(const struct acct_spec *s, bool epsilon, double at, double *lower);
