/* acct_path.h - the blanket variable at one epsilon, the line c + it along which its transform is inverted,
 * and the nodes on the line.  Private to this folder; acct_invert.h has the integrals and the errors. */
#pragma once

#include "acct_lane.h"
#include "acct_list.h"

#define ACCT_ULP (0x1p-53)
/* Relative error of each omega, from computing the cells, merging equal ones, and treating a list as
 * symmetric. */
#define ACCT_OMEGA_ERROR (128 * ACCT_ULP)
/* Relative error of each share other than one. */
#define ACCT_SHARE_ERROR (32 * ACCT_ULP)

struct acct_path {
	const struct acct_list *list;
	double x[ACCT_MAX_CELLS], omega[ACCT_MAX_CELLS], both[ACCT_MAX_CELLS]; /* both is (u+v)/2 */
	size_t cells;
	double y;
	double c; /* real part of the line */
	/* e^cx, and e^cx - 1: set by acct_path_saddle */
	double grown[ACCT_MAX_CELLS], gained[ACCT_MAX_CELLS];
	double width; /* standard deviation of S under the tilt c */
	double top;   /* log of the transform at c */
	/* the distance of the aliases of S, and the standard deviation of the Gaussian that smooths */
	double period, tau;
	/* a node is negligible if the transform times the Gaussian is below e^-left_out of the top, or the
	 * Gaussian alone is below e^-left_out */
	double left_out;
	/* The expectations of W/M in acct_invert.h, "Integrals", are at most per_message times the transform
	 * with one more message, whose factor is more_rest + more_scale sum(omega e^{zx}). */
	double per_message, more_rest, more_scale;
};

/* Bound the error of share * s, s = sum(omega (e^{zx} - 1)), in ulps of share * sum(omega |zx| max(1,
 * e^{cx})). */
static inline double acct_path_off(const struct acct_path *w, double share)
{
	return 32 + (double)w->cells + ACCT_OMEGA_ERROR / ACCT_ULP +
	       (share < 1 || share > 1 ? ACCT_SHARE_ERROR / ACCT_ULP : 0);
}

/* e^a from e^a - 1, to two ulps. */
static inline double acct_path_exp(double a, double gain)
{
	return gain > -0.5 ? 1 + gain : exp(a);
}

/* Set x_j = (u_j - E v_j)/(1+E); swap exchanges u and v. */
void acct_path_init(struct acct_path *w, const struct acct_list *l, double eps, bool swap);

/* Choose c, and set the fields that depend on it.  Returns false if the numbers leave the range of a
 * double. */
ACCT_CHECK bool acct_path_saddle(struct acct_path *w);

/* An upper bound on the log of sum(weight e^{theta x}) prod B_c^count_c C^dummies e^{tau^2 theta^2/2}, for
 * three weights: omega |x|, omega(u+v)/2, and 1 in place of the sum. */
void acct_path_chernoff(const struct acct_path *w, double theta, double log_bound[3]);

/* Choose a period T so long that aliases are negligible against `scale`; err bounds them, in value and in
 * slope.
 *
 * With step 2 pi/T the trapezoid sum is the integral plus sum_{l != 0} e^{clT} I(lT), where I(a) is the
 * measure of {S+U > a} (Poisson summation).  Let Phi be the transform of the absolute measure
 * (acct_path_chernoff).  It is rounded up, its sum s by size (128 + 32 + cells) ulp.  For l > 0,
 * I(lT)
 *  <= Phi(c+mu) e^{-(c+mu)lT} (Chernoff), together Phi(c+mu)/(e^{mu T}-1).  For l < 0, I is the total mass
 *  less I of the left tail.  The total is -y for the value and 1 for the slope, and its geometric series
 *  1/(e^{cT}-1) is subtracted exactly; the left tail costs Phi(c-mu)/(e^{mu T}-1), mu > c.  The excess is a
 *  density, so its aliases only add.  Each mu of a geometric sequence gives a bound; the first that is
 *  small enough is taken, or else the least.  A left tail thousands of deviations long needs mu - c far
 *  below 1/deviation, where a larger mu would overflow. */
void acct_path_period(struct acct_path *w, double scale, double err[2]);

/* acct_line.c: sums over nodes of the line, four nodes at a time. */

struct acct_sums {
	double value, slope, excess; /* the excess without the factor tau^2 / M */
	double value_err, slope_err, excess_err;
	double value_size, slope_size, excess_size; /* the sums of the moduli of the terms */
	double nodes;
};

/* Sums of moduli that bound the error at every node.  They do not depend on the node's t, except for
 * sum(omega |zx| max(1, e^{cx})), which is at most size + t turning. */
struct acct_line {
	const struct acct_path *path; /* borrowed */
	double longest;               /* the largest |x_j| */
	double size, turning, whole, value, mass;
	acct_lanes t, weight; /* nodes that wait until there are four */
	size_t waiting;
};

void acct_line_init(struct acct_line *f, const struct acct_path *w);

/* Add the node at t of the trapezoid rule.  Its weight is the step over pi. */
void acct_line_add(struct acct_line *f, double t, double weight, struct acct_sums *sum);

/* Add the nodes that still wait for others. */
void acct_line_end(struct acct_line *f, struct acct_sums *sum);

/* acct_screen.c: finds negligible nodes, four at a time. */

#define ACCT_SCREEN_LANES ((ACCT_MAX_CELLS + ACCT_LANES - 1) / ACCT_LANES)

struct acct_screen {
	double weight[ACCT_MAX_CELLS]; /* tilted probabilities, up to a factor of scale_c */
	/* x and weight of the cells, four in a lane; unused places are 0 */
	acct_lanes x[ACCT_SCREEN_LANES], weights[ACCT_SCREEN_LANES];
	acct_lanes cosine[ACCT_MAX_CELLS], sine[ACCT_MAX_CELLS]; /* rotations by 0 to 3 steps */
	double step;
	double total;                    /* sum of weight */
	double count, plain, once, both; /* sum of count |B/B(c)|^2 = plain + once Re + both |.|^2 */
	double scale_c, largest;
	double per_root;             /* 1 over the deviation of the tilted sum, with a margin */
	double quiet_from, quiet_to; /* every node between these is negligible */
	double loud_to;              /* before this t acct_screen_look finds no negligible node */
};

/* Sums at four nodes: the real part, and the square of the modulus. */
struct acct_turned {
	acct_lanes re, square;
};

void acct_screen_init(struct acct_screen *f, const struct acct_path *w, double step);

/* Is the node at t, and each of the three that follow, below exp(-left_out) of the top?  Returns a distance
 * from the last of them: every node that is less than it further on is negligible, too. */
double acct_screen_look(
	const struct acct_screen *f, const struct acct_path *w, double t, bool negligible[ACCT_LANES]);
