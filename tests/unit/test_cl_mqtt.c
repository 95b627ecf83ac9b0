/* test_cl_mqtt.c - MQTT messages to readings, and which of the readings held count in a round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_device.h"
#include "cl_mqtt_input.h"

static struct cm_err err;

/* ---- messages ---- */

static struct cl_mqtt_form form(const char *device, const char *payload, const char *field)
{
	struct cl_mqtt_form out;
	const char *which;

	assert_int_equal(cl_mqtt_form_parse(device, payload, field, &out, &which, &err), CM_OK);
	return out;
}

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
	EXPECT(&f, "d", "{\"v\":\"\xff\"}", "malformed", "", "");
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
		{ "topic:4294967297", "json", NULL, "device" } };
	struct cl_mqtt_form f;
	const char *which;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(
			cl_mqtt_form_parse(bad[i].device, bad[i].payload, bad[i].field, &f, &which, &err),
			CM_ECONFIG);
		assert_string_equal(which, bad[i].key);
	}
}

static void filters_need_the_levels_that_are_asked_for_and_may_not_be_shared(void **state)
{
	const struct cl_mqtt_form f = form("topic:2", "text", "topic:3");
	static const char *const good[] = { "a/+/+", "a/#", "#", "+/+/+/x", "a/b/c" };
	static const char *const bad[] = { "a/+", "+", "", "a/#/b", "a+/b/c", "$share/g/a/b/c" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_int_equal(cl_mqtt_filter_check(good[i], &f, &err), CM_OK);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(cl_mqtt_filter_check(bad[i], &f, &err), CM_ECONFIG);
}

/* ---- what is held ---- */

#define MAX_AGE 1000

static struct cl_held *held;

/* A list of names, one a line; the caller frees it. */
static struct cl_devices *devices(const char *names, const struct cr_key *secret)
{
	char path[] = "/tmp/tombola-devices-XXXXXX";
	struct cl_devices *d = NULL;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, names, strlen(names)), strlen(names));
	assert_int_equal(close(fd), 0);
	assert_int_equal(cl_devices_load(path, secret, "test", &d, &err), CM_OK);
	assert_int_equal(unlink(path), 0);
	return d;
}

static const struct cr_key any;

static void list(const char *names)
{
	struct cl_devices *d = devices(names, &any);

	assert_int_equal(cl_held_list(held, d, &err), CM_OK);
	cl_devices_free(d);
}

/* For devices a, b and c; so many bytes of each. */
static void hold_at_most(uint64_t readings, uint64_t bytes)
{
	const struct cl_held_limits limits = { readings, bytes, MAX_AGE };

	held = cl_held_new(&limits);
	assert_non_null(held);
	list("a\nb\nc\n");
}

static int let_go(void **state)
{
	(void)state;
	cl_held_free(held);
	held = NULL;
	return 0;
}

static enum cl_held_said add(const char *device, const char *line, int64_t now)
{
	uint8_t pseudonym[PR_PSEUDONYM_LEN];

	cl_device_pseudonym(&any, "test", device, pseudonym);
	return cl_held_add(held, pseudonym, device, (const uint8_t *)line, strlen(line), now);
}

/* "device=line " of all that count, in order of device. */
static const char *taken(struct cl_held_view *v)
{
	static char text[4096];
	size_t n = 0;

	assert_non_null(v);
	text[0] = '\0';
	for (size_t i = 0; i < cl_held_view_n(v); i++) {
		struct cl_held_item item = cl_held_view_at(v, i);

		n += (size_t)snprintf(text + n, sizeof text - n, "%s=%.*s ", item.device, (int)item.len,
			(const char *)item.line);
	}
	cl_held_release(held, v);
	return text;
}

static const char *take(const char *query, uint64_t sequence, int64_t now)
{
	return taken(cl_held_take(held, query, &(struct cl_held_round){ .sequence = sequence }, now));
}

/* By the first byte of a plan's hash, and one of its entries. */
static const char *take_entry(const char *query, uint8_t plan, uint32_t entry)
{
	return taken(
		cl_held_take(held, query, &(struct cl_held_round){ .plan = { plan }, .entry = entry }, 0));
}

