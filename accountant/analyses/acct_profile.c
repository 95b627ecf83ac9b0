/* acct_profile.c - makes privacy curves of distributions, trade-off curves and Renyi curves. */
#include "acct_profile.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_renyi.h"
#include "acct_twofold.h"

#define MOST_EPSILON 690.0
#define SLACK        1e-6
#define RENYI_POINTS 2000u

/* A profile, and the arrays that it points to: the epsilons, and delta in each direction. */
struct owned {
	struct acct_profile profile; /* the first member, so that one pointer points to both */
	double number[];
};

static double *epsilon_of(struct owned *o)
{
	return o->number;
}

static double *delta_of(struct owned *o, int way, size_t room)
{
	return o->number + (size_t)(1 + way) * room;
}

/* Make a profile with arrays for `room` points; both: also for delta with the two inputs exchanged; exact:
 * as in struct acct_profile. */
static struct owned *make(size_t room, bool both, bool exact)
{
	struct owned *o = calloc(1, sizeof *o + (both ? 3 : 2) * room * sizeof *o->number);

	if (!o)
		return NULL;
	o->profile = (struct acct_profile){ .points = room, .epsilon = epsilon_of(o), .exact = exact };
	o->profile.delta[0] = delta_of(o, 0, room);
	if (both)
		o->profile.delta[1] = delta_of(o, 1, room);
	return o;
}

void acct_profile_free(struct acct_profile *p)
{
	free(p);
}

/* Turn computed upper bounds into a curve: clip them to [0, 1], and make them fall, since the least upper
 * bound so far also holds for all larger epsilons. */
static void settle(double *delta, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		delta[i] = delta[i] <= 1 ? delta[i] : 1;
		if (i > 0 && delta[i] > delta[i - 1])
			delta[i] = delta[i - 1];
	}
}

/* The mass of infinite loss, plus what is missing to a sum of 1; NAN: the masses are no distribution. */
static double infinite_of(const struct acct_pmf *m)
{
	struct acct_twofold all = { m->infinite, 0 };

	if (!(m->infinite >= 0 && m->infinite <= 1) || m->size < 1 || m->size > ACCT_MAX_POINTS)
		return NAN;
	for (size_t i = 0; i < m->size; i++) {
		if (!(m->p[i] >= 0))
			return NAN;
		acct_twofold_add(&all, m->p[i]);
	}
	if (!(all.sum <= 1 + SLACK))
		return NAN;
	/* rounding of each mass by at most half an ulp of itself may make their sum differ from 1 by half
	 * an ulp */
	double missing = (1 - all.sum) - all.low, rounding = 4 * DBL_EPSILON;
	return fmin(1, m->infinite + (missing > rounding ? missing + rounding : 0));
}

/* Set delta(k step) = sum over j > k of p_j (1 - e^((k-j) step)) for k = 0..n-1, from the largest k down:
 * with A the mass of losses above k, delta_k = e^-step delta_(k+1) + (1 - e^-step) A.  Every term is
 * positive, so nothing cancels. */
static void sum_losses(const struct acct_pmf *m, double step, double infinite, double *delta, size_t n)
{
	double above = 0, sum = 0, keep = exp(-step), gain = -expm1(-step);
	/* what the relative errors of all steps' powers and operations add up to */
	double up = 1 + ((double)(m->lower > 0 ? m->lower : 0) + (double)m->size + 16) * 8 * DBL_EPSILON;

	/* 1 - keep may exceed gain by an ulp of 1 */
	gain += DBL_EPSILON;
	for (long k = m->lower + (long)m->size - 1; k >= 0; k--) {
		/* from here on `above` is the mass of losses above k */
		if (k < (long)n)
			delta[k] = (infinite + sum) * up;
		if (k >= m->lower)
			above += m->p[k - m->lower];
		sum = keep * sum + gain * above;
	}
	for (long k = m->lower + (long)m->size > 0 ? m->lower + (long)m->size : 0; k < (long)n; k++)
		delta[k] = infinite;
	settle(delta, n);
}

