/* co_compute.c - checks computings and payloads, and computes the values of readings, one after the
 * other. */
#include "co_compute.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "co_clip.h"
#include "co_map.h"

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
	return rc == CM_OK ? co_row_find(c->map)->fits(p, q, err) : rc;
}

enum cm_rc co_check(const struct qy_computing *c, const struct qy_query *q, struct cm_err *err)
{
	struct co_parameters p;

	return check(c, q, &p, err);
}

/* Read and check everything that m->computing, m->q and the bytes contain, and put it into m. */
static enum cm_rc load(struct co_maker *m, const uint8_t *bytes, size_t n, struct cm_err *err)
{
	const struct co_map *map;
	enum cm_rc rc = check(m->computing, m->q, &m->p, err);

	if (rc != CM_OK)
		return rc;
	m->row = co_row_find(m->computing->map);
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

/* Room for f and g: the features and a 1, or the numbers between layers. */
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
	rc = load(m, bytes, n, err);
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
	rc = load(m, payload, payload_len, err);
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

/* Is the label one of the classes, or one of the last column's categories? */
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

	/* Do the same work for every answer. */
	for (uint32_t i = 0; i < m->q->dimension; i++) {
		bool finite = isfinite(answer[i]);

		m->v[i] = finite ? (double)answer[i] : 0;
		ok = ok && finite;
	}
	co_cut(m->v, m->q->dimension, m->p.clip);
	co_coordinates(m->q, m->v, at);
	return ok;
}

/* ---- texts ---- */

static const char space[] = " \t\r\n";

/* Read the number that text begins with.  Returns false if there is none, or none that a map is defined
 * for. */
static bool number(const char *text, char **end, float *out)
{
	double x;

	if (!qy_number_read(text, end, &x) || !(fabs(x) <= (double)FLT_MAX))
		return false;
	*out = (float)x;
	return true;
}

/* Read exactly n numbers, separated by spaces, or by one comma or semicolon. */
static bool numbers(const char *text, uint32_t n, float *x)
{
	for (uint32_t i = 0; i < n; i++) {
		char *end;

		if (i > 0) {
			const char *next = text + strspn(text, space);

			next += *next == ',' || *next == ';';
			if (next == text)
				return false;
			text = next;
		}
		text += strspn(text, space);
		if (!number(text, &end, &x[i]))
			return false;
		text = end;
	}
	return text[strspn(text, space)] == '\0';
}

static bool is_text(const struct co_parameters *p, uint32_t class, const char *text)
{
	const uint8_t *name = p->bytes + p->name_at[class];

	return strlen(text) == name[-1] && memcmp(text, name, name[-1]) == 0;
}

/* If classes have no names, a class is its number in decimal digits. */
static bool numbered(const char *text, uint32_t classes, uint32_t *label)
{
	size_t n = strspn(text, "0123456789");
	unsigned long value;

	if (n == 0 || n > 4 || text[n] != '\0' || (n > 1 && text[0] == '0'))
		return false;
	value = strtoul(text, NULL, 10);
	*label = (uint32_t)value;
	return value < classes;
}

bool co_label(const struct co_maker *m, const char *text, uint32_t *label)
{
	const struct qy_query *q = m->q;

	if (q->kind == QY_VECTOR && !m->p.named)
		return numbered(text, m->p.classes, label);
	if (q->kind == QY_VECTOR) {
		for (*label = 0; *label < m->p.classes; ++*label)
			if (is_text(&m->p, *label, text))
				return true;
		return false;
	}
	for (*label = 0; *label < q->column[q->columns - 1].categories; ++*label)
		if (strcmp(q->column[q->columns - 1].category[*label], text) == 0)
			return true;
	return false;
}

bool co_reading(struct co_maker *m, const char *const *text, float *x, uint32_t *label)
{
	uint32_t fields = m->p.array ? 1 : m->p.features;
	char *end;

	*label = 0;
	for (uint32_t i = 0; i < fields; i++) {
		if (!text[i])
			return false;
		if (m->p.array ? !numbers(text[i], m->p.features, x)
			       : !number(text[i], &end, &x[i]) || *end != '\0')
			return false;
	}
	return !m->p.label || (text[fields] && co_label(m, text[fields], label));
}
