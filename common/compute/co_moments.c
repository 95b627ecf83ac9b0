/* co_moments.c (co_map.h) - sums of products, and the nearest of several centroids. */
#include <math.h>
#include <string.h>

#include "co_clip.h"
#include "co_map.h"
#include "co_want.h"

static uint64_t triangle(uint32_t features)
{
	return ((uint64_t)features + 1) * ((uint64_t)features + 2) / 2;
}

static enum cm_rc moments_fits(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	uint64_t all = triangle(p->features) + (uint64_t)p->classes * (p->features + 1);

	return co_want_dimension(q, p->part == CO_PART_MEAN ? p->features : all, err);
}

static enum cm_rc moments_load(struct co_maker *m, struct cm_err *err)
{
	uint32_t found = 0;
	enum cm_rc rc = co_want_scaling(m, 0, &found, err);

	return rc == CM_OK ? co_want_no_more(m, found, err) : rc;
}

/* Write the upper triangle of f f^T into v; returns the end of it. */
static double *products(const double *f, uint32_t n, double *v)
{
	for (uint32_t i = 0; i < n; i++) {
		*v++ = f[i] * f[i];
		for (uint32_t k = i + 1; k < n; k++)
			*v++ = f[i] * f[k] * sqrt(2);
	}
	return v;
}

static void moments_apply(struct co_maker *m, const double *x, uint32_t label, uint32_t *at)
{
	uint32_t n = m->p.features;
	double *f = m->p.part == CO_PART_MEAN ? m->v : m->f, *v = m->v;
	double most = m->p.label ? m->p.clip * sqrt(0.5) : m->p.clip;

	(void)at;
	co_scale(m, 0, x, f);
	if (m->p.part == CO_PART_MEAN) {
		co_cut(m->v, n, most);
		return;
	}
	f[n] = 1;
	v = products(f, n + 1, v);
	co_cut(m->v, (size_t)(v - m->v), most);
	if (!m->p.label)
		return;
	memset(v, 0, (size_t)m->p.classes * (n + 1) * sizeof *v);
	memcpy(v + (size_t)label * (n + 1), f, (n + 1) * sizeof *v);
	co_cut(v + (size_t)label * (n + 1), n + 1, most);
}

const struct co_row co_moments = {
	.map = { .name = "moments",
		.summary = "products of the features, and of features and label",
		.kind = QY_VECTOR,
		.keys = CO_KEY_LABEL | CO_KEY_PART,
		.payload = CO_PAYLOAD_MAYBE },
	.fits = moments_fits,
	.load = moments_load,
	.apply = moments_apply,
};

static enum cm_rc nearest_fits(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	if (q->dimension % (p->features + 1) == 0)
		return CM_OK;
	return cm_fail(err, CM_EDATA, "nearest-centroid: a dimension of K (m + 1) is wanted, with m = %lu",
		(unsigned long)p->features);
}

static enum cm_rc nearest_load(struct co_maker *m, struct cm_err *err)
{
	enum cm_rc rc;

	m->shape[0] = m->q->dimension / (m->p.features + 1);
	rc = co_want_matrix(m, "centroids", m->shape[0], m->p.features, &m->array[0], err);
	return rc == CM_OK ? co_want_no_more(m, 1, err) : rc;
}

static void nearest_apply(struct co_maker *m, const double *x, uint32_t label, uint32_t *at)
{
	uint32_t n = m->p.features, nearest = 0;
	double least = INFINITY, *v;

	(void)label;
	(void)at;
	for (uint32_t k = 0; k < m->shape[0]; k++) {
		double sum = 0;

		for (uint32_t i = 0; i < n; i++) {
			double away = x[i] - (double)py_float(m->array[0], k * n + i);

			sum += away * away;
		}
		if (sum < least) {
			least = sum;
			nearest = k;
		}
	}
	memset(m->v, 0, m->q->dimension * sizeof *m->v);
	v = m->v + (size_t)nearest * (n + 1);
	for (uint32_t i = 0; i < n; i++)
		v[i] = x[i] - (double)py_float(m->array[0], nearest * n + i);
	v[n] = 1;
	co_cut(v, n + 1, m->p.clip);
}

const struct co_row co_nearest_centroid = {
	.map = { .name = "nearest-centroid",
		.summary = "which centroid is nearest, and where from it the features are",
		.kind = QY_VECTOR },
	.fits = nearest_fits,
	.load = nearest_load,
	.apply = nearest_apply,
};
