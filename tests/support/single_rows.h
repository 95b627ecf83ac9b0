/* single_rows.h - the rows of one wide message, for their tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pt_protocol.h"

/* The wire's maxima (doc/wire.md). */
#define CATEGORIES_MAX 4096u
#define TALLIES_MAX    8192u
#define RECORD_MAX     4096u

static const char *const rows[] = { "rappor", "oue", "subset", "olh", "hadamard" };
#define ROWS (sizeof rows / sizeof rows[0])

static struct cm_err err;

static inline struct qy_query histogram(uint32_t d)
{
	static char *labels[CATEGORIES_MAX], label[] = "c";

	for (uint32_t i = 0; i < d; i++)
		labels[i] = label;
	return (struct qy_query){
		.kind = QY_HISTOGRAM, .name = "h", .field = "f", .category = labels, .categories = d
	};
}

/* The size that a plan gives; 0: the row chooses. */
static inline struct pt_randomizer made(const char *row, uint32_t d, double epsilon0, uint32_t size)
{
	struct qy_query q = histogram(d);
	struct pt_request r = { .epsilon0 = epsilon0, .size = size };
	struct pt_randomizer p;

	if (pt_derive(pt_find(row), &q, &r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(pt_find(row)->device->check(&q, &p, &err), CM_OK);
	return p;
}
