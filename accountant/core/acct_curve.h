/* acct_curve.h - bounds on the privacy curve of one round at single points, every error included.
 *
 * With nu = (P+Q)/2, Y = (dP-dQ)/(dP+dQ) and y = tanh(eps/2):
 *     H(y) = E_nu (Y - y)+ = delta(eps) / (1 + e^eps).
 * H is convex and decreasing, H(1) = 0 and H(y) <= (1-y)/2. */
#pragma once

#include "acct_list.h"

/* lo <= H(y) <= hi.  Moreover there is an s with |s - slope| <= slope_err such that the line lo - s (y' - y)
 * lies below H for every y'.  It is what one test between P and Q achieves. */
struct acct_point {
	double lo, hi;
	double slope, slope_err;
};

/* Work done and work allowed, in steps of about a nanosecond.  A peer may name the rounds, so the work of
 * every question is limited.  Work is counted, not timed, so that equal questions have equal answers. */
struct acct_work {
	double spent;
	double per_point; /* work allowed for one point; beyond it the point's bounds are wide */
	double width;     /* relative width of delta that is narrow enough; 0: ACCT_INVERT_WIDTH */
};

struct acct_bits_mix;
struct acct_hull;
struct acct_known;

struct acct_curve {
	struct acct_list list;
	struct acct_work *work; /* limit on the work; NULL: no limit */
	double *p, *q; /* masses of the outcomes; NULL unless the round is small enough to be enumerated */
	size_t outcomes;
	struct acct_bits_mix *mix; /* of a round of bits */
	struct acct_hull *hull;    /* of a profile */
	struct acct_known *known;  /* of a round whose reports have a few kinds of laws */
	struct acct_order
		*order;    /* the outcomes sorted by loss, which replace p and q after acct_exact_order */
	double missed;     /* mass of the outcomes left out, under either input */
	double test_error; /* error of P(A) and Q(A) of a test A, over P(A) + Q(A), beside that of its
			      outcomes */
	double mass_error; /* relative error of a listed mass, the same under both inputs */
};

/* The curve of a checked round.  Call acct_curve_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_curve_init(struct acct_curve *c, const struct acct_list *l);
void acct_curve_fini(struct acct_curve *c);

/* One point. eps in [0, 700]; swap exchanges P and Q.  Cost: 5 to 100 microseconds, whatever n is; up to what
 * `work` allows where few messages make the curve rough. */
void acct_curve_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at);

/* The larger of both directions: an upper bound whichever input is the first. */
double acct_curve_upper(const struct acct_curve *c, double eps);

/* About that, for choosing grids: of a round whose bounds have a gap, what a data set loses. */
double acct_curve_about(const struct acct_curve *c, double eps);

/* Approximate deviation of the finite losses, for choosing grids; 0 only if the round has no loss at all. */
double acct_curve_deviation(const struct acct_curve *c);
