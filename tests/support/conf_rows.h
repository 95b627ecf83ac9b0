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
	struct cf_words either;
	char letter;
};

struct conf {
	char *listen, *plan;
	int64_t min_batch, window;
	double delta;
	bool strict;
	struct cf_list rounds;
};

static const struct cf_row round_rows[] = {
	CF_REQUIRED("query", CF_STRING, offsetof(struct round, query), NULL),
	CF_OPTIONAL("epsilon0", CF_EXTENDED(0.1, 16), offsetof(struct round, epsilon0), NULL),
	CF_OPTIONAL("range", CF_RANGE(-100, 100), offsetof(struct round, range), NULL),
	CF_OPTIONAL("values", CF_STRINGS(2, 3), offsetof(struct round, values), NULL),
	CF_OPTIONAL("some", CF_SOME(1, 2), offsetof(struct round, some), NULL),
	CF_OPTIONAL("sets", CF_TABLE(1, 3), offsetof(struct round, sets), NULL),
	CF_OPTIONAL("at", CF_DOUBLES(1, 3), offsetof(struct round, at), NULL),
	CF_OPTIONAL("word", CF_WORD, offsetof(struct round, word), NULL),
	CF_OPTIONAL("either", CF_WORDS(1, 3), offsetof(struct round, either), NULL),
	CF_DEFAULT("letter", CF_CHAR, offsetof(struct round, letter), ";", NULL),
	CF_END,
};

static const struct cf_row budget_rows[] = {
	CF_REQUIRED("delta", CF_DOUBLE(1e-12, 1), offsetof(struct conf, delta), NULL),
	CF_DEFAULT("strict", CF_BOOL, offsetof(struct conf, strict), "true", NULL),
	CF_END,
};

static const struct cf_row rows[] = {
	CF_DEFAULT("listen", CF_STRING, offsetof(struct conf, listen), "[::1]:7443", "where to listen"),
	CF_OPTIONAL("plan", CF_PATH, offsetof(struct conf, plan), NULL),
	CF_REQUIRED("min_batch", CF_INT(1, 1e9), offsetof(struct conf, min_batch), "smallest batch"),
	CF_DEFAULT("window", CF_DURATION(1000, 86400000), offsetof(struct conf, window), "15m", NULL),
	CF_OPTIONAL("budget", CF_GROUP(budget_rows), 0, NULL),
	CF_OPTIONAL("rounds", CF_LIST(0, 4, round_rows, struct round), offsetof(struct conf, rounds), NULL),
	CF_END,
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
