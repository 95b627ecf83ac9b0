/* acct_normal.c - computes the normal limit of the privacy loss. */
#include "acct_normal.h"

#include <math.h>

#include "acct_fault.h"
#include "acct_gspa.h"

/* The variance of the loss of one round.  P and Q are linear in the cells' counts.  With M blanket messages
 * on average and chance W of being blanket, the loss varies by (W/M) sum omega (u-v)^2. */
static double variance(const struct acct_round *r)
{
	double w = 0, spread = 0, messages;

	if (r->event == ACCT_GAUSSIAN)
		return 1 / (r->scale * r->scale);
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

/* Compute mu of the composition, that of the Gaussian mechanism with the same variance of loss, and the
 * chance that no defect discloses an input. */
static enum acct_rc limit_of(
	const struct acct_round *rounds, size_t n, double *mu, double *whole, const char **why)
{
	double sum = 0, log_whole = 0;

	for (size_t i = 0; i < n; i++) {
		const struct acct_round *r = &rounds[i];

		if (r->sampling > 0)
			return acct_fault(why, "the normal limit is not given for sampled participants");
		if (r->event != ACCT_SHUFFLED && (r->event != ACCT_GAUSSIAN || r->rate < 1))
			return acct_fault(
				why, "of central events the normal limit is given for normal noise only");
		sum += (double)r->count * variance(r);
		log_whole += (double)r->count * log1p(-r->defect);
	}
	*mu = sqrt(sum);
	*whole = exp(log_whole);
	return ACCT_OK;
}

enum acct_rc acct_normal_delta(
	const struct acct_round *rounds, size_t n, double epsilon, double *delta, const char **why)
{
	double mu, whole, answer = 0;
	enum acct_rc rc = limit_of(rounds, n, &mu, &whole, why);

	if (rc)
		return rc;
	if (isinf(mu))
		answer = 1;
	else if (mu > 0)
		rc = acct_gspa_gaussian_delta(mu, epsilon, &answer, why);
	if (rc && rc != ACCT_EPRECISION) /* ACCT_EPRECISION: the loss is too small to matter */
		return rc;
	*delta = 1 - whole + whole * answer;
	return ACCT_OK;
}

enum acct_rc acct_normal_epsilon(
	const struct acct_round *rounds, size_t n, double delta, double *epsilon, const char **why)
{
	double mu, whole, answer = 0;
	enum acct_rc rc = limit_of(rounds, n, &mu, &whole, why);

	if (rc)
		return rc;
	double rest = (delta - (1 - whole)) / whole;
	if (!(rest > 0) || !isfinite(mu))
		answer = INFINITY;
	else if (mu > 0)
		rc = acct_gspa_gaussian_epsilon(mu, rest, &answer, why);
	if (!rc)
		*epsilon = answer;
	return rc;
}
