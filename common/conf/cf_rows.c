/* cf_rows.c - reads the settings of a group into a struct, by a table of options, and frees the struct. */
#include "cf_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cf_value.h"
#include "cm_suggest.h"

const char *cf_included_path(struct cf_walk *w, const char *file)
{
	if (!file)
		return w->name;
	if (LIBCONFIG_VER_MAJOR > 1 || LIBCONFIG_VER_MINOR >= 7)
		return file;
	(void)snprintf(w->included, sizeof w->included, "%s/%s", w->dir ? w->dir : ".", file);
	return w->included;
}

static const char *file_of(struct cf_walk *w, const config_setting_t *s)
{
	return cf_included_path(w, s ? config_setting_source_file(s) : NULL);
}

unsigned cf_line_of(const config_setting_t *s)
{
	return s ? (unsigned)config_setting_source_line(s) : 0;
}

#define FAULT(w, s, ...) cf_fault(&(w)->faults, file_of(w, s), cf_line_of(s), __VA_ARGS__)

static void join_key(char out[CF_DOTTED_MAX], const char *prefix, const char *key)
{
	(void)snprintf(out, CF_DOTTED_MAX, "%s%s%s", prefix, *prefix != '\0' ? "." : "", key);
}

const char *cf_quoted(const char *dotted, char out[CF_QUOTED_MAX])
{
	const char *item = strrchr(dotted, ']');

	if (item && item[1] == '.')
		(void)snprintf(
			out, CF_QUOTED_MAX, "'%s' in '%.*s'", item + 2, (int)(item + 1 - dotted), dotted);
	else
		(void)snprintf(out, CF_QUOTED_MAX, "'%s'", dotted);
	return out;
}

static void read_list(struct cf_walk *w, const config_setting_t *s, const struct cf_row *row, void *field,
	const char *dotted, bool is_default)
{
	struct cf_list *list = field;
	int n = config_setting_length(s);
	char range[CF_RANGE_TEXT], key[CF_QUOTED_MAX];
	bool named = row->type == CF_NAMED;

	if ((named ? config_setting_is_group(s) : config_setting_is_list(s)) == CONFIG_FALSE) {
		FAULT(w, s, "%s of groups expected for %s", named ? "group" : "list", cf_quoted(dotted, key));
		return;
	}
	if (row->max > 0 && ((double)n < row->min || (double)n > row->max)) {
		FAULT(w, s, "number of items out of range for %s (%s)", cf_quoted(dotted, key),
			cf_range_text(row, range));
		return;
	}
	list->item = calloc((size_t)n + 1, row->size);
	list->line = calloc((size_t)n + 1, sizeof *list->line);
	if (!list->item || !list->line) {
		w->no_memory = true;
		return;
	}
	list->n = (size_t)n;
	for (int i = 0; i < n; i++) {
		const config_setting_t *item = config_setting_get_elem(s, (unsigned)i);
		char inner[CF_DOTTED_MAX], *at = (char *)list->item + (size_t)i * row->size;

		/* Messages number the items from 1, as plans and tables do.  cf_line takes libconfig's
		 * path, which numbers them from 0. */
		if (named)
			join_key(inner, dotted, config_setting_name(item));
		else
			(void)snprintf(inner, sizeof inner, "%.120s.[%d]", dotted, i + 1);
		list->line[i] = (int)cf_line_of(item);
		if (named && !(*(char **)(void *)at = strdup(config_setting_name(item)))) {
			w->no_memory = true;
			return;
		}
		if (config_setting_is_group(item) == CONFIG_FALSE)
			FAULT(w, item, "group expected for '%s'", inner);
		else
			cf_rows_read(w, item, row->sub, at, inner, is_default);
	}
}

/* Read one key that is in the file. */
static void read_row(struct cf_walk *w, const config_setting_t *s, const struct cf_row *row, char *target,
	const char *dotted, bool is_default)
{
	void *field = target + row->offset;
	char range[CF_RANGE_TEXT], key[CF_QUOTED_MAX];
	const char *fault;

	if (row->type == CF_GROUP) {
		if (config_setting_is_group(s) == CONFIG_FALSE)
			FAULT(w, s, "group expected for %s", cf_quoted(dotted, key));
		else
			cf_rows_read(w, s, row->sub, field, dotted, is_default);
		return;
	}
	if (row->type == CF_LIST || row->type == CF_NAMED) {
		read_list(w, s, row, field, dotted, is_default);
		return;
	}
	if (row->type == CF_LATER) {
		*(bool *)field = config_setting_is_group(s) != CONFIG_FALSE;
		if (!*(bool *)field)
			FAULT(w, s, "group expected for %s", cf_quoted(dotted, key));
		return;
	}
	fault = cf_value_read(s, row, w->dir, is_default, field);
	if (!fault)
		return;
	if (*fault == '\0')
		w->no_memory = true;
	else if (strstr(fault, "out of range") && row->min < row->max)
		FAULT(w, s, "%s %s (%s)", fault, cf_quoted(dotted, key), cf_range_text(row, range));
	else
		FAULT(w, s, "%s %s", fault, cf_quoted(dotted, key));
}

