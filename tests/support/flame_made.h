/* flame_made.h - rounds of coordinates in messages of their own, as a plan gets them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pt_flame_analysis.h"
#include "queries.h"

static struct cm_err err;

static inline struct pt_randomizer made(const char *row, const struct qy_query *q, const struct pt_request *r)
{
	struct pt_randomizer p;

	if (pt_derive(pt_find(row), q, r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(pt_find(row)->device->check(q, &p, &err), CM_OK);
	return p;
}
