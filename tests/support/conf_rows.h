/* conf_rows.h - a table of options of every type, for the tests of configuration files. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cf_conf.h"

struct round {
	char *query;
	double epsilon0, range[2];
	struct cf_strings values, some;
	struct cf_table sets;
	struct cf_doubles at;
	struct cf_word word;
};

struct conf {
	char *listen, *plan;
	int64_t min_batch, window;
	double delta;
	bool strict;
	struct cf_list rounds;
};

static const struct cf_row round_rows[] = {
	{ .key = "query", .type = CF_STRING, .offset = offsetof(struct round, query), .required = true },
	{ .key = "epsilon0",
		.type = CF_EXTENDED,
		.offset = offsetof(struct round, epsilon0),
		.min = 0.1,
		.max = 16 },
	{ .key = "range",
		.type = CF_RANGE,
		.offset = offsetof(struct round, range),
		.min = -100,
		.max = 100 },
	{ .key = "values", .type = CF_STRINGS, .offset = offsetof(struct round, values), .min = 2, .max = 3 },
	{ .key = "some", .type = CF_SOME, .offset = offsetof(struct round, some), .min = 1, .max = 2 },
	{ .key = "sets", .type = CF_TABLE, .offset = offsetof(struct round, sets), .min = 1, .max = 3 },
	{ .key = "at", .type = CF_DOUBLES, .offset = offsetof(struct round, at), .min = 1, .max = 3 },
	{ .key = "word", .type = CF_WORD, .offset = offsetof(struct round, word) },
	{ .key = NULL },
};

static const struct cf_row budget_rows[] = {
	{ .key = "delta",
		.type = CF_DOUBLE,
		.offset = offsetof(struct conf, delta),
		.required = true,
		.min = 1e-12,
		.max = 1 },
	{ .key = "strict", .type = CF_BOOL, .offset = offsetof(struct conf, strict), .fallback = "true" },
	{ .key = NULL },
};

static const struct cf_row rows[] = {
	{ .key = "listen",
		.type = CF_STRING,
		.offset = offsetof(struct conf, listen),
		.fallback = "[::1]:7443",
		.help = "where to listen" },
	{ .key = "plan", .type = CF_PATH, .offset = offsetof(struct conf, plan) },
	{ .key = "min_batch",
		.type = CF_INT,
		.offset = offsetof(struct conf, min_batch),
		.required = true,
		.min = 1,
		.max = 1e9,
		.help = "smallest batch" },
	{ .key = "window",
		.type = CF_DURATION,
		.offset = offsetof(struct conf, window),
		.min = 1000,
		.max = 86400000,
		.fallback = "15m" },
	{ .key = "budget", .type = CF_GROUP, .sub = budget_rows },
	{ .key = "rounds",
		.type = CF_LIST,
		.offset = offsetof(struct conf, rounds),
		.sub = round_rows,
		.size = sizeof(struct round),
		.max = 4 },
	{ .key = NULL },
};

/* Parse `text` as b.cfg; the faults as one string (static). */
static inline const char *faults_of(const char *text, enum cm_rc want)
{
	static char faults[4096];
	struct conf c = { 0 };
	struct cm_err err = { 0 };
	FILE *out;

	memset(faults, 0, sizeof faults);
	out = fmemopen(faults, sizeof faults - 1, "w");
	assert_non_null(out);
	assert_int_equal(cf_parse(text, "b.cfg", rows, &c, NULL, out, &err), want);
	assert_int_equal(fclose(out), 0);
	if (want == CM_OK)
		assert_string_equal(faults, "");
	else
		assert_memory_equal(faults, err.msg, strlen(err.msg));
	cf_free(rows, &c);
	assert_null(c.listen);
	assert_null(c.rounds.item);
	return faults;
}

#define REFUSED(text, said) assert_string_equal(faults_of(text, CM_ECONFIG), said "\n")
