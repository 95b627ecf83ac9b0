/* py_payload.h - reads a payload: the public arrays that a round's map is computed with (a model,
 * centroids, a tree).  No I/O and no copy: an array is a part of the payload's bytes.
 *
 *   8 bytes "TOMBPAY1"; u32 the number of arrays, 1..PY_ARRAYS_MAX; for each array: u8 length of its name
 *   and
 *   the name, [a-z][a-z0-9_]{0,31}; u8 type; u8 number of dimensions, 0..PY_DIMS_MAX; u32 each dimension, 1
 *   or more.  Then zero bytes up to a multiple of 4 from the start, and the numbers of each array in that
 *   order, the last dimension running fastest.  Nothing follows.  All integers and floats are
 *   little-endian. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "cm_buf.h"

#define PY_PAYLOAD_MAX (16u << 20) /* most bytes of a payload */
#define PY_ARRAYS_MAX  64u
#define PY_NAME_MAX    32u
#define PY_DIMS_MAX    4u

enum py_type {
	PY_FLOAT32 = 1, /* IEEE 754; never infinite or NaN */
	PY_INT32 = 2,
};

struct py_array {
	char name[PY_NAME_MAX + 1];
	enum py_type type;
	uint32_t dims;
	uint32_t dim[PY_DIMS_MAX];
	uint32_t n;        /* product of the dimensions; 1 if there are none */
	const uint8_t *at; /* 4 n bytes of the payload, borrowed */
};

struct py_payload {
	uint32_t arrays;
	struct py_array array[PY_ARRAYS_MAX];
};

/* Read n bytes, which *out borrows.  CM_EDATA with one line for any other form than the one above: another
 * length, a name that occurs twice, a number that is not finite.  Cost: one pass over the bytes. */
CM_CHECK enum cm_rc py_payload_read(
	const uint8_t *bytes, size_t n, struct py_payload *out, struct cm_err *err);

/* The array of that name; NULL if there is none. */
const struct py_array *py_payload_find(const struct py_payload *p, const char *name);

/* Number i < a->n of an array of this type. */
static inline float py_float(const struct py_array *a, uint32_t i)
{
	uint32_t bits = cm_get_le32(a->at + 4 * (size_t)i);
	float f;

	memcpy(&f, &bits, sizeof f);
	return f;
}

static inline int32_t py_int(const struct py_array *a, uint32_t i)
{
	uint32_t bits = cm_get_le32(a->at + 4 * (size_t)i);
	int32_t v;

	memcpy(&v, &bits, sizeof v);
	return v;
}
