/* acct_named_noise.c (acct_named.h) - reports that are a number or a place with continuous noise: Laplace's
 * on an interval, and metric differential privacy (acct_laplace.h, acct_metric.h). */
#include <math.h>

#include "acct_fault.h"
#include "acct_laplace.h"
#include "acct_metric.h"
#include "acct_named.h"

static void hold(struct acct_spec *s, double omega, double u, double v)
{
	s->held.cell[s->held.cells++] = (struct acct_cell){ omega, u / omega, v / omega };
}

/* Set a data set for "any noise".  Take three outputs.  The victim's inputs choose between two of them by
 * binary response.  The others, who are `most` away from either, send these two e^-most times as often as
 * the input that makes them likelier; the third output has the share e^-most, which leaves enough for the
 * others' reports. */
static void hold_any(double distance, double most, struct acct_spec *s)
{
	double far = exp(-most), keep = 1 / (1 + exp(-distance)), with = -expm1(-most);
	double sent = with * keep * far;

	s->held = s->round;
	s->held.cells = 0;
	hold(s, sent, with * keep, with * (1 - keep));
	hold(s, sent, with * (1 - keep), with * keep);
	hold(s, 1 - 2 * sent, far, far);
}

/* The chance that noise of scale 1 exceeds x >= 0 in one direction.  For planar noise it is one coordinate,
 * as in acct_metric.h: (1/pi) int_0^inf (1 + c x) e^(-c x) / c du, c = cosh u.  With steps of 1/8 the
 * trapezoid rule has a relative error below 1e-12 up to x = 40: for |Im u| <= 0.92 the modulus is below
 * e^(0.4 x) and a small multiple of the real integrand, and the error is 2/(e^(2 pi 0.92 8) - 1) of the
 * integral of the modulus. */
static double beyond_on_a_line(double x)
{
	return exp(-x) / 2;
}

#define FARTHEST 40.0
#define STEP     0.125

static double beyond_in_a_plane(double x)
{
	double sum = 0;

	for (double u = 0; u < 45; u += STEP) {
		double c = cosh(u), z = c * x;

		sum += (u > 0 ? 1 : 0.5) * (1 + z) * exp(-z) / c;
		if (z > 750)
			break;
	}
	return STEP * sum / acos(-1);
}

typedef double beyond_fn(double x);

/* The chance that noise about x falls in (from, to], which lies on one side of x; to may be INFINITY and
 * from -INFINITY.  Raises *worst to the factor by which the relative error of the difference exceeds that
 * of its parts. */
static double in(beyond_fn *beyond, double x, double from, double to, double *worst)
{
	double near = from >= x ? from - x : x - to, above = beyond(near), chance;

	chance = isinf(to - from) ? above : above - beyond(near + (to - from));
	if (beyond == beyond_on_a_line)
		chance = above * -expm1(-(to - from));
	*worst = fmax(*worst, 2 * above / chance);
	return chance;
}

#define BETWEEN 40 /* number of stretches of the line between the victim's inputs */
#define BEYOND  20 /* number of stretches from there to the others' input */

/* Set the data set of a victim with inputs 0 and `distance`, where everybody else is at `most`.  A report
 * is rounded to stretches of the line, which can only lower the loss. */
static void hold_line(beyond_fn *beyond, double distance, double most, struct acct_spec *s)
{
	double at = -INFINITY, worst = 1;

	s->held = s->round;
	s->held.cells = 0;
	for (int i = 0; i <= BETWEEN + BEYOND + 1; i++) {
		double to = i < BETWEEN             ? distance * i / BETWEEN
			    : i == BETWEEN          ? distance
			    : i <= BETWEEN + BEYOND ? distance + (most - distance) * (i - BETWEEN) / BEYOND
						    : INFINITY;

		if (i == BETWEEN + BEYOND)
			to = most;
		if (!(to > at))
			continue;
		hold(s, in(beyond, most, at, to, &worst), in(beyond, 0, at, to, &worst),
			in(beyond, distance, at, to, &worst));
		at = to;
	}
	if (beyond == beyond_in_a_plane)
		s->rounding = 1e-12 * worst;
}

enum acct_rc acct_named_laplace_noise(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	s->eps0 = arg[0].x[0];
	s->p = s->q = exp(s->eps0);
	s->beta = -expm1(-s->eps0 / 2);
	s->laplace = true;
	s->no_inputs = true; /* the cells dominate the law of two inputs, and are not that law itself */
	hold_line(beyond_on_a_line, s->eps0, s->eps0, s);
	return acct_laplace_above(s->eps0, &s->round, why);
}

static enum acct_rc metric(
	enum acct_metric_noise noise, const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double distance = arg[0].x[0], most = arg[1].x[0];
	enum acct_rc rc;

	/* with sampling, a participant may be replaced by any other record (acct_metric.h) */
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
	if (!rc && noise == ACCT_METRIC_ANY)
		hold_any(distance, most, s);
	if (!rc && noise == ACCT_METRIC_LINE)
		hold_line(beyond_on_a_line, distance, most, s);
	if (!rc && noise == ACCT_METRIC_PLANE && most <= FARTHEST)
		hold_line(beyond_in_a_plane, distance, most, s);
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
