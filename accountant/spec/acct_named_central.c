/* acct_named_central.c (acct_named.h) - central events: noise that a trusted party adds, and stated
 * guarantees. */
#include <math.h>
#include <stdbool.h>

#include "acct_fault.h"
#include "acct_named.h"

static enum acct_rc begin(struct acct_spec *s, enum acct_event event, const char **why)
{
	if (s->participants > 0)
		return acct_fault(why, "a central event takes no n=: nobody's report hides another's");
	s->round.event = event;
	s->eps0 = INFINITY;
	s->unpublished = true;
	s->exact = true;
	return ACCT_OK;
}

enum acct_rc acct_named_gaussian(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	bool all = arg[1].size > 0 && arg[1].x[0] >= 1 && arg[1].x[0] <= 1;

	/* If every record takes part, a replacement moves the sum by up to 2, since the norm is at most
	 * 1. */
	s->round.scale = all ? arg[0].x[0] / 2 : arg[0].x[0];
	s->round.rate = arg[1].size > 0 ? arg[1].x[0] : 1;
	return begin(s, ACCT_GAUSSIAN, why);
}

enum acct_rc acct_named_central_laplace(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	s->round.scale = arg[0].x[0];
	return begin(s, ACCT_LAPLACE, why);
}

/* The worst pair of an (epsilon, delta) guarantee is a response that tells its input with chance delta
 * (Kairouz, Oh, Viswanath 2015), and otherwise is binary response of one participant alone. */
enum acct_rc acct_named_guarantee(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double epsilon = arg[0].x[0], delta = arg[1].size > 0 ? arg[1].x[0] : 0;
	enum acct_rc rc = begin(s, ACCT_SHUFFLED, why);

	if (rc)
		return rc;
	if (!(epsilon >= 0 && epsilon < 700))
		return acct_fault(why, "epsilon must be from 0 to below 700");
	if (!(delta >= 0 && delta < 1))
		return acct_fault(why, "delta must be from 0 to below 1");
	/* Either event may disclose the input: round the chance up, since acct_plan_ends_at() compares it
	 * exactly. */
	if (delta > 0 && s->round.defect > 0)
		s->round.defect =
			nextafter(nextafter(s->round.defect + delta - s->round.defect * delta, 1), 1);
	else
		s->round.defect += delta;
	if (epsilon > 0)
		return acct_cells_generic(epsilon, &s->round, why);
	s->round.cells = 1;
	s->round.cell[0] = (struct acct_cell){ 1, 1, 1 };
	return ACCT_OK;
}
