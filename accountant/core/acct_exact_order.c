/* acct_exact_order.c - points of the curve of a listed round, by summing or by searching sorted sums. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_exact.h"

struct outcome {
	double loss, p, q;
};

/* p[i], q[i]: mass of the i largest losses; down: of the i least, unless the list is symmetric. */
struct acct_order {
	size_t size;
	double *loss; /* decreasing */
	double *p, *q, *down_p, *down_q;
};

void acct_order_free(struct acct_order *o)
{
	if (!o)
		return;
	free(o->loss);
	free(o->p);
	free(o->q);
	free(o->down_p);
	free(o->down_q);
	free(o);
}

static int by_loss(const void *a, const void *b)
{
	double x = ((const struct outcome *)a)->loss, y = ((const struct outcome *)b)->loss;

	return (x < y) - (x > y);
}

static double loss_of(double p, double q)
{
	double r = p / q;

	return r > DBL_MIN && r < INFINITY ? log(r) : log(p) - log(q);
}

static bool add_up(
	struct acct_order *o, const struct outcome *at, size_t from, int step, double **p, double **q)
{
	long double sum_p = 0, sum_q = 0;

	*p = calloc(o->size + 1, sizeof **p);
	*q = calloc(o->size + 1, sizeof **q);
	if (!*p || !*q)
		return false;
	for (size_t i = 0, k = from; i < o->size; i++, k += (size_t)step) {
		(*p)[i + 1] = (double)(sum_p += at[k].p);
		(*q)[i + 1] = (double)(sum_q += at[k].q);
	}
	return true;
}

enum acct_rc acct_exact_order(struct acct_curve *c)
{
	struct outcome *at = calloc(c->outcomes, sizeof *at);
	struct acct_order *o = calloc(1, sizeof *o);
	enum acct_rc rc = ACCT_ENOMEM;

	if (!at || !o)
		goto out;
	for (size_t i = 0; i < c->outcomes; i++) /* an outcome that cannot happen is not listed */
		if (c->p[i] > 0 || c->q[i] > 0)
			at[o->size++] = (struct outcome){ loss_of(c->p[i], c->q[i]), c->p[i], c->q[i] };
	qsort(at, o->size, sizeof *at, by_loss);
	o->loss = calloc(o->size + 1, sizeof *o->loss);
	if (!o->loss || !add_up(o, at, 0, 1, &o->p, &o->q))
		goto out;
	for (size_t i = 0; i < o->size; i++)
		o->loss[i] = at[i].loss;
	if (!c->list.symmetric && !add_up(o, at, o->size - 1, -1, &o->down_p, &o->down_q))
		goto out;
	free(c->p);
	free(c->q);
	c->p = c->q = NULL;
	c->order = o;
	o = NULL;
	rc = ACCT_OK;
out:
	free(at);
	acct_order_free(o);
	return rc;
}

/* How many losses are above eps; swapped: below -eps. */
static size_t above(const struct acct_order *o, double eps, bool swap)
{
	size_t low = 0, high = o->size;

	while (low < high) {
		size_t i = (low + high) / 2;

		if (swap ? -o->loss[o->size - 1 - i] > eps : o->loss[i] > eps)
			low = i + 1;
		else
			high = i;
	}
	return low;
}

/* The test {loss > eps} gives a lower bound whatever outcomes rounding moved over its edge; an outcome on the
 * wrong side has a loss within `edge` of eps. */
static void search(const struct acct_curve *c, double eps, bool swap, struct acct_point *at)
{
	const struct acct_order *o = c->order;

	swap = swap && !c->list.symmetric;
	const double *p = swap ? o->down_q : o->p, *q = swap ? o->down_p : o->q;
	double a = exp(-eps) / (1 + exp(-eps)), b = 1 / (1 + exp(-eps)), edge = 16 * DBL_EPSILON * (1 + eps);
	size_t i = above(o, eps, swap), j = above(o, eps - edge, swap);
	double size = a * p[i] + b * q[i], near = a * p[j] + b * q[j];
	double rounding = c->test_error + 4 * DBL_EPSILON + (double)o->size * (double)LDBL_EPSILON;
	double sum = eps < 1 ? a * (p[i] - q[i] - expm1(eps) * q[i]) : a * p[i] - b * q[i];

	at->lo = sum * (1 - c->mass_error) - rounding * size;
	at->hi = sum * (1 + c->mass_error) + rounding * size + 2 * edge * near + a * c->missed;
	at->slope = (p[i] + q[i]) / 2;
	at->slope_err = at->slope * c->mass_error;
}

void acct_exact_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at)
{
	const double *p = swap ? c->q : c->p, *q = swap ? c->p : c->q;
	double a = exp(-eps) / (1 + exp(-eps)), b = 1 / (1 + exp(-eps)), gain = expm1(eps);
	double sum = 0, mass = 0;

	if (c->order) {
		search(c, eps, swap, at);
		return;
	}
	for (size_t i = 0; i < c->outcomes; i++) {
		double x = eps < 1 ? a * (p[i] - q[i] - gain * q[i]) : a * p[i] - b * q[i];

		if (x > 0) {
			sum += x;
			mass += p[i] + q[i];
		}
	}
	at->lo = sum * (1 - c->mass_error);
	at->hi = sum * (1 + c->mass_error) + a * c->missed; /* (aP - bQ)+ <= a P */
	at->slope = mass / 2;
	at->slope_err = at->slope * c->mass_error;
}
