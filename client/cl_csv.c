/* cl_csv.c - CSV rows (RFC 4180, header required) through libcsv in strict mode. */
#include "cl_format.h"

#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_secret.h"

#define NO_COLUMN SIZE_MAX
#define NOBODYS   UINT32_MAX
/* libcsv makes room for a field in steps of so many bytes, and may copy it each time. */
#define CSV_STEP 65536u

struct csv_state {
	struct csv_parser csv;
	struct cl_parser *parser;
	/* Of the record being read, NUL-terminated: one for each field asked for, and the device's. */
	struct cm_buf *value, device;
	const char **text;   /* value[i].data, when the record is whole */
	uint32_t *wanted_by; /* by column: the field whose value it is, or NOBODYS */
	bool *found;         /* by field: in the header */
	size_t device_column, columns;
	size_t column;        /* fields of the record so far */
	size_t record_bytes;  /* of the physical lines of a record that is not over */
	uint64_t record_line; /* where it started */
	const char *bad;      /* what is wrong with this record */
	bool have_header;
	const char *separated_by; /* that the header's first name has in it: "semicolons", "tabs" or NULL */
	enum cm_rc rc;
	struct cm_err err; /* of a callback */
};

static bool new_csv(struct csv_parser *csv)
{
	if (csv_init(csv, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
		return false;
	csv_set_blk_size(csv, CSV_STEP);
	csv_set_realloc_func(csv, cm_wiping_realloc);
	csv_set_free_func(csv, cm_wiping_free);
	return true;
}

static void csv_close(struct cl_parser *p)
{
	struct csv_state *s = p->state;

	csv_free(&s->csv);
	for (size_t i = 0; s->value != NULL && i < p->conf->fields; i++)
		cm_buf_fini(&s->value[i]);
	cm_buf_fini(&s->device);
	free(s->value);
	free(s->text);
	free(s->wanted_by);
	free(s->found);
	free(s);
}

static enum cm_rc csv_open(struct cl_parser *p, struct cm_err *err)
{
	size_t fields = p->conf->fields;
	struct csv_state *s = calloc(1, sizeof *s);

	if (s == NULL || !new_csv(&s->csv)) {
		free(s);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	s->parser = p;
	s->device_column = NO_COLUMN;
	s->value = calloc(fields, sizeof *s->value);
	s->text = calloc(fields, sizeof *s->text);
	s->found = calloc(fields, sizeof *s->found);
	s->wanted_by = malloc(CL_COLUMNS_MAX * sizeof *s->wanted_by);
	for (size_t i = 0; s->value != NULL && i < fields; i++) {
		cm_buf_init(&s->value[i], CL_RECORD_MAX + 1);
		s->value[i].secret = 1;
	}
	cm_buf_init(&s->device, CL_RECORD_MAX + 1);
	s->device.secret = 1;
	p->state = s;
	if (s->value != NULL && s->text != NULL && s->found != NULL && s->wanted_by != NULL)
		return CM_OK;
	csv_close(p);
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* Column s->column, which is below CL_COLUMNS_MAX. */
static void header_field(struct csv_state *s, const char *text)
{
	const struct cl_reader_conf *conf = s->parser->conf;

	s->wanted_by[s->column] = NOBODYS;
	if (s->column == 0)
		s->separated_by = strchr(text, ';') != NULL    ? "semicolons"
				  : strchr(text, '\t') != NULL ? "tabs"
							       : NULL;
	for (uint32_t i = 0; i < conf->fields; i++) {
		if (strcmp(text, conf->field[i]) != 0)
			continue;
		if (s->found[i])
			s->bad = "the header names a column twice";
		s->found[i] = true;
		s->wanted_by[s->column] = i;
	}
	if (conf->device_field != NULL && strcmp(text, conf->device_field) == 0) {
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
	if (memchr(text, '\0', n) != NULL)
		s->bad = "a NUL byte";
	else if (!s->have_header)
		header_field(s, text);
	/* A record may have more columns than the header: it is refused when it ends. */
	else if (s->column < s->columns && s->wanted_by[s->column] != NOBODYS)
		keep(s, &s->value[s->wanted_by[s->column]], text, n);
	if (s->have_header && s->column == s->device_column)
		keep(s, &s->device, text, n);
	s->column++;
}

/* Without the names that are there: in a file that lacks its header they are a device's reading. */
static enum cm_rc no_column(struct csv_state *s, const char *name)
{
	bool hint = s->column == 1 && s->separated_by != NULL;

	return cm_fail(&s->err, CM_EDATA, "%s:%llu: no column '%s' among the %zu of the header%s%s",
		s->parser->conf->name, (unsigned long long)s->record_line, name, s->column,
		hint ? "; commas separate columns, not " : "", hint ? s->separated_by : "");
}

static enum cm_rc end_header(struct csv_state *s)
{
	const struct cl_reader_conf *conf = s->parser->conf;
	unsigned long long line = s->record_line;

	if (s->bad != NULL)
		return cm_fail(&s->err, CM_EDATA, "%s:%llu: %s", conf->name, line, s->bad);
	for (size_t i = 0; i < conf->fields; i++)
		if (!s->found[i])
			return no_column(s, conf->field[i]);
	if (conf->device_field != NULL && s->device_column == NO_COLUMN)
		return no_column(s, conf->device_field);
	s->columns = s->column;
	s->have_header = true;
	return CM_OK;
}

static enum cm_rc end_row(struct csv_state *s)
{
	struct cl_parser *p = s->parser;

	for (size_t i = 0; i < p->conf->fields; i++)
		s->text[i] = (const char *)s->value[i].data;
	return cl_parser_row(p, s->record_line,
		s->device_column != NO_COLUMN ? (const char *)s->device.data : NULL, s->text, &s->err);
}

static void on_record(int terminator, void *user)
{
	struct csv_state *s = user;
	struct cl_parser *p = s->parser;
	char why[64];

	(void)terminator;
	if (s->rc != CM_OK)
		return;
	if (!s->have_header) {
		s->rc = end_header(s);
	} else {
		p->rows++;
		if (s->bad == NULL && s->column != s->columns) {
			(void)snprintf(
				why, sizeof why, "%zu columns, the header has %zu", s->column, s->columns);
			s->bad = why;
		}
		s->rc = s->bad != NULL ? cl_parser_bad(p, s->record_line, s->bad, &s->err) : end_row(s);
	}
	s->bad = NULL;
	s->column = 0;
}

/* The record cannot be finished: begin afresh at the next line. */
static enum cm_rc give_up_record(struct csv_state *s, const char *why, struct cm_err *err)
{
	struct cl_parser *p = s->parser;

	csv_free(&s->csv);
	if (!new_csv(&s->csv))
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->bad = NULL;
	s->column = 0;
	s->record_bytes = 0;
	if (!s->have_header)
		return cm_fail(err, CM_EDATA, "%s:%llu: %s in the header", p->conf->name,
			(unsigned long long)s->record_line, why);
	p->rows++;
	return cl_parser_bad(p, s->record_line, why, err);
}

static enum cm_rc endless_quote(struct csv_state *s, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "%s:%llu: a quote opened in this record is not closed within %u bytes",
		s->parser->conf->name, (unsigned long long)s->record_line, CL_RECORD_MAX);
}

static enum cm_rc csv_take(struct cl_parser *p, uint8_t *line, size_t n, struct cm_err *err)
{
	struct csv_state *s = p->state;

	if (s->record_bytes == 0)
		s->record_line = p->line;
	s->record_bytes += n;
	if (s->record_bytes > CL_RECORD_MAX)
		return endless_quote(s, err);
	if (csv_parse(&s->csv, line, n, on_field, on_record, s) != n) {
		if (csv_error(&s->csv) != CSV_EPARSE)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		if (s->rc == CM_OK)
			return give_up_record(s, "a stray quote", err);
	}
	if (s->rc != CM_OK) {
		*err = s->err;
		return s->rc;
	}
	/* libcsv is between records again, unless this newline is inside a quote. */
	if (s->csv.pstate == 0)
		s->record_bytes = 0;
	return CM_OK;
}

static enum cm_rc csv_too_long(struct cl_parser *p, struct cm_err *err)
{
	struct csv_state *s = p->state;
	char why[CL_TOO_LONG_TEXT];

	if (s->record_bytes > 0)
		return endless_quote(s, err);
	s->record_line = p->line;
	return give_up_record(s, cl_too_long(why), err);
}

static enum cm_rc csv_end(struct cl_parser *p, struct cm_err *err)
{
	struct csv_state *s = p->state;

	if (csv_fini(&s->csv, on_field, on_record, s) != 0 && s->rc == CM_OK)
		return cm_fail(err, CM_EDATA, "%s:%llu: a quote opened in this record is not closed",
			p->conf->name, (unsigned long long)s->record_line);
	if (s->rc != CM_OK) {
		*err = s->err;
		return s->rc;
	}
	if (!s->have_header)
		return cm_fail(err, CM_EDATA, "%s: empty: a header line is needed", p->conf->name);
	return CM_OK;
}

const struct cl_format_row cl_csv = { csv_open, csv_take, csv_too_long, csv_end, csv_close };
