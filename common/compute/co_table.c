/* co_table.c - the table of maps, and what can be checked of one before there is a reading. */
#include <string.h>

#include "co_map.h"

static enum cm_rc program_fits(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	(void)p;
	(void)q;
	(void)err;
	return CM_OK;
}

/* Its answers come from outside (co_value_answer). */
const struct co_row co_program = {
	.map = { .name = QY_MAP_PROGRAM,
		.summary = "a program of the client's host",
		.kind = QY_VECTOR,
		.keys = CO_KEY_LABEL | CO_KEY_PROGRAM,
		.payload = CO_PAYLOAD_ANY },
	.fits = program_fits,
};

static const struct co_row *const rows[] = {
	&co_linear_gradient,
	&co_moments,
	&co_nearest_centroid,
	&co_tree_path,
	&co_statistics,
	&co_network_gradient,
	&co_program,
};

static const struct co_row *row_named(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i]->map.name, name) == 0)
			return rows[i];
	return NULL;
}

const struct co_map *co_map_find(const char *name)
{
	const struct co_row *row = row_named(name);

	return row ? &row->map : NULL;
}

const struct co_map *co_map_at(size_t i)
{
	return i < sizeof rows / sizeof rows[0] ? &rows[i]->map : NULL;
}

static enum cm_rc check_query(const struct co_parameters *p, const struct qy_query *q, struct cm_err *err)
{
	const char *name = p->map->name;

	if (q->kind != p->map->kind)
		return cm_fail(err, CM_EDATA, "%s: it answers queries of type \"%s\" only", name,
			qy_kind_name(p->map->kind));
	if (q->kind != QY_VECTOR)
		return CM_OK;
	if (!(q->low + q->high >= 0 && q->low + q->high <= 0) || !(q->high >= CO_BOUND_MIN) ||
		!(q->high <= CO_BOUND_MAX))
		return cm_fail(err, CM_EDATA, "%s: the range must be [-L, L], L from 1e-9 to 1e9", name);
	if (p->clip > q->high)
		return cm_fail(err, CM_EDATA, "%s: a clip of %g is beyond the range", name, p->clip);
	return CM_OK;
}

static enum cm_rc check(
	const struct qy_computing *c, const struct qy_query *q, struct co_parameters *p, struct cm_err *err)
{
	enum cm_rc rc = co_parameters_read(c, p, err);

	if (rc == CM_OK)
		rc = check_query(p, q, err);
	return rc == CM_OK ? row_named(c->map)->fits(p, q, err) : rc;
}

enum cm_rc co_check(const struct qy_computing *c, const struct qy_query *q, struct cm_err *err)
{
	struct co_parameters p;

	return check(c, q, &p, err);
}

enum cm_rc co_payload_load(struct co_maker *m, const uint8_t *bytes, size_t n, struct cm_err *err)
{
	const struct co_map *map;
	enum cm_rc rc = check(m->computing, m->q, &m->p, err);

	if (rc != CM_OK)
		return rc;
	m->row = row_named(m->computing->map);
	map = &m->row->map;
	if (map->payload == CO_PAYLOAD_ANY)
		return n <= PY_PAYLOAD_MAX ? CM_OK : cm_fail(err, CM_EDATA, "payload: longer than 16 MiB");
	if (n == 0)
		return map->payload == CO_PAYLOAD_MAYBE
			       ? CM_OK
			       : cm_fail(err, CM_EDATA, "%s: it needs a payload", map->name);
	rc = py_payload_read(bytes, n, &m->payload, err);
	return rc == CM_OK ? m->row->load(m, err) : rc;
}

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
