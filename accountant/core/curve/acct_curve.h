/* acct_curve.h - bounds the privacy curve of one round at single points.  The bounds include all errors.
 *
 * The curve is H of acct_point.h, or delta(eps) = (1 + e^eps) H. */
#pragma once

#include "acct_exact.h"
#include "acct_list.h"
#include "acct_point.h"

struct acct_bounds;
struct acct_hull;

struct acct_curve {
	struct acct_list list;
	struct acct_work *work; /* limit on the work; NULL: no limit */
	/* the listed outcomes, if the round is so small that they are few; else empty */
	struct acct_exact exact;
	struct acct_hull *hull; /* for a profile, the corners of its curve; otherwise NULL */
	/* for a round of which more than its cells is known, what bounds it by that; otherwise NULL */
	struct acct_bounds *bounds;
	/* for ACCT_CLASSES_APART, the curve of each class; otherwise NULL */
	struct acct_curve *class;
	size_t classes;
};

/* Prepare the curve of a checked round.  Call acct_curve_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_curve_init(struct acct_curve *c, const struct acct_list *l);
void acct_curve_fini(struct acct_curve *c);

/* List the outcomes again, for a curve that is asked at many points: at most `most` of them, leaving out
 * outcomes of a total chance of at most `missed`.  acct_exact_relist says which list is kept where there
 * are too many. */
ACCT_CHECK enum acct_rc acct_curve_relist(struct acct_curve *c, double missed, size_t most);

/* Compute one point; eps in [0, 700]; swap exchanges P and Q.  Cost: 5 to 100 microseconds for any n; where
 * few messages make the curve rough, up to what `work` allows. */
void acct_curve_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at);

/* The larger upper end of both directions: an upper bound on delta whichever input is the first. */
double acct_curve_upper(const struct acct_curve *c, double eps);

/* An approximation of acct_curve_upper, to choose grids.  For a round whose bounds have a gap
 * (acct_list_is_loose) it is the loss of a data set. */
double acct_curve_about(const struct acct_curve *c, double eps);

/* Approximate deviation of the finite losses, for choosing grids; 0 only if the round has no loss at all. */
double acct_curve_deviation(const struct acct_curve *c);
