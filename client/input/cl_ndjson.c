/* cl_ndjson.c - parses readings given as one JSON object per line. */
#include "cl_format.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cm_oom.h"
#include "cr_secret.h"
#include "qy_query.h"

#define NUMBER_TEXT 40
#define NESTED_MAX  65536u /* arrays and objects of a line: jansson takes 200 bytes for one of two */

struct ndjson_state {
	char (*number)[NUMBER_TEXT]; /* by field: text of a number */
	struct cm_buf *array;        /* by field: text of an array of numbers */
	/* The device's name, with room for one byte more than allowed, to detect names that are too long. */
	char device[CL_DEVICE_MAX + 2];
};

static void ndjson_close(struct cl_parser *p)
{
	struct ndjson_state *s = p->state;

	if (s->number)
		cr_wipe(s->number, p->conf->fields * sizeof *s->number);
	for (size_t i = 0; s->array && i < p->conf->fields; i++)
		cm_buf_fini(&s->array[i]);
	free(s->number);
	cr_wipe(s->device, sizeof s->device);
	free(s->array);
	free(s);
}

static enum cm_rc ndjson_open(struct cl_parser *p, struct cm_err *err)
{
	size_t fields = p->conf->fields;
	struct ndjson_state *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	p->state = s;
	s->number = calloc(fields, sizeof *s->number);
	s->array = calloc(fields, sizeof *s->array);
	for (size_t i = 0; s->array && i < fields; i++) {
		cm_buf_init(&s->array[i], (size_t)CL_ARRAY_MAX * NUMBER_TEXT);
		s->array[i].secret = 1;
	}
	if (s->number && s->array)
		return CM_OK;
	ndjson_close(p);
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* A scalar as text; numbers as one would type them (17 digits restore a double exactly).  NULL for other
 * types.  Borrowed from v or from number. */
static const char *scalar_text(const json_t *v, char *number, size_t size)
{
	switch (json_typeof(v)) {
	case JSON_STRING:
		return json_string_value(v);
	case JSON_INTEGER:
		(void)snprintf(number, size, "%lld", (long long)json_integer_value(v));
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

/* Item `one` of an array as text; NULL: it may not be there. */
static const char *item_text(const json_t *one, bool set, char *number, size_t size)
{
	const char *text = set || json_is_number(one) ? scalar_text(one, number, size) : NULL;

	return text && set && strchr(text, QY_SET_SEPARATOR) ? NULL : text;
}

/* Write an array's numbers with a space between two, or the items of a set with their separator.  CM_EDATA:
 * it is no such array. */
static enum cm_rc array_text(const json_t *v, bool set, struct cm_buf *out)
{
	size_t n = json_array_size(v);
	const char separator = QY_SET_SEPARATOR;
	char number[NUMBER_TEXT];

	if (!json_is_array(v) || n > CL_ARRAY_MAX)
		return CM_EDATA;
	out->len = 0;
	for (size_t i = 0; i < n; i++) {
		const char *text = item_text(json_array_get(v, i), set, number, sizeof number);
		enum cm_rc rc;

		if (!text)
			return CM_EDATA;
		rc = i > 0 ? cm_buf_put(out, set ? &separator : " ", 1) : CM_OK;
		if (rc == CM_OK)
			rc = cm_buf_put(out, text, strlen(text));
		if (rc != CM_OK)
			return rc;
	}
	return cm_buf_put(out, "", 1);
}

/* Set p->text[i] from field i of an object; bad: what is wrong with the field. */
static enum cm_rc field_text(
	struct cl_parser *p, const json_t *object, size_t i, char *bad, size_t room, struct cm_err *err)
{
	const struct cl_reader_conf *conf = p->conf;
	struct ndjson_state *s = p->state;
	const json_t *value = json_object_get(object, conf->field[i]);
	enum cm_rc rc;

	if (!value) {
		(void)snprintf(bad, room, "no field '%.100s'", conf->field[i]);
		return CM_OK;
	}
	p->text[i] = scalar_text(value, s->number[i], sizeof s->number[i]);
	if (p->text[i])
		return CM_OK;
	rc = conf->arrays ? array_text(value, conf->arrays == CL_ARRAYS_SETS, &s->array[i]) : CM_EDATA;
	if (rc == CM_EINTERNAL)
		return cm_fail(err, rc, "out of memory");
	if (rc == CM_OK)
		p->text[i] = (const char *)s->array[i].data;
	else
		(void)snprintf(bad, room, "field '%.100s' is no string, number%s", conf->field[i],
			conf->arrays == CL_ARRAYS_NUMBERS ? ", boolean or array of numbers"
			: conf->arrays == CL_ARRAYS_SETS  ? ", boolean or array of texts"
							  : " or boolean");
	return CM_OK;
}

/* ---- finding the device of a line that does not parse ---- */

/* The end of the JSON string at `at`, after its closing quote; NULL if it is not closed.  Skips escapes. */
static const uint8_t *string_end(const uint8_t *at, const uint8_t *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\' && ++at == end)
			return NULL;
	return at < end ? at + 1 : NULL;
}

static const uint8_t *skip_space(const uint8_t *at, const uint8_t *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
		at++;
	return at;
}

/* The end of the value at `at`: before the comma or bracket that follows it at the same depth.  NULL if the
 * line ends first. */
static const uint8_t *value_end(const uint8_t *at, const uint8_t *end)
{
	for (size_t depth = 0; at < end;) {
		if (*at == '"') {
			at = string_end(at, end);
			if (!at)
				return NULL;
			continue;
		}
		if (depth == 0 && (*at == ',' || *at == '}' || *at == ']'))
			return at;
		depth += *at == '{' || *at == '[';
		depth -= *at == '}' || *at == ']';
		at++;
	}
	return NULL;
}

/* Copy a string or an integer as text, cut to the room. */
static bool name_of(const uint8_t *at, const uint8_t *end, char out[CL_DEVICE_MAX + 2])
{
	bool nested = at < end && (*at == '{' || *at == '[');
	json_t *v = nested ? NULL : json_loadb((const char *)at, (size_t)(end - at), JSON_DECODE_ANY, NULL);
	char number[NUMBER_TEXT];
	const char *text =
		json_is_string(v) || json_is_integer(v) ? scalar_text(v, number, sizeof number) : NULL;

	if (text)
		(void)snprintf(out, CL_DEVICE_MAX + 2, "%s", text);
	json_decref(v);
	return text;
}

/* Whether this key, including its quotes, names the field.  The key may contain escapes; `room` is for
 * decoding them. */
static bool is_key(const uint8_t *key, const uint8_t *end, const char *field, char room[CL_DEVICE_MAX + 2])
{
	size_t n = strlen(field);

	if (memchr(key, '\\', (size_t)(end - key)))
		return name_of(key, end, room) && strcmp(room, field) == 0;
	return (size_t)(end - key) == n + 2 && memcmp(key + 1, field, n) == 0;
}

/* Copy the device's name to `out`, from the first member with that key, provided the members before it can be
 * separated.  The text after it is ignored, valid or not. */
static bool find_device(const char *field, const uint8_t *at, const uint8_t *end, char out[CL_DEVICE_MAX + 2])
{
	at = skip_space(at, end);
	if (at == end || *at++ != '{')
		return false;
	for (;;) {
		const uint8_t *key = skip_space(at, end), *value, *after;
		const uint8_t *key_end = key < end && *key == '"' ? string_end(key, end) : NULL;

		value = key_end ? skip_space(key_end, end) : end;
		if (value == end || *value != ':')
			return false;
		value = skip_space(value + 1, end);
		after = value_end(value, end);
		if (!after)
			return false;
		if (is_key(key, key_end, field, out))
			return name_of(value, after, out);
		if (*after != ',')
			return false;
		at = after + 1;
	}
}

/* ---- lines ---- */

/* More than a reading has; one device's line may not take the memory of its gateway. */
static bool is_vast(const uint8_t *line, size_t n)
{
	size_t nested = 0;

	for (size_t i = 0; i < n; i++)
		nested += line[i] == '{' || line[i] == '[';
	return nested > NESTED_MAX;
}

static enum cm_rc object_row(
	struct cl_parser *p, const json_t *object, const char *device, struct cm_err *err)
{
	char why[160] = "", first[160] = "";

	if (!json_is_object(object))
		return cl_parser_row(p, device, "not a JSON object", err);
	for (size_t i = 0; i < p->conf->fields; i++) {
		enum cm_rc rc = field_text(p, object, i, why, sizeof why, err);

		if (rc != CM_OK)
			return rc;
		if (first[0] == '\0')
			memcpy(first, why, sizeof first);
	}
	return cl_parser_row(p, device, first[0] != '\0' ? first : NULL, err);
}

static enum cm_rc ndjson_take(struct cl_parser *p, uint8_t *line, size_t n, bool cut, struct cm_err *err)
{
	struct ndjson_state *s = p->state;
	const char *field = p->conf->device_field, *device = NULL;
	json_error_t fault = { .column = 0 };
	json_t *object = NULL;
	enum cm_rc rc;
	char why[64];

	if (!cut && skip_space(line, line + n) == line + n)
		return CM_OK;
	p->rows++;
	(void)cm_oom_happened();
	if (field && find_device(field, line, line + n, s->device))
		device = s->device;
	if (!cut && is_vast(line, n))
		return cl_parser_row(p, device, "more than 65536 arrays and objects", err);
	if (!cut)
		object = json_loadb((const char *)line, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
	/* Out of memory, jansson may report a valid token as invalid, or drop a byte and continue. */
	if (cm_oom_happened()) {
		json_decref(object);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (cut)
		return cl_parser_row(p, device, cl_too_long, err);
	if (!object) {
		if (!CM_CHECKED("client.ndjson_line"))
			device = NULL;
		/* jansson's message may quote the line; the position is enough and reveals nothing. */
		(void)snprintf(why, sizeof why, "%s at column %d",
			json_error_code(&fault) == json_error_duplicate_key ? "a key given twice"
									    : "not valid JSON",
			fault.column);
		return cl_parser_row(p, device, why, err);
	}
	rc = object_row(p, object, device, err);
	json_decref(object);
	return rc;
}

static enum cm_rc ndjson_end(struct cl_parser *p, struct cm_err *err)
{
	(void)p;
	(void)err;
	return CM_OK;
}

const struct cl_format_row cl_ndjson = { ndjson_open, ndjson_take, ndjson_end, ndjson_close };
