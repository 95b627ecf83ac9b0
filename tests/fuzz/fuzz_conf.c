/* fuzz_conf.c - any text as a configuration file of every type of key. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cf_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 drops the string it is reading when the text turns out to be wrong; a program reads its file
 * once. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig";
}

struct item {
	char *name;
	double number, range[2];
	struct cf_strings values;
	struct cf_table sets;
	struct cf_doubles at;
};
struct conf {
	char *text, *path;
	int64_t whole, wait;
	double number, maybe;
	bool flag;
	struct cf_strings words;
	struct cf_word word;
	struct cf_list items;
};

static const struct cf_row item_rows[] = {
	{ .key = "name", .type = CF_STRING, .offset = offsetof(struct item, name), .required = true },
	{ .key = "number", .type = CF_DOUBLE, .offset = offsetof(struct item, number), .min = 0, .max = 9 },
	{ .key = "range", .type = CF_RANGE, .offset = offsetof(struct item, range), .min = -9, .max = 9 },
	{ .key = "values", .type = CF_STRINGS, .offset = offsetof(struct item, values), .min = 2, .max = 5 },
	{ .key = "sets", .type = CF_TABLE, .offset = offsetof(struct item, sets) },
	{ .key = "at", .type = CF_DOUBLES, .offset = offsetof(struct item, at), .min = 1, .max = 5 },
	{ .key = NULL },
};
static const struct cf_row group_rows[] = {
	{ .key = "number", .type = CF_DOUBLE, .offset = offsetof(struct conf, number) },
	{ .key = "maybe",
		.type = CF_EXTENDED,
		.offset = offsetof(struct conf, maybe),
		.fallback = "\"inf\"" },
	{ .key = "flag", .type = CF_BOOL, .offset = offsetof(struct conf, flag), .required = true },
	{ .key = NULL },
};
static const struct cf_row rows[] = {
	{ .key = "text", .type = CF_STRING, .offset = offsetof(struct conf, text), .fallback = "t" },
	{ .key = "path", .type = CF_PATH, .offset = offsetof(struct conf, path) },
	{ .key = "whole", .type = CF_INT, .offset = offsetof(struct conf, whole), .min = -5, .max = 1e10 },
	{ .key = "wait", .type = CF_DURATION, .offset = offsetof(struct conf, wait), .fallback = "15m" },
	{ .key = "word", .type = CF_WORD, .offset = offsetof(struct conf, word) },
	{ .key = "words", .type = CF_STRINGS, .offset = offsetof(struct conf, words) },
	{ .key = "group", .type = CF_GROUP, .sub = group_rows },
	{ .key = "items",
		.type = CF_LIST,
		.offset = offsetof(struct conf, items),
		.sub = item_rows,
		.size = sizeof(struct item),
		.max = 8 },
	{ .key = NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf c = { 0 };
	struct cm_err err = { 0 };
	struct cf_file *file;
	char *text = malloc(size + 1);
	enum cm_rc rc;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	rc = cf_parse(text, "/etc/fuzz.conf", rows, &c, &file, NULL, &err);
	/* Accepted: within what the table allows.  Refused: a line that says why. */
	if (rc == CM_OK && (c.whole < -5 || c.whole > 10000000000 || c.items.n > 8 || !c.text))
		abort();
	if (rc != CM_OK && (rc != CM_ECONFIG || strncmp(err.msg, "/etc/fuzz.conf:", 15) != 0))
		abort();
	if (file)
		(void)cf_line(file, "items.[0].name");
	cf_file_free(file);
	cf_free(rows, &c);
	free(text);
	return 0;
}
