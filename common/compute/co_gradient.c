/* co_gradient.c (co_map.h) - gradients of the cross-entropy of one example: for a linear model, and for a
 * network with one hidden layer of max(a, 0). */
#include <math.h>

#include "co_clip.h"
#include "co_map.h"
#include "co_want.h"

#define SCALING 2u /* index of the array `mean` among the map's arrays; `scale` is the one after it */
/* e^x counts as 0 below this x: products with it would be subnormal, which is slow */
#define LEAST (-230.0)

static enum cm_rc linear_fits(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	return co_want_dimension(q, (uint64_t)p->classes * (p->features + 1), err);
}

static enum cm_rc linear_load(struct co_maker *m, struct cm_err *err)
{
	uint32_t found = 1;
	enum cm_rc rc = co_want_matrix(m, "weights", m->p.classes, m->p.features + 1, &m->array[0], err);

	if (rc == CM_OK)
		rc = co_want_scaling(m, SCALING, &found, err);
	return rc == CM_OK ? co_want_no_more(m, found, err) : rc;
}

/* Row k of a matrix of floats with n + 1 columns, times (x, 1). */
static double row_times(const struct py_array *a, uint32_t k, const double *x, uint32_t n)
{
	uint32_t at = k * (n + 1);
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)py_float(a, at + i) * x[i];
	return sum + (double)py_float(a, at + n);
}

/* Compute softmax(a (x, 1)) - e_y into e. */
static void errors(
	const struct py_array *a, const double *x, uint32_t n, uint32_t classes, uint32_t y, double *e)
{
	double most = -INFINITY, sum = 0;

	for (uint32_t k = 0; k < classes; k++) {
		e[k] = row_times(a, k, x, n);
		most = fmax(most, e[k]);
	}
	for (uint32_t k = 0; k < classes; k++) {
		e[k] = e[k] - most > LEAST ? exp(e[k] - most) : 0;
		sum += e[k];
	}
	for (uint32_t k = 0; k < classes; k++)
		e[k] = e[k] / sum - (k == y ? 1 : 0);
}

/* Write e (x) (x, 1) into v; returns the end of it. */
static double *outer(const double *e, uint32_t rows, const double *x, uint32_t n, double *v)
{
	for (uint32_t k = 0; k < rows; k++) {
		for (uint32_t i = 0; i < n; i++)
			*v++ = e[k] * x[i];
		*v++ = e[k];
	}
	return v;
}

static void linear_apply(struct co_maker *m, const double *x, uint32_t label, uint32_t *at)
{
	uint32_t n = m->p.features, classes = m->p.classes;

	(void)at;
	co_scale(m, SCALING, x, m->z);
	errors(m->array[0], m->z, n, classes, label, m->f);
	(void)outer(m->f, classes, m->z, n, m->v);
	co_cut(m->v, m->q->dimension, m->p.clip);
}

const struct co_row co_linear_gradient = {
	.map = { .name = "linear-gradient",
		.summary = "gradient of a softmax regression",
		.kind = QY_VECTOR,
		.keys = CO_KEY_LABELED },
	.fits = linear_fits,
	.load = linear_load,
	.apply = linear_apply,
};

/* The number of hidden units, which follows from the query's dimension. */
static uint32_t hidden_of(const struct co_parameters *p, const struct qy_query *q)
{
	uint64_t each = (uint64_t)p->features + 1 + p->classes, rest = p->classes;

	return q->dimension > rest && (q->dimension - rest) % each == 0
		       ? (uint32_t)((q->dimension - rest) / each)
		       : 0;
}

static enum cm_rc network_fits(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	if (hidden_of(p, q) > 0)
		return CM_OK;
	return cm_fail(err, CM_EDATA,
		"network-gradient: a dimension of H (m + 1) + K (H + 1) is wanted, with m = %lu, K = %lu",
		(unsigned long)p->features, (unsigned long)p->classes);
}

static enum cm_rc network_load(struct co_maker *m, struct cm_err *err)
{
	uint32_t found = 2;
	enum cm_rc rc;

	m->shape[0] = hidden_of(&m->p, m->q);
	rc = co_want_matrix(m, "hidden", m->shape[0], m->p.features + 1, &m->array[0], err);
	if (rc == CM_OK)
		rc = co_want_matrix(m, "weights", m->p.classes, m->shape[0] + 1, &m->array[1], err);
	if (rc == CM_OK)
		rc = co_want_scaling(m, SCALING, &found, err);
	return rc == CM_OK ? co_want_no_more(m, found, err) : rc;
}

static void network_apply(struct co_maker *m, const double *x, uint32_t label, uint32_t *at)
{
	uint32_t n = m->p.features, classes = m->p.classes, hidden = m->shape[0];
	double *h = m->f, *e = m->f + hidden, *g = m->g, *v;

	(void)at;
	co_scale(m, SCALING, x, m->z);
	for (uint32_t j = 0; j < hidden; j++)
		h[j] = fmax(row_times(m->array[0], j, m->z, n), 0);
	errors(m->array[1], h, hidden, classes, label, e);
	for (uint32_t j = 0; j < hidden; j++) {
		double sum = 0;

		for (uint32_t k = 0; k < classes; k++)
			sum += (double)py_float(m->array[1], k * (hidden + 1) + j) * e[k];
		g[j] = h[j] > 0 ? sum : 0;
	}
	v = outer(g, hidden, m->z, n, m->v);
	(void)outer(e, classes, h, hidden, v);
	co_cut(m->v, m->q->dimension, m->p.clip);
}

const struct co_row co_network_gradient = {
	.map = { .name = "network-gradient",
		.summary = "gradient of a network with one hidden layer",
		.kind = QY_VECTOR,
		.keys = CO_KEY_LABELED },
	.fits = network_fits,
	.load = network_load,
	.apply = network_apply,
};
