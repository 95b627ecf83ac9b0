/* cf_conf.c - reads configuration files and checks them against a table of options. */
#include "cf_conf.h"

#include <errno.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

#include "cf_scan.h"
#include "cf_value.h"
#include "cm_file.h"
#include "cm_suggest.h"

#define DOTTED_MAX 160

/* State of reading one file. */
struct walk {
	const char *name, *dir;
	char included[512]; /* path of an included file, for file_of */
	struct cf_faults faults;
	bool no_memory;
};

struct cf_file {
	config_t keys;
	char name[];
};

static void read_rows(struct walk *w, const config_setting_t *group, const struct cf_row *rows, char *target,
	const char *prefix, bool is_default);

/* libconfig does not name the main file; it names an included file as it opened it, which before 1.7 is the
 * name in the include. */
static const char *included_path(struct walk *w, const char *file)
{
	if (!file)
		return w->name;
	if (LIBCONFIG_VER_MAJOR > 1 || LIBCONFIG_VER_MINOR >= 7)
		return file;
	(void)snprintf(w->included, sizeof w->included, "%s/%s", w->dir ? w->dir : ".", file);
	return w->included;
}

static const char *file_of(struct walk *w, const config_setting_t *s)
{
	return included_path(w, s ? config_setting_source_file(s) : NULL);
}

static unsigned line_of(const config_setting_t *s)
{
	return s ? (unsigned)config_setting_source_line(s) : 0;
}

static void join_key(char out[DOTTED_MAX], const char *prefix, const char *key)
{
	(void)snprintf(out, DOTTED_MAX, "%s%s%s", prefix, *prefix != '\0' ? "." : "", key);
}

static void read_list(struct walk *w, const config_setting_t *s, const struct cf_row *row, void *field,
	const char *dotted, bool is_default)
{
	struct cf_list *list = field;
	int n = config_setting_length(s);
	char range[CF_RANGE_TEXT];

	if (config_setting_is_list(s) == CONFIG_FALSE) {
		cf_fault(&w->faults, file_of(w, s), line_of(s), "list of groups expected for '%s'", dotted);
		return;
	}
	if (row->max > 0 && ((double)n < row->min || (double)n > row->max)) {
		cf_fault(&w->faults, file_of(w, s), line_of(s), "number of items out of range for '%s' (%s)",
			dotted, cf_range_text(row, range));
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
		char inner[DOTTED_MAX];

		/* People count from 1, as plans and tables do; cf_line takes libconfig's path, from 0. */
		(void)snprintf(inner, sizeof inner, "%.120s.[%d]", dotted, i + 1);
		list->line[i] = (int)line_of(item);
		if (config_setting_is_group(item) == CONFIG_FALSE)
			cf_fault(&w->faults, file_of(w, item), line_of(item), "group expected for '%s'",
				inner);
		else
			read_rows(w, item, row->sub, (char *)list->item + (size_t)i * row->size, inner,
				is_default);
	}
}

/* Reads one key that is in the file. */
static void read_row(struct walk *w, const config_setting_t *s, const struct cf_row *row, char *target,
	const char *dotted, bool is_default)
{
	void *field = target + row->offset;
	char range[CF_RANGE_TEXT];
	const char *fault;

	if (row->type == CF_GROUP) {
		if (config_setting_is_group(s) == CONFIG_FALSE)
			cf_fault(&w->faults, file_of(w, s), line_of(s), "group expected for '%s'", dotted);
		else
			read_rows(w, s, row->sub, field, dotted, is_default);
		return;
	}
	if (row->type == CF_LIST) {
		read_list(w, s, row, field, dotted, is_default);
		return;
	}
	if (row->type == CF_LATER) {
		*(bool *)field = config_setting_is_group(s) != CONFIG_FALSE;
		if (!*(bool *)field)
			cf_fault(&w->faults, file_of(w, s), line_of(s), "group expected for '%s'", dotted);
		return;
	}
	fault = cf_value_read(s, row, w->dir, is_default, field);
	if (!fault)
		return;
	if (*fault == '\0')
		w->no_memory = true;
	else if (strstr(fault, "out of range") && row->min < row->max)
		cf_fault(&w->faults, file_of(w, s), line_of(s), "%s '%s' (%s)", fault, dotted,
			cf_range_text(row, range));
	else
		cf_fault(&w->faults, file_of(w, s), line_of(s), "%s '%s'", fault, dotted);
}

