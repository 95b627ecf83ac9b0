/* cl_mqtt_fields.h - splits the line of a reading into its fields.  No I/O. */
#pragma once

#include "cm_buf.h"

/* Called with the bytes `"name":value` of a field, of which the first `key` are `"name"`.  Equal names have
 * equal bytes here, even if JSON wrote them in different ways. */
typedef void cl_mqtt_field_fn(void *user, const uint8_t *field, size_t len, size_t key);
/* Call on_field for each member of this JSON object, in order, except members that are objects: no query
 * reads those.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_mqtt_fields_split(const struct cm_buf *line, cl_mqtt_field_fn *on_field, void *user);
/* Append a name in the form that cl_mqtt_field_fn gets: with quotes, and escaped as little as JSON allows.
 * CM_EINTERNAL, CM_EDATA: there is no room. */
CM_CHECK enum cm_rc cl_mqtt_fields_name(const void *name, size_t len, struct cm_buf *out);
