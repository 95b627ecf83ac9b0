/* acct_gspa_paper.c (acct_gspa.h) - the paper's mu, and the curve of Gaussian differential privacy.
 * Nothing here is a guarantee. */
#include <math.h>

#include "acct_fault.h"
#include "acct_gspa_users.h"

#define LEAST_DELTA   1e-200
#define MOST_ECHOES   10000u /* most classes, since each is compared with each other */
#define MOST_EPSILON  1e300
#define SQRT_HALF     0.70710678118654752440
#define INV_SQRT_2PI  0.39894228040143267794
#define FRACTION_FROM 3.0
/* terms of the continued fraction for the normal tail: from FRACTION_FROM on, more than double precision
 * needs */
#define FRACTION_LONG 200

enum acct_rc acct_gspa_mu(
	const struct acct_gspa_class *cls, size_t n, uint64_t count, double *mu, const char **why)
{
	enum acct_rc rc = acct_gspa_check(cls, n, 2, why);
	double sum = 0, most = 0;
	size_t largest = 0;

	if (rc)
		return rc;
	if (count == 0 || count > ACCT_MAX_COUNT)
		return acct_fault(why, "count must be from 1 to 1000000");
	for (size_t i = 0; i < n; i++) {
		double c = (1 - cls[i].delta) / (1 + exp(cls[i].epsilon));

		if (c > most) {
			most = c;
			largest = i;
		}
	}
	for (size_t i = 0; i < n; i++)
		sum += (double)(cls[i].count - (i == largest)) *
		       ((1 - cls[i].delta) / (1 + exp(cls[i].epsilon)));
	*mu = sqrt(2 / sum * (double)count);
	return ACCT_OK;
}

/* n p_ij of "Echo of Neighbors" (acct_gspa_liu): the chance that a participant of epsilon e sends what one
 * of epsilon f would have sent. */
static double echo(double e, double f)
{
	return e / f * expm1(-f) / expm1(-e) * exp(-fmax(e, f));
}

enum acct_rc acct_gspa_liu(
	const struct acct_gspa_class *cls, size_t n, double delta, double *epsilon, const char **why)
{
	enum acct_rc rc = acct_gspa_check(cls, n, 2, why);
	double all = 0, sum = 0;
	size_t victim = 0;

	if (rc)
		return rc;
	if (n > MOST_ECHOES || !(delta > 0 && delta < 1))
		return acct_fault(why, "it takes at most 10000 classes, and a delta above 0 and below 1");
	for (size_t i = 0; i < n; i++) {
		if (cls[i].delta > 0)
			return acct_fault(why, "it is known for classes without a delta only");
		all += (double)cls[i].count;
		victim = cls[i].epsilon > cls[victim].epsilon ? i : victim;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			sum += (double)(cls[i].count - (i == victim)) * (double)cls[j].count / all *
			       echo(cls[i].epsilon, cls[j].epsilon);
	if (!(sum >= 16 * log(4 / delta)))
		return acct_fault(why, "its condition is not met: too few expected clones");
	*epsilon = log1p(tanh(cls[victim].epsilon / 2) * (8 * sqrt(log(4 / delta) / sum) + 8 / sum));
	return ACCT_OK;
}

/* The normal tail without its small factor: Phi(-z) e^{z^2/2}. */
static double scaled_tail(double z)
{
	double f = 0;

	if (z < FRACTION_FROM)
		return erfc(z * SQRT_HALF) / 2 * exp(z * z / 2);
	for (int i = FRACTION_LONG; i > 0; i--)
		f = i / (z + f);
	return INV_SQRT_2PI / (z + f);
}

/* The second term of the Gaussian curve, e^epsilon Phi(-y), as e^{-x^2/2} scaled_tail(y), where x =
 * epsilon/mu - mu/2 and y = x + mu. */
static double gaussian(double mu, double epsilon)
{
	double x = epsilon / mu - mu / 2, y = epsilon / mu + mu / 2;

	if (x < 0)
		return erfc(x * SQRT_HALF) / 2 - exp(-x * x / 2) * scaled_tail(y);
	return exp(-x * x / 2) * (scaled_tail(x) - scaled_tail(y));
}

static enum acct_rc check_mu(double mu, const char **why)
{
	if (!(mu > 0 && mu < INFINITY))
		return acct_fault(why, "mu must be above 0 and finite");
	return ACCT_OK;
}

enum acct_rc acct_gspa_gaussian_delta(double mu, double epsilon, double *delta, const char **why)
{
	enum acct_rc rc = check_mu(mu, why);

	if (rc)
		return rc;
	if (!(epsilon >= 0 && epsilon < INFINITY))
		return acct_fault(why, "epsilon must be at least 0 and finite");
	double d = gaussian(mu, epsilon);
	if (!(d >= LEAST_DELTA))
		return ACCT_EPRECISION;
	*delta = d;
	return ACCT_OK;
}

enum acct_rc acct_gspa_gaussian_epsilon(double mu, double delta, double *epsilon, const char **why)
{
	double low = 0, high = mu;
	enum acct_rc rc = check_mu(mu, why);

	if (rc)
		return rc;
	if (!(delta > 0 && delta < 1))
		return acct_fault(why, "delta must be above 0 and below 1");
	if (delta < LEAST_DELTA)
		return ACCT_EPRECISION;
	if (gaussian(mu, 0) <= delta) {
		*epsilon = 0;
		return ACCT_OK;
	}
	while (gaussian(mu, high) > delta) {
		if (high > MOST_EPSILON)
			return ACCT_EPRECISION;
		high *= 2;
	}
	while (high - low > 1e-14 * high) {
		double mid = low + (high - low) / 2;

		if (gaussian(mu, mid) > delta)
			low = mid;
		else
			high = mid;
	}
	*epsilon = high;
	return ACCT_OK;
}
