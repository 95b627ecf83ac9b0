/* cl_ndjson.c - readings as one JSON object per line. */
#include "cl_format.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_noted.h"
#include "cm_secret.h"

#define NUMBER_TEXT 40

struct ndjson_state {
	char (*number)[NUMBER_TEXT]; /* by field: a number that is its text */
	const char **text;           /* by field */
	struct cm_buf *array;        /* by field: numbers that are its text */
};

static void ndjson_close(struct cl_parser *p)
{
	struct ndjson_state *s = p->state;

	if (s->number != NULL)
		cm_wipe(s->number, p->conf->fields * sizeof *s->number);
	for (size_t i = 0; s->array != NULL && i < p->conf->fields; i++)
		cm_buf_fini(&s->array[i]);
	free(s->number);
	free(s->text);
	free(s->array);
	free(s);
}

static enum cm_rc ndjson_open(struct cl_parser *p, struct cm_err *err)
{
	size_t fields = p->conf->fields;
	struct ndjson_state *s = calloc(1, sizeof *s);

	if (s == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	p->state = s;
	s->number = calloc(fields, sizeof *s->number);
	s->text = calloc(fields, sizeof *s->text);
	s->array = calloc(fields, sizeof *s->array);
	for (size_t i = 0; s->array != NULL && i < fields; i++) {
		cm_buf_init(&s->array[i], (size_t)CL_ARRAY_MAX * NUMBER_TEXT);
		s->array[i].secret = 1;
	}
	if (s->number != NULL && s->text != NULL && s->array != NULL)
		return CM_OK;
	ndjson_close(p);
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* A scalar as text: numbers as they would be typed (17 digits keep a double exactly).  NULL for anything
 * else; else borrowed from v or from number. */
static const char *scalar_text(const json_t *v, char *number, size_t size)
{
	switch (json_typeof(v)) {
	case JSON_STRING:
		return json_string_value(v);
	case JSON_INTEGER:
		(void)snprintf(number, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		return number;
	case JSON_REAL:
		(void)snprintf(number, size, "%.17g", json_real_value(v));
		return number;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	default:
		return NULL;
	}
}

/* Numbers with a space between two.  CM_EDATA if it is no array of them. */
static enum cm_rc array_text(const json_t *v, struct cm_buf *out)
{
	size_t n = json_array_size(v);
	char number[NUMBER_TEXT];

	if (!json_is_array(v) || n > CL_ARRAY_MAX)
		return CM_EDATA;
	out->len = 0;
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(v, i);
		enum cm_rc rc;

		if (!json_is_number(one))
			return CM_EDATA;
		rc = i > 0 ? cm_buf_put(out, " ", 1) : CM_OK;
		if (rc == CM_OK) {
			const char *text = scalar_text(one, number, sizeof number);

			rc = cm_buf_put(out, text, strlen(text));
		}
		if (rc != CM_OK)
			return rc;
	}
	return cm_buf_put(out, "", 1);
}

/* Field i of an object to s->text[i]; *bad says what is wrong with the row. */
static enum cm_rc field_text(
	struct cl_parser *p, const json_t *object, size_t i, char *bad, size_t room, struct cm_err *err)
{
	const struct cl_reader_conf *conf = p->conf;
	struct ndjson_state *s = p->state;
	const json_t *value = json_object_get(object, conf->field[i]);
	enum cm_rc rc;

	if (value == NULL) {
		(void)snprintf(bad, room, "no field '%.100s'", conf->field[i]);
		return CM_OK;
	}
	s->text[i] = scalar_text(value, s->number[i], sizeof s->number[i]);
	if (s->text[i] != NULL)
		return CM_OK;
	rc = conf->arrays ? array_text(value, &s->array[i]) : CM_EDATA;
	if (rc == CM_EINTERNAL)
		return cm_fail(err, rc, "out of memory");
	if (rc == CM_OK)
		s->text[i] = (const char *)s->array[i].data;
	else
		(void)snprintf(bad, room, "field '%.100s' is no string, number%s", conf->field[i],
			conf->arrays ? ", boolean or array of numbers" : " or boolean");
	return CM_OK;
}

static enum cm_rc object_row(struct cl_parser *p, const json_t *object, struct cm_err *err)
{
	const struct cl_reader_conf *conf = p->conf;
	struct ndjson_state *s = p->state;
	const json_t *device = NULL;
	char device_number[NUMBER_TEXT], why[160] = "";
	const char *name = NULL;

	if (!json_is_object(object))
		return cl_parser_bad(p, p->line, "not a JSON object", err);
	for (size_t i = 0; i < conf->fields && why[0] == '\0'; i++) {
		enum cm_rc rc = field_text(p, object, i, why, sizeof why, err);

		if (rc != CM_OK)
			return rc;
	}
	if (why[0] != '\0')
		return cl_parser_bad(p, p->line, why, err);
	if (conf->device_field != NULL) {
		device = json_object_get(object, conf->device_field);
		if (device != NULL && (json_is_string(device) || json_is_integer(device)))
			name = scalar_text(device, device_number, sizeof device_number);
		if (name == NULL) {
			(void)snprintf(why, sizeof why, "no field '%.100s' that is a string or an integer",
				conf->device_field);
			return cl_parser_bad(p, p->line, why, err);
		}
	}
	return cl_parser_row(p, p->line, name, s->text, err);
}

static enum cm_rc ndjson_take(struct cl_parser *p, uint8_t *line, size_t n, struct cm_err *err)
{
	json_error_t fault;
	json_t *object;
	enum cm_rc rc;
	char why[64];

	while (n > 0 && strchr(" \t\r\n", line[n - 1]) != NULL && line[n - 1] != '\0')
		n--;
	if (n == 0)
		return CM_OK;
	p->rows++;
	(void)cm_noted_failure();
	object = json_loadb((const char *)line, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
	/* jansson takes a token it has no memory for to be a bad one, or drops a byte of it and goes on. */
	if (cm_noted_failure()) {
		json_decref(object);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (object == NULL) {
		/* jansson's own text may quote the line; a position says as much and leaks nothing. */
		(void)snprintf(why, sizeof why, "%s at column %d",
			json_error_code(&fault) == json_error_duplicate_key ? "a key given twice"
									    : "not valid JSON",
			fault.column);
		return cl_parser_bad(p, p->line, why, err);
	}
	rc = object_row(p, object, err);
	json_decref(object);
	return rc;
}

static enum cm_rc ndjson_too_long(struct cl_parser *p, struct cm_err *err)
{
	char why[CL_TOO_LONG_TEXT];

	p->rows++;
	return cl_parser_bad(p, p->line, cl_too_long(why), err);
}

static enum cm_rc ndjson_end(struct cl_parser *p, struct cm_err *err)
{
	if (p->rows == 0)
		return cm_fail(err, CM_EDATA, "%s: empty", p->conf->name);
	return CM_OK;
}

const struct cl_format_row cl_ndjson = { ndjson_open, ndjson_take, ndjson_too_long, ndjson_end,
	ndjson_close };
