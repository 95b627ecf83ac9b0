/* vector_rows.h - the rows that ask for vectors, for their tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pt_protocol.h"
#include "pt_record.h"
#include "scripted_rng.h"

static struct cm_err err;

static inline struct qy_query vector(uint32_t dimension)
{
	return (struct qy_query){
		.kind = QY_VECTOR, .name = "v", .field = "f", .low = -1, .high = 1, .dimension = dimension
	};
}

static inline struct pt_randomizer made(const char *row, const struct qy_query *q, const struct pt_request *r)
{
	struct pt_randomizer p;

	if (pt_derive(pt_find(row), q, r, &p, &err) != CM_OK ||
		pt_find(row)->device->check(q, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

/* Corner x of the cube: coordinate c is at its upper end if bit c is set. */
static inline struct qy_value corner(uint32_t x, uint32_t dimension, uint32_t *at)
{
	for (uint32_t c = 0; c < dimension; c++)
		at[c] = (x >> c & 1) << 31;
	return (struct qy_value){ .at = at };
}