static void tries_of_an_entry_take_the_same_and_recurrences_do_not(void **state)
{
	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_string_equal(take_entry("q", 1, 1), "a=1 ");
	/* It was void: the next try may have the same reading, and newer ones. */
	assert_int_equal(add("a", "2", 0), CL_HELD_OK);
	assert_string_equal(take_entry("q", 1, 1), "a=1 a=2 ");
	/* The next recurrence, and the entry of its number in another plan. */
	assert_string_equal(take_entry("q", 1, 2), "");
	assert_int_equal(add("a", "3", 0), CL_HELD_OK);
	assert_string_equal(take_entry("q", 1, 2), "a=3 ");
	assert_string_equal(take_entry("q", 2, 2), "");
	assert_string_equal(take_entry("other", 2, 2), "a=1 a=2 a=3 ");
}

static void a_reading_counts_in_one_round_of_a_query_and_in_those_of_others(void **state)
{
	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_int_equal(add("b", "2", 1), CL_HELD_OK);
	assert_string_equal(take("q", 1, 1), "a=1 b=2 ");
	assert_string_equal(take("q", 2, 1), "");
	assert_string_equal(take("other", 3, 1), "a=1 b=2 ");
	assert_int_equal(add("a", "3", 2), CL_HELD_OK);
	assert_string_equal(take("q", 4, 2), "a=3 ");
}

static void the_same_round_may_ask_again(void **state)
{
	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_string_equal(take("q", 7, 0), "a=1 ");
	assert_int_equal(add("a", "2", 0), CL_HELD_OK);
	assert_string_equal(take("q", 7, 0), "a=1 a=2 ");
	assert_string_equal(take("q", 8, 0), "");
}

static void a_reading_counts_for_max_age(void **state)
{
	struct cl_held_counts counts;

	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_int_equal(add("b", "2", 5), CL_HELD_OK);
	assert_string_equal(take("q", 1, MAX_AGE), "a=1 b=2 ");
	assert_string_equal(take("r", 1, MAX_AGE + 1), "b=2 ");
	cl_held_expire(held, MAX_AGE + 1);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.devices, 1);
	assert_int_equal(counts.readings, 1);
	assert_int_equal(counts.expired, 1);
	cl_held_expire(held, MAX_AGE + 6);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.devices + counts.readings + counts.bytes, 0);
	assert_int_equal(add("b", "3", MAX_AGE + 7), CL_HELD_OK);
	assert_string_equal(take("t", 1, MAX_AGE + 7), "b=3 ");
}

static void of_one_device_the_newest_are_kept(void **state)
{
	struct cl_held_counts counts;

	(void)state;
	hold_at_most(3, 1 << 20);
	for (char line[2] = "1"; line[0] <= '8'; line[0]++)
		assert_int_equal(add("a", line, 0), CL_HELD_OK);
	assert_string_equal(take("q", 1, 0), "a=6 a=7 a=8 ");
	cl_held_counts(held, &counts);
	assert_int_equal(counts.readings, 3);
	assert_int_equal(counts.replaced, 5);
}

static void what_one_device_says_takes_nothing_from_the_others(void **state)
{
	static char large[900];
	struct cl_held_counts counts;

	(void)state;
	memset(large, 'x', sizeof large - 1);
	hold_at_most(4, 1000);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	/* A flood of large and small ones, and of some that no device may hold. */
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(add("b", large, 1), CL_HELD_OK);
		assert_int_equal(add("b", "2", 1), CL_HELD_OK);
		cl_held_counts(held, &counts);
		assert_in_range(counts.bytes, 0, 2 * 1000);
	}
	/* The second of b's large ones drove the first out, with what came between. */
	assert_int_equal(strncmp(take("q", 1, 1), "a=1 b=xxxx", 10), 0);
	assert_string_equal(take("q", 1, 1) + 4 + 2 + 899, " b=2 ");
	assert_int_equal(counts.replaced, 1998);
	assert_int_equal(add("d", "3", 1), CL_HELD_UNLISTED);
	assert_int_equal(add("", "3", 1), CL_HELD_UNLISTED);
}

static void a_reading_above_a_devices_memory_changes_nothing(void **state)
{
	static char large[1000];

	(void)state;
	memset(large, 'x', sizeof large - 1);
	hold_at_most(4, 1000);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_int_equal(add("a", large, 0), CL_HELD_MEMORY);
	assert_string_equal(take("q", 1, 0), "a=1 ");
}

static void another_list_keeps_what_its_devices_have(void **state)
{
	struct cl_held_counts counts;

	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	assert_int_equal(add("b", "2", 0), CL_HELD_OK);
	list("d\nb\n");
	assert_string_equal(take("q", 1, 0), "b=2 ");
	cl_held_counts(held, &counts);
	assert_int_equal(counts.readings, 1);
	assert_int_equal(add("a", "3", 0), CL_HELD_UNLISTED);
	assert_int_equal(add("d", "4", 0), CL_HELD_OK);
	assert_string_equal(take("r", 1, 0), "d=4 b=2 ");
}

