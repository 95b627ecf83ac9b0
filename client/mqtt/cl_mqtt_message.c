/* cl_mqtt_message.c - converts topic and payload into a device and a line of NDJSON. */
#include "cl_mqtt_message.h"

#include <jansson.h>
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

/* Refuse a key that occurred before; `seen` holds the earlier keys.  CM_EDATA: it did. */
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
 * bytes that are not UTF-8, show that the message is broken.  CM_OK: *out is the member.  CM_ENOINPUT:
 * there is no such member. */
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

static enum cl_mqtt_fate device_of_member(
	const struct cl_mqtt_form *form, const struct cl_json_part *part, struct cl_mqtt_reading *out)
{
	enum cl_mqtt_fate fate = CL_MQTT_NO_DEVICE;
	struct cm_buf name;
	enum cm_rc rc;

	cm_buf_init(&name, CL_MQTT_PAYLOAD_MAX);
	name.secret = 1;
	rc = cl_json_name(part->value, part->end, &name);
	if (rc == CM_EINTERNAL)
		fate = CL_MQTT_MEMORY;
	else if (rc == CM_OK && cl_mqtt_name_of_field(form, name.data, name.len, out->device))
		fate = CL_MQTT_KEPT;
	cm_buf_fini(&name);
	return fate;
}

/* Replace line ends by spaces.  false: a string contains one, which JSON does not allow. */
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
	else if (form->device.n == 0)
		fate = rc == CM_OK ? device_of_member(form, &part, out) : CL_MQTT_NO_DEVICE;
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
	bool failed; /* a key could not be stored, after which jansson continues */
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
	const char *field =
		form->field ? form->field : cl_mqtt_level(m->topic, form->field_level, &field_len);

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

/* Skip the byte order mark with which some programs begin every text. */
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
		fate = CL_MQTT_MALFORMED;
	else if (form->device.n > 0 && !cl_mqtt_name_of_topic(form, m->topic, out->device))
		fate = CL_MQTT_NO_DEVICE;
	else
		fate = form->json ? read_json(form, &bare, out) : read_text(form, &bare, out);
	if (fate != CL_MQTT_KEPT)
		cl_mqtt_reading_fini(out);
	return fate;
}