enum acct_rc acct_profile_of_pmf(
	double step, const struct acct_pmf *remove, const struct acct_pmf *add, struct acct_profile **out)
{
	const struct acct_pmf *way[2] = { remove, add };
	double infinite[2] = { 0, 0 };
	long last = 0;

	if (!(step > 0 && step <= MOST_EPSILON))
		return ACCT_EDOMAIN;
	for (int i = 0; i < (add ? 2 : 1); i++) {
		infinite[i] = infinite_of(way[i]);
		if (isnan(infinite[i]) || way[i]->lower > (long)ACCT_MAX_POINTS ||
			way[i]->lower < -(long)ACCT_MAX_POINTS)
			return ACCT_EDOMAIN;
		last = way[i]->lower + (long)way[i]->size - 1 > last ? way[i]->lower + (long)way[i]->size - 1
								     : last;
	}
	if (last > (long)floor(MOST_EPSILON / step)) /* the last delta holds for all larger epsilons */
		last = (long)floor(MOST_EPSILON / step);
	size_t n = (size_t)last + 1;
	struct owned *o = n <= ACCT_MAX_POINTS ? make(n, add != NULL, true) : NULL;
	if (!o)
		return n <= ACCT_MAX_POINTS ? ACCT_ENOMEM : ACCT_ELIMIT;
	for (size_t k = 0; k < n; k++)
		epsilon_of(o)[k] = step * (double)k;
	for (int i = 0; i < (add ? 2 : 1); i++)
		sum_losses(way[i], step, infinite[i], delta_of(o, i, n), n);
	*out = &o->profile;
	return ACCT_OK;
}

struct corner {
	/* A test, by its chances of an error of the first kind (x) and of the second kind (y). */
	double x, y;
};