static void a_view_stays_readable_while_its_readings_leave(void **state)
{
	struct cl_held_counts counts;
	struct cl_held_view *v;

	(void)state;
	hold_at_most(1, 1 << 20);
	assert_int_equal(add("a", "old", 0), CL_HELD_OK);
	v = cl_held_take(held, "q", &(struct cl_held_round){ .sequence = 1 }, 0);
	assert_non_null(v);
	assert_int_equal(add("a", "new", 1), CL_HELD_OK);
	cl_held_expire(held, MAX_AGE + 2);
	assert_memory_equal(cl_held_view_at(v, 0).line, "old", 3);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.readings, 1);
	cl_held_release(held, v);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.readings + counts.bytes, 0);
}

static void more_queries_than_are_remembered_lose_readings_but_never_count_them_twice(void **state)
{
	char query[16];

	(void)state;
	hold_at_most(4, 1 << 20);
	assert_int_equal(add("a", "1", 0), CL_HELD_OK);
	for (uint64_t i = 1; i <= 65; i++) {
		(void)snprintf(query, sizeof query, "q%u", (unsigned)i);
		assert_string_equal(take(query, i, 0), "a=1 ");
	}
	/* q1 is forgotten; what it took may not be taken again. */
	assert_string_equal(take("q1", 66, 0), "");
	assert_int_equal(add("a", "2", 0), CL_HELD_OK);
	assert_string_equal(take("q1", 67, 0), "a=2 ");
}

static void many_devices_come_and_go(void **state)
{
	struct cl_held_counts counts;
	char name[16];
	const struct cl_held_limits limits = { 2, 1 << 20, MAX_AGE };
	char *names = calloc(6000, 8);
	size_t used = 0;

	(void)state;
	assert_non_null(names);
	for (int i = 0; i < 5500; i++)
		used += (size_t)snprintf(names + used, 8, "%d\n", i);
	held = cl_held_new(&limits);
	assert_non_null(held);
	list(names);
	free(names);
	for (int64_t now = 0; now < 10 * MAX_AGE; now += MAX_AGE / 4) {
		for (int i = 0; i < 500; i++) {
			(void)snprintf(name, sizeof name, "%d", (int)(now / 2) + i);
			assert_int_equal(add(name, "{}", now), CL_HELD_OK);
		}
		cl_held_expire(held, now);
	}
	cl_held_counts(held, &counts);
	assert_in_range(counts.devices, 500, 1500);
	cl_held_expire(held, 20 * MAX_AGE);
	cl_held_counts(held, &counts);
	assert_int_equal(counts.bytes, 0);
}

/* ---- all of it ---- */

static struct cl_mqtt_conf conf;
static struct cr_key secret = { { 7 } };
static struct cl_mqtt_input *input;

static int begin(void **state)
{
	struct cl_devices *d;

	(void)state;
	conf = (struct cl_mqtt_conf){ .max_age_ms = MAX_AGE,
		.broker.payload_max = 20,
		.readings = 5,
		.device_kib = 1,
		.form = form("topic:1", "json", NULL) };
	input = cl_mqtt_input_new(&conf, &secret, "test");
	assert_non_null(input);
	d = devices("a\nb\nd0\nd1\nd2\nd3\nd4\nd5\nd6\nd7\nd8\nd9\n", &secret);
	assert_int_equal(cl_mqtt_input_list(input, d, &err), CM_OK);
	cl_devices_free(d);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cl_mqtt_input_free(input);
	return 0;
}

static enum cl_mqtt_fate come(const char *topic, const char *payload, bool retained)
{
	const struct cl_mqtt_message m = { topic, (const uint8_t *)payload, strlen(payload), retained };

	return cl_mqtt_input_take(input, &m, 0);
}

static char fed[256];

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *unused)
{
	(void)user;
	(void)unused;
	assert_int_equal(row->line, 0);
	assert_true((row->text[0] == NULL) == (row->why != NULL));
	(void)strncat(fed, row->device, sizeof fed - strlen(fed) - 1);
	(void)strncat(fed, row->why ? ": no " : " ", sizeof fed - strlen(fed) - 1);
	return CM_OK;
}