/* libconfig does not report that memory ran out; errno from malloc does. */
static bool read_text(config_t *into, const char *text, struct walk *w)
{
	bool good;

	errno = 0;
	good = config_read_string(into, text) != CONFIG_FALSE;
	w->no_memory |= errno == ENOMEM;
	return good && errno != ENOMEM;
}

/* A default is written as in the file; the quotes of a string may be left out. */
static void read_fallback(struct walk *w, const struct cf_row *row, char *target, const char *dotted)
{
	bool text = row->type == CF_STRING || row->type == CF_PATH || row->type == CF_DURATION;
	const char *quote = text && row->fallback[0] != '"' ? "\"" : "";
	char line[512];
	config_t one;
	int n;

	config_init(&one);
	n = snprintf(line, sizeof line, "%s = %s%s%s;", row->key, quote, row->fallback, quote);
	if (n < 0 || (size_t)n >= sizeof line || (!read_text(&one, line, w) && !w->no_memory))
		cf_fault(&w->faults, w->name, 0, "the default of '%s' cannot be read", dotted);
	else if (!w->no_memory)
		read_row(w, config_setting_get_elem(config_root_setting(&one), 0), row, target, dotted, true);
	config_destroy(&one);
}

static void read_absent(struct walk *w, const config_setting_t *group, const struct cf_row *row, char *target,
	const char *prefix, const char *dotted)
{
	if (row->required && group) {
		unsigned line = config_setting_is_root(group) ? 0 : line_of(group);
		const char *colon = row->help ? ": " : "", *help = row->help ? row->help : "";

		/* The message ends with what to write there. */
		if (*prefix != '\0')
			cf_fault(&w->faults, file_of(w, group), line, "missing required key '%s' in '%s'%s%s",
				row->key, prefix, colon, help);
		else
			cf_fault(&w->faults, w->name, 0, "missing required key '%s'%s%s", row->key, colon,
				help);
	} else if (row->type == CF_GROUP) {
		/* The group's own defaults apply; its required keys are not required. */
		read_rows(w, NULL, row->sub, target + row->offset, dotted, true);
	} else if (row->fallback) {
		read_fallback(w, row, target, dotted);
	}
}

static void unknown_key(
	struct walk *w, const config_setting_t *s, const struct cf_row *rows, const char *prefix)
{
	const char *key = config_setting_name(s);
	struct cm_suggest nearest = { 0 };

	for (const struct cf_row *row = rows; row->key; row++)
		if (row->type != CF_GONE)
			cm_suggest_offer(&nearest, key, row->key);
	cf_fault(&w->faults, file_of(w, s), line_of(s), "unknown key '%.60s'%s%s%s%s%s%s", key,
		*prefix != '\0' ? " in '" : "", prefix, *prefix != '\0' ? "'" : "",
		nearest.word ? " (did you mean '" : "", nearest.word ? nearest.word : "",
		nearest.word ? "'?)" : "");
}

/* Reads all rows of one group into target; group NULL: the group is absent. */
static void read_rows(struct walk *w, const config_setting_t *group, const struct cf_row *rows, char *target,
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
		char dotted[DOTTED_MAX];

		join_key(dotted, prefix, row->key);
		if (row->type == CF_GONE) {
			if (s)
				cf_fault(&w->faults, file_of(w, s), line_of(s), "'%s' is no key any more: %s",
					dotted, row->help);
			continue;
		}
		if (s)
			read_row(w, s, row, target, dotted, is_default);
		else
			read_absent(w, group, row, target, prefix, dotted);
	}
}

static struct cf_file *new_file(const char *name)
{
	size_t n = strlen(name) + 1;
	struct cf_file *file = malloc(sizeof *file + n);

	if (!file)
		return NULL;
	config_init(&file->keys);
	memcpy(file->name, name, n);
	return file;
}

void cf_file_free(struct cf_file *file)
{
	if (file)
		config_destroy(&file->keys);
	free(file);
}

static enum cm_rc parse(const char *text, struct walk *w, bool includes, const struct cf_row *rows,
	void *target, config_t *keys)
{
	if (!cf_scan(text, w->name, includes ? w->dir : NULL, &w->faults))
		return CM_ECONFIG;
	if (includes)
		config_set_include_dir(keys, w->dir);
	if (!read_text(keys, text, w) && !w->no_memory) {
		const char *file = config_error_file(keys), *what = config_error_text(keys);

		cf_fault(&w->faults, included_path(w, file), (unsigned)config_error_line(keys), "%s",
			what ? what : "cannot be read");
		return CM_ECONFIG;
	}
	if (!w->no_memory)
		read_rows(w, config_root_setting(keys), rows, target, "", false);
	if (w->no_memory)
		return cm_fail(w->faults.err, CM_EINTERNAL, "%s: out of memory", w->name);
	return w->faults.n == 0 ? CM_OK : CM_ECONFIG;
}

