/* test_cl_mqtt_form.c - an MQTT message to the line of a reading, by the form that the configuration says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_mqtt_input.h"
#include "mqtt_held.h"

static const char *fate_of(const struct cl_mqtt_form *f, const char *topic, const void *payload, size_t len,
	const char *device, const char *line)
{
	const struct cl_mqtt_message m = { topic, payload, len, false };
	struct cl_mqtt_reading r;
	enum cl_mqtt_fate fate;

	cl_mqtt_reading_init(&r);
	fate = cl_mqtt_message_read(f, &m, &r);
	if (fate == CL_MQTT_KEPT) {
		assert_string_equal(r.device, device);
		assert_int_equal(r.line.len, strlen(line));
		assert_memory_equal(r.line.data, line, r.line.len);
	} else {
		assert_int_equal(r.line.len, 0);
		assert_string_equal(r.device, "");
	}
	cl_mqtt_reading_fini(&r);
	return cl_mqtt_fates[fate];
}

#define EXPECT(f, topic, payload, fate, device, line) \
	assert_string_equal(fate_of(f, topic, payload, sizeof(payload) - 1, device, line), fate)

static void a_json_object_is_kept_as_it_is_on_one_line(void **state)
{
	const struct cl_mqtt_form f = form("topic:2", "json", NULL);

	(void)state;
	EXPECT(&f, "s/dev7/x", "{\"v\": 1.50}", "kept", "dev7", "{\"v\": 1.50}");
	EXPECT(&f, "s/dev7", "{\r\n\"v\":\n2}\n", "kept", "dev7", "{  \"v\": 2} ");
	EXPECT(&f, "s/dev7", "{\"v\":\"a\\nb\"}", "kept", "dev7", "{\"v\":\"a\\nb\"}");
}

static void a_byte_order_mark_is_no_part_of_a_payload(void **state)
{
	const struct cl_mqtt_form object = form("topic:1", "json", NULL),
				  value = form("topic:1", "text", "t");

	(void)state;
	EXPECT(&object, "d", "\xef\xbb\xbf{\"v\":1}", "kept", "d", "{\"v\":1}");
	EXPECT(&value, "d",
		"\xef\xbb\xbf"
		"21.5",
		"kept", "d", "{\"t\":\"21.5\"}");
	EXPECT(&object, "d", "\xef\xbb\xbf", "malformed", "", "");
	EXPECT(&object, "d", "\xef\xbb\xbf\xef\xbb\xbf{}", "malformed", "", "");
	EXPECT(&value, "d", "\xef\xbb\xbf", "malformed", "", "");
}

static void what_is_no_json_object_is_malformed(void **state)
{
	const struct cl_mqtt_form f = form("topic:1", "json", NULL);

	(void)state;
	EXPECT(&f, "d", "", "malformed", "", "");
	EXPECT(&f, "d", "17", "malformed", "", "");
	EXPECT(&f, "d", "[1]", "malformed", "", "");
	EXPECT(&f, "d", "{\"v\":1", "malformed", "", "");
	EXPECT(&f, "d", "{\"v\":1} x", "malformed", "", "");
	EXPECT(&f, "d", "{\"v\":1,\"v\":2}", "malformed", "", "");
	EXPECT(&f, "d", "{\"v\":1,\"\\u0076\":2}", "malformed", "", "");
	EXPECT(&f, "d", "{\"v\":\"\xff\"}", "malformed", "", "");
	/* Members that nobody asked for may hold anything. */
	EXPECT(&f, "d", "{\"x\":1e400,\"y\":nan,\n\"v\":[\"\\u0000\"]}", "kept", "d",
		"{\"x\":1e400,\"y\":nan, \"v\":[\"\\u0000\"]}");
	EXPECT(&f, "d", "{\"v\":\"\\\"\nb\"}", "malformed", "", "");
	EXPECT(&f, "d", "{\"v\":\"a\nb\"}", "malformed", "", "");
	EXPECT(&f, "d", "{\"v\":1}\0", "malformed", "", "");
}

