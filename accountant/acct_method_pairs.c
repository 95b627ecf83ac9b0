/* acct_method_pairs.c - the accountant itself as a method, on the rounds' own cells and on those of clones.
 */
#include <math.h>
#include <stdlib.h>

#include "acct_method_rows.h"

struct acct_round *acct_method_rounds(const struct acct_spec *spec, size_t n)
{
	struct acct_round *r = calloc(n > 0 ? n : 1, sizeof *r);

	for (size_t i = 0; r && i < n; i++)
		r[i] = spec[i].round;
	return r;
}

static enum acct_rc fault(const char **why, const char *what)
{
	*why = what;
	return ACCT_EDOMAIN;
}

/* p/(p+1) of the victim's law against 1/(p+1), among others that look like either of its two with chance
 * 1/(2p) each (Feldman, McMillan, Talwar 2021) or 1/(p+1) each (2023; proved here for every randomizer). */
enum acct_rc acct_method_clones(
	const struct acct_spec *s, bool strong, struct acct_round *r, const char **why)
{
	double eps0 = s->eps0, p = exp(eps0);

	if (!(eps0 > 0 && eps0 < 700))
		return fault(why, "clones need a randomizer with a finite eps0");
	if (s->participants == 0)
		return fault(why, "clones need n=");
	if (s->round.levels > 0 || s->round.defect > 0)
		return fault(why, "clones need one pure eps0 for all participants");
	*r = (struct acct_round){
		.others = s->participants - 1, .count = s->round.count, .sampling = s->round.sampling
	};
	if (strong)
		return acct_cells_generic(eps0, r, why);
	/* An ulp up in q is an ulp down in the clones' chance: the safe side. */
	double q = nextafter(2 * p / (1 + 1 / p), INFINITY);
	return acct_cells_pair(p, tanh(eps0 / 2), q, q, r, why);
}

static enum acct_rc ask(const struct acct_round *r, size_t n, bool epsilon, double at, struct acct_bound *out)
{
	return epsilon ? acct_epsilon(r, n, at, out) : acct_delta(r, n, at, out);
}

static enum acct_rc own(
	const struct acct_spec *spec, size_t n, bool epsilon, double at, struct acct_method_answer *out)
{
	struct acct_round *r = acct_method_rounds(spec, n);
	enum acct_rc rc = r ? ask(r, n, epsilon, at, &out->bound) : ACCT_ENOMEM;

	out->worth = ACCT_PROVED;
	free(r);
	return rc;
}

static enum acct_rc clones(const struct acct_spec *spec, size_t n, bool strong, bool epsilon, double at,
	struct acct_method_answer *out, const char **why)
{
	struct acct_round *r = acct_method_rounds(spec, n);
	enum acct_rc rc = r ? ACCT_OK : ACCT_ENOMEM;

	for (size_t i = 0; !rc && i < n; i++)
		rc = acct_method_clones(&spec[i], strong, &r[i], why);
	if (!rc)
		rc = ask(r, n, epsilon, at, &out->bound);
	/* The interval is about the clones' pair; the protocol's own loss may lie below it. */
	out->bound.lower = 0;
	out->worth = ACCT_PROVED;
	free(r);
	return rc;
}

enum acct_rc acct_pld_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	(void)why;
	return own(s, n, true, at, out);
}

enum acct_rc acct_pld_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	(void)why;
	return own(s, n, false, at, out);
}

enum acct_rc acct_clones_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return clones(s, n, false, true, at, out, why);
}

enum acct_rc acct_clones_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return clones(s, n, false, false, at, out, why);
}

enum acct_rc acct_strong_clones_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return clones(s, n, true, true, at, out, why);
}

enum acct_rc acct_strong_clones_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return clones(s, n, true, false, at, out, why);
}
