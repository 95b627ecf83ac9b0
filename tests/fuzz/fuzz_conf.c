/* fuzz_conf.c - any text as a configuration file of every type of key. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cm_conf.h"

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
	struct cm_conf_strings values;
	struct cm_conf_table sets;
	struct cm_conf_doubles at;
};
struct conf {
	char *text, *path;
	int64_t whole, wait;
	double number, maybe;
	bool flag;
	struct cm_conf_strings words;
	struct cm_conf_list items;
};

static const struct cm_conf_row item_rows[] = {
	{ .key = "name", .type = CM_CONF_STRING, .offset = offsetof(struct item, name), .required = true },
	{ .key = "number",
		.type = CM_CONF_DOUBLE,
		.offset = offsetof(struct item, number),
		.min = 0,
		.max = 9 },
	{ .key = "range",
		.type = CM_CONF_RANGE,
		.offset = offsetof(struct item, range),
		.min = -9,
		.max = 9 },
	{ .key = "values",
		.type = CM_CONF_STRINGS,
		.offset = offsetof(struct item, values),
		.min = 2,
		.max = 5 },
	{ .key = "sets", .type = CM_CONF_TABLE, .offset = offsetof(struct item, sets) },
	{ .key = "at", .type = CM_CONF_DOUBLES, .offset = offsetof(struct item, at), .min = 1, .max = 5 },
	{ .key = NULL },
};
static const struct cm_conf_row group_rows[] = {
	{ .key = "number", .type = CM_CONF_DOUBLE, .offset = offsetof(struct conf, number) },
	{ .key = "maybe",
		.type = CM_CONF_EXTENDED,
		.offset = offsetof(struct conf, maybe),
		.fallback = "\"inf\"" },
	{ .key = "flag", .type = CM_CONF_BOOL, .offset = offsetof(struct conf, flag), .required = true },
	{ .key = NULL },
};
static const struct cm_conf_row rows[] = {
	{ .key = "text", .type = CM_CONF_STRING, .offset = offsetof(struct conf, text), .fallback = "t" },
	{ .key = "path", .type = CM_CONF_PATH, .offset = offsetof(struct conf, path) },
	{ .key = "whole",
		.type = CM_CONF_INT,
		.offset = offsetof(struct conf, whole),
		.min = -5,
		.max = 1e10 },
	{ .key = "wait", .type = CM_CONF_DURATION, .offset = offsetof(struct conf, wait), .fallback = "15m" },
	{ .key = "words", .type = CM_CONF_STRINGS, .offset = offsetof(struct conf, words) },
	{ .key = "group", .type = CM_CONF_GROUP, .sub = group_rows },
	{ .key = "items",
		.type = CM_CONF_LIST,
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
	char *text = malloc(size + 1);
	enum cm_rc rc;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	rc = cm_conf_parse(text, "/etc/fuzz.conf", rows, &c, NULL, &err);
	/* Accepted: within what the table allows.  Refused: a line that says why. */
	if (rc == CM_OK && (c.whole < -5 || c.whole > 10000000000 || c.items.n > 8 || c.text == NULL))
		abort();
	if (rc != CM_OK && (rc != CM_ECONFIG || strncmp(err.msg, "/etc/fuzz.conf:", 15) != 0))
		abort();
	(void)cm_conf_line("items.[0].name");
	cm_conf_free(rows, &c);
	free(text);
	return 0;
}
