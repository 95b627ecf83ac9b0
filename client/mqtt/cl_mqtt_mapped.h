/* cl_mqtt_mapped.h - applies the map of a source to a reading when it comes, so that what is held is the same
 * whichever source it is of.  No I/O. */
#pragma once

#include "cl_map.h"

struct cl_mqtt_mapped;
/* The map is borrowed.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_mqtt_mapped_new(
	const struct cl_map *map, struct cl_mqtt_mapped **out, struct cm_err *err);
/* NULL is fine. */
void cl_mqtt_mapped_free(struct cl_mqtt_mapped *m);
/* Replace a JSON object by one that has the map's fields under their names, as readings, and its other
 * members that are no objects.  A field whose value is missing by `invalid`, or that stands there twice, is
 * left out; one that is no number where one is needed is null.  CM_EINTERNAL: out of memory, or the object
 * would be longer than the line may be; the line is then unchanged. */
CM_CHECK enum cm_rc cl_mqtt_mapped_line(struct cl_mqtt_mapped *m, struct cm_buf *line);
