/* pl_mu.c - converts between an (epsilon, delta) and the mu of a Gaussian mechanism. */
#include "pl_mu.h"

#include <math.h>

static double tail(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

/* The delta of a Gaussian mechanism at epsilon: Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu -
 * mu/2), Phi the normal distribution. */
static double gaussian_delta(double epsilon, double mu)
{
	double rest = tail(epsilon / mu + mu / 2);

	return tail(epsilon / mu - mu / 2) - (rest > 0 ? exp(epsilon + log(rest)) : 0);
}

double pl_mu(double epsilon, double delta)
{
	double low = 0, high = 64;

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if (gaussian_delta(epsilon, mid) <= delta)
			low = mid;
		else
			high = mid;
	}
	return low;
}

double pl_mu_epsilon(double mu, double delta)
{
	double low = 0, high = mu * (mu + 64);

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if (gaussian_delta(mid, mu) <= delta)
			high = mid;
		else
			low = mid;
	}
	return high;
}
