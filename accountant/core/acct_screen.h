/* acct_screen.h - finds the nodes of the inversion that are negligible, four at a time, without logarithms
 * and exponentials.  Private to acct_invert.c.
 *
 * Let D(t) = sum_c count_c (1-|B_c/B_c(c)|^2) + dummies (1-|C/C(c)|^2), and q the path's left_out.  A node
 * with D(t) + tau^2 t^2 > 2 (q + 1) is below e^-(q+1) of the top, since log a <= a-1.  It is charged at e^-q,
 * which also covers rounded omegas.
 *
 * Near 0: for |t| <= pi/(max x - min x), 1-cos a >= 2(a/pi)^2 gives |B_c/B_c(c)|^2 <= 1 - 4 t^2 var_c/pi^2,
 * with the variance summed about its mean.  So a whole stretch is skipped unseen, from pi/2 times the t at
 * which a normal law's transform is negligible.  Up to there, 1 - cos a >= (a^2/2) (sin h/h)^2 where |a| <=
 * 2h, and most of that is skipped too.
 *
 * Nearer: D(t) <= t^2 sum n_i Var_i, as 1 - cos a <= a^2/2, so no node with (sum n_i Var_i + tau^2) t^2 <=
 * 2 (q + 1) is found negligible.
 *
 * Elsewhere: with n_i messages of group i, and d_i the difference of two of the tilted law, D(t) = sum n_i
 * E(1 - cos t d_i) = 2 sum n_i E sin^2(t d_i/2), twice the square of a norm of t -> sin(t d/2).  Since |sin a
 * - sin b| <= |a - b| and E d^2 = 2 Var, sqrt(D) changes by at most sqrt(sum n_i Var_i) per unit of t.  From
 * a node with D(t) > need = 2 (q + 1) - tau^2 t^2, every node less than (sqrt(D) - sqrt(need)) / sqrt(sum n_i
 * Var_i) further on is negligible too, for need only falls.  D is taken at its lower end (1e-13 + 12 ulp |t
 * x| a message: t is rounded, t x is, and beyond 1e6 its sine is off by 3 ulp |t x| more; twice that for a
 * square), the quotient times 1 - 1e-9. */
#pragma once

#include "acct_lane.h"
#include "acct_path.h"

#define ACCT_SCREEN_LANES ((ACCT_MAX_CELLS + ACCT_LANES - 1) / ACCT_LANES)

struct acct_screen {
	double weight[ACCT_MAX_CELLS]; /* tilted probabilities, but for scale_c */
	acct_lanes x[ACCT_SCREEN_LANES],
		weights[ACCT_SCREEN_LANES];                      /* the same, four by four; the rest is 0 */
	acct_lanes cosine[ACCT_MAX_CELLS], sine[ACCT_MAX_CELLS]; /* rotations by 0 to 3 steps */
	double step;
	double total;                    /* sum of weight */
	double count, plain, once, both; /* sum of count |B/B(c)|^2 = plain + once Re + both |.|^2 */
	double scale_c, largest;
	double per_root;             /* one over the deviation of the tilted sum, and a margin */
	double quiet_from, quiet_to; /* every node between these is negligible */
	double loud_to;              /* before this acct_screen_look finds none negligible */
};

/* Sums at four nodes: the real part, and the square of the modulus. */
struct acct_turned {
	acct_lanes re, square;
};

void acct_screen_init(struct acct_screen *f, const struct acct_path *w, double step);

/* Is the node at t, and each of the three that follow, below exp(-left_out) of the top?  Returns a distance
 * from the last of them: every node less than it further on is so too. */
double acct_screen_look(
	const struct acct_screen *f, const struct acct_path *w, double t, bool negligible[ACCT_LANES]);
