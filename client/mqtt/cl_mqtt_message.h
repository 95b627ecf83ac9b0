/* cl_mqtt_message.h - converts one MQTT message into one reading: topic and payload in, device and NDJSON
 * line out.  No I/O.
 *
 * The result is always one line for the NDJSON reader, so readings by MQTT can be everything that readings in
 * a file can. */
#pragma once

#include "cl_readings.h"
#include "cm_buf.h"

/* Most bytes of a payload: after escaping, its line stays below CL_RECORD_MAX. */
#define CL_MQTT_PAYLOAD_MAX 2000000u
#define CL_MQTT_FIELD_MAX   200u /* bytes of a field's name */
#define CL_MQTT_LEVELS_MAX  100u /* highest number of a topic level */

/* Where a message holds device, field and value.  Strings are borrowed. */
struct cl_mqtt_form {
	bool json;                /* the payload is a JSON object; otherwise it is the value alone */
	unsigned device_level;    /* topic level that names the device, from 1; 0: use device_field */
	const char *device_field; /* field of the JSON object that names the device: a string or an integer */
	unsigned field_level;     /* for a value alone: topic level that names its field; 0: use `field` */
	const char *field;
};
/* Parse the configuration's texts: device "topic:N" or "field:NAME"; payload "json" or "text"; with text also
 * field "topic:N" or a name (NULL with json).  CM_ECONFIG: *which names the wrong key. */
CM_CHECK enum cm_rc cl_mqtt_form_parse(const char *device, const char *payload, const char *field,
	struct cl_mqtt_form *out, const char **which, struct cm_err *err);
/* Check that this is a valid filter, and that every topic it matches (or may match, under a #) has the levels
 * that the form needs.  Filters that begin with $ are refused: shared subscriptions ($share, at some brokers
 * $queue) spread the readings of one device over several clients, and each client would report the device;
 * other such topics are the broker's own. */
CM_CHECK enum cm_rc cl_mqtt_filter_check(
	const char *filter, const struct cl_mqtt_form *form, struct cm_err *err);
/* Whether this topic matches the filter, by the rules of MQTT: + is one level, # any number of them at the
 * end, and no wildcard at the begin matches a topic that begins with $. */
bool cl_mqtt_filter_matches(const char *filter, const char *topic);

/* What happens to a message.  cl_mqtt_fates has the names of those that are dropped. */
enum cl_mqtt_fate {
	CL_MQTT_KEPT = 0,
	CL_MQTT_UNASKED,   /* dropped: the topic matches none of our filters, so the broker sent it for a
			    * subscription that we have not made */
	CL_MQTT_RETAINED,  /* dropped: a retained message repeats an old value */
	CL_MQTT_TOO_LARGE, /* dropped: the payload exceeds the limit */
	CL_MQTT_MALFORMED, /* dropped: no JSON object, no text, or empty */
	CL_MQTT_NO_DEVICE, /* dropped: the topic level or field is absent, or is no valid device name */
	CL_MQTT_UNLISTED,  /* dropped: the device is not listed */
	CL_MQTT_MEMORY,    /* dropped: larger than the memory of one device */
	CL_MQTT_FATES
};
extern const char *const cl_mqtt_fates[CL_MQTT_FATES + 1]; /* "kept", "unasked", ...; NULL at the end */

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
/* Wipe and free. */
void cl_mqtt_reading_fini(struct cl_mqtt_reading *r);
/* Convert m: KEPT, MALFORMED, NO_DEVICE, or MEMORY (out of memory).  *out is overwritten, and empty unless
 * KEPT. */
CM_CHECK enum cl_mqtt_fate cl_mqtt_message_read(
	const struct cl_mqtt_form *form, const struct cl_mqtt_message *m, struct cl_mqtt_reading *out);
