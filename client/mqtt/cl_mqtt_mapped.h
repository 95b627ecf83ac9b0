/* cl_mqtt_mapped.h - applies the map of a source to a reading when it arrives, so that held readings have
 * the same form for every source.  No I/O. */
#pragma once

#include "cl_map.h"

struct cl_mqtt_mapped;
/* The map is borrowed.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_mqtt_mapped_new(
	const struct cl_map *map, struct cl_mqtt_mapped **out, struct cm_err *err);
/* Accepts NULL. */
void cl_mqtt_mapped_free(struct cl_mqtt_mapped *m);
/* Replace a JSON object by one that has the map's fields under their names, as readings, and the object's
 * other members, except those that are objects.  A field is left out if its value is an object or
 * occurs twice; it is null if its value is listed in `invalid`, or if it needs a number and has none.
 * CM_EINTERNAL: out of memory, or the object would be longer than the line may be; the line is then
 * unchanged. */
CM_CHECK enum cm_rc cl_mqtt_mapped_line(struct cl_mqtt_mapped *m, struct cm_buf *line);
