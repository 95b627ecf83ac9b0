/* cl_mqtt_message.h - converts one MQTT message into one reading: topic and payload in, device and NDJSON
 * line out.  No I/O.
 *
 * The result is always one line for the NDJSON reader, so a reading by MQTT can be everything that a
 * reading in a file can be. */
#pragma once

#include "cl_mqtt_form.h"

/* Most bytes of a payload.  Escaping makes it longer, but its line stays below CL_RECORD_MAX. */
#define CL_MQTT_PAYLOAD_MAX 2000000u

/* What happens to a message.  cl_mqtt_fates has the names of those that are dropped. */
enum cl_mqtt_fate {
	CL_MQTT_KEPT = 0,
	/* dropped: the topic matches none of our filters, so the broker sent it for a subscription that we
	 * did not make */
	CL_MQTT_UNASKED,
	CL_MQTT_RETAINED,  /* dropped: a retained message repeats an old value */
	CL_MQTT_TOO_LARGE, /* dropped: the payload exceeds the limit */
	CL_MQTT_MALFORMED, /* dropped: the payload is no JSON object, no text, or empty */
	CL_MQTT_NO_DEVICE, /* dropped: the topic level or field is absent, or is no valid device name */
	CL_MQTT_UNLISTED,  /* dropped: the device is not listed */
	CL_MQTT_MEMORY,    /* dropped: larger than the memory of one device */
	CL_MQTT_FATES
};
/* "kept", "unasked", ...; the last item is NULL */
extern const char *const cl_mqtt_fates[CL_MQTT_FATES + 1];

struct cl_mqtt_message {
	const char *topic;
	const uint8_t *payload;
	size_t len;
	bool retained;
};
struct cl_mqtt_reading {
	char device[CL_DEVICE_MAX + 1];
	struct cm_buf line; /* a line without newline; secret */
};
void cl_mqtt_reading_init(struct cl_mqtt_reading *r);
/* Wipe and free. */
void cl_mqtt_reading_fini(struct cl_mqtt_reading *r);
/* Convert m.  Returns KEPT, MALFORMED, NO_DEVICE, or MEMORY (out of memory).  *out is overwritten; it is
 * empty unless the result is KEPT. */
CM_CHECK enum cl_mqtt_fate cl_mqtt_message_read(
	const struct cl_mqtt_form *form, const struct cl_mqtt_message *m, struct cl_mqtt_reading *out);
