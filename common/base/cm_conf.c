/* cm_conf.c - configuration files checked against a table of options. */
#include "cm_conf.h"

#include <errno.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

#include "cm_conf_scan.h"
#include "cm_conf_value.h"
#include "cm_file.h"
#include "cm_near.h"

#define DOTTED_MAX 160

/* One reading of a file. */
struct walk {
	const char *name, *dir;
	char included[512]; /* path of an included file, for file_of */
	struct cm_conf_faults faults;
	bool no_memory;
};

/* The file last loaded on this thread, kept for cm_conf_line. */
static _Thread_local config_t last;
static _Thread_local bool have_last;

static void read_rows(struct walk *w, const config_setting_t *group, const struct cm_conf_row *rows,
	char *target, const char *prefix, bool is_default);

/* libconfig names an included file as the include does, and the main file not at all. */
static const char *included_path(struct walk *w, const char *file)
{
	if (file == NULL)
		return w->name;
	(void)snprintf(w->included, sizeof w->included, "%s/%s", w->dir != NULL ? w->dir : ".", file);
	return w->included;
}

static const char *file_of(struct walk *w, const config_setting_t *s)
{
	return included_path(w, s != NULL ? config_setting_source_file(s) : NULL);
}

static unsigned line_of(const config_setting_t *s)
{
	return s != NULL ? (unsigned)config_setting_source_line(s) : 0;
}

static void join_key(char out[DOTTED_MAX], const char *prefix, const char *key)
{
	(void)snprintf(out, DOTTED_MAX, "%s%s%s", prefix, *prefix != '\0' ? "." : "", key);
}

static void read_list(struct walk *w, const config_setting_t *s, const struct cm_conf_row *row, void *field,
	const char *dotted, bool is_default)
{
	struct cm_conf_list *list = field;
	int n = config_setting_length(s);
	char range[CM_CONF_RANGE_TEXT];

	if (config_setting_is_list(s) == CONFIG_FALSE) {
		cm_conf_fault(
			&w->faults, file_of(w, s), line_of(s), "list of groups expected for '%s'", dotted);
		return;
	}
	if (row->max > 0 && ((double)n < row->min || (double)n > row->max)) {
		cm_conf_fault(&w->faults, file_of(w, s), line_of(s),
			"number of items out of range for '%s' (%s)", dotted, cm_conf_range_text(row, range));
		return;
	}
	list->item = calloc((size_t)n + 1, row->size);
	list->line = calloc((size_t)n + 1, sizeof *list->line);
	if (list->item == NULL || list->line == NULL) {
		w->no_memory = true;
		return;
	}
	list->n = (size_t)n;
	for (int i = 0; i < n; i++) {
		const config_setting_t *item = config_setting_get_elem(s, (unsigned)i);
		char inner[DOTTED_MAX];

		(void)snprintf(inner, sizeof inner, "%.120s.[%d]", dotted, i);
		list->line[i] = (int)line_of(item);
		if (config_setting_is_group(item) == CONFIG_FALSE)
			cm_conf_fault(&w->faults, file_of(w, item), line_of(item), "group expected for '%s'",
				inner);
		else
			read_rows(w, item, row->sub, (char *)list->item + (size_t)i * row->size, inner,
				is_default);
	}
}

/* One key that is there. */
static void read_row(struct walk *w, const config_setting_t *s, const struct cm_conf_row *row, char *target,
	const char *dotted, bool is_default)
{
	void *field = target + row->offset;
	char range[CM_CONF_RANGE_TEXT];
	const char *fault;

	if (row->type == CM_CONF_GROUP) {
		if (config_setting_is_group(s) == CONFIG_FALSE)
			cm_conf_fault(
				&w->faults, file_of(w, s), line_of(s), "group expected for '%s'", dotted);
		else
			read_rows(w, s, row->sub, field, dotted, is_default);
		return;
	}
	if (row->type == CM_CONF_LIST) {
		read_list(w, s, row, field, dotted, is_default);
		return;
	}
	fault = cm_conf_value_read(s, row, w->dir, is_default, field);
	if (fault == NULL)
		return;
	if (*fault == '\0')
		w->no_memory = true;
	else if (strstr(fault, "out of range") != NULL && row->min < row->max)
		cm_conf_fault(&w->faults, file_of(w, s), line_of(s), "%s '%s' (%s)", fault, dotted,
			cm_conf_range_text(row, range));
	else
		cm_conf_fault(&w->faults, file_of(w, s), line_of(s), "%s '%s'", fault, dotted);
}

