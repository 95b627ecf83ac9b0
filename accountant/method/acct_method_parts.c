/* acct_method_parts.c (acct_method_rows.h) - judges each round by itself at a part of delta, then applies
 * basic or advanced composition. */
#include <math.h>
#include <stdlib.h>

#include "acct_basic.h"
#include "acct_blanket.h"
#include "acct_fault.h"
#include "acct_gspa.h"
#include "acct_method_rows.h"

static const char one_note[] = "delta in equal parts to the rounds";
static const char split_note[] =
	"delta in equal parts to the rounds, or half of it so and half as slack; the lesser answer";

static enum acct_rc composed(enum acct_basic_way way, const struct acct_spec *s, size_t n, double delta,
	struct acct_method_answer *out, const char **why)
{
	struct acct_round *r = acct_method_rounds(s, n);
	enum acct_rc rc = r ? acct_method_asked(n, true, delta, why) : ACCT_ENOMEM;

	if (!rc)
		rc = acct_basic_epsilon(way, r, n, delta, &out->bound.upper);
	out->bound.lower = 0;
	out->worth = ACCT_PROVED;
	if (!rc)
		acct_method_pure(s, n, &out->bound);
	free(r);
	return rc;
}

enum acct_rc acct_sum_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->note = one_note;
	return composed(ACCT_BASIC_SUM, s, n, delta, out, why);
}

enum acct_rc acct_advanced_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->note = "half of delta in equal parts to the rounds, half as slack";
	return composed(ACCT_BASIC_ADVANCED, s, n, delta, out, why);
}

/* Compute epsilon of one round at delta, by a bound for one round. */
typedef enum acct_rc one_round_fn(const struct acct_spec *s, double delta, double *epsilon, const char **why);

/* Judge each round at the part `share` of delta, and compose.  slack: what is left of delta, for advanced
 * composition (0: basic composition). */
static enum acct_rc try_split(one_round_fn *one, const struct acct_spec *s, size_t n, double share,
	double slack, double *epsilon, const char **why)
{
	struct acct_guarantee *g = calloc(n > 0 ? n : 1, sizeof *g);
	double ignored;
	enum acct_rc rc = g ? ACCT_OK : ACCT_ENOMEM;

	for (size_t i = 0; !rc && i < n; i++) {
		g[i].count = (double)s[i].round.count;
		rc = one(&s[i], share, &g[i].epsilon, why);
	}
	if (!rc)
		rc = slack > 0 ? acct_basic_advanced(g, n, slack, epsilon, &ignored)
			       : acct_basic_sum(g, n, epsilon, &ignored);
	free(g);
	return rc;
}

/* Try basic and advanced composition.  Both divisions of delta are fixed beforehand and valid, so the
 * smaller answer is valid, too. */
static enum acct_rc split(one_round_fn *one, const struct acct_spec *s, size_t n, double delta,
	struct acct_method_answer *out, const char **why)
{
	double total = 0, sum, advanced = INFINITY;
	enum acct_rc rc = acct_method_asked(n, true, delta, why);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		total += (double)s[i].round.count;
	/* give each round slightly less than its part, so that rounding does not make the parts exceed the
	 * whole */
	rc = try_split(one, s, n, delta / total * (1 - 1e-12), 0, &sum, why);
	if (!rc && total > 1)
		rc = try_split(one, s, n, delta / 2 / total * (1 - 1e-12), delta / 2, &advanced, why);
	if (rc)
		return rc;
	out->bound = (struct acct_bound){ 0, fmin(sum, advanced) };
	out->note = total > 1 ? split_note : NULL;
	return ACCT_OK;
}

/* Set what acct_blanket.h has to know of the round's randomizer. */
static enum acct_rc blanket_of(const struct acct_spec *s, struct acct_blanket *b, const char **why)
{
	enum acct_rc rc = acct_method_local(s, false, why);

	if (rc)
		return rc;
	if (s->eps0 > 50)
		return acct_fault(why, "it needs eps0 of at most 50");
	bool symbols = s->k >= 2 && s->k <= 1e9;
	*b = (struct acct_blanket){ .mechanism = s->laplace ? ACCT_BLANKET_LAPLACE
						 : symbols  ? ACCT_BLANKET_KRR
							    : ACCT_BLANKET_GENERIC,
		.eps0 = s->eps0,
		.k = symbols ? s->k : 0,
		.n = s->participants };
	return ACCT_OK;
}

static enum acct_rc hoeffding(const struct acct_spec *s, double delta, double *epsilon, const char **why)
{
	struct acct_blanket b;
	enum acct_rc rc = blanket_of(s, &b, why);

	return rc ? rc : acct_blanket_epsilon(ACCT_BLANKET_HOEFFDING, &b, delta, epsilon);
}

static enum acct_rc bennett(const struct acct_spec *s, double delta, double *epsilon, const char **why)
{
	struct acct_blanket b;
	enum acct_rc rc = blanket_of(s, &b, why);

	return rc ? rc : acct_blanket_epsilon(ACCT_BLANKET_BENNETT, &b, delta, epsilon);
}

enum acct_rc acct_hoeffding_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PROVED;
	return split(hoeffding, s, n, delta, out, why);
}

