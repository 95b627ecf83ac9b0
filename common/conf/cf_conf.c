/* cf_conf.c - opens configuration files, reads their rows, says where faults are, and prints samples. */
#include "cf_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cf_rows.h"
#include "cf_value.h"
#include "cm_file.h"
#include "cm_owned.h"

struct cf_file {
	config_t keys;
	char name[];
};

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

/* Does this line, or the one before, give a key a number like 0,5? */
static bool has_decimal_comma(const char *text, unsigned line)
{
	for (unsigned at = 1; *text != '\0' && at <= line; at++) {
		const char *end = text + strcspn(text, "\n");

		for (const char *c = at + 1 >= line ? text : end; c < end; c++) {
			size_t blank = *c == '=' ? strspn(c + 1, " \t-+") : 0;
			const char *number = c + 1 + blank, *comma = number + strspn(number, "0123456789");

			if (*c == '=' && comma > number && *comma == ',' && isdigit((unsigned char)comma[1]))
				return true;
		}
		text = *end != '\0' ? end + 1 : end;
	}
	return false;
}

/* libconfig gives the fault and the line on which it noticed it.  The last key that began before that line
 * is named, since the fault is near it. */
static void parser_fault(struct cf_walk *w, const char *text, const config_t *keys)
{
	const char *file = config_error_file(keys), *path = cf_included_path(w, file);
	const char *what = config_error_text(keys) ? config_error_text(keys) : "cannot be read";
	const unsigned line = (unsigned)config_error_line(keys);
	const char *advice = "";
	char dotted[CF_DOTTED_MAX] = "", key[CF_QUOTED_MAX];
	struct cm_buf included;
	struct cm_err unread;

	cm_buf_init(&included, CF_FILE_MAX + 1);
	if (!file && has_decimal_comma(text, line))
		advice = ": decimals are written with a point, not a comma";
	if (!file)
		cf_scan_key(text, line, dotted, sizeof dotted);
	else if (cm_file_read(path, CF_FILE_MAX, &included, &unread) == CM_OK &&
		 cm_buf_put(&included, "", 1) == CM_OK)
		cf_scan_key((const char *)included.data, line, dotted, sizeof dotted);
	cm_buf_fini(&included);
	if (*dotted == '\0')
		cf_fault(&w->faults, path, line, "%s%s", what, advice);
	else
		cf_fault(
			&w->faults, path, line, "%s at or before %s%s", what, cf_quoted(dotted, key), advice);
}

static enum cm_rc parse(const char *text, struct cf_walk *w, bool includes, const struct cf_row *rows,
	void *target, config_t *keys)
{
	/* Some editors write a byte order mark, which libconfig takes for part of a name. */
	if (strncmp(text, CF_BOM, sizeof CF_BOM - 1) == 0)
		text += sizeof CF_BOM - 1;
	if (!cf_scan(text, w->name, includes ? w->dir : NULL, &w->faults))
		return CM_ECONFIG;
	if (includes)
		config_set_include_dir(keys, w->dir);
	if (!cf_text_read(keys, text, w) && !w->no_memory) {
		parser_fault(w, text, keys);
		return CM_ECONFIG;
	}
	if (!w->no_memory)
		cf_rows_read(w, config_root_setting(keys), rows, target, "", false);
	if (w->no_memory)
		return cm_fail(w->faults.err, CM_EINTERNAL, "%s: out of memory", w->name);
	return w->faults.n == 0 ? CM_OK : CM_ECONFIG;
}

/* Give the file to the caller even if it has faults: further faults need the lines of its keys. */
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
	struct cf_walk w = { .name = name, .dir = dir, .faults = { .out = faults, .err = err } };
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
	struct cf_walk w = { .name = path, .dir = dir, .faults = { .out = faults, .err = err } };
	struct cf_file *read = new_file(path);
	struct cm_buf text;
	enum cm_rc rc;

	cm_buf_init(&text, CF_FILE_MAX + 1);
	if (!dir || !read) {
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
		goto out;
	}
	rc = cm_owned_read(path, CF_FILE_MAX, &text, err);
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
	struct cf_walk w = { .name = file->name, .faults = { .out = faults, .err = err } };

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "%s: no group '%s'", file->name, dotted);
	cf_rows_read(&w, s, rows, target, key ? key + 1 : dotted, false);
	if (w.no_memory)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", file->name);
	return w.faults.n == 0 ? CM_OK : CM_ECONFIG;
}

int cf_line(const struct cf_file *file, const char *dotted)
{
	return (int)cf_line_of(config_lookup(&file->keys, dotted));
}

static bool is_part(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Does the text have the key as a word of its own? */
static bool stands(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = text; (at = strstr(at, key)); at += n)
		if ((at == text || !is_part(at[-1])) && !is_part(at[n]))
			return true;
	return false;
}

