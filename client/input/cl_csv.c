/* cl_csv.c (cl_format.h) - parses CSV rows (RFC 4180, header required) with libcsv in strict mode, each line
 * separately: a quoted field never extends over a line end. */
#include "cl_format.h"

#include <csv.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_map.h"
#include "cm_fault.h"
#include "cr_secret.h"

#define NO_COLUMN SIZE_MAX
#define NOBODYS   UINT32_MAX
/* bit of `wanted_by`: the column is one number of the field's array */
#define PART (UINT32_C(1) << 31)
/* libcsv enlarges its field buffer in steps of this many bytes, copying it each time. */
#define CSV_STEP    65536u
#define COMMENT_MAX 16u
#define IN_FIELD    2 /* the number by which libcsv's state says that it is inside a field */

struct csv_state {
	struct csv_parser csv;
	struct cl_parser *parser;
	struct cl_csv_form form;
	/* the columns that hold the fields, and after them the one that holds the device */
	const char **name;
	uint32_t *same; /* for each field: the first field with the same column, often itself */
	/* Texts of the current line, ended by NUL: one for each wanted field, and the device. */
	struct cm_buf *value, device;
	bool have_device;
	uint32_t *wanted_by; /* for each column: index of the first field that wants it, or NOBODYS */
	bool *found;         /* for each field: the header has its column */
	uint32_t *parts;     /* for each field: how many of its columns "x0", "x1", ... the header has */
	size_t device_column, columns;
	size_t column;   /* number of fields of the line that were read */
	const char *bad; /* what is wrong with the current line */
	bool have_header;
	bool blank;    /* the last line was empty; it is a row of one column if another line follows */
	bool json;     /* the header begins like JSON */
	char other;    /* another delimiter, which was found inside the header's first name; 0 if none was */
	enum cm_rc rc; /* the fault that a callback returned */
	struct cm_err err;
};

/* Lines end only where cl_reader ends them; libcsv must not end a record at a carriage return. */
static int is_term(unsigned char c)
{
	(void)c;
	return 0;
}

