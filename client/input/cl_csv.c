/* cl_csv.c (cl_format.h) - parses CSV rows (RFC 4180, header required) with libcsv in strict mode, each line
 * separately: a quoted field never extends over a line end. */
#include "cl_format.h"

#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cr_secret.h"

#define NO_COLUMN SIZE_MAX
#define NOBODYS   UINT32_MAX
#define PART      (UINT32_C(1) << 31) /* of wanted_by: the column is one number of the field's array */
/* libcsv enlarges its field buffer in steps of this many bytes, copying it each time. */
#define CSV_STEP 65536u
#define IN_FIELD 2 /* libcsv's state inside a field */

struct csv_state {
	struct csv_parser csv;
	struct cl_parser *parser;
	/* Texts of the current line, NUL-terminated: one per wanted field, and the device. */
	struct cm_buf *value, device;
	bool have_device;
	uint32_t *wanted_by; /* by column: index of the field that wants it, or NOBODYS */
	bool *found;         /* by field: the header has it */
	uint32_t *parts;     /* by field: how many columns "x0", "x1", ... of it the header has */
	size_t device_column, columns;
	size_t column;   /* number of fields of the line so far */
	const char *bad; /* what is wrong with the current line */
	bool have_header;
	bool blank;               /* the last line was empty: a row of one column, if another line follows */
	bool json;                /* the header begins as JSON does */
	const char *separated_by; /* what to say of a separator found inside the header's first name; or
				   * NULL */
	enum cm_rc rc;            /* fault of a callback */
	struct cm_err err;
};

/* Only cl_reader's line ends end a record; libcsv must not end one at a carriage return. */
static int is_term(unsigned char c)
{
	(void)c;
	return 0;
}

static bool new_csv(struct csv_parser *csv)
{
	if (csv_init(csv, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
		return false;
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
	free(s->wanted_by);
	free(s->found);
	free(s->parts);
	free(s);
}

static enum cm_rc csv_open(struct cl_parser *p, struct cm_err *err)
{
	size_t fields = p->conf->fields;
	struct csv_state *s = calloc(1, sizeof *s);

	if (!s || !new_csv(&s->csv)) {
		free(s);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	s->parser = p;
	s->device_column = NO_COLUMN;
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
	if (s->value && s->found && s->parts && s->wanted_by)
		return CM_OK;
	csv_close(p);
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* Whether this column is the next number of an array: the field's name, followed by its number. */
static bool is_next_part(const struct csv_state *s, uint32_t field, const char *text)
{
	const char *name = s->parser->conf->field[field];
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
		s->separated_by = strchr(text, ';')    ? "; commas separate columns, not semicolons"
				  : strchr(text, '\t') ? "; commas separate columns, not tabs"
						       : NULL;
	for (uint32_t i = 0; i < conf->fields; i++) {
		if (is_next_part(s, i, text)) {
			s->parts[i]++;
			s->wanted_by[s->column] = i | PART;
		}
		if (strcmp(text, conf->field[i]) != 0)
			continue;
		if (s->found[i])
			s->bad = "the header names a column twice";
		s->found[i] = true;
		s->wanted_by[s->column] = i;
	}
	if (conf->device_field && strcmp(text, conf->device_field) == 0) {
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

/* The message must not quote the header's names: in a file without a header they are a device's reading. */
static enum cm_rc no_column(struct csv_state *s, const char *name)
{
	const char *hint = s->column == 1 && s->separated_by ? s->separated_by : "";

	if (s->json)
		return cm_fail(&s->err, CM_EDATA,
			"%s:%llu: no header with a column '%s': this is JSON and no CSV (format = \"ndjson\", or "
			"a name that ends in .json)",
			s->parser->conf->name, (unsigned long long)s->parser->line, name);

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
		if (!s->found[i] && s->parts[i] == 0)
			return no_column(s, conf->field[i]);
	if (conf->device_field && s->device_column == NO_COLUMN)
		return no_column(s, conf->device_field);
	s->columns = s->column;
	s->have_header = true;
	return CM_OK;
}

static enum cm_rc end_row(struct csv_state *s)
{
	struct cl_parser *p = s->parser;
	const char *bad = s->bad;
	char why[64];

	if (!bad && s->column != s->columns) {
		(void)snprintf(why, sizeof why, "%zu columns, the header has %zu", s->column, s->columns);
		bad = why;
	}
	p->rows++;
	for (size_t i = 0; !bad && i < p->conf->fields; i++)
		p->text[i] = (const char *)s->value[i].data;
	/* Columns before the fault were parsed, so the row keeps its device if that is among them. */
	return cl_parser_row(p, s->have_device ? (const char *)s->device.data : NULL, bad, &s->err);
}

/* Ensure that libcsv considers the line ended. */
static enum cm_rc end_line(struct csv_state *s, bool cut, struct cm_err *err)
{
	const char *bad = s->bad ? s->bad : cut ? s->parser->too_long : NULL;
	bool stray = csv_error(&s->csv) == CSV_EPARSE;

	if (!stray && !cut && csv_fini(&s->csv, on_field, NULL, s) == 0)
		return CM_OK;
	s->bad = bad ? bad : stray ? "a stray quote" : "a quote that is not closed in its line";
	csv_free(&s->csv);
	return new_csv(&s->csv) ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
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

/* The bytes of the device's column, quotes and all: a file writes a name in one way.  false: the line ends
 * before it. */
static bool device_in(
	const struct csv_state *s, const uint8_t *line, size_t n, const uint8_t **name, size_t *len)
{
	const uint8_t *end = line + n;
	size_t column = 0;
	bool quoted = false;

	for (*name = line; line < end; line++) {
		if (*line == '"')
			quoted = !quoted;
		if (*line != ',' || quoted)
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

static enum cm_rc csv_take(struct cl_parser *p, const uint8_t *line, size_t n, bool cut, struct cm_err *err)
{
	struct csv_state *s = p->state;
	const uint8_t *name;
	size_t len;
	enum cm_rc rc = CM_OK;

	if (s->blank)
		rc = blank_row(s);
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