static int by_x(const void *a, const void *b)
{
	const struct corner *p = a, *q = b;

	if (p->x < q->x || p->x > q->x)
		return p->x < q->x ? -1 : 1;
	return (p->y > q->y) - (p->y < q->y);
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Is b above the line from a to c, or on it? */
static bool is_above(const struct corner *a, const struct corner *b, const struct corner *c)
{
	return (b->y - a->y) * (c->x - a->x) >= (c->y - a->y) * (b->x - a->x);
}

/* Keep only the corners of the lower hull of n points that are sorted by x; returns their number. */
static size_t hull(struct corner *c, size_t n)
{
	size_t top = 0;

	qsort(c, n, sizeof *c, by_x);
	for (size_t i = 0; i < n; i++) {
		if (top > 0 && c[i].x <= c[top - 1].x)
			continue; /* of points with equal x, the first is the lowest */
		while (top >= 2 && is_above(&c[top - 2], &c[top - 1], &c[i]))
			top--;
		c[top++] = c[i];
	}
	return top;
}

/* Collect the epsilons at which the curve has corners: the logarithms of the slopes of the hull, in both
 * directions, and 0.  *all becomes false if some corner is beyond the largest epsilon of a profile. */
static size_t bends(const struct corner *c, size_t n, double *epsilon, bool *all)
{
	size_t size = 0, kept = 1;

	epsilon[size++] = 0;
	for (size_t i = 0; i + 1 < n; i++) {
		double slope = fabs(log((c[i].y - c[i + 1].y) / (c[i + 1].x - c[i].x)));

		if (slope > 0 && slope <= MOST_EPSILON)
			epsilon[size++] = slope;
		else
			*all = *all && !(slope > 0);
	}
	qsort(epsilon, size, sizeof *epsilon, by_size);
	for (size_t i = 1; i < size; i++)
		if (epsilon[i] > epsilon[kept - 1])
			epsilon[kept++] = epsilon[i];
	return kept;
}

/* Delta at epsilon in one direction: the most that a test among the corners achieves, 1 - y - e^eps x, or
 * with the inputs exchanged 1 - x - e^eps y. */
static double best(const struct corner *c, size_t n, double epsilon, int way)
{
	double e = exp(epsilon), most = 0;

	for (size_t i = 0; i < n; i++) {
		double x = way ? c[i].y : c[i].x, y = way ? c[i].x : c[i].y;

		double lost = x > 0 ? e * x * (1 - 8 * DBL_EPSILON) : 0;

		most = fmax(most, (1 - y) * (1 + 4 * DBL_EPSILON) - lost);
	}
	return most;
}

enum acct_rc acct_profile_of_trade_off(
	const double *fpr, const double *fnr, size_t n, struct acct_profile **out)
{
	struct corner *c;
	struct owned *o = NULL;
	enum acct_rc rc = ACCT_OK;

	if (n < 1 || n > 10000)
		return n < 1 ? ACCT_EDOMAIN : ACCT_ELIMIT;
	for (size_t i = 0; i < n; i++)
		if (!(fpr[i] >= 0 && fpr[i] <= 1 && fnr[i] >= 0 && fnr[i] <= 1))
			return ACCT_EDOMAIN;
	c = calloc(n + 2, sizeof *c);
	o = make(n + 3, true, true);
	if (!c || !o) {
		rc = ACCT_ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		c[i] = (struct corner){ fpr[i], fnr[i] };
	c[n] = (struct corner){ 0, 1 };
	c[n + 1] = (struct corner){ 1, 0 };
	size_t corners = hull(c, n + 2);
	/* whether all corners are among these epsilons: beyond the last only tests without errors of one
	 * kind are left */
	bool all = true;
	o->profile.points = bends(c, corners, epsilon_of(o), &all);
	for (int way = 0; way < 2; way++) {
		double *delta = delta_of(o, way, n + 3);

		for (size_t i = 0; i < o->profile.points; i++)
			delta[i] = best(c, corners, o->profile.epsilon[i], way);
		if (all)
			delta[o->profile.points - 1] = best(c, corners, INFINITY, way);
		settle(delta, o->profile.points);
	}
	*out = &o->profile;
	o = NULL;
out:
	free(c);
	free(o);
	return rc;
}

/* Log delta at epsilon that follows from one divergence rdp of order alpha, rounded up: (alpha-1)(rdp-eps)
 * - log alpha + alpha log(1 - 1/alpha), Canonne, Kamath, Steinke 2020.  It is written with alpha log(1 -
 * 1/alpha) = (alpha-1) log(1 - 1/alpha) + log(1 - 1/alpha). */
static double log_delta(double alpha, double rdp, double epsilon)
{
	double rate = (alpha - 1) * (rdp - epsilon), shrink = (alpha - 1) * log1p(-1 / alpha) - log(alpha);

	return rate + shrink + 16 * DBL_EPSILON * (1 + (alpha - 1) * (rdp + epsilon) + fabs(shrink));
}

enum acct_rc acct_profile_of_renyi(
	const double *alpha, const double *rdp, size_t n, struct acct_profile **out)
{
	struct owned *o;
	double last = 0;

	if (n < 1)
		return ACCT_EDOMAIN;
	for (size_t i = 0; i < n; i++) {
		double far;

		if (!(alpha[i] > 1 && alpha[i] <= ACCT_MOST_ORDER && rdp[i] >= 0 && rdp[i] < INFINITY))
			return ACCT_EDOMAIN;
		/* at larger epsilons this divergence gives a delta below e^-60 */
		far = rdp[i] + 60 / (alpha[i] - 1);
		last = i == 0 ? far : fmin(last, far);
	}
	o = make(RENYI_POINTS, false, false);
	if (!o)
		return ACCT_ENOMEM;
	double *delta = delta_of(o, 0, RENYI_POINTS);
	last = fmax(1e-9, fmin(MOST_EPSILON, last));
	for (size_t k = 0; k < RENYI_POINTS; k++) {
		double least = 0;

		epsilon_of(o)[k] = last * (double)k / (RENYI_POINTS - 1);
		for (size_t i = 0; i < n; i++)
			least = fmin(least, log_delta(alpha[i], rdp[i], o->profile.epsilon[k]));
		delta[k] = exp(least) * (1 + 8 * DBL_EPSILON);
	}
	settle(delta, RENYI_POINTS);
	*out = &o->profile;
	return ACCT_OK;
}

enum acct_rc acct_profile_of_points(
	const double *epsilon, const double *const delta[2], size_t n, struct acct_profile **out)
{
	struct owned *o = n >= 1 && n <= ACCT_MAX_POINTS ? make(n, delta[1] != NULL, false) : NULL;

	if (!o)
		return n < 1 ? ACCT_EDOMAIN : n > ACCT_MAX_POINTS ? ACCT_ELIMIT : ACCT_ENOMEM;
	memcpy(epsilon_of(o), epsilon, n * sizeof *epsilon);
	for (int way = 0; way < (delta[1] ? 2 : 1); way++)
		memcpy(delta_of(o, way, n), delta[way], n * sizeof *epsilon);
	*out = &o->profile;
	return ACCT_OK;
}

/* With P and Q the laws of the data with record x and with record x', and R that of the data without
 * either: both are one step from R, so P(S) <= e^eps R(S) + d <= e^eps (e^eps Q(S) + d) + d. */
enum acct_rc acct_profile_replaced(const struct acct_profile *p, struct acct_profile **out)
{
	struct owned *o;
	size_t n = 0;

	if (p->points < 1 || !(p->epsilon[0] >= 0))
		return ACCT_EDOMAIN;
	o = make(p->points, false, false);
	if (!o)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < p->points && 2 * p->epsilon[i] <= MOST_EPSILON; i++) {
		double most = fmax(p->delta[0][i], p->delta[1] ? p->delta[1][i] : 0);

		epsilon_of(o)[n] = 2 * p->epsilon[i];
		delta_of(o, 0, p->points)[n++] =
			most * (1 + exp(p->epsilon[i])) * (1 + (16 + 4 * p->epsilon[i]) * DBL_EPSILON);
	}
	o->profile.points = n;
	settle(delta_of(o, 0, p->points), n);
	if (n == 0) {
		free(o);
		return ACCT_EDOMAIN;
	}
	*out = &o->profile;
	return ACCT_OK;
}
