/* acct_curve.c - the privacy curve of one round: by listing outcomes if they are few, else by inversion. */
#include "acct_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_exact.h"
#include "acct_invert.h"

#define UNDERFLOW 1e-300

enum acct_rc acct_curve_init(struct acct_curve *c, const struct acct_list *l)
{
	memset(c, 0, sizeof *c);
	c->list = *l;
	return acct_exact_list(c);
}

void acct_curve_fini(struct acct_curve *c)
{
	free(c->p);
	free(c->q);
	memset(c, 0, sizeof *c);
}

void acct_curve_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at)
{
	double most = exp(-eps) / (1 + exp(-eps)); /* (1-y)/2 */

	double work = 2 * (double)c->outcomes, allowed = c->work ? c->work->per_point : INFINITY;

	if (c->outcomes > 0)
		acct_exact_at(c, eps, swap, at);
	else
		work = acct_invert_at(&c->list, eps, swap, allowed, at);
	if (c->work)
		c->work->spent += work;
	if (eps > 0) { /* what underflow may hide; at 0 nothing is scaled down */
		at->lo -= UNDERFLOW;
		at->hi += UNDERFLOW;
	}
	/* Bounds that contradict each other are no bounds, whatever the reason. */
	bool sound = at->lo <= at->hi && at->hi >= 0;
	if (!sound || !(at->lo > 0 && at->slope_err < INFINITY)) {
		at->lo = 0;
		at->slope = 0;
		at->slope_err = 0;
	}
	if (!sound || !(at->hi <= most))
		at->hi = most;
	if (at->lo > at->hi)
		at->lo = at->hi;
}

double acct_curve_upper(const struct acct_curve *c, double eps)
{
	struct acct_point a, b;

	acct_curve_at(c, eps, false, &a);
	if (c->list.symmetric)
		return a.hi;
	acct_curve_at(c, eps, true, &b);
	return fmax(a.hi, b.hi);
}