bool cf_text_read(config_t *into, const char *text, struct cf_walk *w)
{
	bool good;

	errno = 0;
	good = config_read_string(into, text) != CONFIG_FALSE;
	w->no_memory |= errno == ENOMEM;
	return good && errno != ENOMEM;
}

/* Read a default, which is written as in the file; the quotes of a string may be left out. */
static void read_fallback(struct cf_walk *w, const struct cf_row *row, char *target, const char *dotted)
{
	bool text = row->type == CF_STRING || row->type == CF_PATH || row->type == CF_CHAR ||
		    row->type == CF_DURATION;
	const char *quote = text && row->fallback[0] != '"' ? "\"" : "";
	char line[512];
	config_t one;
	int n;

	config_init(&one);
	n = snprintf(line, sizeof line, "%s = %s%s%s;", row->key, quote, row->fallback, quote);
	if (n < 0 || (size_t)n >= sizeof line || (!cf_text_read(&one, line, w) && !w->no_memory))
		cf_fault(&w->faults, w->name, 0, "the default of '%s' cannot be read", dotted);
	else if (!w->no_memory)
		read_row(w, config_setting_get_elem(config_root_setting(&one), 0), row, target, dotted, true);
	config_destroy(&one);
}

static void read_absent(struct cf_walk *w, const config_setting_t *group, const struct cf_row *row,
	char *target, const char *prefix, const char *dotted)
{
	if (row->required && group) {
		unsigned line = config_setting_is_root(group) ? 0 : cf_line_of(group);
		const char *colon = row->help ? ": " : "", *help = row->help ? row->help : "";

		/* The message ends with the row's help, which says what to write. */
		if (*prefix != '\0')
			cf_fault(&w->faults, file_of(w, group), line, "missing required key '%s' in '%s'%s%s",
				row->key, prefix, colon, help);
		else
			cf_fault(&w->faults, w->name, 0, "missing required key '%s'%s%s", row->key, colon,
				help);
	} else if (row->type == CF_GROUP) {
		/* The group is absent, so its keys get their defaults, and none of them is required. */
		cf_rows_read(w, NULL, row->sub, target + row->offset, dotted, true);
	} else if (row->fallback) {
		read_fallback(w, row, target, dotted);
	}
}

static void unknown_key(
	struct cf_walk *w, const config_setting_t *s, const struct cf_row *rows, const char *prefix)
{
	const char *key = config_setting_name(s);
	struct cm_suggest nearest = { 0 };

	for (const struct cf_row *row = rows; row->key; row++)
		if (row->type != CF_GONE)
			cm_suggest_offer(&nearest, key, row->key);
	FAULT(w, s, "unknown key '%.60s'%s%s%s%s%s%s", key, *prefix != '\0' ? " in '" : "", prefix,
		*prefix != '\0' ? "'" : "", nearest.word ? " (did you mean '" : "",
		nearest.word ? nearest.word : "", nearest.word ? "'?)" : "");
}

void cf_rows_read(struct cf_walk *w, const config_setting_t *group, const struct cf_row *rows, char *target,
	const char *prefix, bool is_default)
{
	int n = group ? config_setting_length(group) : 0;

	for (int i = 0; i < n; i++) {
		const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
		const struct cf_row *row = rows;

		while (row->key && strcmp(row->key, config_setting_name(s)) != 0)
			row++;
		if (!row->key)
			unknown_key(w, s, rows, prefix);
	}
	for (const struct cf_row *row = rows; row->key; row++) {
		const config_setting_t *s = group ? config_setting_get_member(group, row->key) : NULL;
		char dotted[CF_DOTTED_MAX], quotes[CF_QUOTED_MAX];

		join_key(dotted, prefix, row->key);
		if (row->type == CF_GONE) {
			if (s)
				FAULT(w, s, "%s is no key any more: %s", cf_quoted(dotted, quotes),
					row->help);
			continue;
		}
		if (s)
			read_row(w, s, row, target, dotted, is_default);
		else
			read_absent(w, group, row, target, prefix, dotted);
	}
}

void cf_free(const struct cf_row *rows, void *target)
{
	for (const struct cf_row *row = rows; row->key; row++) {
		char *field = (char *)target + row->offset;
		struct cf_list *list;

		switch (row->type) {
		case CF_GONE:
		case CF_LATER:
			break;
		case CF_GROUP:
			cf_free(row->sub, field);
			break;
		case CF_LIST:
		case CF_NAMED:
			list = (struct cf_list *)(void *)field;
			for (size_t i = 0; i < list->n; i++) {
				char *item = (char *)list->item + i * row->size;

				if (row->type == CF_NAMED)
					free(*(char **)(void *)item);
				cf_free(row->sub, item);
			}
			free(list->item);
			free(list->line);
			*list = (struct cf_list){ 0 };
			break;
		default:
			cf_value_free(row, field);
		}
	}
}
