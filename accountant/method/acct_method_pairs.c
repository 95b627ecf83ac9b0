/* acct_method_pairs.c (acct_method_rows.h) - runs the accountant as a method, on the rounds' own cells and
 * on those of clones. */
#include <math.h>
#include <stdlib.h>

#include "acct_basic.h"
#include "acct_decimal.h"
#include "acct_fault.h"
#include "acct_method_rows.h"

struct acct_round *acct_method_rounds(const struct acct_spec *spec, size_t n)
{
	struct acct_round *r = calloc(n > 0 ? n : 1, sizeof *r);

	for (size_t i = 0; r && i < n; i++)
		r[i] = spec[i].round;
	return r;
}

enum acct_rc acct_method_asked(size_t n, bool for_epsilon, double at, const char **why)
{
	*why = NULL;
	if (n == 0)
		return acct_fault(why, "there are no rounds");
	if (for_epsilon && !(at > 0 && at < 1))
		return acct_fault(why, "delta must be above 0 and below 1");
	if (!for_epsilon && !(at >= 0 && at < INFINITY))
		return acct_fault(why, "epsilon must be finite and not negative");
	return ACCT_OK;
}

enum acct_rc acct_method_local(const struct acct_spec *s, bool sampling, const char **why)
{
	if (!(s->eps0 > 0 && s->eps0 < 700))
		return acct_fault(why, "it needs a randomizer with a finite eps0");
	if (s->participants == 0)
		return acct_fault(why, "it needs n=");
	if (s->round.levels > 0 || s->round.defect > 0)
		return acct_fault(why, "it needs one pure eps0 for all participants");
	if (s->round.sampling > 0 && !sampling)
		return acct_fault(why, "it has no answer for sampled participants");
	return ACCT_OK;
}

/* Keep eps0 and n of the round, and drop everything else, also dummies and cells: what the bound by clones
 * knows. */
static enum acct_rc forget(const struct acct_spec *s, struct acct_round *r, const char **why)
{
	*r = (struct acct_round){
		.others = s->participants - 1, .count = s->round.count, .sampling = s->round.sampling
	};
	return acct_method_local(s, true, why);
}

static enum acct_rc clone(const struct acct_spec *s, struct acct_round *r, const char **why)
{
	enum acct_rc rc = forget(s, r, why);

	return rc ? rc : acct_basic_clone(s->eps0, r, why);
}

static enum acct_rc strong_clone(const struct acct_spec *s, struct acct_round *r, const char **why)
{
	enum acct_rc rc = forget(s, r, why);

	return rc ? rc : acct_cells_generic(s->eps0, r, why);
}

/* Make the round that is composed in place of a given one. */
typedef enum acct_rc make_fn(const struct acct_spec *s, struct acct_round *r, const char **why);

/* Compose the rounds that make() puts in place of the given ones; if make is NULL, compose those. */
static enum acct_rc compose(const struct acct_spec *spec, size_t n, make_fn *make, bool epsilon, double at,
	struct acct_bound *out, const char **why)
{
	struct acct_round *r = acct_method_rounds(spec, n);
	enum acct_rc rc = r ? acct_method_asked(n, epsilon, at, why) : ACCT_ENOMEM;

	for (size_t i = 0; make && !rc && i < n; i++)
		rc = make(&spec[i], &r[i], why);
	if (!rc)
		rc = epsilon ? acct_epsilon(r, n, at, out) : acct_delta(r, n, at, out);
	free(r);
	return rc;
}

void acct_method_pure(const struct acct_spec *spec, size_t n, struct acct_bound *epsilon)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(spec[i].pure > 0))
			return;
		sum = acct_decimal_add(sum, acct_decimal_times(spec[i].pure, spec[i].round.count));
	}
	if (sum < epsilon->upper) {
		epsilon->upper = sum;
		epsilon->lower = fmin(epsilon->lower, sum);
	}
}

static enum acct_rc own(const struct acct_spec *spec, size_t n, bool epsilon, double at,
	struct acct_method_answer *out, const char **why)
{
	enum acct_rc rc = compose(spec, n, NULL, epsilon, at, &out->bound, why);

	out->worth = ACCT_PROVED;
	if (!rc && epsilon)
		acct_method_pure(spec, n, &out->bound);
	return rc;
}

static enum acct_rc clones(const struct acct_spec *spec, size_t n, make_fn *make, bool epsilon, double at,
	struct acct_method_answer *out, const char **why)
{
	enum acct_rc rc = compose(spec, n, make, epsilon, at, &out->bound, why);

	/* The interval bounds the clones' pair; the protocol's own loss may be less. */
	out->bound.lower = 0;
	out->worth = ACCT_PROVED;
	return rc;
}

static enum acct_rc published(const struct acct_spec *spec, size_t n, bool epsilon, double at,
	struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PAPER_VALUE;
	out->note = "it counts left-over reports as cover: below the exact loss in places";
	return compose(spec, n, acct_spec_published, epsilon, at, &out->bound, why);
}

enum acct_rc acct_pld_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return own(s, n, true, at, out, why);
}

enum acct_rc acct_pld_epsilons(const struct acct_spec *spec, size_t n, const double *delta, size_t deltas,
	struct acct_method_answer *out, const char **why)
{
	struct acct_round *r = acct_method_rounds(spec, n);
	struct acct_bound *bound = calloc(deltas > 0 ? deltas : 1, sizeof *bound);
	enum acct_rc rc = r && bound ? ACCT_OK : ACCT_ENOMEM;

	for (size_t i = 0; i < deltas && !rc; i++)
		rc = acct_method_asked(n, true, delta[i], why);
	if (!rc)
		rc = acct_epsilons(r, n, delta, deltas, bound);
	for (size_t i = 0; i < deltas && !rc; i++) {
		out[i] = (struct acct_method_answer){ .bound = bound[i], .worth = ACCT_PROVED };
		acct_method_pure(spec, n, &out[i].bound);
	}
	free(bound);
	free(r);
	return rc;
}

enum acct_rc acct_pld_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return own(s, n, false, at, out, why);
}

enum acct_rc acct_clones_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return clones(s, n, clone, true, at, out, why);
}

enum acct_rc acct_clones_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return clones(s, n, clone, false, at, out, why);
}

enum acct_rc acct_strong_clones_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return clones(s, n, strong_clone, true, at, out, why);
}

enum acct_rc acct_strong_clones_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return clones(s, n, strong_clone, false, at, out, why);
}

enum acct_rc acct_published_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return published(s, n, true, at, out, why);
}

enum acct_rc acct_published_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return published(s, n, false, at, out, why);
}
