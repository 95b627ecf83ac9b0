/* cl_ndjson.c (cl_format.h) - parses readings given as JSON objects, one at a time. */
#include "cl_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_map.h"
#include "cl_texts.h"
#include "cm_fault.h"
#include "cr_secret.h"
#include "qy_query.h"

enum seen { MISSING, ONCE, TWICE };

/* A field that the reader was asked for. */
struct wanted {
	enum seen seen; /* how often the current object has it */
	struct cl_json_part part;
	struct cm_buf text; /* ended by NUL */
};

struct ndjson_state {
	struct wanted *field;
	struct cl_paths *paths; /* the paths of the fields, and after them the path of the device */
	struct cm_buf name;
	/* The device's name, with room for one byte more than allowed, to detect names that are too long. */
	char device[CL_DEVICE_MAX + 2];
	enum seen seen; /* how often the current object has the device's field */
	bool named;     /* `device` was set by the current object */
	size_t bytes;   /* bytes of the current object */
};

static void ndjson_close(struct cl_parser *p)
{
	struct ndjson_state *s = p->state;

	for (size_t i = 0; s->field && i < p->conf->fields; i++)
		cm_buf_fini(&s->field[i].text);
	cm_buf_fini(&s->name);
	cl_paths_free(s->paths);
	cr_wipe(s->device, sizeof s->device);
	free(s->field);
	free(s);
}

static enum cm_rc open_paths(const struct cl_reader_conf *conf, struct cl_paths **out, struct cm_err *err)
{
	struct cl_path *path = calloc(conf->fields + 1, sizeof *path);
	size_t n = 0;
	enum cm_rc rc;

	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (; n < conf->fields; n++)
		path[n] = cl_map_path(conf->map, conf->field[n]);
	if (conf->device_field)
		path[n++] = cl_map_path(conf->map, conf->device_field);
	rc = cl_paths_new(path, n, out, err);
	free(path);
	return rc;
}

static enum cm_rc ndjson_open(struct cl_parser *p, struct cm_err *err)
{
	size_t fields = p->conf->fields;
	struct ndjson_state *s = calloc(1, sizeof *s);
	enum cm_rc rc;

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	p->state = s;
	cm_buf_init(&s->name, CL_RECORD_MAX);
	s->name.secret = 1;
	s->field = calloc(fields, sizeof *s->field);
	for (size_t i = 0; s->field && i < fields; i++) {
		cm_buf_init(&s->field[i].text, CL_RECORD_MAX + 1);
		s->field[i].text.secret = 1;
	}
	rc = s->field ? open_paths(p->conf, &s->paths, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc != CM_OK)
		ndjson_close(p);
	return rc;
}

/* ---- values ---- */

/* Append a scalar's text.  A number whose text is not one that the query knows is written in its shortest
 * form. */
static enum cm_rc scalar_text(
	const struct cl_texts *known, const uint8_t *value, const uint8_t *end, struct cm_buf *out)
{
	char number[64], shortest[CL_JSON_SHORTEST];
	size_t n = (size_t)(end - value);

	if (!known || n >= sizeof number || !cl_json_is_number(value, end) ||
		cl_texts_find(known, value, n) < cl_texts_n(known))
		return cl_json_text(value, end, out);
	memcpy(number, value, n);
	number[n] = '\0';
	if (!cl_json_shortest(number, shortest))
		return cl_json_text(value, end, out);
	n = cm_buf_put(out, shortest, strlen(shortest)) == CM_OK ? 0 : 1;
	cr_wipe(number, sizeof number);
	cr_wipe(shortest, sizeof shortest);
	return n == 0 ? CM_OK : CM_EINTERNAL;
}

/* Whether the byte occurs in the buffer from `from` on.  An empty buffer may have no memory. */
static bool has(const struct cm_buf *b, size_t from, int byte)
{
	return b->len > from && memchr(b->data + from, byte, b->len - from);
}

/* Append an array's numbers with a space between two, or the items of a set with their separator.  CM_EDATA:
 * the array holds something else. */