static void the_device_is_a_level_of_the_topic(void **state)
{
	const struct cl_mqtt_form f = form("topic:3", "json", NULL);
	char topic[300];

	(void)state;
	EXPECT(&f, "a/b/c", "{}", "kept", "c", "{}");
	EXPECT(&f, "a/b/c/d", "{}", "kept", "c", "{}");
	EXPECT(&f, "a/b", "{}", "no_device", "", "");
	EXPECT(&f, "a//", "{}", "no_device", "", "");
	EXPECT(&f, "//c", "{}", "kept", "c", "{}");
	(void)snprintf(topic, sizeof topic, "a/b/%0200d", 7);
	EXPECT(&f, topic, "{}", "kept", topic + 4, "{}");
	(void)snprintf(topic, sizeof topic, "a/b/%0201d", 7);
	EXPECT(&f, topic, "{}", "no_device", "", "");
}

/* Names that no other topic of the same source has. */
static void or_several_levels_with_what_parts_them(void **state)
{
	const struct cl_mqtt_form two = form("topic:2-3", "json", NULL),
				  rest = form("topic:2-", "json", NULL),
				  apart = form("topic:2,4-5", "json", NULL),
				  last = form("topic:1,3-", "json", NULL);
	char topic[300];

	(void)state;
	EXPECT(&two, "z/kitchen/lamp", "{}", "kept", "kitchen/lamp", "{}");
	EXPECT(&two, "z/kitchen/lamp/set", "{}", "kept", "kitchen/lamp", "{}");
	EXPECT(&two, "z/kitchen", "{}", "no_device", "", "");
	EXPECT(&two, "z//lamp", "{}", "no_device", "", "");
	EXPECT(&two, "z/kitchen/", "{}", "no_device", "", "");
	EXPECT(&rest, "z/kitchen", "{}", "kept", "kitchen", "{}");
	EXPECT(&rest, "z/kitchen/lamp/left", "{}", "kept", "kitchen/lamp/left", "{}");
	EXPECT(&rest, "z", "{}", "no_device", "", "");
	EXPECT(&rest, "z/kitchen//left", "{}", "no_device", "", "");
	EXPECT(&apart, "v3/app/devices/eui/up", "{}", "kept", "app/eui/up", "{}");
	EXPECT(&apart, "v3/app/devices/eui", "{}", "no_device", "", "");
	EXPECT(&last, "a/b/c/d", "{}", "kept", "a/c/d", "{}");
	/* 200 bytes with the '/', and one more. */
	(void)snprintf(topic, sizeof topic, "z/a/%0198d", 7);
	EXPECT(&two, topic, "{}", "kept", topic + 2, "{}");
	(void)snprintf(topic, sizeof topic, "z/a/%0199d", 7);
	EXPECT(&two, topic, "{}", "no_device", "", "");
}

static void a_group_stands_before_the_name(void **state)
{
	const struct cl_mqtt_form_of of = { "topic:1", "json", NULL, "zigbee" },
				     by = { "field:id", "json", NULL, "shelly" };
	struct cl_mqtt_form level, field;
	const char *which;

	(void)state;
	assert_int_equal(cl_mqtt_form_parse(&of, &level, &which, &err), CM_OK);
	assert_int_equal(cl_mqtt_form_parse(&by, &field, &which, &err), CM_OK);
	EXPECT(&level, "kitchen", "{}", "kept", "zigbee/kitchen", "{}");
	EXPECT(&level, "", "{}", "no_device", "", "");
	EXPECT(&field, "t", "{\"id\":\"kitchen\"}", "kept", "shelly/kitchen", "{\"id\":\"kitchen\"}");
	EXPECT(&field, "t", "{\"id\":\"\"}", "no_device", "", "");
}

static void or_a_field_of_the_object(void **state)
{
	const struct cl_mqtt_form f = form("field:id", "json", NULL);

	(void)state;
	EXPECT(&f, "t", "{\"id\":\"dev\"}", "kept", "dev", "{\"id\":\"dev\"}");
	EXPECT(&f, "t", "{\"id\":-12}", "kept", "-12", "{\"id\":-12}");
	EXPECT(&f, "t", "{\"id\":1.5}", "no_device", "", "");
	EXPECT(&f, "t", "{\"id\":\"\"}", "no_device", "", "");
	EXPECT(&f, "t", "{\"id\":null}", "no_device", "", "");
	EXPECT(&f, "t", "{\"di\":1}", "no_device", "", "");
}

