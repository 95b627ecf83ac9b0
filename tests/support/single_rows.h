/* single_rows.h - the rows of one wide message, for their tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "pt_protocol.h"
#include "scripted_rng.h"

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

/* One report from a script, which it uses up exactly. */
static inline void scripted_report(
	const struct pt_randomizer *p, uint64_t x, const uint64_t *script, size_t len, uint8_t *record)
{
	struct scripted_rng s = { .script = script, .len = len, .fallback = SCRIPT_END };
	struct cr_rng rng = scripted_rng(&s);
	struct qy_query q = histogram(p->single.bins);
	struct qy_value v = { .x = x };

	encode_in_room(p->row, &q, p, &v, &rng, record);
	assert_int_equal(s.used, len);
}

/* Assert that the row refuses the parameters `good`, changed by one statement. */
#define REFUSED(statement)                                                     \
	do {                                                                   \
		p = good;                                                      \
		statement;                                                     \
		assert_int_equal(row->device->check(&q, &p, &err), CM_EPROTO); \
	} while (0)
