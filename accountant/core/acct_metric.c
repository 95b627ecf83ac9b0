/* acct_metric.c - computes total variation and cells of metric differential privacy. */
#include "acct_metric.h"

#include <float.h>
#include <math.h>

#include "acct_fault.h"

#define LEAST 1e-6
#define MOST  300.0
#define STEP  0.125
/* plane() sums up to the u at which cosh u is FAR / min(1, distance): everything beyond is below 1e-17 of
 * the sum */
#define FAR 1e17

/* 1 - (1 + x) e^-x for x >= 0: the numerator of the integrand for planar noise in acct_metric.h, at x = c
 * d/2.  Near 0 it is computed by its series, sum over k of (k-1)/k!  (-1)^k x^k, since the difference would
 * lose digits. */
static double beyond(double x)
{
	double sum = 0, power = x;

	if (x > 1)
		return 1 - (1 + x) * exp(-x);
	for (int k = 2; k < 24; k++) {
		power *= -x / k; /* (-1)^(k-1) x^k/k! */
		sum -= (k - 1) * power;
	}
	return sum;
}

static double plane(double distance)
{
	double half = distance / 2, end = acosh(FAR / fmin(1, distance)), sum = beyond(half) / 2;

	for (double u = STEP; u <= end; u += STEP)
		sum += beyond(half * cosh(u)) / cosh(u);
	/* Beyond the end 1/cosh u falls by 11 per cent in each step of 1/8, so the rest of the sum is below
	 * 1.1 / cosh(end). */
	return 2 / acos(-1) * (STEP * sum * (1 + 1e-12) + 2 / cosh(end));
}

enum acct_rc acct_metric_variation(
	enum acct_metric_noise noise, double distance, double *beta, const char **why)
{
	if (!(distance >= LEAST && distance <= MOST))
		return acct_fault(why, "the distance must be from 1e-6 to 300");
	double most = tanh(distance / 2) * (1 + 8 * DBL_EPSILON), value = most;

	if (noise == ACCT_METRIC_LINE)
		value = -expm1(-distance / 2) * (1 + 8 * DBL_EPSILON);
	else if (noise == ACCT_METRIC_PLANE)
		value = plane(distance);
	else if (noise != ACCT_METRIC_ANY)
		return acct_fault(why, "there is no such noise");
	*beta = fmin(value, most);
	return ACCT_OK;
}

enum acct_rc acct_metric_cells(
	enum acct_metric_noise noise, double distance, double most, struct acct_round *r, const char **why)
{
	double beta;
	enum acct_rc rc = acct_metric_variation(noise, distance, &beta, why);

	if (rc)
		return rc;
	if (!(most >= distance && most <= MOST))
		return acct_fault(why, "most must be from the distance to 300");
	double p = exp(distance) * (1 + 4 * DBL_EPSILON), q = exp(most) * (1 + 8 * DBL_EPSILON);

	/* Where the inputs are near each other, the rounding of p moves (p-1)/(p+1) by more than that of
	 * beta, and acct_cells_pair takes no beta above it: lower beta to it. */
	return acct_cells_pair(
		p, fmin(beta, (p - 1) / (p + 1)), fmax(q, 1 + beta), fmax(q, 1 + beta), r, why);
}
