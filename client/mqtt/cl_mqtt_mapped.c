/* cl_mqtt_mapped.c - applies the map of a source to a JSON object. */
#include "cl_mqtt_mapped.h"

#include <stdlib.h>
#include <string.h>

#include "cl_mqtt_fields.h"
#include "cl_paths.h"
#include "cl_readings.h"
#include "cl_texts.h"

struct cl_mqtt_mapped {
	const struct cl_map *map;
	struct cl_paths *paths;
	struct cl_json_part *part; /* for each entry of the map: the value at its path */
	unsigned *seen;
	char **name; /* of each entry's field, as cl_mqtt_fields_name writes it */
	struct cl_texts *names;
};

static const struct cl_map_entry *entry(const struct cl_map *map, size_t i)
{
	return (const struct cl_map_entry *)map->list.item + i;
}

static const char *name_of(const struct cl_map_entry *e)
{
	return e->field ? e->field : e->key;
}

static enum cm_rc write_names(struct cl_mqtt_mapped *m, struct cm_err *err)
{
	size_t n = m->map->list.n;

	m->name = calloc(n, sizeof *m->name);
	for (size_t i = 0; m->name && i < n; i++) {
		const char *field = name_of(entry(m->map, i));
		struct cm_buf text;

		cm_buf_init(&text, 6 * strlen(field) + 3);
		if (cl_mqtt_fields_name(field, strlen(field), &text) == CM_OK &&
			cm_buf_put(&text, "", 1) == CM_OK)
			m->name[i] = strdup((const char *)text.data);
		cm_buf_fini(&text);
		if (!m->name[i])
			return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	if (!m->name)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return cl_texts_new((const char *const *)m->name, n, &m->names, err);
}

enum cm_rc cl_mqtt_mapped_new(const struct cl_map *map, struct cl_mqtt_mapped **out, struct cm_err *err)
{
	size_t n = map->list.n;
	struct cl_mqtt_mapped *m = calloc(1, sizeof *m);
	struct cl_path *path = calloc(n, sizeof *path);
	enum cm_rc rc = m && path ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK) {
		m->map = map;
		m->part = calloc(n, sizeof *m->part);
		m->seen = calloc(n, sizeof *m->seen);
		rc = m->part && m->seen ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	for (size_t i = 0; rc == CM_OK && i < n; i++)
		path[i] = cl_map_path(map, name_of(entry(map, i)));
	if (rc == CM_OK)
		rc = cl_paths_new(path, n, &m->paths, err);
	if (rc == CM_OK)
		rc = write_names(m, err);
	free(path);
	if (rc != CM_OK) {
		cl_mqtt_mapped_free(m);
		return rc;
	}
	*out = m;
	return CM_OK;
}

void cl_mqtt_mapped_free(struct cl_mqtt_mapped *m)
{
	if (!m)
		return;
	cl_paths_free(m->paths);
	cl_texts_free(m->names);
	for (size_t i = 0; m->name && i < m->map->list.n; i++)
		free(m->name[i]);
	free(m->name);
	free(m->part);
	free(m->seen);
	free(m);
}

static enum cm_rc put(struct cm_buf *out, const void *bytes, size_t n)
{
	return cm_buf_put(out, bytes, n) == CM_OK ? CM_OK : CM_EINTERNAL;
}

/* ---- one value ---- */

/* Write the text of a scalar, or the numbers of an array with spaces between them, ended by NUL.  CM_EDATA:
 * the value is neither. */
static enum cm_rc text_of(const struct cl_json_part *v, struct cm_buf *text)
{
	struct cl_json_part item;
	struct cl_json items;
	enum cm_rc rc;

	if (*v->value != '[') {
		rc = cl_json_text(v->value, v->end, text);
		if (rc == CM_OK && text->len > 0 && memchr(text->data, '\0', text->len))
			rc = CM_EDATA;
		return rc == CM_OK ? put(text, "", 1) : rc;
	}
	if (!cl_json_open(&items, v->value, v->end, '['))
		return CM_EDATA;
	while ((rc = cl_json_next(&items, &item)) == CM_OK) {
		if (!cl_json_is_number(item.value, item.end))
			return CM_EDATA;
		if (text->len > 0)
			rc = put(text, " ", 1);
		if (rc == CM_OK)
			rc = put(text, item.value, (size_t)(item.end - item.value));
		if (rc != CM_OK)
			return rc;
	}
	return rc == CM_ENOINPUT ? put(text, "", 1) : rc;
}

/* Append a reading's text as JSON: a number, several numbers, or a string. */
static enum cm_rc put_text(const char *text, bool array, struct cm_buf *out)
{
	size_t n = strlen(text);
	enum cm_rc rc = array ? put(out, "[", 1) : CM_OK;

