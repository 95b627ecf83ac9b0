/* acct_below.h - finds kinds that need not be tried, since others spread more: doc/imitation.md, "Spreads".
 *
 * Let X = (R0 - E R1)/R under the law R of a kind, at one E.  If the law of X is below a mixture of the
 * laws of two other kinds in convex order, then a bound need not consider participants of that kind. */
#pragma once

#include "acct_kinds.h"

/* What kinds are compared with: the X of some kinds, prepared.  Released with free(). */
struct acct_below;

/* Prepare the comparison with all kinds of k at eps.  Keeps no pointer to k.  Returns NULL if memory runs
 * out.  Adds to *work. */
struct acct_below *acct_below_new(const struct acct_kinds *k, double eps, double *work);

/* The least work of asking about `asked` kinds. */
double acct_below_work(const struct acct_kinds *k, double asked);

/* Add *k to the kinds that are tried, unless it is below a mixture of two of b's kinds by a margin far
 * above rounding.  *k has been thinned as b's kinds were, and its ratios u and v have the mean 1.  Returns
 * false if there is no room for it.  Adds to *work. */
bool acct_below_try(struct acct_below *b, const struct acct_kind *k, struct acct_kinds *tried, double *work);
