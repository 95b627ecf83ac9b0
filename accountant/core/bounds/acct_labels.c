/* acct_labels.c - bounds rounds of bits with public labels: doc/imitation.md.
 *
 * Each of the n participants but the victim is imagined to be "thin" with chance eta.  A thin participant's
 * bit is a fair coin; any other's chance of a one is within [Q', P'], where P = eta/2 + (1-eta) P'; together
 * this is a bit with a chance within [Q, P].  The victim imitates a thin participant.  Given that B > 0
 * others are thin, its bit may be at any of the places of the other n-B. */
#include "acct_labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "acct_places.h"
#include "acct_thin.h"

double acct_labels_largest(double places, double fair, double eps0, double eps, double most, double *work)
{
	double p = 1 / (1 + exp(-eps0)), q = exp(-eps0) / (1 + exp(-eps0));
	double a = q * exp(eps) * expm1(eps0 - eps), b = q * expm1(eps0 + eps);
	struct acct_place kind[3];
	struct acct_places of = { .kinds = 2, .kind = kind, .free = places, .fixed = fair };

	if (!(a > 0 && places >= 1))
		return places >= 1 ? 0 : INFINITY;
	const double chance[3][2] = { { p, q }, { q, p }, { 0.5, 0.5 } },
		     worth[3][2] = { { a / p, -b / q }, { a / q, -b / p }, { 2 * a, -2 * b } };
	for (size_t i = 0; i < 3; i++)
		kind[i] = (struct acct_place){ 2, chance[i], worth[i] };
	return acct_places_largest(&of, most, work);
}

struct question {
	const struct acct_bit_facts *bits;
	double n, eps, most, work;
};

/* Bound delta of `n` bits whose chances are within [Q, P] by their blanket, which labels do not change. */
static double by_cells(struct question *q, double n, double eps0)
{
	struct acct_round *r = calloc(1, sizeof *r);
	double delta = 1;

	if (r && !acct_cells_generic(eps0, r, NULL))
		delta = acct_thin_cells(r, n, q->eps, q->most, &q->work);
	free(r);
	return delta;
}

static bool bounds(void *ctx, const struct acct_thin *t, double *good, double *bad)
{
	struct question *q = ctx;
	double keep = q->bits->epsilon0, zero = exp(-keep) / (1 + exp(-keep)), one = 1 / (1 + exp(-keep)),
	       eps0, fair;

	if (!(zero > t->eta))
		return false;
	eps0 = (log(one - t->eta / 2) - log(zero - t->eta / 2)) * (1 + 8 * DBL_EPSILON);
	fair = fmax(0, q->bits->coins - t->few);
	*good = acct_labels_largest(q->n - t->few - fair, fair, eps0, q->eps, q->most, &q->work);
	if (bad)
		*bad = by_cells(q, q->n - t->many, eps0);
	return true;
}

double acct_labels_at(
	const struct acct_bit_facts *b, struct acct_guess guess, double eps, double most, double *hi)
{
	double share = exp(-eps) / (1 + exp(-eps)), best;
	struct question q = { b, 1 + b->others + b->coins, eps, most, 100 };

	*hi = share;
	if (eps >= b->epsilon0) {
		*hi = 0;
		return q.work;
	}
	best = acct_thin_least(
		q.n, 2 * exp(-b->epsilon0) / (1 + exp(-b->epsilon0)), guess, bounds, &q, most, &q.work);
	*hi = fmin(share, best * share * (1 + 1e-12));
	return q.work;
}
