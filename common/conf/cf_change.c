/* cf_change.c - compares two readings of a configuration file by its table of options. */
#include "cf_change.h"

#include <stdlib.h>
#include <string.h>

#include "cf_rows.h"
#include "cf_value.h"

/* ---- A value as text: two values are the same if their texts are ---- */

typedef void put_fn(FILE *out, const void *item);

static void put_string(FILE *out, const void *item)
{
	const char *s = *(char *const *)item;

	if (s)
		(void)fprintf(out, "\"%s\"", s);
	else
		(void)fputs("absent", out);
}

/* With as few digits as tell it from every other number. */
static void put_number(FILE *out, const void *item)
{
	double v = *(const double *)item;
	char text[32];
	int digits = 6;

	do
		(void)snprintf(text, sizeof text, "%.*g", digits, v);
	while (strtod(text, NULL) != v && digits++ < 17);
	(void)fputs(text, out);
}

static void put_word(FILE *out, const void *item)
{
	const struct cf_word *w = item;

	if (w->text)
		put_string(out, &w->text);
	else
		put_number(out, &w->number);
}

/* n items of `size` bytes, between two brackets. */
static void put_items(FILE *out, const char brackets[3], const void *item, size_t n, size_t size, put_fn *put)
{
	(void)fputc(brackets[0], out);
	for (size_t i = 0; i < n; i++) {
		(void)fputs(i > 0 ? ", " : "", out);
		put(out, (const char *)item + i * size);
	}
	(void)fputc(brackets[1], out);
}

static void put_strings(FILE *out, const void *item)
{
	const struct cf_strings *s = item;

	put_items(out, "[]", s->item, s->n, sizeof *s->item, put_string);
}

/* The groups of a list are compared one by one; their number, and the names that the file gives them, are
 * the list's own value. */
static void put_list(FILE *out, const struct cf_row *row, const struct cf_list *list)
{
	(void)fprintf(out, "%zu groups", list->n);
	for (size_t i = 0; row->type == CF_NAMED && i < list->n; i++)
		(void)fprintf(out, "%s%s", i > 0 ? ", " : ": ",
			*(char **)(void *)((char *)list->item + i * row->size));
}

static void put_value(FILE *out, const struct cf_row *row, const void *field)
{
	const struct cf_doubles *doubles = field;
	const struct cf_table *table = field;
	const struct cf_words *words = field;

	switch (row->type) {
	case CF_STRING:
	case CF_PATH:
		put_string(out, field);
		break;
	case CF_INT:
		(void)fprintf(out, "%lld", (long long)*(const int64_t *)field);
		break;
	case CF_DURATION:
		cf_duration_put(out, *(const int64_t *)field);
		break;
	case CF_DOUBLE:
	case CF_EXTENDED:
		put_number(out, field);
		break;
	case CF_BOOL:
		(void)fputs(*(const bool *)field ? "true" : "false", out);
		break;
	case CF_LATER:
		(void)fputs(*(const bool *)field ? "present" : "absent", out);
		break;
	case CF_CHAR:
		(void)fprintf(out, "\"%c\"", *(const char *)field);
		break;
	case CF_WORD:
		put_word(out, field);
		break;
	case CF_RANGE:
		put_items(out, "[]", field, 2, sizeof(double), put_number);
		break;
	case CF_STRINGS:
	case CF_SOME:
		put_strings(out, field);
		break;
	case CF_TABLE:
		put_items(out, "()", table->item, table->n, sizeof *table->item, put_strings);
		break;
	case CF_DOUBLES:
		put_items(out, "[]", doubles->item, doubles->n, sizeof(double), put_number);
		break;
	case CF_WORDS:
		put_items(out, "[]", words->item, words->n, sizeof *words->item, put_word);
		break;
	case CF_LIST:
	case CF_NAMED:
		put_list(out, row, field);
		break;
	case CF_GROUP:
	case CF_GONE:
		break;
	}
}

/* Malloc'd; NULL: out of memory. */
static char *text_of(const struct cf_row *row, const void *field)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	put_value(out, row, field);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---- Comparing ---- */

struct change {
	cf_change_fn *fn;
	void *user;
	size_t n;
};

static void compare(struct change *c, const struct cf_row *rows, const char *before, const char *after,
	const char *prefix);

static void compare_items(struct change *c, const struct cf_row *row, const struct cf_list *before,
	const struct cf_list *after, const char *dotted)
{
	for (size_t i = 0; i < before->n; i++) {
		char inner[CF_DOTTED_MAX];

		(void)snprintf(inner, sizeof inner, "%.120s.[%zu]", dotted, i + 1);
		compare(c, row->sub, (const char *)before->item + i * row->size,
			(const char *)after->item + i * row->size, inner);
	}
}

static void compare_row(
	struct change *c, const struct cf_row *row, const void *before, const void *after, const char *dotted)
{
	char *was, *is;

	if (row->type == CF_GROUP) {
		compare(c, row->sub, before, after, dotted);
		return;
	}
	was = text_of(row, before);
	is = text_of(row, after);
	if (!was || !is || strcmp(was, is) != 0) {
		c->n++;
		c->fn(c->user, dotted, was ? was : "(out of memory)", is ? is : "(out of memory)");
	} else if (row->type == CF_LIST || row->type == CF_NAMED) {
		compare_items(c, row, before, after, dotted);
	}
	free(was);
	free(is);
}

static void compare(struct change *c, const struct cf_row *rows, const char *before, const char *after,
	const char *prefix)
{
	for (const struct cf_row *row = rows; row->key; row++) {
		char dotted[CF_DOTTED_MAX];

		(void)snprintf(dotted, sizeof dotted, "%s%s%s", prefix, *prefix != '\0' ? "." : "", row->key);
		if (row->type != CF_GONE)
			compare_row(c, row, before + row->offset, after + row->offset, dotted);
	}
}

size_t cf_changes(
	const struct cf_row *rows, const void *before, const void *after, cf_change_fn *fn, void *user)
{
	struct change c = { .fn = fn, .user = user };

	compare(&c, rows, before, after, "");
	return c.n;
}

/* ---- Logging ---- */

struct line {
	const char *path, *msg;
	enum cm_level level;
};

static void say(void *user, const char *dotted, const char *was, const char *is)
{
	const struct line *l = user;

	cm_log(l->level, l->msg, CM_S("file", l->path), CM_S("key", dotted), CM_S("in_force", was),
		CM_S("file_has", is));
}

size_t cf_changes_log(const char *path, const struct cf_row *rows, const void *before, const void *after,
	enum cm_level level, const char *msg)
{
	struct line l = { path, msg, level };

	return cf_changes(rows, before, after, say, &l);
}

void cf_changes_wait(const char *path, const struct cf_row *rows, const void *in_force, size_t size)
{
	struct cm_err err;
	void *read = calloc(1, size);

	if (!read)
		return;
	if (cf_load(path, rows, read, NULL, NULL, &err) == CM_OK)
		(void)cf_changes_log(path, rows, in_force, read, CM_LOG_WARN,
			"a changed key is not taken up: it waits for a restart");
	else
		cm_log(CM_LOG_ERROR, "the changed configuration would not be taken by a restart",
			CM_S("reason", err.msg));
	cf_free(rows, read);
	free(read);
}
