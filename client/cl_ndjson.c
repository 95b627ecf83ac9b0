/* cl_ndjson.c - readings as one JSON object per line. */
#include "cl_format.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static enum cm_rc ndjson_open(struct cl_parser *p, struct cm_err *err)
{
	(void)p;
	(void)err;
	return CM_OK;
}

static void ndjson_close(struct cl_parser *p)
{
	(void)p;
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

static enum cm_rc object_row(struct cl_parser *p, const json_t *object, struct cm_err *err)
{
	const struct cl_reader_conf *conf = p->conf;
	const json_t *value, *device = NULL;
	char value_number[40], device_number[40], why[160];
	const char *text, *name = NULL;

	if (!json_is_object(object))
		return cl_parser_bad(p, p->line, "not a JSON object", err);
	value = json_object_get(object, conf->value_field);
	if (value == NULL) {
		(void)snprintf(why, sizeof why, "no field '%.100s'", conf->value_field);
		return cl_parser_bad(p, p->line, why, err);
	}
	text = scalar_text(value, value_number, sizeof value_number);
	if (text == NULL) {
		(void)snprintf(
			why, sizeof why, "field '%.100s' is no string, number or boolean", conf->value_field);
		return cl_parser_bad(p, p->line, why, err);
	}
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
	return cl_parser_row(p, p->line, name, text, err);
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
	object = json_loadb((const char *)line, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
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
	p->rows++;
	return cl_parser_bad(p, p->line, "a line longer than 65536 bytes", err);
}

static enum cm_rc ndjson_end(struct cl_parser *p, struct cm_err *err)
{
	if (p->rows == 0)
		return cm_fail(err, CM_EDATA, "%s: empty", p->conf->name);
	return CM_OK;
}

const struct cl_format_row cl_ndjson = { ndjson_open, ndjson_take, ndjson_too_long, ndjson_end,
	ndjson_close };
