/* acct_method_normal.c - the normal limit: of many rounds among many reports, the privacy loss is that of one
 * Gaussian mechanism.  No error bound: approximate. */
#include <math.h>

#include "acct_method_rows.h"

#define SQRT1_2 0.70710678118654752440 /* 1/sqrt(2) */

/* log Phi(x).  Below -30 by the first term of the tail's expansion, whose relative error is under 1/900. */
static double log_normal(double x)
{
	return x < -30 ? -x * x / 2 - log(-x) - 0.91893853320467274178 /* log sqrt(2 pi) */
		       : log(erfc(-x * SQRT1_2) / 2);
}

/* delta of a Gaussian mechanism of mean mu and variance 1 (Balle, Wang 2018, Theorem 8). */
static double gaussian_delta(double mu, double epsilon)
{
	double gain = log_normal(mu / 2 - epsilon / mu), loss = epsilon + log_normal(-mu / 2 - epsilon / mu);

	return loss < gain ? exp(gain) - exp(loss) : 0;
}

/* The variance of the one-round loss: with M blanket messages on average, chance W of being blanket,
 * P and Q are linear in the cells' counts and the loss varies as (W/M) sum omega (u-v)^2. */
static double variance(const struct acct_round *r)
{
	double w = 0, spread = 0, messages;

	for (size_t j = 0; j < r->cells; j++) {
		double d = r->cell[j].u - r->cell[j].v;

		w += r->cell[j].omega;
		spread += r->cell[j].omega * d * d;
	}
	messages = 1 + (double)r->dummies + (double)r->others * w;
	for (size_t i = 0; i < r->levels; i++)
		messages += (double)r->level[i].count * r->level[i].share * w;
	return w / messages * spread;
}

/* mu of the composition, and the chance that no input is given away outright. */
static enum acct_rc limit_of(const struct acct_spec *s, size_t n, double *mu, double *whole,
	struct acct_method_answer *out, const char **why)
{
	double sum = 0, log_whole = 0;

	for (size_t i = 0; i < n; i++) {
		const struct acct_round *r = &s[i].round;

		if (r->sampling > 0) {
			*why = "the normal limit is not given for sampled participants";
			return ACCT_EDOMAIN;
		}
		sum += (double)r->count * variance(r);
		log_whole += (double)r->count * log1p(-r->defect);
	}
	*mu = sqrt(sum);
	*whole = exp(log_whole);
	out->worth = ACCT_APPROXIMATE;
	out->note =
		"the normal limit of the privacy loss: good for many rounds among many reports, poor for few";
	return ACCT_OK;
}

enum acct_rc acct_normal_delta(
	const struct acct_spec *s, size_t n, double epsilon, struct acct_method_answer *out, const char **why)
{
	double mu, whole;
	enum acct_rc rc = acct_method_asked(n, false, epsilon, why);

	if (!rc)
		rc = limit_of(s, n, &mu, &whole, out, why);
	if (rc)
		return rc;
	double delta = mu > 0 ? gaussian_delta(mu, epsilon) : 0;
	delta = 1 - whole + whole * delta;
	out->bound = (struct acct_bound){ delta, delta };
	return ACCT_OK;
}

enum acct_rc acct_normal_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	double mu, whole, low = 0, high = 1;
	enum acct_rc rc = acct_method_asked(n, true, delta, why);

	if (!rc)
		rc = limit_of(s, n, &mu, &whole, out, why);
	if (rc)
		return rc;
	double rest = (delta - (1 - whole)) / whole;
	if (!(rest > 0) || !isfinite(mu)) {
		out->bound = (struct acct_bound){ INFINITY, INFINITY };
		return ACCT_OK;
	}
	while (mu > 0 && gaussian_delta(mu, high) > rest && high < 1e300)
		high *= 2;
	if (!(mu > 0) || gaussian_delta(mu, 0) <= rest)
		high = 0;
	for (int i = 0; i < 200 && low < high; i++) {
		double middle = low + (high - low) / 2;

		if (gaussian_delta(mu, middle) > rest)
			low = middle;
		else
			high = middle;
	}
	out->bound = (struct acct_bound){ high, high };
	return ACCT_OK;
}
