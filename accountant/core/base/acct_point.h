/* acct_point.h - bounds on a privacy curve at one epsilon, and the work that they may take.
 *
 * The curve is taken in a form that has a finite range.  P and Q are the laws of what an observer sees
 * under the victim's two inputs.  With nu = (P+Q)/2, Y = (dP-dQ)/(dP+dQ) and y = tanh(eps/2):
 *     H(y) = E_nu (Y - y)+ = delta(eps) / (1 + e^eps).
 * H is convex and decreasing, H(1) = 0 and H(y) <= (1-y)/2. */
#pragma once

/* Bounds lo <= H(y) <= hi at one y.  Moreover there is an s with |s - slope| <= slope_err such that the
 * line lo - s (y' - y) lies below H for every y'.  This line is what one test between P and Q achieves. */
struct acct_point {
	double lo, hi;
	double slope, slope_err;
};

/* Work done and work allowed, in steps of about a nanosecond.  The rounds may come from a peer, so the work
 * of every question is limited.  Work is counted, not timed, so that equal questions have equal answers. */
struct acct_work {
	double spent;
	double per_point; /* work allowed for one point; beyond it the point's bounds are wide */
	/* A point may be as wide as this, relative to delta; 0 stands for ACCT_INVERT_WIDTH. */
	double width;
};
