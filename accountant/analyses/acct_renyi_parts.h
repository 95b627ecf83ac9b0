/* acct_renyi_parts.h - moments of likelihood ratios, from a round's curve.  Private to
 * acct_renyi*.c, acct_pair.c and acct_girgis*.c.
 *
 * A moment is S = E_Q (P/Q)^alpha - 1, the divergence log(1+S)/(alpha-1).  It is handed about as bounds on
 * its logarithm, for it leaves the range of a double. */
#pragma once

#include <math.h>

#include "acct_curve.h"

/* log(e^a + e^b); -INFINITY is nothing, INFINITY and INFINITY is INFINITY, NaN and anything is NaN. */
static inline double acct_log_add(double a, double b)
{
	double top = fmax(a, b), low = fmin(a, b);

	if (isnan(a) || isnan(b))
		return NAN;
	return low > -INFINITY && top < INFINITY ? top + log1p(exp(low - top)) : top;
}

/* log(1 + e^a) */
static inline double acct_log_one(double a)
{
	return a > 40 ? a + exp(-a) : log1p(exp(a));
}

/* (1+z)^alpha - 1 - alpha z >= 0 for z > -1, alpha > 1, to 1e-12 + 1e-15/(alpha-1) relative; INFINITY above
 * the range of a double. */
double acct_power_excess(double alpha, double z);

/* A curve known at losses that increase from 0, refined where an order asks for it. */
struct acct_renyi_node {
	double loss;
	struct acct_point way[2];
	double log_hi[2]; /* of way[].hi, or below it: hi has no room for what is below 1e-300 */
};

struct acct_renyi_grid {
	struct acct_curve curve;
	struct acct_work work;
	struct acct_renyi_node *node;
	size_t nodes, room;
	double deviation, last; /* of the losses; the largest finite loss */
	double goal;
};

/* l: a list without infinite losses that is not lossless. goal: relative width of moments, as far as the
 * points' own bounds and the limit on work allow.  Call acct_renyi_grid_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_renyi_grid_init(
	struct acct_renyi_grid *g, const struct acct_list *l, double goal);
void acct_renyi_grid_fini(struct acct_renyi_grid *g);

/* Bounds on the log moment of order alpha, the larger of both directions. */
ACCT_CHECK enum acct_rc acct_renyi_grid_at(struct acct_renyi_grid *g, double alpha, struct acct_bound *log_s);

/* log H, from above, of a curve without defect at a loss below 690 where it may be below the range of a
 * double; swap as acct_curve_at. */
double acct_renyi_log_tail(const struct acct_list *l, double eps, bool swap);