	if (!array && !cl_json_is_number((const uint8_t *)text, (const uint8_t *)text + n))
		return cl_mqtt_fields_name(text, n, out);
	for (size_t i = 0; rc == CM_OK && i < n; i++)
		rc = put(out, array && text[i] == ' ' ? "," : text + i, 1);
	return rc == CM_OK && array ? put(out, "]", 1) : rc;
}

/* Append the reading that a value becomes: null if `invalid` lists the value, so that, with `hold`, an
 * earlier value does not stand for it.  CM_ENOINPUT: the value is an object, which no query reads. */
static enum cm_rc put_value(const struct cl_map_entry *e, const struct cl_json_part *v, struct cm_buf *out)
{
	bool number = cl_map_needs_number(e), array = *v->value == '[';
	struct cm_buf text;
	enum cm_rc rc;

	if (*v->value == '{')
		return CM_ENOINPUT;
	if (!number && e->invalid.n == 0)
		return put(out, v->value, (size_t)(v->end - v->value));
	cm_buf_init(&text, 2 * (size_t)CL_RECORD_MAX);
	text.secret = 1;
	rc = text_of(v, &text);
	if (rc == CM_OK)
		rc = cl_map_text(e, array, &text);
	if (rc == CM_ENOINPUT || (rc == CM_EDATA && number))
		rc = put(out, "null", 4);
	else if ((rc == CM_OK || rc == CM_EDATA) && !number)
		rc = put(out, v->value, (size_t)(v->end - v->value));
	else if (rc == CM_OK)
		rc = put_text((const char *)text.data, array, out);
	cm_buf_fini(&text);
	return rc;
}

/* ---- the object ---- */

static enum cm_rc on_found(void *user, size_t i, const struct cl_json_part *part, struct cm_err *err)
{
	struct cl_mqtt_mapped *m = user;

	(void)err;
	m->part[i] = *part;
	m->seen[i]++;
	return CM_OK;
}

/* Append a member, preceded by a comma unless it is the first. */
static enum cm_rc put_mapped(const struct cl_mqtt_mapped *m, size_t i, struct cm_buf *out)
{
	size_t before = out->len;
	enum cm_rc rc = out->len > 1 ? put(out, ",", 1) : CM_OK;

	if (rc == CM_OK)
		rc = put(out, m->name[i], strlen(m->name[i]));
	if (rc == CM_OK)
		rc = put(out, ":", 1);
	if (rc == CM_OK)
		rc = put_value(entry(m->map, i), &m->part[i], out);
	if (rc != CM_ENOINPUT)
		return rc;
	out->len = before;
	return CM_OK;
}

struct others {
	const struct cl_texts *names; /* of the map's fields */
	struct cm_buf *out;
	enum cm_rc rc;
};

/* Append a member of the payload unchanged, unless the map has a field of this name. */
static void on_field(void *user, const uint8_t *field, size_t len, size_t key)
{
	struct others *o = user;

	if (o->rc != CM_OK || cl_texts_find(o->names, field, key) < cl_texts_n(o->names))
		return;
	if (o->out->len > 1)
		o->rc = put(o->out, ",", 1);
	if (o->rc == CM_OK)
		o->rc = put(o->out, field, len);
}

enum cm_rc cl_mqtt_mapped_line(struct cl_mqtt_mapped *m, struct cm_buf *line)
{
	struct cm_buf out;
	struct others others = { .names = m->names, .out = &out, .rc = CM_OK };
	const uint8_t *bad;
	struct cm_err err;
	enum cm_rc rc;

	cm_buf_init(&out, line->max);
	out.secret = 1;
	memset(m->seen, 0, m->map->list.n * sizeof *m->seen);
	rc = cl_paths_find(m->paths, line->data, line->data + line->len, on_found, m, &bad, &err);
	if (rc != CM_EINTERNAL)
		rc = put(&out, "{", 1);
	for (size_t i = 0; rc == CM_OK && i < m->map->list.n; i++)
		if (m->seen[i] == 1)
			rc = put_mapped(m, i, &out);
	if (rc == CM_OK)
		rc = cl_mqtt_fields_split(line, on_field, &others);
	if (rc == CM_OK)
		rc = others.rc == CM_OK ? put(&out, "}", 1) : CM_EINTERNAL;
	if (rc == CM_OK) {
		cm_buf_fini(line);
		*line = out;
	} else {
		cm_buf_fini(&out);
	}
	return rc == CM_OK ? CM_OK : CM_EINTERNAL;
}
