/* cl_map.h - the key `map` of the configuration: where the payload holds the fields that queries ask for, and
 * how its values become readings.
 *
 *	map = {
 *		temperature = { path = "AM2301.Temperature"; scale = 1.8; offset = 32.0; };
 *		battery = { path = "battery\\.level"; unit = "%"; invalid = [ 255 ]; };
 *	};
 *
 * A query of "temperature" is then asked of what stands at AM2301.Temperature (cl_paths.h; in CSV a path is
 * the name of a column).  Without `path` a field has its own name, as every field that is not in the map.
 *
 * A value is judged in this order.  A value that `invalid` lists is missing: a number is compared as a
 * number, a text as it is written, and neither is ever clamped.  With `unit` the value is a number, or a
 * number that this unit follows, with or without spaces between them; the unit is removed.  With `scale` or
 * `offset` the value is a number, and the reading is value * scale + offset: computed exactly with the
 * decimals of all three as they are written (beyond 15 digits: with the shortest decimal of the nearest
 * double), then rounded once to the nearest double, of two equally near ones to the even one.  With arrays
 * each number is treated so, and an array with a number that is missing is missing.  Without scale, offset
 * and unit a value's text stays as it is. */
#pragma once

#include "cf_conf.h"
#include "cl_paths.h"

#define CL_MAP_MAX         256u /* most fields of a map */
#define CL_MAP_INVALID_MAX 64u
#define CL_MAP_UNIT_MAX    32u /* bytes of a unit */

struct cl_map_entry {
	char *key; /* the key in the file; it is the field's name, unless `field` is set */
	/* the field's name, for names that libconfig cannot write as a key; NULL if `key` is the name */
	char *field;
	char *path; /* NULL if the path is the field's name */
	double scale, offset;
	char *unit; /* NULL if there is no unit */
	struct cf_words invalid;
};

struct cl_map {
	struct cf_list list; /* items are struct cl_map_entry */
};

extern const struct cf_row cl_map_rows[];
/* The row of a `map`, for a struct cl_map at this offset. */
#define CL_MAP_ROW(at_)                                                                                 \
	CF_OPTIONAL("map", CF_NAMED(1, CL_MAP_MAX, cl_map_rows, struct cl_map_entry), (at_),            \
		"where the payload holds a field that queries ask for, by the field's name, and how a " \
		"value there becomes a reading")

/* Where a path leads. */
enum cl_map_of {
	CL_MAP_JSON,
	CL_MAP_CSV,   /* to the column of this name */
	CL_MAP_VALUE, /* nowhere: the payload is the value alone, and there are no paths */
};
/* Check what depends on several keys.  dotted: the map's key in the file, "input.map" or
 * "mqtt.sources.[0].map" (numbers count from 0).  device_field: the field that names the device, or NULL.
 * It may be in the map, but only with a path, and no other field may have its path.  Every fault is printed
 * to `faults` as path:line: text; the first is put into *first unless that holds one. */
void cl_map_check(const struct cl_map *map, enum cl_map_of of, const char *device_field,
	const struct cf_file *file, const char *dotted, FILE *faults, struct cm_err *first);

/* The entry of a field; NULL if it is not in the map, or if map is NULL. */
const struct cl_map_entry *cl_map_find(const struct cl_map *map, const char *field);
/* Where the payload holds a field, in JSON; its texts are borrowed from map or field. */
struct cl_path cl_map_path(const struct cl_map *map, const char *field);
/* The name of a field's column in CSV; borrowed from map or field. */
const char *cl_map_column(const struct cl_map *map, const char *field);

/* Find the name under which a field that is not in the map would read the device's name too, because the
 * map gives the device's field that path.  false: only device_field itself does. */
CM_CHECK bool cl_map_other_name(
	const struct cl_map *map, enum cl_map_of of, const char *device_field, char name[CL_PATH_MAX + 1]);

/* Whether only a number can be a reading. */
bool cl_map_needs_number(const struct cl_map_entry *e);
/* Judge a value's text, which ends with NUL, and replace it by the text of the reading.  array: the text
 * may be several numbers, separated by white space, a comma or a semicolon.  CM_OK: the entry accepts it as
 * a reading.  CM_ENOINPUT: `invalid` lists it, so it is missing.  CM_EDATA: it is not a number, and scale,
 * offset or unit need one, or the reading would exceed every double.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_map_text(const struct cl_map_entry *e, bool array, struct cm_buf *text);
