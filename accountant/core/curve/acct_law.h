/* acct_law.h - puts a round's privacy loss on a grid as a law, from above and from below.
 *
 * acct_point.h defines H, Y, y and nu.  Losses are multiples of h.  A law from above dominates the round
 * (Y_law >= Y in convex order), one from below is dominated by it; both orders survive composition
 * (doc/accounting.md, "Loss grid").
 *
 * From above: the lower convex hull of the points (y_k, upper bound of H), k = 0..J, and (1, 0), at the
 * losses l_k = k stride h.  H is convex and below the points, so it is below the hull, whose corners are
 * the atoms of Y.  The last chord is an infinite loss of P-mass 2 slope_J, which contains everything beyond
 * l_J.  Values are first raised to H(0) - y/2, so that the mirrored curve stays convex at 0.
 *
 * From below: the maximum of the lines of acct_point and of nu(inf)(1-y), where nu(inf) is the mass of
 * infinite loss.  Before defect and sampling, exactly, nu(inf) = sum_{v_j=0} omega_j u_j prod_c (1-share_c
 * (W-W_0))^count_c (W_0/W)^dummies, W_0 = sum_{v_j=0} omega_j and W = sum omega_j. */
#pragma once

#include "acct_curve.h"

struct acct_law {
	long *at;  /* losses in units of h, increasing */
	double *p; /* mass of each loss under P; these masses and `infinite` sum to 1 */
	size_t size;
	double infinite; /* mass of an infinite loss under P */
};

/* Points of the curve at the losses h * at[k], k = 0..last; if `at` is NULL, at the losses h * stride *
 * k. */
struct acct_nodes {
	double h; /* step of the grid */
	long stride;
	long *at;
	size_t last;
	struct acct_point *way[2]; /* way[0]: the points with P and Q as they are; way[1]: with P and Q
				      exchanged, the same array if the round is symmetric */
	/* a proved lower bound on the mass of infinite loss, for each way */
	double infinite[2];
};

/* A loss beyond which the round's delta, without the mass of infinite loss, is about below tail. */
double acct_law_range(const struct acct_curve *c, double tail);

/* Compute the points at losses `stride` steps apart up to `range`.  ACCT_ELIMIT when that needs more than
 * 16384 nodes. */
ACCT_CHECK enum acct_rc acct_nodes_init(
	struct acct_nodes *n, const struct acct_curve *c, double h, long stride, double range);
/* The same with nodes that are `stride` apart up to the loss `even`, and ever further apart from there on:
 * about e^(z^2/6) strides at z deviations beyond `even`.  Any nodes are sound; see acct_law_even. */
ACCT_CHECK enum acct_rc acct_nodes_thinned(struct acct_nodes *n, const struct acct_curve *c, double h,
	long stride, double range, double even, double deviation);

/* A loss beyond which nodes may be thinned.  INFINITY unless the tails are about normal.
 *
 * Rounding a loss to nodes a distance s apart adds about s^2/6 to the variance.  Of all spacings with
 * equally many nodes, s ~ f^(-1/3) adds least, where f is the density of the law that is tilted by up to
 * `lean`: for a normal law e^(z^2/6) at z deviations from its mean.  Nodes stay even for a part of a
 * deviation more, which a law that is not quite normal may need.  deviation: that of the law; range: that
 * of acct_law_range with this tail. */
double acct_law_even(double deviation, double range, double tail, double lean);
void acct_nodes_fini(struct acct_nodes *n);

/* acct_law_above dominates both directions at once; acct_law_below is dominated by one of them (way 0 or
 * 1).
 *
 * From below: a line with slope s +- slope_err at y_k is made steeper and lowered by 2 y_k slope_err, or
 * flatter and lowered by 2 (1-y_k) slope_err.  Corners of the maximum of the lines lie between nodes.
 * Every cell's mass is moved to its left node together with as much mass of the cells below it, nearest
 * first, as keeps the mean: a contraction, since merged mass keeps its mean.  It costs about m e d of the
 * variance, where m is the mass, e its distance to the node and d the distance to the next atom.  Where the
 * cells below do not have enough mass, the mean moves towards 0, which lowers the curve on y >= 0.  Both
 * halves are then thinned to equal means, and to total 1. */
ACCT_CHECK enum acct_rc acct_law_above(struct acct_law *law, const struct acct_nodes *n);
ACCT_CHECK enum acct_rc acct_law_below(struct acct_law *law, const struct acct_nodes *n, int way);
void acct_law_fini(struct acct_law *law);
