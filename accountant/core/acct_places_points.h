/* acct_places_points.h - the kinds of acct_places.c on points that all share, and which of them count.
 *
 * Spreading.  An atom between two points may be taken for one at either, with the mean kept: the law becomes
 * larger in convex order, and so does the bound.  The two kinds that lose most have their atoms among the
 * points.  So a node takes one turn for each point, however many kinds there are.
 *
 * Leaving out.  X <= X' + a in increasing convex order, which is that of E (X - t)+ for every t, means E (X +
 * s)+ <= E (X' + a + s)+ for every s, hence for s the sum of the other places.  So places of X may all be
 * taken for such of X', or of a mixture of X' and X'' (then of the better of these), and every one of them
 * moves S by a at most.  E (X - t)+ is linear between the points, and E (X' + a - t)+ at least E (X' - t)+ +
 * a P(X' > t), so the points decide.  Their sums have only positive terms, so they are off by r of
 * themselves, r some ulps a point; and E (X' - t)+ is at most the range times P(X' > t), so r more of it is
 * less than r ranges more of a. */
#pragma once

#include "acct_places_sum.h"

/* free() it.  NULL: no memory, or nothing can be said.  The kinds are those given, by falling variance. */
struct acct_places_sum *acct_places_points_new(const struct acct_places *of);

/* Gives this kind its own atoms among the points.  False: there is no room. */
bool acct_places_points_keep(struct acct_places_sum *s, const struct acct_places *of, size_t kind);

/* log E e^cX and what follows from it, of this kind; acct_places_gains(s, c) was called before. */
void acct_places_tilt(const struct acct_places_sum *s, struct acct_tilted *k);
void acct_places_gains(struct acct_places_sum *s, double c);
