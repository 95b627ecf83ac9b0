/* acct_curve.h - the privacy curve of one round, point by point, with every error inside.
 *
 * With nu = (P+Q)/2, Y = (dP-dQ)/(dP+dQ) and y = tanh(eps/2):
 *     H(y) = E_nu (Y - y)+ = delta(eps) / (1 + e^eps).
 * H is convex, decreasing, H(1) = 0 and H(y) <= (1-y)/2. */
#pragma once

#include "acct_cells.h"

/* lo <= H(y) <= hi.  Besides, the line lo - s (y' - y) lies below H for every y' and some s with
 * |s - slope| <= slope_err: it is what one test between P and Q achieves. */
struct acct_point {
	double lo, hi;
	double slope, slope_err;
};

/* Work done and allowed, in steps of about a nanosecond: a peer may name the rounds, so every question ends.
 * It is counted, not timed, so that equal questions have equal answers. */
struct acct_work {
	double spent;
	double per_point; /* beyond it a point's bounds are wide */
};

struct acct_curve {
	struct acct_list list;
	struct acct_work *work; /* NULL: without limit */
	double *p, *q;          /* outcome masses, NULL unless the round is small enough to be enumerated */
	size_t outcomes;
	struct acct_order *order; /* of the outcomes by loss, instead of p and q: acct_exact_order */
	double missed;            /* mass of the outcomes left out, under either input */
	double mass_error;        /* relative, of a listed mass, the same under both */
};

/* The curve of a checked round.  acct_curve_fini in any case. */
ACCT_CHECK enum acct_rc acct_curve_init(struct acct_curve *c, const struct acct_list *l);
void acct_curve_fini(struct acct_curve *c);

/* One point.  eps in [0, 700]; swap exchanges P and Q.  Cost: 5 to 100 microseconds, whatever n is; where few
 * messages make the curve rough, up to what `work` allows. */
void acct_curve_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at);

/* The larger of both directions: an upper bound whichever input is the first. */
double acct_curve_upper(const struct acct_curve *c, double eps);

/* About the deviation of the finite losses, for choosing grids; 0 only if there is no loss at all. */
double acct_curve_deviation(const struct acct_curve *c);
