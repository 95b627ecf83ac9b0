/* cl_mqtt_message.c - converts topic and payload into device and NDJSON line. */
#include "cl_mqtt_message.h"

#include <jansson.h>
#include <mosquitto.h>
#include <stdlib.h>
#include <string.h>

#include "cl_json.h"
#include "cm_oom.h"
#include "cr_secret.h"

const char *const cl_mqtt_fates[CL_MQTT_FATES + 1] = {
	[CL_MQTT_KEPT] = "kept",
	[CL_MQTT_UNASKED] = "unasked",
	[CL_MQTT_RETAINED] = "retained",
	[CL_MQTT_TOO_LARGE] = "too_large",
	[CL_MQTT_MALFORMED] = "malformed",
	[CL_MQTT_NO_DEVICE] = "no_device",
	[CL_MQTT_UNLISTED] = "unlisted",
	[CL_MQTT_MEMORY] = "memory",
};

/* ---- the form, and checking filters against it ---- */

/* N of "topic:N"; 0 for any other text. */
static unsigned level_of(const char *text)
{
	static const char prefix[] = "topic:";
	unsigned n = 0;

	if (strncmp(text, prefix, sizeof prefix - 1) != 0)
		return 0;
	text += sizeof prefix - 1;
	for (; *text >= '0' && *text <= '9' && n <= CL_MQTT_LEVELS_MAX; text++)
		n = n * 10 + (unsigned)(*text - '0');
	return *text == '\0' && n <= CL_MQTT_LEVELS_MAX ? n : 0;
}

static bool is_field(const char *name)
{
	return *name != '\0' && strlen(name) <= CL_MQTT_FIELD_MAX;
}

