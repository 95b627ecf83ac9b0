/* cl_map.c - reads the table of a map, and judges values by it. */
#include "cl_map.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cl_line.h"
#include "cr_secret.h"
#include "qy_value.h"

#define AT(field) offsetof(struct cl_map_entry, field)

static const char space[] = " \t\r\n";

const struct cf_row cl_map_rows[] = {
	CF_OPTIONAL("path", CF_STRING, AT(path),
		"where the value stands: keys of JSON objects with dots between them, in arrays the item's "
		"number from 0 (\"sensors.0.value\"), two backslashes before a dot of a key; in CSV the "
		"column's name; the field's name when absent"),
	CF_DEFAULT("scale", CF_DOUBLE, AT(scale), "1.0", "the reading is value * scale + offset"),
	CF_DEFAULT("offset", CF_DOUBLE, AT(offset), "0.0",
		"computed exactly with the decimals as they are written, and rounded once to the nearest "
		"double"),
	CF_OPTIONAL("invalid", CF_WORDS(1, CL_MAP_INVALID_MAX), AT(invalid),
		"values, as the payload has them, that mean that there is no reading: numbers or texts"),
	CF_OPTIONAL("unit", CF_STRING, AT(unit),
		"unit that may follow a number in the payload's text, and is removed; a number with another "
		"unit, or with a unit where none is said, is no reading"),
	CF_OPTIONAL("field", CF_STRING, AT(field),
		"the field's name, where it has characters that NAME may not have"),
	CF_END,
};

/* ---- the configuration ---- */

static const struct cl_map_entry *entry_at(const struct cl_map *map, size_t i)
{
	return (const struct cl_map_entry *)map->list.item + i;
}

static const char *name_of(const struct cl_map_entry *e)
{
	return e->field ? e->field : e->key;
}

static const char *place_of(const struct cl_map_entry *e)
{
	return e->path ? e->path : name_of(e);
}

static bool is_linear(const struct cl_map_entry *e)
{
	return e->scale < 1 || e->scale > 1 || e->offset < 0 || e->offset > 0;
}

static bool is_unit(const char *unit)
{
	size_t n = strlen(unit);

	return n > 0 && n <= CL_MAP_UNIT_MAX && !strchr("0123456789+-.,;", *unit) && !strchr(space, *unit) &&
	       !strchr(space, unit[n - 1]);
}

struct checking {
	const struct cf_file *file;
	const char *dotted;
	FILE *faults;
	struct cm_err *first;
};

static void say(
	const struct checking *c, const struct cl_map_entry *e, const char *key, const struct cm_err *why)
{
	char dotted[320];
	struct cm_err said = *why;

	(void)snprintf(dotted, sizeof dotted, "%s.%s.%s", c->dotted, e->key, key);
	if (cf_line(c->file, dotted) == 0)
		(void)snprintf(dotted, sizeof dotted, "%s.%s", c->dotted, e->key);
	cf_fault_at(c->file, dotted, &said, c->faults, c->first);
}

static void say_text(
	const struct checking *c, const struct cl_map_entry *e, const char *key, const char *text)
{
	struct cm_err why;

	(void)cm_fail(&why, CM_ECONFIG, "%s of '%.60s' in map: %s", key, e->key, text);
	say(c, e, key, &why);
}

static void check_path(const struct checking *c, const struct cl_map_entry *e, enum cl_map_of of)
{
	struct cm_err why;

	if (!e->path)
		return;
	if (of == CL_MAP_VALUE)
		say_text(c, e, "path", "a payload that is the value alone has no paths");
	else if (of == CL_MAP_CSV && *e->path == '\0')
		say_text(c, e, "path", "the name of a column is empty");
	else if (of == CL_MAP_JSON && cl_path_check(e->path, &why) != CM_OK)
		say_text(c, e, "path", why.msg);
}

/* Whether a field reads the device's name, by itself or in an array. */
static bool reads_device(
	const struct cl_map *map, const struct cl_map_entry *e, enum cl_map_of of, const char *device)
{
	const struct cl_path path = cl_map_path(map, name_of(e)), place = cl_map_path(map, device);

	return of == CL_MAP_CSV ? strcmp(place_of(e), cl_map_column(map, device)) == 0
				: cl_path_holds(&path, &place);
}

/* Refuse a field that reads the device's name, because no query may ask for that, and an entry of the
 * device that treats its name as a number. */
static void check_device(const struct checking *c, const struct cl_map *map, const struct cl_map_entry *e,
	enum cl_map_of of, const char *device)
{
	if (strcmp(name_of(e), device) != 0) {
		if (reads_device(map, e, of, device))
			say_text(c, e, "path", "the device's name stands there, and no query may ask for it");
		return;
	}
	if (is_linear(e) || e->unit || e->invalid.n > 0)
		say_text(c, e, "path",
			"the field names the device, so it has a path alone: no scale, offset, unit or "
			"invalid");
}

static void check_entry(const struct checking *c, const struct cl_map_entry *e, enum cl_map_of of)
{
	check_path(c, e, of);
	if (!(e->scale < 0) && !(e->scale > 0))
		say_text(c, e, "scale", "0 would make every reading the offset");
	if (e->unit && !is_unit(e->unit))
		say_text(c, e, "unit",
			"a text of 1 to 32 bytes that begins with no digit, sign, point or comma, and has no "
			"spaces at its ends");
	if (e->field && *e->field == '\0')
		say_text(c, e, "field", "the name is empty");
}

