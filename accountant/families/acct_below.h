/* acct_below.h - kinds that need not be tried, since others spread more: doc/imitation.md, "Spreads".
 *
 * If the law of X = (R0 - E R1)/R of a kind, at one E, is below a mixture of those of two kinds in convex
 * order, no place need be of that kind. */
#pragma once

#include "acct_kinds.h"

/* What is known of the kinds that others are compared with.  free() it. */
struct acct_below;

/* Borrows nothing.  NULL: no memory.  *work: added to. */
struct acct_below *acct_below_new(const struct acct_kinds *k, double eps, double *work);

/* What it costs to ask about so many kinds, at the least. */
double acct_below_work(const struct acct_kinds *k, double asked);

/* Adds *k, thinned as b's are, to the kinds that are tried, unless it is certainly below a mixture of two of
 * b's: by a margin that is far above rounding.  Its means of u and v are theirs, 1.  False: there
 * are too many.  *work: added to. */
bool acct_below_try(struct acct_below *b, const struct acct_kind *k, struct acct_kinds *tried, double *work);
