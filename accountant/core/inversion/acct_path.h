/* acct_path.h - the blanket variable at one epsilon, the line c + it along which its transform is inverted,
 * and the nodes on the line.  Private to this folder; acct_invert.h has the integrals and the errors,
 * acct_invert.c the names S, U, M and x. */
#pragma once

#include "acct_lane.h"
#include "acct_list.h"

#define ACCT_ULP (0x1p-53)
/* Bound on the relative error of each omega, from computing the cells, merging equal ones, and treating a
 * list as symmetric. */
#define ACCT_OMEGA_ERROR (128 * ACCT_ULP)
/* Bound on the relative error of each share other than one. */
#define ACCT_SHARE_ERROR (32 * ACCT_ULP)

struct acct_path {
	const struct acct_list *list;
	/* of each cell: x, omega, and (u+v)/2 */
	double x[ACCT_MAX_CELLS], omega[ACCT_MAX_CELLS], both[ACCT_MAX_CELLS];
	size_t cells;
	/* tanh(eps/2) */
	double y;
	double c; /* real part of the line, the tilt */
	/* of each cell: e^cx, and e^cx - 1; set by acct_path_saddle */
	double grown[ACCT_MAX_CELLS], gained[ACCT_MAX_CELLS];
	double width; /* standard deviation of S under the tilt c */
	double top;   /* K(c): log of the transform of S at c, where it is largest on the line */
	/* period: how far apart the trapezoid rule puts copies (aliases) of the law of S+U; tau: standard
	 * deviation of U */
	double period, tau;
	/* a node is negligible if the transform times the Gaussian, or the Gaussian alone, is below
	 * e^-left_out of its value at c */
	double left_out;
	/* W/M has at most the expectation per_message times the transform with one more message, whose
	 * factor is more_rest + more_scale sum(omega e^{zx}): acct_invert.h, "Integrals". */
	double per_message, more_rest, more_scale;
};

/* How many ulps of share * sum(omega |zx| max(1, e^{cx})) the computed share * s may be off by, where s =
 * sum(omega (e^{zx} - 1)). */
static inline double acct_path_off(const struct acct_path *w, double share)
{
	return 32 + (double)w->cells + ACCT_OMEGA_ERROR / ACCT_ULP +
	       (share < 1 || share > 1 ? ACCT_SHARE_ERROR / ACCT_ULP : 0);
}

/* e^a from gain = e^a - 1, to two ulps. */
static inline double acct_path_exp(double a, double gain)
{
	return gain > -0.5 ? 1 + gain : exp(a);
}

/* Set the cells: x_j = (u_j - E v_j)/(1+E), E = e^eps; swap exchanges u and v. */
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
 * (acct_path_chernoff).  It is rounded up, its sum s by size (128 + 32 + cells) ulp.  For l > 0, |I(lT)| <=
 * Phi(c+mu) e^{-(c+mu)lT} (Chernoff), together Phi(c+mu)/(e^{mu T}-1).  For l < 0, I is the total mass less
 * I of the left tail.  The total is -y for the value and 1 for the slope, and its geometric series
 * 1/(e^{cT}-1) is subtracted exactly; the left tail costs Phi(c-mu)/(e^{mu T}-1), mu > c.  The excess is a
 * density, so its aliases only add.  Each mu of a geometric sequence gives a bound; the first that is small
 * enough is taken, or else the least.  A left tail thousands of deviations long needs mu - c far below
 * 1/deviation, where a larger mu would overflow. */
void acct_path_period(struct acct_path *w, double scale, double err[2]);

/* acct_line.c: sums over nodes of the line, four nodes at a time.  value, slope and excess are the
 * integrals of acct_invert.h; _err bounds the error of each, _size is the sum of the moduli of its
 * terms. */

struct acct_sums {
	double value, slope, excess; /* excess lacks the factor tau^2 / M */
	double value_err, slope_err, excess_err;
	/* the sums of the moduli of the terms, of which rounding is a part */
	double value_size, slope_size, excess_size;
	double nodes;
};

/* A line of nodes.  Its sums bound the error at every node: they are sums over the cells of moduli, which
 * do not depend on the node's t, except for sum(omega |zx| max(1, e^{cx})), which is at most size + t
 * turning. */
struct acct_line {
	const struct acct_path *path; /* borrowed */
	double longest;               /* the largest |x_j| */
	/* sums of omega times max(1, e^cx) |cx| (size), max(1, e^cx) |x| (turning), e^cx (whole), |x| e^cx
	 * (value), (u+v)/2 e^cx (mass) */
	double size, turning, whole, value, mass;
	acct_lanes t, weight; /* the nodes that wait until there are four, and their weights */
	size_t waiting;
};

void acct_line_init(struct acct_line *f, const struct acct_path *w);

/* Add the node at t of the trapezoid rule.  Its weight is the step over pi, at t = 0 half of that. */
void acct_line_add(struct acct_line *f, double t, double weight, struct acct_sums *sum);

/* Add the nodes that still wait, when no more come. */
void acct_line_end(struct acct_line *f, struct acct_sums *sum);

/* acct_screen.c: finds negligible nodes, four at a time.  Its first comment has the test; B is a group's
 * transform, C a dummy's. */

#define ACCT_SCREEN_LANES ((ACCT_MAX_CELLS + ACCT_LANES - 1) / ACCT_LANES)

struct acct_screen {
	/* of each cell: its chance under the tilted law, divided by scale_c */
	double weight[ACCT_MAX_CELLS];
	/* x and weight of the cells again, four in a vector; unused places are 0 */
	acct_lanes x[ACCT_SCREEN_LANES], weights[ACCT_SCREEN_LANES];
	/* of each cell: cosine and sine of the turn by 0, 1, 2 and 3 steps */
	acct_lanes cosine[ACCT_MAX_CELLS], sine[ACCT_MAX_CELLS];
	double step;
	double total; /* sum of weight */
	/* sum over groups of count |B/B(c)|^2 is plain + once * Re + both * |.|^2 of the tilted sum over
	 * cells; count: the number of others */
	double count, plain, once, both;
	/* 1 / total; largest |x| */
	double scale_c, largest;
	/* 1 over the standard deviation of the tilted S: sqrt(D) changes by at most that much per unit of
	 * t; with a margin for rounding */
	double per_root;
	double quiet_from, quiet_to; /* every node with t between these is negligible, and is not tested */
	double loud_to;              /* no node with a smaller t can be found negligible, so none is tested */
};

/* The tilted sum over the cells at four nodes: its real part, and the square of its modulus. */
struct acct_turned {
	acct_lanes re, square;
};

void acct_screen_init(struct acct_screen *f, const struct acct_path *w, double step);

/* Is the node at t, and each of the three that follow it, negligible: below e^-left_out of the top?
 * Returns a distance: every node beyond the last of the four by less than it is negligible, too. */
double acct_screen_look(
	const struct acct_screen *f, const struct acct_path *w, double t, bool negligible[ACCT_LANES]);
