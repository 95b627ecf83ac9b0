/* acct_gspa_delta.c (acct_gspa.h) - computes delta and epsilon of one round of personalised participants of
 * two symbols, and the bound for randomizers of any kind. */
#include <math.h>
#include <stdlib.h>

#include "acct_ends.h"
#include "acct_fault.h"
#include "acct_gspa_users.h"

#define ULP 0x1p-53

static enum acct_rc check_epsilon(double epsilon, const char **why)
{
	if (!(epsilon >= 0 && epsilon <= 700))
		return acct_fault(why, "epsilon must be from 0 to 700");
	return ACCT_OK;
}

static enum acct_rc check_delta(double delta, const char **why)
{
	if (!(delta > 0 && delta < 1))
		return acct_fault(why, "delta must be above 0 and below 1");
	return ACCT_OK;
}

/* A question about a pair: epsilon at delta, or delta at epsilon. */
struct question {
	int of_epsilon;
	double given;
};

/* An upper bound on delta at epsilon by the victim's own guarantee: delta_v + (1 - delta_v)(a1 - E a0)+,
 * where its message is the true symbol with chance a1, the other with a0. */
static double local(double epsilon_v, double delta_v, double epsilon)
{
	double rest = acct_larger(0, -expm1(epsilon - epsilon_v) / (1 + exp(-epsilon_v)));

	return acct_upper_end(
		(delta_v + (1 - delta_v) * rest) * (1 + 16 * ULP) + (rest > 0 ? 4 * ULP : 0), 1);
}

/* An upper bound on delta after `count` rounds, by basic composition of the victim's own guarantee. */
static double local_composed(const struct acct_gspa_class *v, double count, double epsilon)
{
	if (count <= 1)
		return local(v->epsilon, v->delta, epsilon);
	if (epsilon < count * v->epsilon * (1 + 4 * ULP))
		return 1;
	return -expm1(count * log1p(-v->delta)) * (1 + 16 * ULP);
}

/* Answer a question by the sum over numbers of messages; if that is too long, by the core, from the round r
 * whose cells are the victim's and whose levels are the shares. */
static enum acct_rc answer(struct acct_gspa_share *share, size_t n, const struct acct_gspa_victim *v,
	struct question ask, struct acct_round *r, struct acct_bound *out)
{
	size_t distinct = acct_gspa_join(share, n);
	struct acct_gspa_count c;
	enum acct_rc rc = acct_gspa_count_init(&c, share, distinct);

	if (!rc)
		*out = ask.of_epsilon ? acct_gspa_count_epsilon(&c, v, ask.given)
				      : acct_gspa_count_delta(&c, v, ask.given);
	acct_gspa_count_fini(&c);
	if (rc != ACCT_ELIMIT)
		return rc;
	r->defect = v->defect;
	r->count = 1;
	acct_gspa_levels(share, distinct, r);
	rc = ask.of_epsilon ? acct_epsilon(r, 1, ask.given, out) : acct_delta(r, 1, ask.given, out);
	if (!rc && ask.of_epsilon && ask.given >= v->defect)
		out->upper = fmin(out->upper, v->most);
	else if (!rc && !ask.of_epsilon && v->most < INFINITY)
		out->upper = fmin(out->upper, local(v->most, v->defect, ask.given));
	return rc;
}

static enum acct_rc personal(const struct acct_gspa_class *cls, size_t n, size_t victim, struct question ask,
	struct acct_bound *out, const char **why)
{
	struct acct_gspa_users u;
	struct acct_round r = { 0 };
	enum acct_rc rc = acct_gspa_users_init(&u, cls, n, 2, victim, why);

	if (rc)
		return rc;
	struct acct_gspa_victim v = acct_gspa_victim(u.epsilon, u.delta);
	acct_gspa_cells(u.epsilon, 2, &r);
	rc = answer(u.share, n, &v, ask, &r, out);
	acct_gspa_users_fini(&u);
	return rc;
}

enum acct_rc acct_gspa_delta(const struct acct_gspa_class *cls, size_t n, size_t victim, double epsilon,
	struct acct_bound *delta, const char **why)
{
	enum acct_rc rc = check_epsilon(epsilon, why);

	return rc ? rc : personal(cls, n, victim, (struct question){ 0, epsilon }, delta, why);
}