static const char *feed(const char *query, uint64_t sequence)
{
	static const char *const field[] = { "v" };
	const struct cl_reader_conf to = {
		.format = CL_FORMAT_NDJSON, .name = "mqtt", .field = field, .fields = 1, .on_row = on_row
	};

	fed[0] = '\0';
	assert_int_equal(
		cl_mqtt_input_draw(input, query, &(struct cl_held_round){ .sequence = sequence }, 0, &err),
		CM_OK);
	assert_int_equal(cl_mqtt_input_feed(input, &to, &err), CM_OK);
	cl_mqtt_input_drawn(input);
	return fed;
}

static void a_round_is_fed_every_reading_that_counts_with_its_device(void **state)
{
	struct cl_mqtt_counts counts;

	(void)state;
	assert_string_equal(feed("q", 1), "");
	assert_int_equal(come("a", "{\"v\":1}", false), CL_MQTT_KEPT);
	assert_int_equal(come("b", "{\"w\":1}", false), CL_MQTT_KEPT);
	assert_int_equal(come("a", "{\"v\":2}", false), CL_MQTT_KEPT);
	assert_string_equal(feed("q", 2), "a a b: no ");
	assert_string_equal(feed("q", 3), "");
	cl_mqtt_input_expire(input, MAX_AGE + 1);
	cl_mqtt_input_counts(input, &counts);
	assert_int_equal(counts.held.bytes, 0);
	assert_int_equal(counts.fate[CL_MQTT_KEPT], 3);
}

static void messages_are_counted_by_what_became_of_them(void **state)
{
	struct cl_mqtt_counts counts;
	char name[13];

	(void)state;
	assert_int_equal(come("a", "{\"v\":1}", true), CL_MQTT_RETAINED);
	assert_int_equal(come("a", "{\"v\":123456789012345}", false), CL_MQTT_TOO_LARGE);
	assert_int_equal(come("a", "v", false), CL_MQTT_MALFORMED);
	assert_int_equal(come("/a", "{}", false), CL_MQTT_NO_DEVICE);
	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof name, "d%d", i);
		assert_int_equal(come(name, "{}", false), i < 10 ? CL_MQTT_KEPT : CL_MQTT_UNLISTED);
	}
	cl_mqtt_input_counts(input, &counts);
	for (size_t i = 0; i < CL_MQTT_FATES; i++)
		assert_int_equal(counts.fate[i], ((const uint64_t[]){ 10, 1, 1, 1, 1, 2, 0 })[i]);
	conf.retained = true;
	assert_int_equal(come("d1", "{}", true), CL_MQTT_KEPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_json_object_is_kept_as_it_is_on_one_line),
		cmocka_unit_test(what_is_no_json_object_is_malformed),
		cmocka_unit_test(the_device_is_a_level_of_the_topic),
		cmocka_unit_test(or_a_field_of_the_object),
		cmocka_unit_test(a_value_alone_becomes_an_object_of_one_field),
		cmocka_unit_test(the_longest_payload_fits_into_a_line_however_it_is_escaped),
		cmocka_unit_test(forms_that_make_no_sense_are_refused_by_their_key),
		cmocka_unit_test(filters_need_the_levels_that_are_asked_for_and_may_not_be_shared),
		cmocka_unit_test_teardown(
			a_reading_counts_in_one_round_of_a_query_and_in_those_of_others, let_go),
		cmocka_unit_test_teardown(tries_of_an_entry_take_the_same_and_recurrences_do_not, let_go),
		cmocka_unit_test_teardown(the_same_round_may_ask_again, let_go),
		cmocka_unit_test_teardown(a_reading_counts_for_max_age, let_go),
		cmocka_unit_test_teardown(of_one_device_the_newest_are_kept, let_go),
		cmocka_unit_test_teardown(what_one_device_says_takes_nothing_from_the_others, let_go),
		cmocka_unit_test_teardown(a_reading_above_a_devices_memory_changes_nothing, let_go),
		cmocka_unit_test_teardown(another_list_keeps_what_its_devices_have, let_go),
		cmocka_unit_test_teardown(a_view_stays_readable_while_its_readings_leave, let_go),
		cmocka_unit_test_teardown(
			more_queries_than_are_remembered_lose_readings_but_never_count_them_twice, let_go),
		cmocka_unit_test_teardown(many_devices_come_and_go, let_go),
		cmocka_unit_test_setup_teardown(
			a_round_is_fed_every_reading_that_counts_with_its_device, begin, end),
		cmocka_unit_test_setup_teardown(messages_are_counted_by_what_became_of_them, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