enum acct_rc acct_bennett_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PROVED;
	return split(bennett, s, n, delta, out, why);
}

static enum acct_rc one_delta(enum acct_blanket_bound bound, const struct acct_spec *s, size_t n,
	double epsilon, struct acct_method_answer *out, const char **why)
{
	struct acct_blanket b;
	enum acct_rc rc = acct_method_asked(n, false, epsilon, why);

	if (!rc)
		rc = blanket_of(s, &b, why);
	if (!rc && (n != 1 || s->round.count != 1))
		return acct_fault(why, "it answers delta for one round only");
	out->bound.lower = 0;
	out->worth = ACCT_PROVED;
	return rc ? rc : acct_blanket_delta(bound, &b, epsilon, &out->bound.upper);
}

enum acct_rc acct_hoeffding_delta(
	const struct acct_spec *s, size_t n, double epsilon, struct acct_method_answer *out, const char **why)
{
	return one_delta(ACCT_BLANKET_HOEFFDING, s, n, epsilon, out, why);
}

enum acct_rc acct_bennett_delta(
	const struct acct_spec *s, size_t n, double epsilon, struct acct_method_answer *out, const char **why)
{
	return one_delta(ACCT_BLANKET_BENNETT, s, n, epsilon, out, why);
}

/* If rc says that a closed form does not apply, set *why to the condition that is not met. */
static enum acct_rc conditioned(enum acct_rc rc, const char *condition, const char **why)
{
	return rc == ACCT_EDOMAIN ? acct_fault(why, condition) : rc;
}

static enum acct_rc clones_closed(const struct acct_spec *s, double delta, double *epsilon, const char **why)
{
	enum acct_rc rc = acct_method_local(s, false, why);

	return rc ? rc
		  : conditioned(acct_basic_clones_closed(s->eps0, s->participants, delta, epsilon),
			    "it needs eps0 of at most log(n/(16 log(2/delta)))", why);
}

static enum acct_rc erlingsson(const struct acct_spec *s, double delta, double *epsilon, const char **why)
{
	enum acct_rc rc = acct_method_local(s, false, why);

	return rc ? rc
		  : conditioned(acct_basic_erlingsson(s->eps0, s->participants, delta, epsilon),
			    "it needs eps0 below 1/2, n of at least 1000 and delta below 1/100", why);
}

enum acct_rc acct_clones_closed_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PROVED;
	return split(clones_closed, s, n, delta, out, why);
}

enum acct_rc acct_erlingsson_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	out->worth = ACCT_PROVED;
	return split(erlingsson, s, n, delta, out, why);
}

/* A closed form in the parameters of the published reduction. */
typedef enum acct_rc pair_fn(double p, double beta, double q, uint64_t n, double delta, double *eps);

static enum acct_rc of_pair(
	pair_fn *form, const struct acct_spec *s, double delta, double *epsilon, const char **why)
{
	enum acct_rc rc = acct_method_local(s, false, why);

	if (!rc && (!(s->p > 1 && s->p < INFINITY) || s->participants < 2))
		return acct_fault(why, "it needs a pair (p, beta, q) with finite p, and two participants");
	/* beta of a pair may be an ulp above (p-1)/(p+1), the largest that closed forms take: lower it to
	 * that */
	double most = (s->p - 1) / (s->p + 1);

	return rc ? rc
		  : conditioned(form(s->p, fmin(s->beta, most), fmax(s->q, 1 + s->beta), s->participants,
					delta, epsilon),
			    "its conditions on (p, beta, q, n, delta) are not met", why);
}

static enum acct_rc closed(const struct acct_spec *s, double delta, double *epsilon, const char **why)
{
	return of_pair(acct_basic_closed, s, delta, epsilon, why);
}

static enum acct_rc closed_tight(const struct acct_spec *s, double delta, double *epsilon, const char **why)
{
	return of_pair(acct_basic_closed_tight, s, delta, epsilon, why);
}

static enum acct_rc published_form(one_round_fn *one, const struct acct_spec *s, size_t n, double delta,
	struct acct_method_answer *out, const char **why)
{
	enum acct_rc rc = split(one, s, n, delta, out, why);

	out->worth = ACCT_PAPER_VALUE;
	out->note = "it rests on the published reduction, which is below the exact loss in places";
	return rc;
}

enum acct_rc acct_closed_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	return published_form(closed, s, n, delta, out, why);
}

enum acct_rc acct_closed_tight_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	return published_form(closed_tight, s, n, delta, out, why);
}

static enum acct_rc liu(const struct acct_spec *s, double delta, double *epsilon, const char **why)
{
	struct acct_gspa_class cls[1 + ACCT_MAX_LEVELS];
	size_t size;
	enum acct_rc rc = acct_method_classes(s, cls, &size, why);

	return rc ? rc : acct_gspa_liu(cls, size, delta, epsilon, why);
}

enum acct_rc acct_liu_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	enum acct_rc rc = split(liu, s, n, delta, out, why);

	out->worth = ACCT_PAPER_VALUE;
	out->note = "said of Laplace noise that is cut off, each participant with a guarantee of his own";
	return rc;
}
