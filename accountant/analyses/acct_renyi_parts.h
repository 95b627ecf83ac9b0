/* acct_renyi_parts.h - moments of likelihood ratios, computed from a round's curve.  Private to
 * acct_renyi*.c, acct_pair.c and acct_girgis*.c.
 *
 * A moment is S = E_Q (P/Q)^alpha - 1, the divergence log(1+S)/(alpha-1).  It is passed around as bounds on
 * its logarithm, since it leaves the range of a double. */
#pragma once

#include <math.h>

#include "acct_curve.h"

/* log(e^a + e^b), where -INFINITY stands for log 0.  INFINITY if a or b is; NaN if a or b is NaN. */
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

/* (1+z)^alpha - 1 - alpha z >= 0 for z > -1, alpha > 1, with a relative error of 1e-12 + 1e-15/(alpha-1);
 * INFINITY above the range of a double. */
double acct_power_excess(double alpha, double z);

/* One loss at which a curve is known, in both directions. */
struct acct_renyi_node {
	double loss;
	struct acct_point way[2];
	double log_hi[2]; /* log of way[].hi, or a smaller upper bound where hi is too small for a double */
};

/* A curve at losses that increase from 0.  Losses are added where an order needs them. */
struct acct_renyi_grid {
	struct acct_curve curve;
	struct acct_work work;
	struct acct_renyi_node *node;
	size_t nodes, room;
	double deviation; /* standard deviation of the losses */
	/* the loss of the last node: no finite loss is larger, or it is the largest that exp() can take */
	double last;
	/* relative width that bounds on moments should have, as given to acct_renyi_grid_init */
	double goal;
};

/* Evaluate the curve of l at the grid's losses.  l must have some loss and no infinite one.  goal: relative
 * width of the bounds on moments to reach, as far as the bounds of the curve's points and the limit on work
 * allow.  Call acct_renyi_grid_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_renyi_grid_init(
	struct acct_renyi_grid *g, const struct acct_list *l, double goal);
void acct_renyi_grid_fini(struct acct_renyi_grid *g);

/* Bounds on the log of the moment S of order alpha, the larger of both directions. */
ACCT_CHECK enum acct_rc acct_renyi_grid_at(struct acct_renyi_grid *g, double alpha, struct acct_bound *log_s);

/* An upper bound on log H of a curve without defect, for losses below 690 at which H may be below the range
 * of a double; swap exchanges the inputs. */
double acct_renyi_log_tail(const struct acct_list *l, double eps, bool swap);
