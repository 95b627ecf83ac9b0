/* co_maker.c - computes values, one reading after the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "co_map.h"

/* Numbers of f and g: the features and a 1, or what is between layers. */
static size_t inner(const struct co_maker *m)
{
	return (size_t)m->p.features + 1 + m->p.classes + m->shape[0];
}

enum cm_rc co_payload_check(const struct qy_computing *c, const struct qy_query *q, const uint8_t *bytes,
	size_t n, struct cm_err *err)
{
	struct co_maker *m = calloc(1, sizeof *m);
	enum cm_rc rc;

	if (!m)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	m->computing = c;
	m->q = q;
	rc = co_payload_load(m, bytes, n, err);
	free(m);
	return rc;
}

enum cm_rc co_maker_new(const struct qy_computing *c, const struct qy_query *q, const uint8_t *payload,
	size_t payload_len, struct co_maker **out, struct cm_err *err)
{
	struct co_maker *m = calloc(1, sizeof *m);
	enum cm_rc rc;

	if (!m)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	m->computing = c;
	m->q = q;
	rc = co_payload_load(m, payload, payload_len, err);
	if (rc == CM_OK) {
		m->x = calloc(m->p.features, sizeof *m->x);
		m->z = calloc(m->p.features, sizeof *m->z);
		m->f = calloc(inner(m), sizeof *m->f);
		m->g = calloc(inner(m), sizeof *m->g);
		m->v = calloc(q->kind == QY_VECTOR ? q->dimension : 1, sizeof *m->v);
		if (!m->x || !m->z || !m->f || !m->g || !m->v)
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (rc != CM_OK) {
		co_maker_free(m);
		return rc;
	}
	*out = m;
	return CM_OK;
}

static void wipe(void *numbers, size_t n, size_t size)
{
	if (numbers)
		explicit_bzero(numbers, n * size);
	free(numbers);
}

void co_maker_free(struct co_maker *m)
{
	if (!m)
		return;
	wipe(m->x, m->p.features, sizeof *m->x);
	wipe(m->z, m->p.features, sizeof *m->z);
	wipe(m->f, inner(m), sizeof *m->f);
	wipe(m->g, inner(m), sizeof *m->g);
	wipe(m->v, m->q->kind == QY_VECTOR ? m->q->dimension : 1, sizeof *m->v);
	free(m);
}

const struct co_parameters *co_maker_parameters(const struct co_maker *m)
{
	return &m->p;
}

/* A label is one of the classes, or one of the last column's categories. */
static bool is_class(const struct co_maker *m, uint32_t label)
{
	const struct qy_query *q = m->q;

	if (!m->p.label)
		return label == 0;
	return label < (q->kind == QY_VECTOR ? m->p.classes : q->column[q->columns - 1].categories);
}

bool co_value(struct co_maker *m, const float *x, uint32_t label, uint32_t *at)
{
	for (uint32_t i = 0; i < m->p.features; i++) {
		if (!isfinite(x[i]))
			return false;
		m->x[i] = (double)x[i];
	}
	if (!is_class(m, label) || !m->row->apply)
		return false;
	m->row->apply(m, m->x, label, at);
	if (m->q->kind == QY_VECTOR)
		co_coordinates(m->q, m->v, at);
	return true;
}

bool co_value_answer(struct co_maker *m, const float *answer, uint32_t *at)
{
	bool ok = true;

	/* The same work for every answer. */
	for (uint32_t i = 0; i < m->q->dimension; i++) {
		bool finite = isfinite(answer[i]);

		m->v[i] = finite ? (double)answer[i] : 0;
		ok = ok && finite;
	}
	co_cut(m->v, m->q->dimension, m->p.clip);
	co_coordinates(m->q, m->v, at);
	return ok;
}
