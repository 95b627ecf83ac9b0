/* acct_central.h - the privacy curves of central events: enum acct_event of acct.h.  Their proofs are in
 * doc/accounting.md, "Central events". */
#pragma once

#include "acct_curve.h"

/* Is the round, which is no ACCT_SHUFFLED, within the ranges of acct.h?  Its count, defect and sampling are
 * not looked at. */
ACCT_CHECK enum acct_rc acct_central_check(const struct acct_round *r, const char **why);

/* The list of a checked round that is no ACCT_SHUFFLED. *l is all zero. */
void acct_central_list(struct acct_list *l, const struct acct_round *r);

/* One point of the curve without defect and sampling, as acct_curve_at; returns the work done.  hull: that of
 * acct_central_init. */
double acct_central_at(const struct acct_list *l, const struct acct_hull *hull, double eps, bool swap,
	struct acct_point *at);

/* What acct_central_at needs of a profile; *hull is NULL for other events.  Free it with acct_hull_free. */
ACCT_CHECK enum acct_rc acct_central_init(const struct acct_list *l, struct acct_hull **hull);

/* acct_hull.c: the largest convex curve through or below the points of a profile. */
ACCT_CHECK enum acct_rc acct_hull_new(const struct acct_profile *p, struct acct_hull **hull);
void acct_hull_free(struct acct_hull *hull); /* NULL is fine */
void acct_hull_at(const struct acct_hull *hull, double eps, bool swap, struct acct_point *at);

/* Do both say the same?  Two NULLs do. */
bool acct_profile_equal(const struct acct_profile *a, const struct acct_profile *b);
