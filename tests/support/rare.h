/* rare.h - rows whose dummies come by chance. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "pt_protocol.h"

#define QUARTER (UINT64_C(1) << 62) /* a quarter of 2^64, as a chance */

/* The next row from *i on that has them, and a request that it takes; false after the last. */
static inline bool next_rare_row(size_t *i, const struct pt_protocol **row, struct pt_request *r)
{
	while ((*row = pt_row((*i)++)) && !(*row)->device->rare_dummy)
		;
	if (!*row)
		return false;
	*r = (struct pt_request){ .epsilon0 = INFINITY, .min_reports = 1000, .dummy_chance = QUARTER };
	if (strcmp((*row)->device->name, "hashed") == 0)
		r->size = 4;
	return true;
}

/* What the row derives, which is what a device accepts. */
static inline struct pt_randomizer derived(
	const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r)
{
	struct pt_randomizer p;
	struct cm_err err;

	assert_int_equal(pt_derive(row, q, r, &p, &err), CM_OK);
	assert_int_equal(row->device->check(q, &p, &err), CM_OK);
	return p;
}
