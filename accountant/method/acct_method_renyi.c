/* acct_method_renyi.c (acct_method_rows.h) - epsilon from Renyi divergences. */
#include <math.h>
#include <stdlib.h>

#include "acct_girgis.h"
#include "acct_method_rows.h"

enum acct_rc acct_rdp_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	struct acct_round *r = acct_method_rounds(s, n);
	enum acct_rc rc = r ? acct_method_asked(n, true, delta, why) : ACCT_ENOMEM;

	if (!rc)
		rc = acct_renyi_epsilon(r, n, delta, &out->bound.upper, NULL);
	out->bound.lower = 0;
	out->worth = ACCT_PROVED;
	free(r);
	return rc;
}

struct reports {
	enum acct_girgis_kind kind; /* the closed form for rounds without sampling */
	const struct acct_spec *spec;
	size_t n;
};

/* Add up the closed forms of all rounds: divergences of one order add up even over rounds chosen
 * adaptively. */
static enum acct_rc girgis_rdp(void *user, double alpha, double *rdp)
{
	const struct reports *all = user;
	double sum = 0, one;

	for (size_t i = 0; i < all->n; i++) {
		const struct acct_spec *s = &all->spec[i];
		bool sampled = s->round.sampling > 0;
		struct acct_girgis g = { s->eps0, s->participants, sampled ? s->round.sampling : 1 };
		enum acct_rc rc =
			acct_girgis_rdp(sampled ? ACCT_GIRGIS_WOR : all->kind, &g, (unsigned)alpha, &one);

		if (rc)
			return rc;
		/* Round up: the product and the sum are each off by at most an ulp. */
		sum = nextafter(sum + nextafter((double)s->round.count * one, INFINITY), INFINITY);
	}
	*rdp = sum;
	return ACCT_OK;
}

static enum acct_rc closed_form(enum acct_girgis_kind kind, const struct acct_spec *s, size_t n, double delta,
	struct acct_method_answer *out, const char **why)
{
	struct reports all = { kind, s, n };
	double most = ACCT_GIRGIS_MOST_ORDER;
	enum acct_rc rc = acct_method_asked(n, true, delta, why);

	for (size_t i = 0; i < n && !rc; i++) {
		rc = acct_method_local(&s[i], kind == ACCT_GIRGIS_UB1, why);
		if (s[i].round.sampling > 0)
			most = ACCT_GIRGIS_MOST_BELOW;
	}
	if (rc)
		return rc;
	out->bound.lower = 0;
	return acct_renyi_minimise(
		girgis_rdp, &all, true, most, ACCT_RENYI_CKS, delta, &out->bound.upper, NULL);
}

enum acct_rc acct_girgis_method_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PROVED;
	return closed_form(ACCT_GIRGIS_UB1, s, n, delta, out, why);
}

enum acct_rc acct_erlingsson_rdp_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PAPER_VALUE;
	out->note = "as cited by those who compare with it; not proved here";
	return closed_form(ACCT_GIRGIS_ERLINGSSON, s, n, delta, out, why);
}
