/* acct_central.h - the privacy curves of central events: enum acct_event of acct.h; doc/accounting.md,
 * "Central events", has the sources.
 *
 * Sampled sums.  Records of norm at most 1 take part with chance q, independently; the noise has deviation
 * sigma; h = 1/sigma.  Claim: the pair P = (1-q) N(0) + q N(h), Q = (1-q) N(0) + q N(-h) dominates, and
 * moving one record to its opposite attains it.
 *
 * Proof.  Let it be known who else takes part.  Up to a common shift the answers are then N(0) without the
 * record, and N(a) or N(b) with it, |a|, |b| <= h.  For e' = e^eps' >= 1 let e = 1 + (e'-1)/q and b' =
 * e'/e.  The hockey-stick divergence of the two mixtures at e' is q times that of N(a) against (1-b') N(0)
 * + b' N(b) at e (advanced joint convexity; Balle, Barthe, Gaboardi 2018).  Under N(a) it is E f(X + Y),
 * where f is convex, X is (1-b') times the density ratio of N(0), and Y is b' times the density ratio of
 * N(b).  X and Y are log-normal with means 1-b' and b', and their log-deviations are |a| <= h and |a-b| <=
 * 2h.
 * 1.  f((1-b') e^s + b' e^t) is supermodular in (s, t).  So for given deviations it is largest where the
 * two are comonotone, since normal vectors of equal marginal laws and larger covariance are larger in
 * supermodular order.
 * 2.  A log-normal variable of mean 1 rises in convex order with its deviation, and sums of comonotone
 * variables keep that order.  So the deviations h and 2h are worst, and a = h, b = -h attains them.  QED */
#pragma once

#include "acct_list.h"
#include "acct_point.h"

/* The largest convex curve that lies at or below the points of a profile. */
struct acct_hull;

/* Is the round, whose event is not ACCT_SHUFFLED, within the ranges of acct.h?  Does not look at count,
 * defect and sampling. */
ACCT_CHECK enum acct_rc acct_central_check(const struct acct_round *r, const char **why);

/* Make the list of a checked round whose event is not ACCT_SHUFFLED.  *l is all zero before. */
void acct_central_list(struct acct_list *l, const struct acct_round *r);

/* Compute one point of the curve without defect and sampling, as acct_curve_at does; returns the work done.
 * hull is that of acct_central_init, NULL for normal and Laplace noise.  swap exchanges the two inputs. */
double acct_central_at(const struct acct_list *l, const struct acct_hull *hull, double eps, bool swap,
	struct acct_point *at);

/* Prepare the hull of a profile; *hull is NULL for other events.  Free it with acct_hull_free. */
ACCT_CHECK enum acct_rc acct_central_init(const struct acct_list *l, struct acct_hull **hull);
void acct_hull_free(struct acct_hull *hull); /* NULL is fine */

/* Do both profiles say the same?  Two NULLs do. */
bool acct_profile_equal(const struct acct_profile *a, const struct acct_profile *b);
