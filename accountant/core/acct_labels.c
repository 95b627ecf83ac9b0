/* acct_labels.c - bits with public labels: doc/binary.md, "Public labels".
 *
 * Each of the others is "thin" with chance eta = L/n: its bit is a fair coin, and else its chance of a one is
 * within [Q', P'], with P = eta/2 + (1-eta) P'.  The victim pretends to be a thin participant.  Given how
 * many are thin, R, it may be any of the n-R others' places, if R > 0. */
#include "acct_labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "acct_ends.h"
#include "acct_invert.h"

#define LEAST_SPREAD 64.0 /* n P Q below which thinning costs more than is won */
#define CERTAIN      250.0

bool acct_labels_help(double participants, double eps0)
{
	double q = exp(-eps0) / (1 + exp(-eps0));

	return participants > 500 && participants * q / (1 + exp(-eps0)) >= LEAST_SPREAD;
}

/* The least whole r with P(Poisson(mean) >= r) <= e^-exponent (Chernoff). */
static double beyond(double mean, double exponent)
{
	double r = ceil(mean) + 1;

	while (r * log(r / mean) - r + mean < exponent)
		r++;
	return r;
}

/* Any blanket bound of `n` bits within [Q, P]: labels change nothing there. */
static double by_cells(double n, double eps0, double eps, double most, double *work)
{
	double share = exp(-eps) / (1 + exp(-eps));
	struct acct_list *l = malloc(sizeof *l);
	struct acct_round *r = calloc(1, sizeof *r);
	struct acct_point at = { .hi = share };

	if (l && r && !acct_cells_generic(eps0, r, NULL)) {
		r->others = (uint64_t)n - 1;
		r->count = 1;
		if (!acct_list_init(l, r, NULL))
			*work += acct_invert_at(l, eps, false, most, &at);
	}
	free(r);
	free(l);
	return acct_upper_end(at.hi / share, 1); /* of delta */
}

struct question {
	double n, coins, eps0, eps, most, work; /* coins: of the n */
};

/* The bound on delta with this L; `left` is the part of it that falls with L. */
static double thinned(struct question *q, double mean, double *left)
{
	double eta = mean / q->n, zero = exp(-q->eps0) / (1 + exp(-q->eps0)), one = 1 / (1 + exp(-q->eps0));
	double few = beyond(mean, mean), many = beyond(mean, CERTAIN), eps0, fair, good, bad;

	*left = 1;
	if (!(zero > eta) || !(many < q->n / 2))
		return 1;
	eps0 = (log(one - eta / 2) - log(zero - eta / 2)) * (1 + 8 * DBL_EPSILON);
	fair = fmax(0, q->coins - few);
	good = acct_labels_largest(q->n - few - fair, fair, eps0, q->eps, q->most, &q->work);
	bad = by_cells(q->n - many, eps0, q->eps, q->most, &q->work);
	*left = (exp((q->n - 1) * log1p(-eta)) + exp(-mean)) * bad * (1 + 1e-9) + exp(-CERTAIN);
	return acct_upper_end(good + *left, 1);
}

double acct_labels_at(const struct acct_bit_facts *b, double eps, double most, double *hi)
{
	double share = exp(-eps) / (1 + exp(-eps)), mean = 16, best = 1;
	struct question q = { 1 + b->others + b->coins, b->coins, b->epsilon0, eps, most, 100 };

	*hi = share;
	if (eps >= b->epsilon0) {
		*hi = 0;
		return q.work;
	}
	/* L is enough where what is left is a thousandth. */
	for (int i = 0; i < 3 && q.work < most; i++) {
		double left, delta = thinned(&q, mean, &left), rest = delta - left;

		best = fmin(best, delta);
		if (!(rest > 0) || (left <= 1e-3 * rest && i > 0) || mean > 200)
			break;
		if (left <= 1e-3 * rest && left >= 1e-6 * rest)
			break;
		mean = fmax(4, mean + log(fmax(left / rest, 1e-12)) + 9);
	}
	*hi = fmin(share, best * share * (1 + 1e-12));
	return q.work;
}