/* The file goes to who asks for it, whatever was found in it: where its keys stand is needed for further
 * faults. */
static void hand_over(struct cf_file *file, struct cf_file **out)
{
	if (out)
		*out = file;
	else
		cf_file_free(file);
}

enum cm_rc cf_parse(const char *text, const char *name, const struct cf_row *rows, void *target,
	struct cf_file **file, FILE *faults, struct cm_err *err)
{
	char *dir = strchr(name, '/') ? cm_file_folder(name) : NULL;
	struct walk w = { .name = name, .dir = dir, .faults = { .out = faults, .err = err } };
	struct cf_file *read = new_file(name);
	enum cm_rc rc;

	if (!read || (!dir && strchr(name, '/')))
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);
	else
		rc = parse(text, &w, false, rows, target, &read->keys);
	hand_over(read, file);
	free(dir);
	return rc;
}

enum cm_rc cf_load(const char *path, const struct cf_row *rows, void *target, struct cf_file **file,
	FILE *faults, struct cm_err *err)
{
	char *dir = cm_file_folder(path);
	struct walk w = { .name = path, .dir = dir, .faults = { .out = faults, .err = err } };
	struct cf_file *read = new_file(path);
	struct cm_buf text;
	enum cm_rc rc;

	cm_buf_init(&text, CF_FILE_MAX + 1);
	if (!dir || !read) {
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
		goto out;
	}
	rc = cm_file_read(path, CF_FILE_MAX, &text, err);
	if (rc == CM_ENOINPUT) {
		struct cm_err first = *err;

		rc = cm_fail(err, rc, "%.240s (the verb config-sample prints one to start from)", first.msg);
	}
	if (rc == CM_EDATA)
		err->code = rc = CM_ECONFIG;
	if (rc != CM_OK) {
		if (faults)
			(void)fprintf(faults, "%s\n", err->msg);
		err->said = faults;
		goto out;
	}
	if (cm_buf_put(&text, "", 1) != CM_OK) {
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
		goto out;
	}
	if (strlen((const char *)text.data) + 1 != text.len) {
		cf_fault(&w.faults, path, 0, "not a text file");
		rc = CM_ECONFIG;
		goto out;
	}
	rc = parse((const char *)text.data, &w, true, rows, target, &read->keys);
out:
	hand_over(read, file);
	cm_buf_fini(&text);
	free(dir);
	return rc;
}

enum cm_rc cf_group_read(const struct cf_file *file, const char *dotted, const struct cf_row *rows,
	void *target, FILE *faults, struct cm_err *err)
{
	const config_setting_t *s = config_lookup(&file->keys, dotted);
	const char *key = strrchr(dotted, '.');
	struct walk w = { .name = file->name, .faults = { .out = faults, .err = err } };

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "%s: no group '%s'", file->name, dotted);
	read_rows(&w, s, rows, target, key ? key + 1 : dotted, false);
	if (w.no_memory)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", file->name);
	return w.faults.n == 0 ? CM_OK : CM_ECONFIG;
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
			list = (struct cf_list *)(void *)field;
			for (size_t i = 0; i < list->n; i++)
				cf_free(row->sub, (char *)list->item + i * row->size);
			free(list->item);
			free(list->line);
			*list = (struct cf_list){ 0 };
			break;
		default:
			cf_value_free(row, field);
		}
	}
}

int cf_line(const struct cf_file *file, const char *dotted)
{
	return (int)line_of(config_lookup(&file->keys, dotted));
}

void cf_fault_at(const struct cf_file *file, const char *dotted, const struct cm_err *why, FILE *faults,
	struct cm_err *first)
{
	struct cm_err said = *why;
	int line = file ? cf_line(file, dotted) : 0;

	if (line > 0)
		(void)cm_context(&said, "%s:%d", file->name, line);
	else if (file)
		(void)cm_context(&said, "%s", file->name);
	cf_finding(&said, faults, first);
}

void cf_finding(const struct cm_err *why, FILE *faults, struct cm_err *first)
{
	if (faults && !why->said)
		(void)fprintf(faults, "%s\n", why->msg);
	if (first->code != CM_OK)
		return;
	*first = *why;
	first->said = faults || why->said;
}

enum cm_rc cf_blamed(struct cm_err *first)
{
	if (first->code != CM_OK && first->code != CM_EPERM && first->code != CM_EINTERNAL)
		first->code = CM_ECONFIG;
	return first->code;
}
