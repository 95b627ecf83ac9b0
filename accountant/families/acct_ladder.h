/* acct_ladder.h - levels 0..b with discrete Laplace noise, clamped (ACCT_LADDER of acct_families.h): what
 * others loses most.
 *
 * R_x(y) = w_y a^|x-y|, w = 1/(1+a) at y = 0 and b, (1-a)/(1+a) between.  (s, t, z) is the kind of the
 * victim's inputs s and t, the other's z: X = (R_s - E R_t)/R_z under R_z.  Convex order is meant by "below";
 * it does not change when X is negated or scaled.
 *
 * Claim.  Let E >= 1.  For every two inputs of the victim and all others', D is at most its largest over
 * places of the kinds (0, b, z), z = 0..b, (i, b, 0) and (0, i, b), i = 1..b-1.
 *
 * Lemma.  Under one law R let f and g have equal means and g fall in y, and let f - g change its sign at most
 * once, from + to -.  Then g is below f: phi(f) - phi(g) >= phi'(g) (f - g) for convex phi, and phi'(g) falls
 * too.
 *
 * Where E >= a^-|s-t| no X is above 0, and D = 0.  Let E be less.  In the mirror, y -> b-y, X of (b-s, b-t,
 * b-z) has the law of (s, t, z), so let s < t.
 *
 * 1. s <= z <= t.  R_s/R_z falls, R_t/R_z rises, so X falls; also with 0 for s or b for t.  (0, t, z) less
 * (s, t, z) is (R_0 - R_s)/R_z, which is + up to s/2 and - beyond; (0, b, z) less (0, t, z) is E (R_t -
 * R_b)/R_z,
 * + up to (t+b)/2.  So (s, t, z) is below (0, b, z).
 *
 * The laws are those of G_x(y) = (1-a)/(1+a) a^|x-y| on all whole numbers with what is beyond an end counted
 * there, and beyond both of its levels no ratio of G changes.  So (s, t, z) is the kind of G_s, G_t, G_z, and
 * may be moved along.
 *
 * 2. Beside both, moved to z = 0: levels 0 < i < j <= b, g = (G_i - e G_j)/G_0, where either i = s - z, j = t
 * - z, e = E; or, of z > t and mirrored, i = z - t, j = z - s and -X/E = g with e = 1/E.  It is c = a^i - e
 * a^j up to 0, c a^-2y up to i, a^-i - e a^(j-2y) up to j, and d = a^-i - e a^-j from there.  c > 0 and d <=
 * c: since e < a^(i-j), and e >= (a^-i - a^i)/(a^-j - a^j), which is at most 1 and at most a^(j-i).  So g
 * rises up to i and falls from there, and where it exceeds a number h is the whole line or lies before j,
 * where G_j >= G_b.  Hence for f = (G_i - e G_b)/G_0, of the same mean: E (g - h)+ = E (g - h; g > h) <= E (f
 * - h; g > h) <= E (f - h)+.  So (s, t, z) is below (s - z, b, 0), or, mirrored back, (0, b - (z - t), b).
 * Each place is replaced by one of the list.  QED
 *
 * Thinned, R' = (R_z - eta F)/(1 - eta), F the blanket over its mass W: R' >= keep R_z, keep = (1 -
 * eta/W)/(1 - eta), since R_z is nowhere below the blanket.  X' = (R_s - E R_t)/R' under R' is below the law
 * that is X/keep with chance keep, else 0: R' phi(x/R') <= keep R_z phi(x/(keep R_z)) + (R' - keep R_z)
 * phi(0).  If X is below Y, so are these laws of them, and the claim holds for them. */
#pragma once

#include "acct_family.h"

/* The largest delta, over the numbers of the kinds of any pair, of `places` places, where the blanket loses
 * `part`, eta in all.  Never below it; INFINITY where it cannot be computed.  *work: added to. */
double acct_ladder_largest(const struct acct_list *l, double part, double eta, double places, double eps,
	double most, double *work);

extern const struct acct_family acct_ladder_family;