void cf_place(const struct cf_file *file, const struct cf_row *rows, const char *text, char *out, size_t size)
{
	const char *key = NULL, *name;
	int line;

	out[0] = '\0';
	for (const struct cf_row *row = rows; file && row->key; row++)
		if (stands(text, row->key) && (!key || strlen(row->key) > strlen(key)))
			key = row->key;
	if (!key)
		return;
	name = strrchr(file->name, '/') ? strrchr(file->name, '/') + 1 : file->name;
	line = cf_line(file, key);
	if (line > 0)
		(void)snprintf(out, size, "%s:%d", name, line);
	else
		(void)snprintf(out, size, "%s", name);
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

bool cf_absent_at(
	const struct cf_file *file, const char *dotted, const char *path, FILE *faults, struct cm_err *first)
{
	struct cm_err why;

	if (access(path, F_OK) == 0 || errno != ENOENT)
		return false;
	(void)cm_fail(&why, CM_ENOINPUT,
		"%s: %.400s: no such file (relative paths are taken from this file's folder)", dotted, path);
	cf_fault_at(file, dotted, &why, faults, first);
	return true;
}

void cf_finding_of(void *user, const char *dotted, const struct cm_err *why)
{
	const struct cf_findings *f = user;
	struct cm_err said = *why;

	(void)cm_context(&said, "%s", dotted);
	cf_fault_at(f->file, dotted, &said, f->faults, f->first);
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

/* ---- the sample of a table ---- */

/* `off` is put before every line: "#" in a part that an operator may leave out, otherwise "". */
static void print_rows(const struct cf_row *rows, FILE *out, int depth, const char *off);

static void indent(FILE *out, int depth, const char *off)
{
	(void)fputs(off, out);
	for (int i = 0; i < depth; i++)
		(void)fputc('\t', out);
}

/* The placeholder for a value that has no default. */
static const char *placeholder(const struct cf_row *row)
{
	switch (row->type) {
	case CF_INT:
	case CF_DOUBLE:
	case CF_EXTENDED:
		return "...";
	case CF_BOOL:
		return "false";
	case CF_STRINGS:
		return "[ \"...\" ]";
	case CF_TABLE:
		return "( [ \"...\" ] )";
	case CF_DOUBLES:
	case CF_WORDS:
		return "[ 0.5 ]";
	case CF_RANGE:
		return "[ 0.0, 1.0 ]";
	case CF_DURATION:
		return "\"60s\"";
	case CF_LATER:
		return "{ }";
	default:
		return "\"...\"";
	}
}

static bool is_list(enum cf_type type)
{
	return type == CF_STRINGS || type == CF_TABLE || type == CF_DOUBLES || type == CF_WORDS ||
	       type == CF_LIST || type == CF_NAMED;
}

static void print_range(const struct cf_row *row, FILE *out)
{
	char text[CF_RANGE_TEXT];

	if (row->min < row->max)
		(void)fprintf(out, " (%s%s)", cf_range_text(row, text), is_list(row->type) ? " items" : "");
}

static void print_nested(const struct cf_row *row, FILE *out, int depth, const char *off)
{
	bool list = row->type == CF_LIST, named = row->type == CF_NAMED;

	/* A list that may be absent is printed as a comment. */
	if ((list || named) && !row->required)
		off = "#";
	indent(out, depth, off);
	(void)fprintf(out, "%s = %s\n", row->key, list ? "(" : "{");
	if (named) {
		indent(out, depth + 1, off);
		(void)fprintf(out, "# each by its name\n");
	}
	if (list || named) {
		indent(out, depth + 1, off);
		(void)fprintf(out, "%s{\n", named ? "NAME = " : "");
	}
	print_rows(row->sub, out, depth + (list || named ? 2 : 1), off);
	if (list || named) {
		indent(out, depth + 1, off);
		(void)fprintf(out, "}%s\n", named ? ";" : "");
	}
	indent(out, depth, off);
	(void)fprintf(out, "%s;\n", list ? ")" : "}");
}

static void print_rows(const struct cf_row *rows, FILE *out, int depth, const char *off)
{
	for (const struct cf_row *row = rows; row->key; row++) {
		const char *value = row->fallback ? row->fallback : placeholder(row);
		bool text = row->type == CF_STRING || row->type == CF_WORD || row->type == CF_PATH ||
			    row->type == CF_CHAR || row->type == CF_DURATION;
		const char *quote = text && value[0] != '"' ? "\"" : "";

		if (row->type == CF_GONE)
			continue;
		indent(out, depth, off);
		(void)fprintf(out, "# %s", row->help ? row->help : row->key);
		print_range(row, out);
		(void)fprintf(out, "%s\n", row->required ? "; required" : "");
		if (row->type == CF_GROUP || row->type == CF_LIST || row->type == CF_NAMED) {
			print_nested(row, out, depth, off);
			continue;
		}
		indent(out, depth, off);
		/* Keys without a default are comments in the sample, since the operator must write them. */
		(void)fprintf(out, "%s%s = %s%s%s;\n", row->fallback || *off != '\0' ? "" : "# ", row->key,
			quote, value, quote);
	}
}

void cf_sample(const struct cf_row *rows, FILE *out)
{
	print_rows(rows, out, 0, "");
}