enum acct_rc acct_gspa_epsilon(const struct acct_gspa_class *cls, size_t n, size_t victim, double delta,
	struct acct_bound *epsilon, const char **why)
{
	enum acct_rc rc = check_delta(delta, why);

	return rc ? rc : personal(cls, n, victim, (struct question){ 1, delta }, epsilon, why);
}

static enum acct_rc shift(const struct acct_gspa_class *cls, size_t n, struct question ask,
	struct acct_bound *out, const char **why)
{
	static const struct acct_gspa_victim v = { 1, 0, INFINITY, 0 };
	struct acct_gspa_users u;
	struct acct_round r = { .cells = 2, .cell = { { 0.5, 2, 0 }, { 0.5, 0, 2 } } };
	enum acct_rc rc = acct_gspa_users_init(&u, cls, n, 2, ACCT_GSPA_ANYBODY, why);

	if (rc)
		return rc;
	rc = u.delta > 0 ? acct_fault(why, "the shift pair covers no local delta above 0")
			 : answer(u.share, n, &v, ask, &r, out);
	acct_gspa_users_fini(&u);
	return rc;
}

enum acct_rc acct_gspa_shift_epsilon(const struct acct_gspa_class *cls, size_t n, double delta,
	struct acct_bound *epsilon, const char **why)
{
	enum acct_rc rc = check_delta(delta, why);

	return rc ? rc : shift(cls, n, (struct question){ 1, delta }, epsilon, why);
}

enum acct_rc acct_gspa_shift_delta(const struct acct_gspa_class *cls, size_t n, double epsilon,
	struct acct_bound *delta, const char **why)
{
	enum acct_rc rc = check_epsilon(epsilon, why);

	return rc ? rc : shift(cls, n, (struct question){ 0, epsilon }, delta, why);
}

/* Compute the shares of general randomizers, e^{-eps_i} (1 - delta_v).  Returns the chance that the law of
 * some participant had to be changed for that (acct_gspa.h, acct_gspa_general_delta). */
static double repaired(const struct acct_gspa_class *victim, const struct acct_gspa_class *cls, size_t n,
	struct acct_gspa_share *share)
{
	double repair = 0;

	for (size_t i = 0; i < n; i++) {
		double x = exp(-cls[i].epsilon);

		share[i] = (struct acct_gspa_share){ x * (1 - victim->delta),
			-expm1(-cls[i].epsilon) + x * victim->delta, cls[i].count };
		repair += (double)cls[i].count * x * cls[i].delta;
	}
	return repair * (1 + (8 + (double)n) * ULP);
}

enum acct_rc acct_gspa_general_delta(const struct acct_gspa_class *victim, const struct acct_gspa_class *cls,
	size_t n, uint64_t count, double epsilon, double *delta, const char **why)
{
	struct acct_gspa_class alone = *victim;
	struct acct_bound d;
	enum acct_rc rc;

	alone.count = 1;
	if ((rc = check_epsilon(epsilon, why)) || (rc = acct_gspa_check(&alone, 1, 1, why)) ||
		(rc = acct_gspa_check(cls, n, 1, why)))
		return rc;
	if (count == 0 || count > ACCT_MAX_COUNT)
		return acct_fault(why, "count must be from 1 to 1000000");
	struct acct_gspa_share *share = malloc(n * sizeof *share);
	if (!share)
		return ACCT_ENOMEM;
	double repair = repaired(victim, cls, n, share);
	struct acct_gspa_victim v = acct_gspa_victim(victim->epsilon, victim->delta);
	struct acct_round r = { .count = count, .defect = victim->delta };
	acct_gspa_cells(victim->epsilon, 2, &r);
	if (count == 1) {
		rc = answer(share, n, &v, (struct question){ 0, epsilon }, &r, &d);
	} else {
		acct_gspa_levels(share, acct_gspa_join(share, n), &r);
		rc = acct_delta(&r, 1, epsilon, &d);
	}
	free(share);
	if (rc)
		return rc;
	double more = (1 + exp(epsilon)) * (double)count * repair * (1 + 16 * ULP);
	*delta = acct_upper_end(
		(d.upper + more) * (1 + 2 * ULP), local_composed(victim, (double)count, epsilon));
	return ACCT_OK;
}
