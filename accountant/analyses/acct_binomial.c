/* acct_binomial.c - computes binomial chances in Loader's saddle-point form: a sum of terms each of which
 * is small where the chance is not, so that no digits are lost. */
#include "acct_binomial.h"

#include <float.h>
#include <math.h>

#define PI 3.14159265358979323846

/* The error of Stirling's formula, log n! - log(sqrt(2 pi n) (n/e)^n).  Its series alternates, so it is off
 * by less than the first term left out, 691/(360360 n^11), which is 1e-16 from n = 16 on. */
static double stirling(double n)
{
	static const double series[] = { 1 / 12.0, -1 / 360.0, 1 / 1260.0, -1 / 1680.0, 1 / 1188.0 };
	double sum = 0, factorial = 1;

	if (n < 16) {
		for (double i = 2; i <= n; i++)
			factorial *= i;
		return n > 0 ? log(factorial) - (n + 0.5) * log(n) + n - 0.5 * log(2 * PI) : 0;
	}
	for (int i = 4; i >= 0; i--)
		sum = sum / (n * n) + series[i];
	return sum / n;
}

/* x log(x/m) + m - x >= 0, how much x tells against the mean m, to a few ulps: near m by the series of
 * atanh. */
static double deviance(double x, double m)
{
	double v = (x - m) / (x + m), term = 2 * x * v, sum = (x - m) * v;

	if (x == 0) /* NOLINT: x is a whole number, so the comparison is exact */
		return m;
	if (fabs(v) > 0.1)
		return x * log(x / m) + m - x;
	for (double j = 3; j < 60; j += 2) {
		term *= v * v;
		sum += term / j;
	}
	return sum;
}

double acct_binomial_log(double n, double p, double k)
{
	if (k <= 0)
		return n * log1p(-p);
	if (k >= n)
		return n * log(p);
	return stirling(n) - stirling(k) - stirling(n - k) - deviance(k, n * p) -
	       deviance(n - k, n * (1 - p)) - 0.5 * log(2 * PI * k * ((n - k) / n));
}

/* The means n p and n (1-p) have a relative error of two ulps, which changes each deviance by the
 * difference from k.  If the caller's p is off by four ulps, that changes the first in the same way, and
 * the second by 1/(1-p) times as much. */
double acct_binomial_error(double n, double p, double k)
{
	double off = fabs(k - n * p) / (1 - p);

	return DBL_EPSILON * (64 + 8 * off + 8 * fabs(acct_binomial_log(n, p, k)));
}

double acct_binomial_ratio(double n, double p, double k)
{
	return (n - k) / (k + 1) * p / (1 - p);
}

double acct_binomial_last(double n, double p, double log_tail)
{
	double low = floor(fmin(n, (n + 1) * p)), high = n;

	while (high - low > 1) { /* at `low` the tail is still too large, at `high` it is small enough */
		double k = floor((low + high) / 2), r = acct_binomial_ratio(n, p, k);

		if (r < 1 && acct_binomial_log(n, p, k) + acct_binomial_error(n, p, k) + log(r / (1 - r)) <=
				     log_tail)
			high = k;
		else
			low = k;
	}
	return high;
}
