/* py_payload.c - reads a payload's arrays. */
#include "py_payload.h"

#include <math.h>
#include <string.h>

#include "cm_buf.h"

#define MAGIC     "TOMBPAY1"
#define MAGIC_LEN 8u

/* The part of the head that is still to be read. */
struct cursor {
	const uint8_t *start, *at, *end;
};

static const uint8_t *take(struct cursor *c, size_t n)
{
	const uint8_t *at = c->at;

	if ((size_t)(c->end - at) < n)
		return NULL;
	c->at += n;
	return at;
}

static enum cm_rc too_short(struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "payload: it ends before its arrays do");
}

static bool is_name(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool letter = name[i] >= 'a' && name[i] <= 'z';
		bool other = (name[i] >= '0' && name[i] <= '9') || name[i] == '_';

		if (!letter && (i == 0 || !other))
			return false;
	}
	return n > 0;
}

static enum cm_rc read_name(struct cursor *c, struct py_payload *p, struct py_array *a, struct cm_err *err)
{
	const uint8_t *length = take(c, 1), *name = length ? take(c, *length) : NULL;

	if (!name)
		return too_short(err);
	if (*length > PY_NAME_MAX || !is_name((const char *)name, *length))
		return cm_fail(err, CM_EDATA, "payload: the name of array %u is not [a-z][a-z0-9_]{0,31}",
			(unsigned)p->arrays);
	memcpy(a->name, name, *length);
	a->name[*length] = '\0';
	if (py_payload_find(p, a->name))
		return cm_fail(err, CM_EDATA, "payload: two arrays '%s'", a->name);
	return CM_OK;
}

/* Read the type and the dimensions. */
static enum cm_rc read_shape(struct cursor *c, struct py_array *a, struct cm_err *err)
{
	const uint8_t *head = take(c, 2), *dim;
	uint64_t n = 1;

	if (!head)
		return too_short(err);
	if (head[0] != PY_FLOAT32 && head[0] != PY_INT32)
		return cm_fail(err, CM_EDATA, "payload: '%s' has type %u, which is none", a->name, head[0]);
	if (head[1] > PY_DIMS_MAX)
		return cm_fail(err, CM_EDATA, "payload: '%s' has %u dimensions, at most %u", a->name, head[1],
			PY_DIMS_MAX);
	a->type = head[0];
	a->dims = head[1];
	dim = take(c, (size_t)a->dims * 4);
	if (!dim)
		return too_short(err);
	for (uint32_t i = 0; i < a->dims; i++) {
		a->dim[i] = cm_get_le32(dim + 4 * (size_t)i);
		n *= a->dim[i];
		if (n == 0 || n > PY_PAYLOAD_MAX / 4)
			return cm_fail(err, CM_EDATA, "payload: '%s' has no or too many numbers", a->name);
	}
	a->n = (uint32_t)n;
	return CM_OK;
}

static enum cm_rc read_numbers(struct cursor *c, struct py_array *a, struct cm_err *err)
{
	a->at = take(c, (size_t)a->n * 4);
	if (!a->at)
		return too_short(err);
	for (uint32_t i = 0; a->type == PY_FLOAT32 && i < a->n; i++)
		if (!isfinite(py_float(a, i)))
			return cm_fail(err, CM_EDATA, "payload: number %u of '%s' is not finite", (unsigned)i,
				a->name);
	return CM_OK;
}

static enum cm_rc read_heads(struct cursor *c, struct py_payload *out, struct cm_err *err)
{
	const uint8_t *magic = take(c, MAGIC_LEN), *count = magic ? take(c, 4) : NULL;
	uint32_t n = count ? cm_get_le32(count) : 0;

	if (!count || memcmp(magic, MAGIC, MAGIC_LEN) != 0)
		return cm_fail(err, CM_EDATA, "payload: it does not begin with " MAGIC);
	if (n == 0 || n > PY_ARRAYS_MAX)
		return cm_fail(err, CM_EDATA, "payload: %lu arrays, it must be 1 to %u", (unsigned long)n,
			PY_ARRAYS_MAX);
	while (out->arrays < n) {
		struct py_array *a = &out->array[out->arrays];
		enum cm_rc rc = read_name(c, out, a, err);

		if (rc == CM_OK)
			rc = read_shape(c, a, err);
		if (rc != CM_OK)
			return rc;
		out->arrays++;
	}
	while ((c->at - c->start) % 4 != 0) {
		const uint8_t *zero = take(c, 1);

		if (!zero)
			return too_short(err);
		if (*zero != 0)
			return cm_fail(err, CM_EDATA, "payload: the bytes before its numbers are not zero");
	}
	return CM_OK;
}

enum cm_rc py_payload_read(const uint8_t *bytes, size_t n, struct py_payload *out, struct cm_err *err)
{
	struct cursor c = { bytes, bytes, bytes + n };
	enum cm_rc rc;

	out->arrays = 0;
	if (n > PY_PAYLOAD_MAX)
		return cm_fail(err, CM_EDATA, "payload: longer than %u bytes", PY_PAYLOAD_MAX);
	rc = read_heads(&c, out, err);
	for (uint32_t i = 0; rc == CM_OK && i < out->arrays; i++)
		rc = read_numbers(&c, &out->array[i], err);
	if (rc == CM_OK && c.at != c.end)
		rc = cm_fail(err, CM_EDATA, "payload: it goes on after its last array");
	return rc;
}

const struct py_array *py_payload_find(const struct py_payload *p, const char *name)
{
	for (uint32_t i = 0; i < p->arrays; i++)
		if (strcmp(p->array[i].name, name) == 0)
			return &p->array[i];
	return NULL;
}