static enum cm_rc parse_field(const char *field, struct cl_mqtt_form *out, struct cm_err *err)
{
	if (out->json && field)
		return cm_fail(err, CM_ECONFIG, "field is for payload \"text\": a JSON object names its own");
	if (out->json)
		return CM_OK;
	if (!field)
		return cm_fail(
			err, CM_ECONFIG, "payload \"text\" needs field: \"topic:N\", or the field's name");
	if (strncmp(field, "topic:", 6) == 0) {
		out->field_level = level_of(field);
		return out->field_level > 0
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

enum cm_rc cl_mqtt_form_parse(const char *device, const char *payload, const char *field,
	struct cl_mqtt_form *out, const char **which, struct cm_err *err)
{
	*out = (struct cl_mqtt_form){ .json = strcmp(payload, "json") == 0 };
	*which = "payload";
	if (!out->json && strcmp(payload, "text") != 0)
		return cm_fail(err, CM_ECONFIG, "payload is neither json nor text");
	*which = "device";
	out->device_level = level_of(device);
	if (out->device_level == 0) {
		if (strncmp(device, "field:", 6) != 0 || !is_field(device + 6))
			return cm_fail(err, CM_ECONFIG,
				"device is neither \"topic:N\" (from 1 to %u) nor \"field:NAME\"",
				CL_MQTT_LEVELS_MAX);
		if (!out->json)
			return cm_fail(err, CM_ECONFIG,
				"a payload \"text\" has no fields: device must be \"topic:N\"");
		out->device_field = device + 6;
	}
	*which = "field";
	return parse_field(field, out, err);
}

enum cm_rc cl_mqtt_filter_check(const char *filter, const struct cl_mqtt_form *form, struct cm_err *err)
{
	unsigned levels = 1,
		 need = form->device_level > form->field_level ? form->device_level : form->field_level;
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

/* ---- messages ---- */

void cl_mqtt_reading_init(struct cl_mqtt_reading *r)
{
	memset(r->device, 0, sizeof r->device);
	cm_buf_init(&r->line, CL_RECORD_MAX - 1);
	r->line.secret = 1;
}

void cl_mqtt_reading_fini(struct cl_mqtt_reading *r)
{
	cr_wipe(r->device, sizeof r->device);
	cm_buf_fini(&r->line);
}

/* The nth level, from 1, and its length; NULL if there is none. */
static const char *topic_level(const char *topic, unsigned n, size_t *len)
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

static bool set_device(struct cl_mqtt_reading *out, const char *name, size_t len)
{
	if (len == 0 || len > CL_DEVICE_MAX)
		return false;
	memcpy(out->device, name, len);
	out->device[len] = '\0';
	return true;
}

static bool device_of_topic(const char *topic, unsigned level, struct cl_mqtt_reading *out)
{
	size_t len = 0;
	const char *name = topic_level(topic, level, &len);

	return name && set_device(out, name, len);
}

/* Refuse a key that occurred before; `seen` remembers the keys.  CM_EDATA: it did. */
static enum cm_rc once(json_t *seen, const uint8_t *key, size_t n, struct cm_buf *room)
{
	if (key != room->data) {
		room->len = 0;
		if (cm_buf_put(room, key, n) != CM_OK)
			return CM_EINTERNAL;
	}
	if (cm_buf_put(room, "", 1) != CM_OK)
		return CM_EINTERNAL;
	if (json_object_get(seen, (const char *)room->data))
		return CM_EDATA;
	return json_object_set_new_nocheck(seen, (const char *)room->data, json_null()) == 0 ? CM_OK
											     : CM_EINTERNAL;
}

/* Find a member by name.  Members that nobody asks for may hold anything, but a key that occurs twice, or
 * bytes that are not UTF-8, show that the message is broken.  CM_OK: *out is the member.  CM_ENOINPUT: there
 * is none. */
static enum cm_rc member(const struct cl_mqtt_message *m, const char *name, struct cl_json_part *out)
{
	json_t *seen = json_object(), *utf8;
	struct cm_buf room;
	struct cl_json object;
	struct cl_json_part part;
	bool found = false;
	enum cm_rc rc = CM_EDATA;

	*out = (struct cl_json_part){ 0 };
	(void)cm_oom_happened();
	utf8 = json_stringn((const char *)m->payload, m->len);
	if (cm_oom_happened() || !seen)
		rc = CM_EINTERNAL;
	else if (utf8 && cl_json_open(&object, m->payload, m->payload + m->len, '{'))
		rc = CM_OK;
	json_decref(utf8);
	cm_buf_init(&room, m->len + 1);
	room.secret = 1;
	while (rc == CM_OK && (rc = cl_json_next(&object, &part)) == CM_OK) {
		const uint8_t *key;
		size_t n;

		rc = cl_json_key(&part, &room, &key, &n);
		if (rc == CM_OK && name && n == strlen(name) && memcmp(key, name, n) == 0) {
			found = true;
			*out = part;
		}
		if (rc == CM_OK)
			rc = once(seen, key, n, &room);
	}
	cm_buf_fini(&room);
	json_decref(seen);
	return rc == CM_ENOINPUT && found ? CM_OK : rc;
}

static enum cl_mqtt_fate device_of_member(const struct cl_json_part *part, struct cl_mqtt_reading *out)
{
	enum cl_mqtt_fate fate = CL_MQTT_NO_DEVICE;
	struct cm_buf name;
	enum cm_rc rc;

	cm_buf_init(&name, CL_MQTT_PAYLOAD_MAX);
	name.secret = 1;
	rc = cl_json_name(part->value, part->end, &name);
	if (rc == CM_EINTERNAL)
		fate = CL_MQTT_MEMORY;
	else if (rc == CM_OK && set_device(out, (const char *)name.data, name.len))
		fate = CL_MQTT_KEPT;
	cm_buf_fini(&name);
	return fate;
}

/* Replace line ends by spaces.  false: one is inside a string, where JSON has none. */
static bool to_one_line(struct cm_buf *line)
{
	bool string = false, escaped = false;

	for (size_t i = 0; i < line->len; i++) {
		uint8_t *c = &line->data[i];

		if ((*c == '\n' || *c == '\r') && string)
			return false;
		if (*c == '\n' || *c == '\r')
			*c = ' ';
		string ^= *c == '"' && !escaped;
		escaped = string && !escaped && *c == '\\';
	}
	return true;
}

static enum cl_mqtt_fate read_json(
	const struct cl_mqtt_form *form, const struct cl_mqtt_message *m, struct cl_mqtt_reading *out)
{
	enum cl_mqtt_fate fate = CL_MQTT_KEPT;
	struct cl_json_part part;
	enum cm_rc rc = member(m, form->device_field, &part);

	if (rc == CM_EINTERNAL)
		fate = CL_MQTT_MEMORY;
	else if (rc == CM_EDATA)
		fate = CL_MQTT_MALFORMED;
	else if (form->device_level == 0)
		fate = rc == CM_OK ? device_of_member(&part, out) : CL_MQTT_NO_DEVICE;
	if (fate == CL_MQTT_KEPT && cm_buf_put(&out->line, m->payload, m->len) != CM_OK)
		return CL_MQTT_MEMORY;
	return fate == CL_MQTT_KEPT && !to_one_line(&out->line) ? CL_MQTT_MALFORMED : fate;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct dumped {
	struct cm_buf *to;
	bool failed; /* jansson continues after failing to store a key */
};

static int put_dumped(const char *bytes, size_t n, void *user)
{
	struct dumped *d = user;

	d->failed |= cm_buf_put(d->to, bytes, n) != CM_OK;
	return d->failed ? -1 : 0;
}

/* Write {"field":"value"} with the value as text, so that "007" and "1.0" keep their form. */
static enum cl_mqtt_fate put_object(
	struct cl_mqtt_reading *out, const char *field, size_t field_len, const uint8_t *value, size_t len)
{
	enum cl_mqtt_fate fate = CL_MQTT_KEPT;
	char name[CL_MQTT_FIELD_MAX + 1];
	struct dumped dumped = { .to = &out->line };
	json_t *object, *text;

	memcpy(name, field, field_len);
	name[field_len] = '\0';
	(void)cm_oom_happened();
	object = json_object();
	text = json_stringn((const char *)value, len);
	/* jansson returned no text or refused the name: it was not UTF-8. */
	if (!object || !text || json_object_set(object, name, text) != 0)
		fate = cm_oom_happened() ? CL_MQTT_MEMORY : CL_MQTT_MALFORMED;
	else if (json_dump_callback(object, put_dumped, &dumped, JSON_COMPACT) != 0)
		fate = CL_MQTT_MEMORY;
	json_decref(text);
	json_decref(object);
	return fate;
}

static enum cl_mqtt_fate read_text(
	const struct cl_mqtt_form *form, const struct cl_mqtt_message *m, struct cl_mqtt_reading *out)
{
	const uint8_t *value = m->payload;
	size_t len = m->len, field_len = form->field ? strlen(form->field) : 0;
	const char *field = form->field ? form->field : topic_level(m->topic, form->field_level, &field_len);

	if (!field || field_len == 0 || field_len > CL_MQTT_FIELD_MAX)
		return CL_MQTT_MALFORMED;
	for (; len > 0 && is_space(*value); len--)
		value++;
	while (len > 0 && is_space(value[len - 1]))
		len--;
	if (len == 0)
		return CL_MQTT_MALFORMED;
	for (size_t i = 0; i < len; i++)
		if (value[i] < 0x20)
			return CL_MQTT_MALFORMED;
	return put_object(out, field, field_len, value, len);
}

/* Some programs begin every text with a byte order mark. */
static struct cl_mqtt_message without_mark(const struct cl_mqtt_message *m)
{
	struct cl_mqtt_message bare = *m;

	if (m->len >= 3 && memcmp(m->payload, "\xef\xbb\xbf", 3) == 0) {
		bare.payload += 3;
		bare.len -= 3;
	}
	return bare;
}

enum cl_mqtt_fate cl_mqtt_message_read(
	const struct cl_mqtt_form *form, const struct cl_mqtt_message *m, struct cl_mqtt_reading *out)
{
	const struct cl_mqtt_message bare = without_mark(m);
	enum cl_mqtt_fate fate;

	cl_mqtt_reading_fini(out);
	if (bare.len == 0)
		return CL_MQTT_MALFORMED;
	if (form->device_level > 0 && !device_of_topic(m->topic, form->device_level, out))
		return CL_MQTT_NO_DEVICE;
	fate = form->json ? read_json(form, &bare, out) : read_text(form, &bare, out);
	if (fate != CL_MQTT_KEPT)
		cl_mqtt_reading_fini(out);
	return fate;
}