static bool new_csv(struct csv_parser *csv, char delimiter)
{
	if (csv_init(csv, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
		return false;
	csv_set_delim(csv, (unsigned char)delimiter);
	csv_set_blk_size(csv, CSV_STEP);
	csv_set_realloc_func(csv, cr_wiping_realloc);
	csv_set_free_func(csv, cr_wiping_free);
	csv_set_term_func(csv, is_term);
	return true;
}

static void csv_close(struct cl_parser *p)
{
	struct csv_state *s = p->state;

	csv_free(&s->csv);
	for (size_t i = 0; s->value && i < p->conf->fields; i++)
		cm_buf_fini(&s->value[i]);
	cm_buf_fini(&s->device);
	free(s->value);
	free(s->name);
	free(s->same);
	free(s->wanted_by);
	free(s->found);
	free(s->parts);
	free(s);
}

static void name_columns(struct csv_state *s, const struct cl_reader_conf *conf)
{
	for (uint32_t i = 0; i < conf->fields; i++) {
		s->name[i] = cl_map_column(conf->map, conf->field[i]);
		while (strcmp(s->name[s->same[i]], s->name[i]) != 0)
			s->same[i]++;
	}
	if (conf->device_field)
		s->name[conf->fields] = cl_map_column(conf->map, conf->device_field);
}

static enum cm_rc csv_open(struct cl_parser *p, struct cm_err *err)
{
	size_t fields = p->conf->fields;
	struct csv_state *s = calloc(1, sizeof *s);
	char delimiter = ',';

	if (p->conf->csv.delimiter != '\0')
		delimiter = p->conf->csv.delimiter;
	if (!s || !new_csv(&s->csv, delimiter)) {
		free(s);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	s->parser = p;
	s->form = p->conf->csv;
	s->form.delimiter = delimiter;
	s->device_column = NO_COLUMN;
	s->name = calloc(fields + 1, sizeof *s->name);
	s->same = calloc(fields, sizeof *s->same);
	s->value = calloc(fields, sizeof *s->value);
	s->found = calloc(fields, sizeof *s->found);
	s->parts = calloc(fields, sizeof *s->parts);
	s->wanted_by = malloc(CL_COLUMNS_MAX * sizeof *s->wanted_by);
	for (size_t i = 0; s->value && i < fields; i++) {
		cm_buf_init(&s->value[i], CL_RECORD_MAX + 1);
		s->value[i].secret = 1;
	}
	cm_buf_init(&s->device, CL_RECORD_MAX + 1);
	s->device.secret = 1;
	p->state = s;
	if (!s->value || !s->found || !s->parts || !s->wanted_by || !s->name || !s->same) {
		csv_close(p);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	name_columns(s, p->conf);
	return CM_OK;
}

/* Whether this column is the next number of an array: the field's name, followed by its number. */
static bool is_next_part(const struct csv_state *s, uint32_t field, const char *text)
{
	const char *name = s->name[field];
	size_t n = strlen(name);
	char number[16];

	(void)snprintf(number, sizeof number, "%u", (unsigned)s->parts[field]);
	return s->parser->conf->arrays == CL_ARRAYS_NUMBERS && strncmp(text, name, n) == 0 &&
	       strcmp(text + n, number) == 0;
}

/* Process the header's column s->column, which is below CL_COLUMNS_MAX. */
static void header_field(struct csv_state *s, const char *text)
{
	const struct cl_reader_conf *conf = s->parser->conf;

	s->wanted_by[s->column] = NOBODYS;
	if (s->column == 0)
		s->other = text[strcspn(text, ",;\t|")];
	for (uint32_t i = 0; i < conf->fields; i++) {
		if (s->same[i] != i)
			continue;
		if (is_next_part(s, i, text)) {
			s->parts[i]++;
			s->wanted_by[s->column] = i | PART;
		}
		if (strcmp(text, s->name[i]) != 0)
			continue;
		if (s->found[i])
			s->bad = "the header names a column twice";
		s->found[i] = true;
		s->wanted_by[s->column] = i;
	}
	if (conf->device_field && strcmp(text, s->name[conf->fields]) == 0) {
		if (s->device_column != NO_COLUMN)
			s->bad = "the header names a column twice";
		s->device_column = s->column;
	}
}

static void keep(struct csv_state *s, struct cm_buf *into, const char *text, size_t n)
{
	into->len = 0;
	if (cm_buf_put(into, text, n) != CM_OK || cm_buf_put(into, "", 1) != CM_OK)
		s->rc = cm_fail(&s->err, CM_EINTERNAL, "out of memory");
}

/* Append one more number of an array, after a space. */
static void keep_part(struct csv_state *s, struct cm_buf *into, const char *text, size_t n)
{
	if (into->len > 0)
		into->data[into->len - 1] = ' ';
	if (cm_buf_put(into, text, n) != CM_OK || cm_buf_put(into, "", 1) != CM_OK)
		s->rc = cm_fail(&s->err, CM_EINTERNAL, "out of memory");
}

static void on_value(struct csv_state *s, uint32_t wanted_by, const char *text, size_t n)
{
	if (wanted_by == NOBODYS)
		return;
	if (!(wanted_by & PART))
		keep(s, &s->value[wanted_by], text, n);
	else if (!s->found[wanted_by & ~PART])
		keep_part(s, &s->value[wanted_by & ~PART], text, n);
}

static void on_field(void *field, size_t n, void *user)
{
	struct csv_state *s = user;
	const char *text = field;

	if (s->rc != CM_OK)
		return;
	if (s->column == CL_COLUMNS_MAX) {
		_Static_assert(CL_COLUMNS_MAX == 16384u, "the number that is said");
		s->bad = "more than 16384 columns";
		return;
	}
	if (memchr(text, '\0', n)) {
		s->bad = "a NUL byte";
		s->column++;
		return;
	}
	if (!s->have_header)
		header_field(s, text);
	/* A record may have more columns than the header; it is refused at its end. */
	else if (s->column < s->columns)
		on_value(s, s->wanted_by[s->column], text, n);
	if (s->have_header && s->column == s->device_column) {
		keep(s, &s->device, text, n);
		s->have_device = true;
	}
	s->column++;
}

static const char *delimiter_name(char delimiter)
{
	return delimiter == ','   ? "commas"
	       : delimiter == ';' ? "semicolons"
	       : delimiter == '|' ? "bars"
				  : "tabs";
}

/* Report that a column is missing.  The message must not quote the header's names: in a file without a
 * header they are a device's reading. */
static enum cm_rc no_column(struct csv_state *s, const char *name)
{
	char hint[100] = "";

	if (s->json)
		return cm_fail(&s->err, CM_EDATA,
			"%s:%llu: no header with a column '%s': this is JSON and no CSV (format = \"ndjson\", or "
			"a name that ends in .json)",
			s->parser->conf->name, (unsigned long long)s->parser->line, name);
	if (s->column == 1 && s->other != '\0')
		(void)snprintf(hint, sizeof hint, "; %s separate columns, not %s (input.delimiter)",
			delimiter_name(s->form.delimiter), delimiter_name(s->other));
	return cm_fail(&s->err, CM_EDATA, "%s:%llu: no column '%s' among the %zu of the header%s",
		s->parser->conf->name, (unsigned long long)s->parser->line, name, s->column, hint);
}

static enum cm_rc end_header(struct csv_state *s)
{
	const struct cl_reader_conf *conf = s->parser->conf;
	unsigned long long line = s->parser->line;

	if (s->bad && !s->json)
		return cm_fail(&s->err, CM_EDATA, "%s:%llu: %s", conf->name, line, s->bad);
	for (size_t i = 0; i < conf->fields; i++)
		if (s->same[i] == i && !s->found[i] && s->parts[i] == 0)
			return no_column(s, s->name[i]);
	if (conf->device_field && s->device_column == NO_COLUMN)
		return no_column(s, s->name[conf->fields]);
	s->columns = s->column;
	s->have_header = true;
	return CM_OK;
}

/* Set the row's texts.  bad: what is wrong with the first field that has no valid text. */
static enum cm_rc row_texts(struct csv_state *s, char *bad, size_t room)
{
	struct cl_parser *p = s->parser;
	enum cm_rc rc = CM_OK;

	p->absent = true;
	/* If two fields want a column, give each its own copy of the text, before either of them is turned
	 * into a reading. */
	for (size_t i = 0; i < p->conf->fields; i++)
		if (s->same[i] != i)
			keep(s, &s->value[i], (const char *)s->value[s->same[i]].data,
				s->value[s->same[i]].len - 1);
	for (size_t i = 0; s->rc == CM_OK && rc == CM_OK && i < p->conf->fields; i++) {
		char why[160] = "";

		rc = cl_parser_text(p, i, &s->value[i], why, sizeof why, &s->err);
		if (*bad == '\0')
			(void)snprintf(bad, room, "%s", why);
	}
	return s->rc != CM_OK ? s->rc : rc;
}

static enum cm_rc end_row(struct csv_state *s)
{
	struct cl_parser *p = s->parser;
	const char *bad = s->bad;
	char why[160] = "";
	enum cm_rc rc = CM_OK;

	if (!bad && s->column != s->columns) {
		(void)snprintf(why, sizeof why, "%zu columns, the header has %zu", s->column, s->columns);
		bad = why;
	}
	p->rows++;
	if (!bad)
		rc = row_texts(s, why, sizeof why);
	if (rc != CM_OK)
		return rc;
	if (why[0] != '\0')
		bad = why;
	/* Columns before the fault were parsed, so the row keeps its device if that is among them. */
	return cl_parser_row(p, s->have_device ? (const char *)s->device.data : NULL, bad, &s->err);
}

/* Make sure that libcsv considers the line ended. */
static enum cm_rc end_line(struct csv_state *s, bool cut, struct cm_err *err)
{
	const char *bad = s->bad ? s->bad : cut ? s->parser->too_long : NULL;
	bool stray = csv_error(&s->csv) == CSV_EPARSE;

	if (!stray && !cut && csv_fini(&s->csv, on_field, NULL, s) == 0)
		return CM_OK;
	s->bad = bad ? bad : stray ? "a stray quote" : "a quote that is not closed in its line";
	csv_free(&s->csv);
	return new_csv(&s->csv, s->form.delimiter) ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

static void begin_row(struct csv_state *s)
{
	s->column = 0;
	s->bad = NULL;
	s->have_device = false;
	for (size_t i = 0; i < s->parser->conf->fields; i++)
		s->value[i].len = 0;
}

/* In a file with a single column an empty line is a row with an empty text, except the file's last line: many
 * programs end their files with an empty one. */
static enum cm_rc blank_row(struct csv_state *s)
{
	s->blank = false;
	begin_row(s);
	s->parser->line--;
	on_field((void *)(uintptr_t) "", 0, s);
	if (s->rc == CM_OK)
		s->rc = end_row(s);
	for (size_t i = 0; i < s->parser->conf->fields; i++)
		s->parser->text[i] = NULL;
	s->parser->line++;
	return s->rc;
}

/* Find the bytes of the device's column, including quotes: a file writes each name in one way.  false: the
 * line ends before that column. */
static bool device_in(
	const struct csv_state *s, const uint8_t *line, size_t n, const uint8_t **name, size_t *len)
{
	const uint8_t *end = line + n;
	size_t column = 0;
	bool quoted = false;

	for (*name = line; line < end; line++) {
		if (*line == '"')
			quoted = !quoted;
		if (*line != (uint8_t)s->form.delimiter || quoted)
			continue;
		if (column == s->device_column)
			break;
		column++;
		*name = line + 1;
	}
	*len = (size_t)(line - *name);
	return column == s->device_column;
}

static enum cm_rc parse_line(struct csv_state *s, const uint8_t *line, size_t n, bool cut, struct cm_err *err)
{
	enum cm_rc rc;

	if (s->csv.pstate == 0)
		begin_row(s);
	if (!s->have_header)
		s->json = n > 0 && (*line == '{' || *line == '[');
	if (n > 0 && csv_parse(&s->csv, line, n, on_field, NULL, s) != n && csv_error(&s->csv) != CSV_EPARSE)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (!CM_CHECKED("client.csv_line") && csv_error(&s->csv) != CSV_EPARSE && s->csv.pstate == IN_FIELD &&
		s->csv.quoted)
		return CM_OK;
	rc = end_line(s, cut, err);
	if (rc != CM_OK)
		return rc;
	if (s->rc == CM_OK && (s->column > 0 || s->bad))
		s->rc = s->have_header ? end_row(s) : end_header(s);
	else if (s->rc == CM_OK)
		s->blank = s->have_header && s->columns == 1;
	return s->rc;
}

static bool is_comment(const struct csv_state *s, const uint8_t *line, size_t n)
{
	size_t len = s->form.comment ? strlen(s->form.comment) : 0;

	return len > 0 && n >= len && memcmp(line, s->form.comment, len) == 0;
}

static enum cm_rc csv_take(struct cl_parser *p, const uint8_t *line, size_t n, bool cut, struct cm_err *err)
{
	struct csv_state *s = p->state;
	const uint8_t *name;
	size_t len;
	enum cm_rc rc = CM_OK;

	if (s->blank)
		rc = blank_row(s);
	if (rc == CM_OK && is_comment(s, line, n))
		return CM_OK;
	if (rc == CM_OK && s->have_header && p->share && n > 0 && device_in(s, line, n, &name, &len)) {
		rc = cl_parser_share(p, name, len, n, err);
		if (rc == CM_ELATER)
			return CM_OK;
		if (rc != CM_OK)
			return rc;
	}
	if (rc == CM_OK)
		rc = parse_line(s, line, n, cut, err);
	if (s->rc != CM_OK)
		*err = s->err;
	return rc;
}

static enum cm_rc csv_end(struct cl_parser *p, struct cm_err *err)
{
	const struct csv_state *s = p->state;

	if (!s->have_header)
		return cm_fail(err, CM_EDATA, "%s: empty: a header line is needed", p->conf->name);
	return CM_OK;
}

const struct cl_format_row cl_csv = { csv_open, csv_take, csv_end, csv_close };

enum cm_rc cl_csv_form_check(const struct cl_csv_form *form, const char **which, struct cm_err *err)
{
	const char *comment = form->comment;

	*which = "delimiter";
	if (form->delimiter == '\0' || !strchr(",;|\t", form->delimiter))
		return cm_fail(
			err, CM_ECONFIG, "delimiter is none of \",\", \";\", \"|\" and \"\\t\" (a tab)");
	*which = "decimal_comma";
	if (form->decimal_comma && form->delimiter == ',')
		return cm_fail(err, CM_ECONFIG,
			"decimal_comma needs another delimiter than the comma: say delimiter = \";\"");
	*which = "comment";
	if (!comment)
		return CM_OK;
	if (!ispunct((unsigned char)*comment) || strchr("\"+-.,", *comment) || strlen(comment) > COMMENT_MAX)
		return cm_fail(err, CM_ECONFIG,
			"comment is 1 to %u bytes and begins with a character that begins no reading, such as "
			"\"#\"",
			COMMENT_MAX);
	if (strchr(comment, form->delimiter))
		return cm_fail(
			err, CM_ECONFIG, "comment contains the delimiter, so a row could begin with it");
	return CM_OK;
}
