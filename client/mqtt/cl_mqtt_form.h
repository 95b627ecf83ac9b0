/* cl_mqtt_form.h - says where the messages of one source hold device, field and value, and which topics
 * they have.  No I/O.
 *
 * Two devices of one source never get the same name.  The topic levels of a name are joined by '/', which
 * no level contains, and every name of a source has the same number of levels, except where the last levels
 * are open ("2-").  Sources of one group share their devices; a group's name has no '/' and precedes the
 * device's name. */
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
		/* from counts from 1; if `to` is 0, all levels that follow belong to the part */
		unsigned from, to;
	} part[CL_MQTT_PARTS_MAX];
};

/* Strings are borrowed. */
struct cl_mqtt_form {
	bool json; /* the payload is a JSON object; otherwise it is the value alone */
	/* topic levels that name the device; if n is 0, device_field names it */
	struct cl_mqtt_levels device;
	const char *device_field; /* field of the JSON object that names the device: a string or an integer */
	/* for a value alone: the topic level that names its field; if 0, `field` names it */
	unsigned field_level;
	const char *field;
	const char *group; /* precedes the device's name, with a '/' between; NULL if there is no group */
};

/* The texts of the configuration from which a form is parsed. */
struct cl_mqtt_form_of {
	const char *device;  /* "field:NAME", or "topic:" and levels: "2", "2-3", "2-", "2,4-5" */
	const char *payload; /* "json" or "text" */
	const char *field;   /* with text: "topic:N" or a name; NULL with json */
	const char *group;   /* a name; NULL if there is no group */
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
/* Whether this topic matches the filter, by the rules of MQTT: + matches one level, # any number of levels
 * at the end, and no wildcard at the beginning matches a topic that begins with $. */
bool cl_mqtt_filter_matches(const char *filter, const char *topic);

/* The nth level of a topic, from 1, and its length; NULL if there is none. */
const char *cl_mqtt_level(const char *topic, unsigned n, size_t *len);
/* Write a device's name, which is in these levels of the topic or in `field`, preceded by the group.
 * false: a level is absent or empty, or the name is longer than CL_DEVICE_MAX. */
CM_CHECK bool cl_mqtt_name_of_topic(
	const struct cl_mqtt_form *form, const char *topic, char out[CL_DEVICE_MAX + 1]);
CM_CHECK bool cl_mqtt_name_of_field(
	const struct cl_mqtt_form *form, const void *field, size_t len, char out[CL_DEVICE_MAX + 1]);