void cl_map_check(const struct cl_map *map, enum cl_map_of of, const char *device_field,
	const struct cf_file *file, const char *dotted, FILE *faults, struct cm_err *first)
{
	const struct checking c = { file, dotted, faults, first };

	for (size_t i = 0; i < map->list.n; i++) {
		const struct cl_map_entry *e = entry_at(map, i);

		check_entry(&c, e, of);
		if (device_field)
			check_device(&c, map, e, of, device_field);
		if (cl_map_find(map, name_of(e)) != e)
			say_text(&c, e, "field", "this field stands twice");
	}
}

const struct cl_map_entry *cl_map_find(const struct cl_map *map, const char *field)
{
	for (size_t i = 0; map && i < map->list.n; i++)
		if (strcmp(name_of(entry_at(map, i)), field) == 0)
			return entry_at(map, i);
	return NULL;
}

struct cl_path cl_map_path(const struct cl_map *map, const char *field)
{
	const struct cl_map_entry *e = cl_map_find(map, field);

	if (e && e->path)
		return (struct cl_path){ .text = e->path };
	return (struct cl_path){ .text = field, .name = true };
}

const char *cl_map_column(const struct cl_map *map, const char *field)
{
	const struct cl_map_entry *e = cl_map_find(map, field);

	return e ? place_of(e) : field;
}

bool cl_map_other_name(
	const struct cl_map *map, enum cl_map_of of, const char *device_field, char name[CL_PATH_MAX + 1])
{
	const struct cl_map_entry *e = cl_map_find(map, device_field);

	if (!e || !e->path)
		return false;
	if (of == CL_MAP_JSON)
		return cl_path_is_key(e->path, name);
	(void)snprintf(name, CL_PATH_MAX + 1, "%s", e->path);
	return true;
}

/* ---- values ---- */

static bool is_invalid_text(const struct cl_map_entry *e, const char *text)
{
	for (size_t i = 0; i < e->invalid.n; i++)
		if (e->invalid.item[i].text && strcmp(e->invalid.item[i].text, text) == 0)
			return true;
	return false;
}

static bool is_invalid_number(const struct cl_map_entry *e, double x)
{
	for (size_t i = 0; i < e->invalid.n; i++)
		if (!e->invalid.item[i].text && !(e->invalid.item[i].number < x) &&
			!(e->invalid.item[i].number > x))
			return true;
	return false;
}

/* Skip the unit that may follow a number; returns the number's end if no unit does. */
static const char *past_unit(const struct cl_map_entry *e, const char *end)
{
	size_t unit = e->unit ? strlen(e->unit) : 0;
	const char *at = end + strspn(end, space);

	return unit > 0 && strncmp(at, e->unit, unit) == 0 ? at + unit : end;
}

/* Skip what separates two numbers of an array, by the rules of qy_value_read; returns the text itself if
 * there is no separator. */
static const char *skip_separator(const char *text)
{
	text += strspn(text, space);
	text += *text == ',' || *text == ';';
	return text + strspn(text, space);
}

/* Append the reading that the number becomes. */
static enum cm_rc put_number(
	const struct cl_map_entry *e, double x, const char *as, size_t n, struct cm_buf *out)
{
	char text[CL_LINE_TEXT];
	enum cm_rc rc;

	if (out->len > 0 && cm_buf_put(out, " ", 1) != CM_OK)
		return CM_EINTERNAL;
	if (!is_linear(e))
		return cm_buf_put(out, as, n) == CM_OK ? CM_OK : CM_EINTERNAL;
	if (!cl_line_text(x, e->scale, e->offset, text))
		return CM_EDATA;
	rc = cm_buf_put(out, text, strlen(text)) == CM_OK ? CM_OK : CM_EINTERNAL;
	cr_wipe(text, sizeof text);
	return rc;
}

/* Read all numbers of a text, and write their readings to out.  CM_EDATA: the text is not made of
 * numbers. */
static enum cm_rc read_numbers(const struct cl_map_entry *e, bool array, const char *text, struct cm_buf *out)
{
	bool missing = false;

	for (;;) {
		const char *begin = text + strspn(text, space), *next;
		enum cm_rc rc;
		char *end;
		double x;

		if (!qy_number_read(begin, &end, &x))
			return CM_EDATA;
		missing = missing || is_invalid_number(e, x);
		text = past_unit(e, end);
		/* A missing value is not computed: the reading of -1e308, for example, may exceed every
		 * double. */
		rc = missing ? CM_OK : put_number(e, x, begin, (size_t)(end - begin), out);
		if (rc != CM_OK)
			return rc;
		if (text[strspn(text, space)] == '\0')
			return missing ? CM_ENOINPUT : CM_OK;
		next = skip_separator(text);
		if (!array || next == text)
			return CM_EDATA;
		text = next;
	}
}

bool cl_map_needs_number(const struct cl_map_entry *e)
{
	return is_linear(e) || e->unit;
}

enum cm_rc cl_map_text(const struct cl_map_entry *e, bool array, struct cm_buf *text)
{
	bool numeric = cl_map_needs_number(e);
	struct cm_buf out;
	enum cm_rc rc;

	if (is_invalid_text(e, (const char *)text->data))
		return CM_ENOINPUT;
	if (!numeric && e->invalid.n == 0)
		return CM_OK;
	cm_buf_init(&out, text->max);
	out.secret = 1;
	rc = read_numbers(e, array, (const char *)text->data, &out);
	/* A text that is not a number stays a text, if the entry does not need a number. */
	if (rc == CM_EDATA && !numeric)
		rc = CM_OK;
	else if (rc == CM_OK && numeric) {
		text->len = 0;
		if (cm_buf_put(text, out.data, out.len) != CM_OK || cm_buf_put(text, "", 1) != CM_OK)
			rc = CM_EINTERNAL;
	}
	cm_buf_fini(&out);
	return rc;
}
