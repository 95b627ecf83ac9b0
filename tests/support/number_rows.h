/* number_rows.h - the rows that send one symbol of a bounded number, for their tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pt_protocol.h"

static struct cm_err err;

static const struct qy_query number = { .kind = QY_MEAN, .name = "m", .field = "f", .high = 1 };

/* The number that a plan gives; 0: the row chooses. */
static inline struct pt_randomizer made(const char *row, uint32_t levels, double epsilon0, uint32_t size)
{
	struct pt_request r = { .epsilon0 = epsilon0, .levels = levels, .size = size };
	struct pt_randomizer p;

	if (pt_derive(pt_find(row), &number, &r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(pt_find(row)->device->check(&number, &p, &err), CM_OK);
	return p;
}
