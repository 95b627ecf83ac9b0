/* cl_format.c - delivers the rows that the parsers of CSV and NDJSON read. */
#include "cl_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cl_map.h"
#include "cl_texts.h"
#include "qy_value.h"

enum cm_rc cl_parser_leave_out(struct cl_parser *p, struct cm_err *err)
{
	const struct cl_row row = { .text = p->text,
		.line = p->line,
		.why = "one of more rows or bytes than a device may have in a file: it is left out" };

	return p->conf->on_row(p->conf->user, &row, err);
}

enum cm_rc cl_parser_share(struct cl_parser *p, const uint8_t *name, size_t len, size_t n, struct cm_err *err)
{
	bool fits = true;
	enum cm_rc rc = p->share ? cl_share_take(p->share, name, len, n, &fits, err) : CM_OK;

	if (rc != CM_OK || fits)
		return rc;
	p->left_out = name + len + 1;
	rc = cl_parser_leave_out(p, err);
	return rc == CM_OK ? CM_ELATER : rc;
}

enum cm_rc cl_parser_row(struct cl_parser *p, const char *device, const char *why, struct cm_err *err)
{
	struct cl_row row = {
		.device = device, .text = p->text, .line = p->line, .why = why, .absent = why && p->absent
	};
	char number[24];

	if (!p->conf->device_field) {
		(void)snprintf(number, sizeof number, "%" PRIu64, p->rows);
		row.device = number;
	} else if (!device) {
		row.why = why ? why : "it cannot be told which device this is";
	} else if (*device == '\0') {
		row.device = NULL;
		row.why = "the device field is empty";
	} else if (strlen(device) > CL_DEVICE_MAX) {
		row.device = NULL;
		row.why = "the device field is longer than 200 bytes";
	}
	return p->conf->on_row(p->conf->user, &row, err);
}

/* Whether the text is one number with a decimal comma; if it is, the comma becomes a point. */
static bool is_comma_number(char *text)
{
	char *comma = strchr(text, ','), *end = text;
	double unused;
	bool is;

	if (!comma || strchr(text, '.'))
		return false;
	*comma = '.';
	is = qy_number_read(text, &end, &unused) && *end == '\0';
	if (!is)
		*comma = ',';
	return is;
}

/* Replace decimal commas by points.  false: the field needs a number, and the text has a point. */
static bool take_commas(const struct cl_parser *p, size_t i, char *text)
{
	const struct cl_texts *known = p->conf->known ? p->conf->known[i] : NULL;

	if (i >= p->conf->fields - p->conf->texts && !(p->entry[i] && cl_map_needs_number(p->entry[i]))) {
		if (!known || cl_texts_find(known, text, strlen(text)) == cl_texts_n(known))
			(void)is_comma_number(text);
		return true;
	}
	if (strchr(text, '.'))
		return false;
	for (char *comma = text; (comma = strchr(comma, ',')) != NULL;)
		*comma = '.';
	return true;
}

enum cm_rc cl_parser_text(
	struct cl_parser *p, size_t i, struct cm_buf *text, char *bad, size_t room, struct cm_err *err)
{
	const char *field = p->conf->field[i];
	const struct cl_map_entry *e = p->entry[i];
	enum cm_rc rc = CM_OK;

	if (p->conf->csv.decimal_comma && !take_commas(p, i, (char *)text->data)) {
		(void)snprintf(
			bad, room, "field '%.80s' has a point, and the file has decimal commas", field);
		p->absent = false;
		return CM_OK;
	}
	if (e)
		rc = cl_map_text(e, p->conf->arrays == CL_ARRAYS_NUMBERS, text);
	if (rc == CM_EINTERNAL)
		return cm_fail(err, rc, "out of memory");
	p->absent = p->absent && rc != CM_EDATA;
	if (rc == CM_OK)
		p->text[i] = (const char *)text->data;
	else if (rc == CM_ENOINPUT)
		(void)snprintf(bad, room, "field '%.80s' has a value that its map calls invalid", field);
	else if (e->unit)
		(void)snprintf(
			bad, room, "field '%.60s' is no number, nor one with the unit '%s'", field, e->unit);
	else
		(void)snprintf(bad, room, "field '%.80s' is no number that its map can scale", field);
	return CM_OK;
}
