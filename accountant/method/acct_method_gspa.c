/* acct_method_gspa.c (acct_method_rows.h) - GSPA's analyses for rounds of this accountant. */
#include <math.h>

#include "acct_fault.h"
#include "acct_gspa.h"
#include "acct_method_rows.h"

enum acct_rc acct_method_classes(const struct acct_spec *s, struct acct_gspa_class cls[1 + ACCT_MAX_LEVELS],
	size_t *n, const char **why)
{
	const struct acct_round *r = &s->round;
	double all = 0;

	if (r->sampling > 0)
		return acct_fault(why, "it has no answer for sampled participants");
	if (!(s->eps0 > 0 && s->eps0 < 700) || s->participants < 2)
		return acct_fault(why, "it needs a finite eps0 and two participants");
	if (r->levels > 0 && !(s->k >= 2))
		return acct_fault(why, "it knows personalised participants of k-ary response only");
	for (size_t j = 0; j < r->cells; j++)
		all += r->cell[j].omega;
	*n = 0;
	double own = r->levels > 0 ? log(s->k / all - s->k + 1) : s->eps0;
	uint64_t count = r->levels > 0 ? r->others + 1 : s->participants;
	cls[(*n)++] = (struct acct_gspa_class){ own, r->defect, count };
	for (size_t i = 0; i < r->levels; i++) {
		double eps = log(s->k / (r->level[i].share * all) - s->k + 1);

		if (r->level[i].count > 0)
			cls[(*n)++] = (struct acct_gspa_class){ fmax(eps, 1e-12), 0, r->level[i].count };
	}
	return ACCT_OK;
}

/* Compute mu of all rounds together: squares add up. */
static enum acct_rc gspa_mu(
	const struct acct_spec *s, size_t n, double *mu, struct acct_method_answer *out, const char **why)
{
	struct acct_gspa_class cls[1 + ACCT_MAX_LEVELS];
	double sum = 0, one;

	for (size_t i = 0; i < n; i++) {
		size_t size;
		enum acct_rc rc = acct_method_classes(&s[i], cls, &size, why);

		if (!rc)
			rc = acct_gspa_mu(cls, size, s[i].round.count, &one, why);
		if (rc)
			return rc;
		sum += one * one;
	}
	*mu = sqrt(sum);
	out->worth = ACCT_PAPER_VALUE;
	out->note = "mu-Gaussian by a normal limit that is below the truth for large eps0; pld is exact";
	return ACCT_OK;
}

enum acct_rc acct_gspa_method_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	double mu, eps;
	enum acct_rc rc = acct_method_asked(n, true, delta, why);

	if (!rc)
		rc = gspa_mu(s, n, &mu, out, why);
	if (!rc)
		rc = acct_gspa_gaussian_epsilon(mu, delta, &eps, why);
	if (!rc)
		out->bound = (struct acct_bound){ eps, eps };
	return rc;
}

enum acct_rc acct_gspa_method_delta(
	const struct acct_spec *s, size_t n, double epsilon, struct acct_method_answer *out, const char **why)
{
	double mu, delta;
	enum acct_rc rc = acct_method_asked(n, false, epsilon, why);

	if (!rc)
		rc = gspa_mu(s, n, &mu, out, why);
	if (!rc)
		rc = acct_gspa_gaussian_delta(mu, epsilon, &delta, why);
	if (!rc)
		out->bound = (struct acct_bound){ delta, delta };
	return rc;
}
