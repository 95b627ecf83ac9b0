/* cl_mqtt_form.h - where the messages of one source hold device, field and value, and which topics they have.
 * No I/O.
 *
 * Devices of one source with different names stay different: names of several topic levels are joined by '/',
 * which no level contains, and every name of a source has as many levels, but for those that follow an open
 * end.  Sources of one group share their devices; a group's name has no '/' and stands before the first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cl_readings.h"
#include "cm_buf.h"

#define CL_MQTT_FIELD_MAX  200u /* bytes of a field's name */
#define CL_MQTT_LEVELS_MAX 100u /* highest number of a topic level */
#define CL_MQTT_PARTS_MAX  8u

/* Topic levels, in ascending order. */
struct cl_mqtt_levels {
	size_t n;
	struct {
		unsigned from, to; /* from 1; to 0: all that follow */
	} part[CL_MQTT_PARTS_MAX];
};

/* Strings are borrowed. */
struct cl_mqtt_form {
	bool json;                    /* the payload is a JSON object; otherwise it is the value alone */
	struct cl_mqtt_levels device; /* topic levels that name the device; n 0: use device_field */
	const char *device_field; /* field of the JSON object that names the device: a string or an integer */
	unsigned field_level;     /* for a value alone: topic level that names its field; 0: use `field` */
	const char *field;
	const char *group; /* stands before the device's name, with a '/' between; NULL: none */
};

/* The configuration's texts. */
struct cl_mqtt_form_of {
	const char *device;  /* "field:NAME", or "topic:" and levels: "2", "2-3", "2-", "2,4-5" */
	const char *payload; /* "json" or "text" */
	const char *field;   /* with text: "topic:N" or a name; NULL with json */
	const char *group;   /* a name; NULL: none */
};
/* CM_ECONFIG: *which names the wrong key. */
CM_CHECK enum cm_rc cl_mqtt_form_parse(
	const struct cl_mqtt_form_of *of, struct cl_mqtt_form *out, const char **which, struct cm_err *err);

/* Check that this is a valid filter, and that every topic it matches (or may match, under a #) has the levels
 * that the form needs.  Filters that begin with $ are refused: shared subscriptions ($share, at some brokers
 * $queue) spread the readings of one device over several clients, and each client would report the device;
 * other such topics are the broker's own. */
CM_CHECK enum cm_rc cl_mqtt_filter_check(
	const char *filter, const struct cl_mqtt_form *form, struct cm_err *err);
/* Whether this topic matches the filter, by the rules of MQTT: + is one level, # any number of them at the
 * end, and no wildcard at the begin matches a topic that begins with $. */
bool cl_mqtt_filter_matches(const char *filter, const char *topic);

/* The nth level of a topic, from 1, and its length; NULL if there is none. */
const char *cl_mqtt_level(const char *topic, unsigned n, size_t *len);
/* Put a device's name, of these levels of the topic or of `field`, with the group before it.  false: a level
 * is absent or empty, or the name is longer than CL_DEVICE_MAX. */
CM_CHECK bool cl_mqtt_name_of_topic(
	const struct cl_mqtt_form *form, const char *topic, char out[CL_DEVICE_MAX + 1]);
CM_CHECK bool cl_mqtt_name_of_field(
	const struct cl_mqtt_form *form, const void *field, size_t len, char out[CL_DEVICE_MAX + 1]);