static enum cm_rc array_text(
	const struct cl_texts *known, const struct cl_json_part *v, bool set, struct cm_buf *out)
{
	const char separator = set ? QY_SET_SEPARATOR : ' ';
	struct cl_json_part item;
	struct cl_json items;
	enum cm_rc rc;

	if (!cl_json_open(&items, v->value, v->end, '['))
		return CM_EDATA;
	for (size_t n = 0; (rc = cl_json_next(&items, &item)) == CM_OK; n++) {
		size_t before;

		if (n == CL_ARRAY_MAX || (!set && !cl_json_is_number(item.value, item.end)))
			return CM_EDATA;
		if (n > 0 && cm_buf_put(out, &separator, 1) != CM_OK)
			return CM_EINTERNAL;
		before = out->len;
		rc = scalar_text(known, item.value, item.end, out);
		if (rc != CM_OK)
			return rc;
		if (set && has(out, before, QY_SET_SEPARATOR))
			return CM_EDATA;
	}
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

/* Set p->text[i], or bad to what is wrong with the field. */
static enum cm_rc field_text(struct cl_parser *p, size_t i, char *bad, size_t room, struct cm_err *err)
{
	const struct cl_reader_conf *conf = p->conf;
	struct ndjson_state *s = p->state;
	const struct cl_texts *known = conf->known ? conf->known[i] : NULL;
	struct wanted *w = &s->field[i];
	enum cm_rc rc;

	if (w->seen == MISSING) {
		(void)snprintf(bad, room, "no field '%.100s'", conf->field[i]);
		return CM_OK;
	}
	w->text.len = 0;
	rc = conf->arrays != CL_ARRAYS_NONE && *w->part.value == '['
		     ? array_text(known, &w->part, conf->arrays == CL_ARRAYS_SETS, &w->text)
		     : scalar_text(known, w->part.value, w->part.end, &w->text);
	if (rc == CM_OK && has(&w->text, 0, '\0'))
		rc = CM_EDATA;
	if (rc == CM_OK && cm_buf_put(&w->text, "", 1) != CM_OK)
		rc = CM_EINTERNAL;
	if (rc == CM_EINTERNAL)
		return cm_fail(err, rc, "out of memory");
	if (rc == CM_OK)
		return cl_parser_text(p, i, &w->text, bad, room, err);
	/* A JSON null says that there is no value. */
	p->absent = p->absent && *w->part.value == 'n';
	if (*w->part.value == '"')
		(void)snprintf(bad, room, "field '%.100s' is no valid string", conf->field[i]);
	else
		(void)snprintf(bad, room, "field '%.100s' is no string, number%s", conf->field[i],
			conf->arrays == CL_ARRAYS_NUMBERS ? ", boolean or array of numbers"
			: conf->arrays == CL_ARRAYS_SETS  ? ", boolean or array of texts"
							  : " or boolean");
	return CM_OK;
}

/* ---- objects ---- */

/* Copy the device's name, cut if it is longer than the room. */
static enum cm_rc name_device(struct ndjson_state *s, const struct cl_json_part *part)
{
	enum cm_rc rc;
	size_t n;

	s->name.len = 0;
	rc = cl_json_name(part->value, part->end, &s->name);
	if (rc != CM_OK)
		return rc;
	n = s->name.len < sizeof s->device ? s->name.len : sizeof s->device - 1;
	if (n > 0)
		memcpy(s->device, s->name.data, n);
	s->device[n] = '\0';
	return CM_OK;
}

/* Store a wanted value or the device's name.  CM_ELATER: the device may have no further row. */
static enum cm_rc on_found(void *user, size_t i, const struct cl_json_part *part, struct cm_err *err)
{
	struct cl_parser *p = user;
	struct ndjson_state *s = p->state;
	enum cm_rc rc = CM_OK;

	if (i < p->conf->fields) {
		s->field[i].part = *part;
		s->field[i].seen += s->field[i].seen < TWICE;
		return CM_OK;
	}
	if (s->seen == MISSING) {
		rc = cl_parser_share(p, part->value, (size_t)(part->end - part->value), s->bytes, err);
		if (rc != CM_OK)
			return rc;
		rc = name_device(s, part);
		s->named = rc == CM_OK;
	}
	s->seen += s->seen < TWICE;
	return rc == CM_EINTERNAL ? cm_fail(err, rc, "out of memory") : CM_OK;
}

static enum cm_rc object_row(struct cl_parser *p, const char *device, struct cm_err *err)
{
	const struct ndjson_state *s = p->state;
	char why[160] = "", first[160] = "";
	bool twice = s->seen == TWICE;

	for (size_t i = 0; i < p->conf->fields; i++)
		twice = twice || s->field[i].seen == TWICE;
	if (twice)
		return cl_parser_row(p, device, "a wanted key given twice", err);
	p->absent = true;
	for (size_t i = 0; i < p->conf->fields; i++) {
		enum cm_rc rc = field_text(p, i, why, sizeof why, err);

		if (rc != CM_OK)
			return rc;
		if (first[0] == '\0')
			memcpy(first, why, sizeof first);
	}
	return cl_parser_row(p, device, first[0] != '\0' ? first : NULL, err);
}

static enum cm_rc ndjson_take(
	struct cl_parser *p, const uint8_t *line, size_t n, bool cut, struct cm_err *err)
{
	struct ndjson_state *s = p->state;
	struct cl_json object;
	bool is_object = cl_json_open(&object, line, line + n, '{');
	const uint8_t *bad = line;
	enum cm_rc rc = CM_EDATA;
	char why[64];

	if (!cut && object.at == object.end)
		return CM_OK;
	p->rows++;
	s->seen = MISSING;
	s->named = false;
	s->bytes = n;
	for (size_t i = 0; i < p->conf->fields; i++)
		s->field[i].seen = MISSING;
	if (is_object)
		rc = cl_paths_find(s->paths, line, line + n, on_found, p, &bad, err);
	if (rc != CM_OK && rc != CM_EDATA)
		return rc == CM_ELATER ? CM_OK : rc;
	if (!CM_CHECKED("client.ndjson_line") && rc != CM_OK)
		s->named = false;
	if (cut)
		return cl_parser_row(p, s->named ? s->device : NULL, p->too_long, err);
	if (!is_object)
		return cl_parser_row(p, NULL, "not a JSON object", err);
	if (rc == CM_OK)
		return object_row(p, s->named ? s->device : NULL, err);
	/* The position says enough, and reveals nothing. */
	(void)snprintf(why, sizeof why, "not valid JSON at column %zu", (size_t)(bad - line) + 1);
	return cl_parser_row(p, s->named ? s->device : NULL, why, err);
}

static enum cm_rc ndjson_end(struct cl_parser *p, struct cm_err *err)
{
	(void)p;
	(void)err;
	return CM_OK;
}

const struct cl_format_row cl_ndjson = { ndjson_open, ndjson_take, ndjson_end, ndjson_close };
