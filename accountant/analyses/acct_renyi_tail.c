/* acct_renyi_tail.c (acct_renyi_parts.h) - bounds how fast a curve falls where it is too small for a
 * double.
 *
 * H(y) = sum omega_j x_j P(x_j + S' > 0), where S' is the sum over the other messages (doc/accounting.md,
 * 4.2).  So by Chernoff H <= sum_{x_j > 0} omega_j x_j e^{theta x_j} prod B_i^{count_i} C^{dummies} for
 * every theta > 0.  This is convex in theta except for a factor that hardly matters. */
#include <float.h>

#include "acct_renyi_parts.h"

#define MOST_EXPONENT 600.0

struct tail {
	const struct acct_list *l;
	double x[ACCT_MAX_CELLS], largest;
};

/* The log of the bound at theta, rounded up: omega is known to 128 ulp, x to a few. */
static double at(const struct tail *t, double theta)
{
	double sum = 0, size = 0, factor = 0, slip = (144 + (double)t->l->cells) * DBL_EPSILON, log_h, err;

	for (size_t j = 0; j < t->l->cells; j++) {
		double omega = t->l->cell[j].omega, z = theta * t->x[j], e = expm1(z);

		sum += omega * e;
		size += omega * (fabs(e) + (e + 1 > 0 ? fabs(z) * (e + 1) : 0));
		factor += omega * fmax(0, t->x[j]) * (e + 1);
	}
	log_h = factor > 0 ? log(factor) : -INFINITY;
	err = slip * (1 + MOST_EXPONENT);
	for (size_t i = 0; i < t->l->groups; i++) {
		const struct acct_group *g = &t->l->group[i];
		double base = 1 + g->share * sum;

		log_h += g->count * log1p(g->share * sum);
		err += g->count * slip * (g->share * size / base + fabs(log(base)));
	}
	double base = 1 + sum / t->l->blanket;
	if (t->l->dummies > 0) {
		log_h += t->l->dummies * log1p(sum / t->l->blanket);
		err += t->l->dummies * slip * (size / t->l->blanket / base + fabs(log(base)));
	}
	return log_h + err;
}

/* An upper bound on log H at eps that follows from the cells: the least over theta. */
static double of_cells(const struct acct_list *l, double eps, bool swap)
{
	double a = exp(-eps) / (1 + exp(-eps)), b = 1 / (1 + exp(-eps)), gain = expm1(eps), best = log(a);
	struct tail t = { .l = l };

	for (size_t j = 0; j < l->cells; j++) {
		double u = swap ? l->cell[j].v : l->cell[j].u, v = swap ? l->cell[j].u : l->cell[j].v;

		t.x[j] = eps < 1 ? a * ((u - v) - gain * v) : a * u - b * v;
		t.largest = fmax(t.largest, t.x[j]);
	}
	if (!(t.largest > 0))
		return -INFINITY;
	double high = MOST_EXPONENT / t.largest, low = high * 1e-9;
	/* search for the theta with the least bound by thirds, on a logarithmic scale */
	for (int i = 0; i < 48; i++) {
		double step = cbrt(high / low), one = low * step, two = one * step, p = at(&t, one),
		       q = at(&t, two);

		best = fmin(best, fmin(p, q)); /* a NaN is left out by fmin */
		if (p < q || isnan(q))
			high = two;
		else
			low = one;
	}
	return best;
}

double acct_renyi_log_tail(const struct acct_list *l, double eps, bool swap)
{
	double g = l->sampling, y = tanh(eps / 2);

	if (l->event != ACCT_SHUFFLED) /* for other events use the bound that always holds, H <= (1-y)/2 */
		return -eps - log1p(exp(-eps)) + 4 * DBL_EPSILON;
	if (!(g < 1))
		return of_cells(l, eps, swap);
	/* with sampling, H = a H_all at the loss log(1 + (e^eps - 1)/g), a = g + (1-g) y: acct_curve.c */
	double before = eps < 30 ? log1p(expm1(eps) / g) : eps - log(g);
	return log(g + (1 - g) * y) + of_cells(l, before * (1 - 1e-14), swap) + 4 * DBL_EPSILON;
}
