/* acct_group.c - bounds group privacy of composed rounds. */
#include "acct_group.h"

#include <float.h>
#include <math.h>

#define ROUNDING    (1 + 64 * DBL_EPSILON)
#define LEAST_DELTA 1e-200 /* least delta that acct_epsilon answers for */
#define STEPS       60
/* each delta asked for is this much below the fixed point of the last answer, so that the search ends */
#define MARGIN 0.9999

/* 1 + e^epsilon + .. + e^((group-1) epsilon), rounded up: what a delta of one record is multiplied by in a
 * group. */
static double powers(double epsilon, unsigned group)
{
	if (!(epsilon > 1e-12)) /* otherwise every term is 1, up to rounding */
		return group * exp((group - 1) * epsilon) * ROUNDING;
	return expm1(group * epsilon) / expm1(epsilon) * ROUNDING * (1 + group * epsilon * DBL_EPSILON);
}

enum acct_rc acct_group_delta(
	const struct acct_round *rounds, size_t n, unsigned group, double epsilon, struct acct_bound *delta)
{
	struct acct_bound one, single;
	enum acct_rc rc;

	if (group < 1 || group > ACCT_MOST_GROUP)
		return ACCT_EDOMAIN;
	rc = acct_delta(rounds, n, epsilon, &single);
	if (rc || group == 1) {
		if (!rc)
			*delta = single;
		return rc;
	}
	/* divided and rounded down, so that `group` times it is at most epsilon */
	double each = epsilon / group * (1 - 2 * DBL_EPSILON);
	rc = acct_delta(rounds, n, each, &one);
	if (rc)
		return rc;
	double upper = one.upper * powers(each, group);
	delta->lower = single.lower;
	delta->upper = upper <= 1 ? upper : 1; /* a NaN becomes 1 */
	if (one.upper <= 0)
		delta->upper = 0;
	return ACCT_OK;
}

/* For a group, delta is d times powers(epsilon(d)) where one record has (epsilon(d), d): find the largest
 * such d.  Start with d = delta and repeat d = delta / powers(epsilon(d)): d falls towards it.  An answer
 * is accepted only if d times powers(its epsilon) is at most delta. */
enum acct_rc acct_group_epsilon(
	const struct acct_round *rounds, size_t n, unsigned group, double delta, struct acct_bound *eps)
{
	struct acct_bound one, out = { 0, INFINITY };
	double d = delta;
	enum acct_rc rc = ACCT_OK;

	if (group < 1 || group > ACCT_MOST_GROUP)
		return ACCT_EDOMAIN;
	for (int i = 0; i < STEPS && (i == 0 || d >= LEAST_DELTA); i++) {
		rc = acct_epsilon(rounds, n, d, &one);
		if (rc)
			break;
		if (i == 0)
			out.lower = one.lower;
		double sum = d * powers(one.upper, group);
		if (sum <= delta || group == 1) {
			out.upper = group * one.upper * (1 + (group > 1 ? 2 * DBL_EPSILON : 0));
			break;
		}
		if (!isfinite(sum))
			break;
		d = fmin(d, delta / powers(one.upper, group)) * MARGIN;
	}
	if (d < delta && rc == ACCT_EPRECISION) /* nothing can be computed for so small a delta */
		rc = ACCT_OK;
	if (!rc)
		*eps = out;
	return rc;
}
