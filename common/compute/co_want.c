/* co_want.c - takes the arrays that a map needs from a payload. */
#include "co_want.h"

enum cm_rc co_want(struct co_maker *m, const char *name, enum py_type type, uint32_t dims,
	const uint32_t *dim, const struct py_array **out, struct cm_err *err)
{
	const struct py_array *a = py_payload_find(&m->payload, name);

	if (!a)
		return cm_fail(err, CM_EDATA, "payload: %s needs an array '%s'", m->row->map.name, name);
	if (a->type != type)
		return cm_fail(err, CM_EDATA, "payload: '%s' must be %s", name,
			type == PY_INT32 ? "int32" : "float32");
	if (a->dims != dims)
		return cm_fail(err, CM_EDATA, "payload: '%s' has %lu dimensions, it must be %lu", name,
			(unsigned long)a->dims, (unsigned long)dims);
	for (uint32_t i = 0; i < dims; i++)
		if (a->dim[i] != dim[i])
			return cm_fail(err, CM_EDATA, "payload: dimension %lu of '%s' is %lu, it must be %lu",
				(unsigned long)i + 1, name, (unsigned long)a->dim[i], (unsigned long)dim[i]);
	*out = a;
	return CM_OK;
}

enum cm_rc co_want_matrix(struct co_maker *m, const char *name, uint32_t lines, uint32_t columns,
	const struct py_array **out, struct cm_err *err)
{
	const uint32_t dim[2] = { lines, columns };

	return co_want(m, name, PY_FLOAT32, 2, dim, out, err);
}

enum cm_rc co_want_scaling(struct co_maker *m, uint32_t at, uint32_t *found, struct cm_err *err)
{
	static const char *const name[2] = { "mean", "scale" };

	for (uint32_t i = 0; i < 2; i++) {
		enum cm_rc rc;

		if (!py_payload_find(&m->payload, name[i]))
			continue;
		++*found;
		rc = co_want(m, name[i], PY_FLOAT32, 1, &m->p.features, &m->array[at + i], err);
		if (rc != CM_OK)
			return rc;
	}
	return CM_OK;
}

void co_scale(const struct co_maker *m, uint32_t at, const double *x, double *z)
{
	const struct py_array *mean = m->array[at], *scale = m->array[at + 1];

	for (uint32_t i = 0; i < m->p.features; i++) {
		z[i] = x[i] - (mean ? (double)py_float(mean, i) : 0);
		z[i] *= scale ? (double)py_float(scale, i) : 1;
	}
}

enum cm_rc co_want_no_more(struct co_maker *m, uint32_t arrays, struct cm_err *err)
{
	if (m->payload.arrays == arrays)
		return CM_OK;
	return cm_fail(err, CM_EDATA, "payload: %s has %lu arrays, not %lu", m->row->map.name,
		(unsigned long)arrays, (unsigned long)m->payload.arrays);
}

enum cm_rc co_want_dimension(const struct qy_query *q, uint64_t d, struct cm_err *err)
{
	if (q->dimension == d)
		return CM_OK;
	return cm_fail(err, CM_EDATA, "the query's dimension is %lu, and the map makes %llu numbers",
		(unsigned long)q->dimension, (unsigned long long)d);
}
