/* acct_flame.c - proved bounds for vectors that are sent one coordinate per message. */
#include "acct_flame.h"

#include <math.h>

#include "acct_binomial.h"
#include "acct_ends.h"
#include "acct_fault.h"
#include "acct_flame_slot.h"

/* part of epsilon that may be given up to have fewer stretches; more if they would still be too many */
#define GRANTED        2e-3
#define MOST_STRETCHES 12

enum acct_rc acct_flame_simple_round(const struct acct_flame_slot *slot, uint64_t length, uint64_t users,
	struct acct_round *r, const char **why)
{
	struct acct_flame_sparse s = { *slot, users, users, length, 1 };
	enum acct_rc rc = acct_flame_check_sparse(&s, why);

	if (rc)
		return rc;
	if (length > ACCT_MAX_COUNT)
		return acct_fault(why, "a vector sent whole may have at most 1000000 coordinates");
	*r = (struct acct_round){ .others = users - 1, .count = length };
	return acct_flame_full(slot, r, why);
}

/* Half of `failure` is for indices that are chosen too often, half for messages outside the blanket:
 * another user has such a message under an index with chance sent/length * outside, regardless of the
 * user's data. */
enum acct_rc acct_flame_double_round(
	const struct acct_flame_sparse *s, double failure, struct acct_round *r, const char **why)
{
	double d = (double)s->length, rate = (double)s->sent / d;
	enum acct_rc rc = acct_flame_check_sparse(s, why);

	if (rc)
		return rc;
	if (!(failure > 0 && failure < 1))
		return acct_fault(why, "the chance of failure must be above 0 and below 1");
	if (s->length % s->sent != 0)
		return acct_fault(why, "the coordinates sent must divide the vector's");
	if (!acct_flame_fits(s, failure / 2))
		return acct_fault(why, "padding is too small: an index may be chosen more often");
	double outside = acct_binomial_last(
		(double)s->users - 1, rate * acct_flame_outside(&s->slot), log(failure / 2 / d));
	double blanket = d / (double)s->sent * ((double)s->padded - outside);
	if (!(blanket >= 1))
		return acct_fault(why, "padding is too small: an index may have no blanket message");
	if (blanket > (double)ACCT_MAX_REPORTS)
		return acct_fault(why, "padding times length over sent must be at most 1e12");
	*r = (struct acct_round){ .dummies = (uint64_t)blanket - 1, .count = s->sent };
	return acct_flame_full(&s->slot, r, why);
}

enum acct_rc acct_flame_double_epsilon(const struct acct_flame_sparse *s, double failure, double delta,
	struct acct_bound *epsilon, const char **why)
{
	struct acct_round r;
	enum acct_rc rc;

	if ((rc = acct_flame_check_delta(delta, why)) || (rc = acct_flame_double_round(s, failure, &r, why)))
		return rc;
	if (!(failure < delta))
		return acct_fault(why, "the chance of failure must be below delta");
	return acct_epsilon(&r, 1, (delta - failure) * (1 - 4 * ACCT_FLAME_ULP), epsilon);
}

/* SS-Topk where the two records have some top indices in common: each common index costs a full round, one
 * input against another, each other index two half rounds, an input against a dummy. */
struct topk {
	struct acct_round half, full; /* the two kinds of round; their counts are not set */
	double k;
	double halves; /* about so many pairs of half rounds have the variance of loss of one full round */
	/* part of epsilon that a stretch may give up */
	double granted;
};

static double variance(const struct acct_round *r)
{
	double sum = 0;

	for (size_t j = 0; j < r->cells; j++)
		sum += r->cell[j].omega * (r->cell[j].u - r->cell[j].v) * (r->cell[j].u - r->cell[j].v);
	return sum;
}

/* Choose the stretch of numbers a of common indices that ends at `most`; returns its least number.
 * Together it is charged `most` full rounds and the half rounds of its least number.  It is as long as
 * should fit under k common indices and what is granted: most + (k - least)/halves <= k (1 + 2 granted),
 * since variances add up. */
static double stretch(const struct topk *t, double most)
{
	double least = ceil(t->k - t->halves * (t->k - most + 2 * t->granted * t->k));

	return fmin(most, fmax(0, least));
}

static int stretches(const struct topk *t)
{
	int n = 0;

	for (double most = t->k - 1; most >= 0 && n <= MOST_STRETCHES; most = stretch(t, most) - 1)
		n++;
	return n;
}

/* Cover all numbers of common indices below k.  A stretch is dominated by its most full rounds and its most
 * half rounds.  However stretches are chosen, the largest epsilon over them holds. */
static enum acct_rc fewer_common(
	const struct acct_flame_sparse *s, double delta, struct acct_bound *epsilon, const char **why)
{
	struct topk t = { .k = (double)s->sent, .granted = GRANTED };
	enum acct_rc rc;

	if ((rc = acct_flame_half(&s->slot, &t.half, why)) ||
		(rc = acct_flame_full_coarse(&s->slot, &t.full, why)))
		return rc;
	t.half.others = t.full.others = s->padded - 1;
	t.halves = variance(&t.full) / (2 * variance(&t.half));
	while (stretches(&t) > MOST_STRETCHES)
		t.granted *= 1.5;
	for (double most = t.k - 1, least; most >= 0; most = least - 1) {
		struct acct_round r[2] = { t.half, t.full };
		struct acct_bound e;

		least = stretch(&t, most);
		r[0].count = 2 * (uint64_t)(t.k - least);
		r[1].count = (uint64_t)most;
		if ((rc = acct_epsilon(r, most > 0 ? 2 : 1, delta, &e)))
			return rc;
		epsilon->upper = acct_larger(epsilon->upper, e.upper);
	}
	return ACCT_OK;
}

enum acct_rc acct_flame_topk_epsilon(
	const struct acct_flame_sparse *s, double delta, struct acct_bound *epsilon, const char **why)
{
	bool overflows = s->users > s->padded;
	struct acct_round r = { .count = overflows ? 2 * s->sent : s->sent };
	struct acct_bound e;
	enum acct_rc rc;

	if ((rc = acct_flame_check_sparse(s, why)) || (rc = acct_flame_check_delta(delta, why)))
		return rc;
	r.others = s->padded - 1;
	if ((rc = acct_flame_full(&s->slot, &r, why)) || (rc = acct_epsilon(&r, 1, delta, &e)))
		return rc;
	if (!overflows && (rc = fewer_common(s, delta, &e, why)))
		return rc;
	*epsilon = e;
	return ACCT_OK;
}
