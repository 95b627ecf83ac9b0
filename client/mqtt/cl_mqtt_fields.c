/* cl_mqtt_fields.c - splits a JSON object into its members. */
#include "cl_mqtt_fields.h"

#include <stdio.h>
#include <string.h>

#include "cl_json.h"
#include "cl_readings.h"

enum cm_rc cl_mqtt_fields_name(const void *name, size_t len, struct cm_buf *out)
{
	enum cm_rc rc = cm_buf_put(out, "\"", 1);

	for (size_t i = 0; rc == CM_OK && i < len; i++) {
		uint8_t c = ((const uint8_t *)name)[i];
		char escaped[8] = { '\\', (char)c };

		if (c < 0x20)
			(void)snprintf(escaped, sizeof escaped, "\\u%04x", c);
		if (c < 0x20 || c == '"' || c == '\\')
			rc = cm_buf_put(out, escaped, strlen(escaped));
		else
			rc = cm_buf_put(out, &c, 1);
	}
	return rc == CM_OK ? cm_buf_put(out, "\"", 1) : rc;
}

enum cm_rc cl_mqtt_fields_split(const struct cm_buf *line, cl_mqtt_field_fn *on_field, void *user)
{
	struct cm_buf field, room;
	struct cl_json_part part;
	struct cl_json object;
	enum cm_rc rc = cl_json_open(&object, line->data, line->data + line->len, '{') ? CM_OK : CM_EDATA;

	cm_buf_init(&field, 8 * (size_t)CL_RECORD_MAX);
	cm_buf_init(&room, CL_RECORD_MAX);
	field.secret = room.secret = 1;
	while (rc == CM_OK && (rc = cl_json_next(&object, &part)) == CM_OK) {
		const uint8_t *name;
		size_t n, key;

		if (*part.value == '{')
			continue;
		field.len = 0;
		rc = cl_json_key(&part, &room, &name, &n);
		if (rc == CM_OK)
			rc = cl_mqtt_fields_name(name, n, &field);
		key = field.len;
		if (rc == CM_OK)
			rc = cm_buf_put(&field, ":", 1);
		if (rc == CM_OK)
			rc = cm_buf_put(&field, part.value, (size_t)(part.end - part.value));
		if (rc == CM_OK)
			on_field(user, field.data, field.len, key);
	}
	cm_buf_fini(&field);
	cm_buf_fini(&room);
	return rc == CM_EINTERNAL ? rc : CM_OK;
}