/* libconfig does not say that it had no memory; malloc does. */
static bool read_text(config_t *into, const char *text, struct walk *w)
{
	bool good;

	errno = 0;
	good = config_read_string(into, text) != CONFIG_FALSE;
	w->no_memory |= errno == ENOMEM;
	return good && errno != ENOMEM;
}

/* A default is written as in the file; the quotes of a string may be left out. */
static void read_fallback(struct walk *w, const struct cm_conf_row *row, char *target, const char *dotted)
{
	bool text = row->type == CM_CONF_STRING || row->type == CM_CONF_PATH || row->type == CM_CONF_DURATION;
	const char *quote = text && row->fallback[0] != '"' ? "\"" : "";
	char line[512];
	config_t one;
	int n;

	config_init(&one);
	n = snprintf(line, sizeof line, "%s = %s%s%s;", row->key, quote, row->fallback, quote);
	if (n < 0 || (size_t)n >= sizeof line || (!read_text(&one, line, w) && !w->no_memory))
		cm_conf_fault(&w->faults, w->name, 0, "the default of '%s' cannot be read", dotted);
	else if (!w->no_memory)
		read_row(w, config_setting_get_elem(config_root_setting(&one), 0), row, target, dotted, true);
	config_destroy(&one);
}

static void read_absent(struct walk *w, const config_setting_t *group, const struct cm_conf_row *row,
	char *target, const char *prefix, const char *dotted)
{
	if (row->required && group != NULL) {
		unsigned line = config_setting_is_root(group) ? 0 : line_of(group);

		if (*prefix != '\0')
			cm_conf_fault(&w->faults, file_of(w, group), line,
				"missing required key '%s' in '%s'", row->key, prefix);
		else
			cm_conf_fault(&w->faults, w->name, 0, "missing required key '%s'", row->key);
	} else if (row->type == CM_CONF_GROUP) {
		/* Its own defaults hold; what it would require does not. */
		read_rows(w, NULL, row->sub, target + row->offset, dotted, true);
	} else if (row->fallback != NULL) {
		read_fallback(w, row, target, dotted);
	}
}

static void unknown_key(
	struct walk *w, const config_setting_t *s, const struct cm_conf_row *rows, const char *prefix)
{
	const char *key = config_setting_name(s);
	struct cm_near near = { 0 };

	for (const struct cm_conf_row *row = rows; row->key != NULL; row++)
		cm_near_offer(&near, key, row->key);
	cm_conf_fault(&w->faults, file_of(w, s), line_of(s), "unknown key '%.60s'%s%s%s%s%s%s", key,
		*prefix != '\0' ? " in '" : "", prefix, *prefix != '\0' ? "'" : "",
		near.word != NULL ? " (did you mean '" : "", near.word != NULL ? near.word : "",
		near.word != NULL ? "'?)" : "");
}

/* All rows of one group into target; group NULL: it is absent. */
static void read_rows(struct walk *w, const config_setting_t *group, const struct cm_conf_row *rows,
	char *target, const char *prefix, bool is_default)
{
	int n = group != NULL ? config_setting_length(group) : 0;

	for (int i = 0; i < n; i++) {
		const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
		const struct cm_conf_row *row = rows;

		while (row->key != NULL && strcmp(row->key, config_setting_name(s)) != 0)
			row++;
		if (row->key == NULL)
			unknown_key(w, s, rows, prefix);
	}
	for (const struct cm_conf_row *row = rows; row->key != NULL; row++) {
		const config_setting_t *s = group != NULL ? config_setting_get_member(group, row->key) : NULL;
		char dotted[DOTTED_MAX];

		join_key(dotted, prefix, row->key);
		if (s != NULL)
			read_row(w, s, row, target, dotted, is_default);
		else
			read_absent(w, group, row, target, prefix, dotted);
	}
}

