/* fuzz_mqtt.c - an MQTT message: form, map and `hold` (one byte), topic up to a NUL, payload.  No crash; what
 * is kept is one line with a device, and a round is fed exactly that, through a map and with `hold`, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_mqtt_input.h"
#include "cl_mqtt_reader.h"

struct seen {
	size_t rows;
	const char *device;
};

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	struct seen *s = user;

	(void)err;
	/* Valid JSON once stays valid JSON. */
	if (s->rows++ > 0 || strcmp(row->device, s->device) != 0 || row->line != 0 ||
		(row->why && strstr(row->why, "JSON")))
		abort();
	return CM_OK;
}

/* What is kept, by itself. */
static void check(const struct cl_mqtt_reading *r)
{
	if (r->line.len == 0 || r->device[0] == '\0' || memchr(r->line.data, '\n', r->line.len))
		abort();
}

/* A message that has a line has one through the map, too. */
static void check_mapped(const struct cl_mqtt_conf *conf, const struct cl_mqtt_message *m)
{
	struct cl_mqtt_reader *reader = cl_mqtt_reader_new(conf);
	struct cl_mqtt_reading r;

	if (!reader)
		abort();
	cl_mqtt_reading_init(&r);
	if (cl_mqtt_reader_read(reader, m, &r) != CL_MQTT_KEPT)
		abort();
	check(&r);
	cl_mqtt_reading_fini(&r);
	cl_mqtt_reader_free(reader);
}

static void check_feed(const struct cl_mqtt_conf *conf, const struct cl_mqtt_message *m, const char *device)
{
	static const char *const field[] = { "v" };
	static const struct cr_key secret = { { 1 } };
	struct cl_mqtt_input *in = cl_mqtt_input_new(conf, &secret, "p");
	struct seen seen = { 0, device };
	const struct cl_reader_conf to = { .format = CL_FORMAT_NDJSON,
		.name = "m",
		.field = field,
		.fields = 1,
		.on_row = on_row,
		.user = &seen };
	struct cl_devices *list = NULL;
	struct cm_err err;
	FILE *f;

	if (!in)
		abort();
	/* Unlisted it is not kept; listed it is, unless no list can hold its name. */
	if (cl_mqtt_input_take(in, m, 0) != CL_MQTT_UNLISTED)
		abort();
	f = fmemopen((void *)(uintptr_t)device, strlen(device), "r");
	if (!f)
		abort();
	if (cl_devices_read(f, "l", &secret, "p", &list, &err) == CM_OK && cl_devices_n(list) == 1 &&
		!strpbrk(device, "\r\n") && strncmp(device, "\xef\xbb\xbf", 3) != 0 &&
		(cl_mqtt_input_list(in, list, &err) != CM_OK ||
			cl_mqtt_input_take(in, m, 0) != CL_MQTT_KEPT ||
			cl_mqtt_input_draw(in, "q", &(struct cl_held_round){ .sequence = 1 }, 0, &err) !=
				CM_OK ||
			cl_mqtt_input_feed(in, &to, &err) != CM_OK || seen.rows > 1 ||
			(!conf->hold && seen.rows != 1)))
		abort();
	(void)fclose(f);
	cl_devices_free(list);
	cl_mqtt_input_free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cl_mqtt_form forms[] = {
		{ .json = true, .device = { 1, { { 2, 2 } } } },
		{ .json = true, .device_field = "d", .group = "g" },
		{ .device = { 1, { { 1, 1 } } }, .field_level = 2 },
		{ .device = { 2, { { 1, 1 }, { 3, 0 } } }, .field = "v" },
	};
	static struct cf_word bad[] = { { .number = -127 }, { .text = "off" } };
	static struct cl_map_entry entries[] = {
		{ .key = "v", .path = "a.b", .scale = 1, .invalid = { bad, 2 } },
		{ .key = "w", .path = "x[0].y", .scale = 1.8, .offset = 32, .unit = "C" },
		{ .key = "z", .field = "\"q\\ ", .path = "d\\.e", .scale = 1 },
		{ .key = "i", .scale = -0.1, .invalid = { bad, 1 } },
	};
	/* A value alone has no paths. */
	static struct cl_map_entry of_value[] = {
		{ .key = "v", .scale = 2, .unit = "C", .invalid = { bad, 2 } }
	};
	static char *filters[] = { "#" };
	struct cl_mqtt_conf conf = { .only.topics = { filters, 1 },
		.retained = true,
		.max_age_ms = 1000,
		.broker.payload_max = CL_MQTT_PAYLOAD_MAX,
		.readings = 1,
		.device_kib = 16384 };
	const uint8_t *end = size > 1 ? memchr(data + 1, '\0', size - 1) : NULL;
	struct cl_mqtt_reading r;
	struct cl_mqtt_message m;
	struct cm_err err;

	if (!end)
		return 0;
	conf.only.form = forms[data[0] % 4];
	conf.hold = data[0] / 8 % 2 == 1;
	if (data[0] / 4 % 2 == 1)
		conf.only.map.list = conf.only.form.json ? (struct cf_list){ .item = entries, .n = 4 }
							 : (struct cf_list){ .item = of_value, .n = 1 };
	m = (struct cl_mqtt_message){ (const char *)data + 1, end + 1, size - (size_t)(end + 1 - data),
		false };
	(void)cl_mqtt_filter_check(m.topic, &conf.only.form, &err);
	cl_mqtt_reading_init(&r);
	if (cl_mqtt_message_read(&conf.only.form, &m, &r) == CL_MQTT_KEPT) {
		check(&r);
		/* No topic has wildcards; one that begins with $ is not asked for. */
		if (cl_mqtt_filter_matches("#", m.topic)) {
			check_mapped(&conf, &m);
			check_feed(&conf, &m, r.device);
		}
	}
	cl_mqtt_reading_fini(&r);
	return 0;
}