static void a_value_alone_becomes_an_object_of_one_field(void **state)
{
	const struct cl_mqtt_form level = form("topic:1", "text", "topic:2");
	const struct cl_mqtt_form name = form("topic:1", "text", "t");

	(void)state;
	EXPECT(&level, "d/temp", "21.50", "kept", "d", "{\"temp\":\"21.50\"}");
	EXPECT(&name, "d", " 007\r\n", "kept", "d", "{\"t\":\"007\"}");
	EXPECT(&name, "d", "a \"b\" \\", "kept", "d", "{\"t\":\"a \\\"b\\\" \\\\\"}");
	EXPECT(&name, "d", "\xc3\xa9", "kept", "d", "{\"t\":\"\xc3\xa9\"}");
	EXPECT(&name, "d", " \n", "malformed", "", "");
	EXPECT(&name, "d", "a\nb", "malformed", "", "");
	EXPECT(&name, "d", "a\0b", "malformed", "", "");
	EXPECT(&name, "d", "\xc3", "malformed", "", "");
	EXPECT(&level, "d", "1", "malformed", "", "");
	EXPECT(&level, "d/", "1", "malformed", "", "");
	EXPECT(&level, "d/\xff", "1", "malformed", "", "");
}

static void the_longest_payload_fits_into_a_line_however_it_is_escaped(void **state)
{
	const struct cl_mqtt_form f = form("topic:1", "text", "topic:2");
	struct cl_mqtt_message m = { .len = CL_MQTT_PAYLOAD_MAX };
	char topic[CL_MQTT_FIELD_MAX + 3] = "d/";
	struct cl_mqtt_reading r;
	uint8_t *payload = malloc(m.len);

	(void)state;
	assert_non_null(payload);
	memset(payload, '"', m.len);
	memset(topic + 2, '"', CL_MQTT_FIELD_MAX);
	m.payload = payload;
	m.topic = topic;
	cl_mqtt_reading_init(&r);
	assert_int_equal(cl_mqtt_message_read(&f, &m, &r), CL_MQTT_KEPT);
	assert_in_range(r.line.len, 2 * m.len, CL_RECORD_MAX - 1);
	cl_mqtt_reading_fini(&r);
	free(payload);
}

static void forms_that_make_no_sense_are_refused_by_their_key(void **state)
{
	static const struct {
		const char *device, *payload, *field, *key;
	} bad[] = { { "topic:0", "json", NULL, "device" }, { "topic:101", "json", NULL, "device" },
		{ "topic:", "json", NULL, "device" }, { "topic:2x", "json", NULL, "device" },
		{ "field:", "json", NULL, "device" }, { "2", "json", NULL, "device" },
		{ "field:id", "text", "t", "device" }, { "topic:1", "xml", NULL, "payload" },
		{ "topic:1", "json", "t", "field" }, { "topic:1", "text", NULL, "field" },
		{ "topic:1", "text", "", "field" }, { "topic:1", "text", "topic:x", "field" },
		{ "topic:4294967297", "json", NULL, "device" }, { "topic:3-2", "json", NULL, "device" },
		{ "topic:2-0", "json", NULL, "device" }, { "topic:2-,3", "json", NULL, "device" },
		{ "topic:3,2", "json", NULL, "device" }, { "topic:2,2", "json", NULL, "device" },
		{ "topic:2,", "json", NULL, "device" }, { "topic:-2", "json", NULL, "device" },
		{ "topic:2-101", "json", NULL, "device" },
		{ "topic:1,2,3,4,5,6,7,8,9", "json", NULL, "device" } };
	char long_name[CL_DEVICE_MAX + 1];
	struct cl_mqtt_form f;
	const char *which;

	(void)state;
	(void)snprintf(long_name, sizeof long_name, "%0*d", (int)CL_DEVICE_MAX, 7);
	for (size_t i = 0; i < 3; i++) {
		const char *const group[] = { "", "a/b", long_name };

		assert_int_equal(
			cl_mqtt_form_parse(&(struct cl_mqtt_form_of){ "topic:1", "json", NULL, group[i] }, &f,
				&which, &err),
			CM_ECONFIG);
		assert_string_equal(which, "group");
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(cl_mqtt_form_parse(&(struct cl_mqtt_form_of){ bad[i].device, bad[i].payload,
							    bad[i].field, NULL },
					 &f, &which, &err),
			CM_ECONFIG);
		assert_string_equal(which, bad[i].key);
	}
}

