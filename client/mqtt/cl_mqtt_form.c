/* cl_mqtt_form.c - finds device and field of a message, by the form that the configuration gives to a
 * source. */
#include "cl_mqtt_form.h"

#include <mosquitto.h>
#include <string.h>

static const char by_topic[] = "topic:", by_field[] = "field:";

/* ---- the configuration's texts ---- */

/* The text after this prefix; NULL if the text does not begin with it. */
static const char *behind(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* Read a level's number; 0 if there is no number up to CL_MQTT_LEVELS_MAX.  *at is moved behind it. */
static unsigned number(const char **at)
{
	unsigned n = 0;

	for (; **at >= '0' && **at <= '9' && n <= CL_MQTT_LEVELS_MAX; ++*at)
		n = n * 10 + (unsigned)(**at - '0');
	return n <= CL_MQTT_LEVELS_MAX ? n : 0;
}

/* Parse levels: "2", "2-3", "2-", or several of these in ascending order, separated by commas. */
static bool parse_levels(const char *at, struct cl_mqtt_levels *out)
{
	unsigned last = 0;

	for (out->n = 0; out->n < CL_MQTT_PARTS_MAX; at++) {
		unsigned from = number(&at), to = from;

		if (from <= last)
			return false;
		if (*at == '-') {
			bool open = *++at == '\0';

			to = open ? 0 : number(&at);
			if (!open && to < from)
				return false;
		}
		out->part[out->n].from = from;
		out->part[out->n++].to = to;
		if (*at == '\0')
			return true;
		if (*at != ',')
			return false;
		last = to;
	}
	return false;
}

static bool is_field(const char *name)
{
	return *name != '\0' && strlen(name) <= CL_MQTT_FIELD_MAX;
}

static enum cm_rc parse_device(const char *device, struct cl_mqtt_form *out, struct cm_err *err)
{
	const char *levels = behind(device, by_topic), *field = behind(device, by_field);

	if (levels && parse_levels(levels, &out->device))
		return CM_OK;
	out->device.n = 0;
	if (!field || !is_field(field))
		return cm_fail(err, CM_ECONFIG,
			"device is neither \"topic:N\" (levels from 1 to %u, also \"topic:2-3\", "
			"\"topic:2-\" and \"topic:2,4\") nor \"field:NAME\"",
			CL_MQTT_LEVELS_MAX);
	if (!out->json)
		return cm_fail(
			err, CM_ECONFIG, "a payload \"text\" has no fields: device must be \"topic:N\"");
	out->device_field = field;
	return CM_OK;
}

static enum cm_rc parse_field(const char *field, struct cl_mqtt_form *out, struct cm_err *err)
{
	const char *level = field ? behind(field, by_topic) : NULL;

	if (out->json && field)
		return cm_fail(err, CM_ECONFIG, "field is for payload \"text\": a JSON object names its own");
	if (out->json)
		return CM_OK;
	if (!field)
		return cm_fail(
			err, CM_ECONFIG, "payload \"text\" needs field: \"topic:N\", or the field's name");
	if (level) {
		out->field_level = number(&level);
		return out->field_level > 0 && *level == '\0'
			       ? CM_OK
			       : cm_fail(err, CM_ECONFIG,
					 "field: '%.40s' names no topic level from topic:1 to topic:%u",
					 field, CL_MQTT_LEVELS_MAX);
	}
	out->field = field;
	return is_field(field) ? CM_OK
			       : cm_fail(err, CM_ECONFIG, "field is a name of 1 to %u bytes, or \"topic:N\"",
					 CL_MQTT_FIELD_MAX);
}

enum cm_rc cl_mqtt_form_parse(
	const struct cl_mqtt_form_of *of, struct cl_mqtt_form *out, const char **which, struct cm_err *err)
{
	*out = (struct cl_mqtt_form){ .json = strcmp(of->payload, "json") == 0, .group = of->group };
	*which = "payload";
	if (!out->json && strcmp(of->payload, "text") != 0)
		return cm_fail(err, CM_ECONFIG, "payload is neither json nor text");
	*which = "group";
	if (of->group && (*of->group == '\0' || strchr(of->group, '/') || strlen(of->group) >= CL_DEVICE_MAX))
		return cm_fail(
			err, CM_ECONFIG, "group is a name of 1 to %u bytes without '/'", CL_DEVICE_MAX - 1);
	*which = "device";
	if (parse_device(of->device, out, err) != CM_OK)
		return err->code;
	*which = "field";
	return parse_field(of->field, out, err);
}

/* ---- filters ---- */

/* The highest level that the form reads. */
static unsigned levels_needed(const struct cl_mqtt_form *form)
{
	unsigned need = form->field_level;

	for (size_t i = 0; i < form->device.n; i++) {
		unsigned last =
			form->device.part[i].to > 0 ? form->device.part[i].to : form->device.part[i].from;

		need = last > need ? last : need;
	}
	return need;
}

enum cm_rc cl_mqtt_filter_check(const char *filter, const struct cl_mqtt_form *form, struct cm_err *err)
{
	unsigned levels = 1, need = levels_needed(form);
	size_t len = strlen(filter);

	if (len == 0 || len > 1000 || mosquitto_sub_topic_check(filter) != MOSQ_ERR_SUCCESS)
		return cm_fail(err, CM_ECONFIG, "'%.100s' is no MQTT topic filter", filter);
	if (*filter == '$')
		return cm_fail(err, CM_ECONFIG,
			"'%.100s': a filter that begins with $ is of the broker's own topics, or a shared "
			"subscription, which deals one device's readings out to several clients, and each "
			"would report it",
			filter);
	for (const char *p = filter; *p != '\0'; p++)
		levels += *p == '/';
	if (filter[len - 1] != '#' && levels < need)
		return cm_fail(err, CM_ECONFIG, "'%.100s' has %u topic levels, and topic:%u is wanted",
			filter, levels, need);
	return CM_OK;
}

bool cl_mqtt_filter_matches(const char *filter, const char *topic)
{
	bool matches = false;

	return mosquitto_topic_matches_sub(filter, topic, &matches) == MOSQ_ERR_SUCCESS && matches;
}

/* ---- names ---- */

const char *cl_mqtt_level(const char *topic, unsigned n, size_t *len)
{
	while (--n > 0) {
		topic = strchr(topic, '/');
		if (!topic)
			return NULL;
		topic++;
	}
	*len = strcspn(topic, "/");
	return topic;
}

/* Append a piece of a name, with a '/' before all but the first. */
static bool append(char out[CL_DEVICE_MAX + 1], const char *piece, size_t len)
{
	size_t at = strlen(out), slash = at > 0 ? 1 : 0;

	if (len == 0 || len > CL_DEVICE_MAX || at + slash + len > CL_DEVICE_MAX)
		return false;
	if (slash > 0)
		out[at++] = '/';
	memcpy(out + at, piece, len);
	out[at + len] = '\0';
	return true;
}

static bool begin(const struct cl_mqtt_form *form, char out[CL_DEVICE_MAX + 1])
{
	out[0] = '\0';
	return !form->group || append(out, form->group, strlen(form->group));
}

bool cl_mqtt_name_of_topic(const struct cl_mqtt_form *form, const char *topic, char out[CL_DEVICE_MAX + 1])
{
	bool good = begin(form, out);

	for (size_t i = 0; good && i < form->device.n; i++) {
		unsigned to = form->device.part[i].to, at = form->device.part[i].from;
		size_t len = 0;
		const char *level = cl_mqtt_level(topic, at, &len);

		good = level && append(out, level, len);
		while (good && (to == 0 || at < to)) {
			level = cl_mqtt_level(topic, ++at, &len);
			if (!level && to == 0)
				break;
			good = level && append(out, level, len);
		}
	}
	return good;
}

bool cl_mqtt_name_of_field(
	const struct cl_mqtt_form *form, const void *field, size_t len, char out[CL_DEVICE_MAX + 1])
{
	return begin(form, out) && append(out, field, len);
}
