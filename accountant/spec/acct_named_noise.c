/* acct_named_noise.c - reports that are a number or a place with continuous noise: Laplace's on an interval,
 * and metric differential privacy (acct_laplace.h, acct_metric.h). */
#include <math.h>

#include "acct_fault.h"
#include "acct_laplace.h"
#include "acct_metric.h"
#include "acct_named.h"

enum acct_rc acct_named_laplace_noise(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	s->eps0 = arg[0].x[0];
	s->p = s->q = exp(s->eps0);
	s->beta = -expm1(-s->eps0 / 2);
	s->laplace = true;
	s->no_inputs = true; /* the cells are above the law, not of it */
	return acct_laplace_above(s->eps0, &s->round, why);
}

static enum acct_rc metric(
	enum acct_metric_noise noise, const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double distance = arg[0].x[0], most = arg[1].x[0];
	enum acct_rc rc;

	/* In the other's place another record may be drawn (acct_metric.h). */
	if (s->round.sampling > 0 && distance < most)
		return acct_fault(why, "sampling with distance below most: two records that may be drawn are "
				       "up to most apart");
	rc = acct_metric_cells(noise, distance, most, &s->round, why);
	if (!rc)
		rc = acct_metric_variation(noise, distance, &s->beta, why);
	s->p = exp(distance);
	s->q = exp(most);
	s->eps0 = most;
	s->no_inputs = true;
	return rc;
}

enum acct_rc acct_named_metric(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	return metric(ACCT_METRIC_ANY, arg, s, why);
}

enum acct_rc acct_named_metric_line(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	return metric(ACCT_METRIC_LINE, arg, s, why);
}

enum acct_rc acct_named_metric_plane(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	return metric(ACCT_METRIC_PLANE, arg, s, why);
}