static void filters_need_the_levels_that_are_asked_for_and_may_not_be_shared(void **state)
{
	const struct cl_mqtt_form f = form("topic:2", "text", "topic:3");
	const struct cl_mqtt_form open = form("topic:1,3-", "json", NULL);
	static const char *const good[] = { "a/+/+", "a/#", "#", "+/+/+/x", "a/b/c" };
	static const char *const bad[] = { "a/+", "+", "", "a/#/b", "a+/b/c", "$share/g/a/b/c",
		"$queue/a/b/c", "$SYS/broker/#" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_int_equal(cl_mqtt_filter_check(good[i], &f, &err), CM_OK);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(cl_mqtt_filter_check(bad[i], &f, &err), CM_ECONFIG);
	assert_int_equal(cl_mqtt_filter_check("a/+/+", &open, &err), CM_OK);
	assert_int_equal(cl_mqtt_filter_check("a/+", &open, &err), CM_ECONFIG);
}

/* The examples of MQTT 5, sections 4.7.1 and 4.7.2. */
static void a_topic_matches_a_filter_as_mqtt_says(void **state)
{
	static const char *const yes[][2] = { { "sport/tennis/player1/#", "sport/tennis/player1" },
		{ "sport/tennis/player1/#", "sport/tennis/player1/ranking" },
		{ "sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon" }, { "sport/#", "sport" },
		{ "#", "a" }, { "#", "/a" }, { "sport/tennis/+", "sport/tennis/player1" },
		{ "sport/+", "sport/" }, { "+/+", "/finance" }, { "/+", "/finance" }, { "+", "a" },
		{ "+/tennis/#", "a/tennis" }, { "a/+/#", "a/b" }, { "a/b", "a/b" }, { "$SYS/#", "$SYS/a" } };
	static const char *const no[][2] = { { "sport/tennis/+", "sport/tennis/player1/ranking" },
		{ "sport/+", "sport" }, { "+", "/finance" }, { "#", "$SYS/a" },
		{ "+/monitor", "$SYS/monitor" }, { "a/b", "a/B" }, { "a/b", "a" }, { "a", "a/b" },
		{ "a/b", "a/b/" }, { "/a", "a" }, { "a/+/c", "a/b/d" }, { "y/#", "z/d1" }, { "y/#", "yy" },
		{ "sensors/+/reading", "sensors/a/b" } };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
		assert_true(cl_mqtt_filter_matches(yes[i][0], yes[i][1]));
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
		assert_false(cl_mqtt_filter_matches(no[i][0], no[i][1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_json_object_is_kept_as_it_is_on_one_line),
		cmocka_unit_test(a_byte_order_mark_is_no_part_of_a_payload),
		cmocka_unit_test(a_topic_matches_a_filter_as_mqtt_says),
		cmocka_unit_test(what_is_no_json_object_is_malformed),
		cmocka_unit_test(the_device_is_a_level_of_the_topic),
		cmocka_unit_test(or_several_levels_with_what_parts_them),
		cmocka_unit_test(a_group_stands_before_the_name),
		cmocka_unit_test(or_a_field_of_the_object),
		cmocka_unit_test(a_value_alone_becomes_an_object_of_one_field),
		cmocka_unit_test(the_longest_payload_fits_into_a_line_however_it_is_escaped),
		cmocka_unit_test(forms_that_make_no_sense_are_refused_by_their_key),
		cmocka_unit_test(filters_need_the_levels_that_are_asked_for_and_may_not_be_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