static enum cm_rc parse(
	const char *text, struct walk *w, bool includes, const struct cm_conf_row *rows, void *target)
{
	if (have_last)
		config_destroy(&last);
	config_init(&last);
	have_last = true;
	if (!cm_conf_scan(text, w->name, includes ? w->dir : NULL, &w->faults))
		return CM_ECONFIG;
	if (includes)
		config_set_include_dir(&last, w->dir);
	if (!read_text(&last, text, w) && !w->no_memory) {
		const char *file = config_error_file(&last), *what = config_error_text(&last);

		cm_conf_fault(&w->faults, included_path(w, file), (unsigned)config_error_line(&last), "%s",
			what != NULL ? what : "cannot be read");
		return CM_ECONFIG;
	}
	if (!w->no_memory)
		read_rows(w, config_root_setting(&last), rows, target, "", false);
	if (w->no_memory)
		return cm_fail(w->faults.err, CM_EINTERNAL, "%s: out of memory", w->name);
	return w->faults.n == 0 ? CM_OK : CM_ECONFIG;
}

enum cm_rc cm_conf_parse(const char *text, const char *name, const struct cm_conf_row *rows, void *target,
	FILE *faults, struct cm_err *err)
{
	char *dir = strchr(name, '/') != NULL ? cm_file_folder(name) : NULL;
	struct walk w = { .name = name, .dir = dir, .faults = { .out = faults, .err = err } };
	enum cm_rc rc;

	if (dir == NULL && strchr(name, '/') != NULL)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);
	rc = parse(text, &w, false, rows, target);
	free(dir);
	return rc;
}

enum cm_rc cm_conf_load(
	const char *path, const struct cm_conf_row *rows, void *target, FILE *faults, struct cm_err *err)
{
	char *dir = cm_file_folder(path);
	struct walk w = { .name = path, .dir = dir, .faults = { .out = faults, .err = err } };
	struct cm_buf text;
	enum cm_rc rc;

	cm_buf_init(&text, CM_CONF_FILE_MAX + 1);
	if (dir == NULL) {
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
		goto out;
	}
	rc = cm_file_read(path, CM_CONF_FILE_MAX, &text, err);
	if (rc == CM_ENOINPUT) {
		struct cm_err first = *err;

		rc = cm_fail(err, rc, "%.240s (the verb config-sample prints one to start from)", first.msg);
	}
	if (rc == CM_EDATA)
		err->code = rc = CM_ECONFIG;
	if (rc != CM_OK) {
		if (faults != NULL)
			(void)fprintf(faults, "%s\n", err->msg);
		err->said = faults != NULL;
		goto out;
	}
	if (cm_buf_put(&text, "", 1) != CM_OK) {
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
		goto out;
	}
	if (strlen((const char *)text.data) + 1 != text.len) {
		cm_conf_fault(&w.faults, path, 0, "not a text file");
		rc = CM_ECONFIG;
		goto out;
	}
	rc = parse((const char *)text.data, &w, true, rows, target);
out:
	cm_buf_fini(&text);
	free(dir);
	return rc;
}

void cm_conf_free(const struct cm_conf_row *rows, void *target)
{
	for (const struct cm_conf_row *row = rows; row->key != NULL; row++) {
		char *field = (char *)target + row->offset;
		struct cm_conf_list *list;

		switch (row->type) {
		case CM_CONF_GROUP:
			cm_conf_free(row->sub, field);
			break;
		case CM_CONF_LIST:
			list = (struct cm_conf_list *)(void *)field;
			for (size_t i = 0; i < list->n; i++)
				cm_conf_free(row->sub, (char *)list->item + i * row->size);
			free(list->item);
			free(list->line);
			*list = (struct cm_conf_list){ 0 };
			break;
		default:
			cm_conf_value_free(row, field);
		}
	}
}

int cm_conf_line(const char *dotted)
{
	const config_setting_t *s = have_last ? config_lookup(&last, dotted) : NULL;

	return (int)line_of(s);
}

void cm_conf_fault_at(
	const char *path, const char *dotted, const struct cm_err *why, FILE *faults, struct cm_err *first)
{
	struct cm_err said = *why;
	int line = cm_conf_line(dotted);

	if (line > 0)
		(void)cm_context(&said, "%s:%d", path, line);
	else
		(void)cm_context(&said, "%s", path);
	if (faults != NULL)
		(void)fprintf(faults, "%s\n", said.msg);
	said.said = faults != NULL;
	if (first->code == CM_OK)
		*first = said;
}

enum cm_rc cm_conf_blamed(struct cm_err *first)
{
	if (first->code != CM_OK && first->code != CM_EPERM && first->code != CM_EINTERNAL)
		first->code = CM_ECONFIG;
	return first->code;
}
