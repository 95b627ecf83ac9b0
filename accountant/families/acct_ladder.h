/* acct_ladder.h - levels 0..b with discrete Laplace noise, clamped (ACCT_LADDER of acct_families.h): which
 * inputs of the others make the victim lose most.
 *
 * R_x(y) = w_y a^|x-y|, where w_y = 1/(1+a) at y = 0 and y = b, and (1-a)/(1+a) between.  A kind (s, t, z)
 * consists of the victim's inputs s and t and the other's input z; its X is (R_s - E R_t)/R_z under R_z.
 * "Below" means below in convex order, which does not change when X is negated or scaled.
 *
 * Claim.  Let E >= 1.  For every two inputs of the victim and all inputs of the others, D is at most the
 * largest D over places of the kinds (0, b, z), z = 0..b, (i, b, 0) and (0, i, b), i = 1..b-1.
 *
 * Lemma.  Under one law R let f and g have equal means, let g fall in y, and let f - g change its sign at
 * most once, from + to -. Then g is below f.  Proof: phi(f) - phi(g) >= phi'(g) (f - g) for convex phi, and
 * phi'(g) falls too.
 *
 * Where E >= a^-|s-t|, no X is above 0, and D = 0.  So let E be less.  The mirror y -> b-y gives X of (b-s,
 * b-t, b-z) the law of X of (s, t, z), so let s < t.
 *
 * 1.  Let s <= z <= t.  R_s/R_z falls in y and R_t/R_z rises, so X falls.  The same holds with 0 in place
 * of s, or b in place of t.  X of (0, t, z) less X of (s, t, z) is (R_0 - R_s)/R_z, which is positive up to
 * s/2 and negative beyond.  X of (0, b, z) less X of (0, t, z) is E (R_t - R_b)/R_z, which is positive up
 * to (t+b)/2.  By the lemma, applied twice, (s, t, z) is below (0, b, z).
 *
 * The laws are those of G_x(y) = (1-a)/(1+a) a^|x-y| on all whole numbers, where everything beyond an end
 * is counted at that end.  Beyond both of its levels no ratio of G changes.  So (s, t, z) may be computed
 * with G_s, G_t, G_z in place of the R, and all three may be moved by the same distance.
 *
 * 2.  Let z lie outside s..t, and move all levels so that z = 0.  There are levels 0 < i < j <= b and g =
 * (G_i - e G_j)/G_0: if z < s, then i = s - z, j = t - z and e = E; if z > t, mirror, so that i = z - t, j
 * = z - s, e = 1/E and g = -X/E.  g is c = a^i - e a^j up to 0, c a^-2y up to i, a^-i - e a^(j-2y) up to j,
 * and d = a^-i - e a^-j from there.  c > 0, since e < a^(i-j).  d <= c, since e >= (a^-i - a^i)/(a^-j -
 * a^j), which is at most 1 and at most a^(j-i).  So g rises up to i and falls from there.  The set where g
 * exceeds a number h is the whole line, or it lies before j, where G_j >= G_b.  Let f = (G_i - e G_b)/G_0,
 * which has the same mean: E (g - h)+ = E (g - h; g > h) <= E (f - h; g > h) <= E (f - h)+. So (s, t, z) is
 * below (s - z, b, 0), or, mirrored back, below (0, b - (z - t), b).
 *
 * Replace each place by the kind of the list that it is below.  QED
 *
 * Thinned.  Let R' = (R_z - eta F)/(1 - eta), where F is the blanket divided by its mass W.  R' >= keep R_z
 * with keep = (1 - eta/W)/(1 - eta), since R_z is nowhere below the blanket.  X' = (R_s - E R_t)/R' under
 * R' is below the law that is X/keep with chance keep, else 0: R' phi(x/R') <= keep R_z phi(x/(keep R_z)) +
 * (R' - keep R_z) phi(0).  If X is below Y, the same holds for the laws made of them in this way, and so
 * the claim holds for them. */
#pragma once

#include "acct_family.h"

/* Compute the largest delta over all ways to divide `places` places among the kinds of any pair of inputs,
 * where the blanket loses `part` and a part eta of the reports is missing.  The result is never below the
 * true value, and INFINITY where it cannot be computed.  Adds to *work. */
double acct_ladder_largest(const struct acct_list *l, double part, double eta, double places, double eps,
	double most, double *work);

extern const struct acct_family acct_ladder_family;
