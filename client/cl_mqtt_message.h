/* cl_mqtt_message.h - one MQTT message to one reading: topic and payload in, device and NDJSON line out.  No
 * I/O.
 *
 * Whatever the payload was, what comes out is one line that the NDJSON reader takes, so that a reading by
 * MQTT may be all that a reading in a file may be. */
#pragma once

#include "cl_readings.h"
#include "cm_buf.h"

/* Bytes of a payload: its line stays under CL_RECORD_MAX however it is escaped. */
#define CL_MQTT_PAYLOAD_MAX 2000000u
#define CL_MQTT_FIELD_MAX   200u /* bytes of a field's name */
#define CL_MQTT_LEVELS_MAX  100u /* a topic level's number */

/* Where device, field and value stand in a message.  Strings are borrowed. */
struct cl_mqtt_form {
	bool json;                /* a JSON object; else the value alone */
	unsigned device_level;    /* topic level, from 1; 0: device_field */
	const char *device_field; /* of the JSON object: a string or an integer */
	unsigned field_level;     /* of a value alone: the level that names its field; 0: field */
	const char *field;
};
/* From the configuration's texts: device "topic:N" or "field:NAME"; payload "json" or "text"; for text also
 * field "topic:N" or a name (NULL with json).  CM_ECONFIG, *which then names the key. */
CM_CHECK enum cm_rc cl_mqtt_form_parse(const char *device, const char *payload, const char *field,
	struct cl_mqtt_form *out, const char **which, struct cm_err *err);
/* Has every topic that this filter matches (or may match, under a #) the levels that the form needs?  Also:
 * is it a filter, and none that is shared with other subscribers ($share), for a device whose readings go to
 * several clients would be reported by each. */
CM_CHECK enum cm_rc cl_mqtt_filter_check(
	const char *filter, const struct cl_mqtt_form *form, struct cm_err *err);

/* What becomes of a message.  The names of those that are left out: cl_mqtt_fates. */
enum cl_mqtt_fate {
	CL_MQTT_KEPT = 0,
	CL_MQTT_RETAINED,  /* an old value, said again */
	CL_MQTT_TOO_LARGE, /* a payload above the limit */
	CL_MQTT_MALFORMED, /* no JSON object, no text, or empty */
	CL_MQTT_NO_DEVICE, /* no such topic level or field, or none that can name a device */
	CL_MQTT_DEVICES,   /* a new device beyond the limit of devices */
	CL_MQTT_MEMORY,    /* no room left */
	CL_MQTT_FATES
};
extern const char *const cl_mqtt_fates[CL_MQTT_FATES + 1]; /* "kept", "retained", ...; NULL at the end */

struct cl_mqtt_message {
	const char *topic;
	const uint8_t *payload;
	size_t len;
	bool retained;
};
struct cl_mqtt_reading {
	char device[CL_DEVICE_MAX + 1];
	struct cm_buf line; /* without newline; secret */
};
void cl_mqtt_reading_init(struct cl_mqtt_reading *r);
/* Wipes. */
void cl_mqtt_reading_fini(struct cl_mqtt_reading *r);
/* KEPT, MALFORMED, NO_DEVICE, or MEMORY when out of it.  *out is overwritten, and holds nothing then. */
CM_CHECK enum cl_mqtt_fate cl_mqtt_message_read(
	const struct cl_mqtt_form *form, const struct cl_mqtt_message *m, struct cl_mqtt_reading *out);
