/* test_cl_mqtt.c - MQTT messages to a round: which are counted, and what became of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cl_device.h"
#include "cl_mqtt_input.h"
#include "mqtt_held.h"

/* ---- what is held ---- */

/* ---- all of it ---- */

static char *filters[] = { "+", "+/+" };
static struct cl_mqtt_conf conf;
static struct cr_key secret = { { 7 } };
static struct cl_mqtt_input *input;

static int begin_with(bool hold)
{
	struct cl_devices *d;

	conf = (struct cl_mqtt_conf){ .only = { .topics = { filters, 2 },
					      .form = form("topic:1", "json", NULL) },
		.max_age_ms = MAX_AGE,
		.broker.payload_max = 20,
		.readings = 5,
		.device_kib = 1,
		.hold = hold };
	input = cl_mqtt_input_new(&conf, &secret, "test");
	assert_non_null(input);
	d = devices("a\nb\nd0\nd1\nd2\nd3\nd4\nd5\nd6\nd7\nd8\nd9\n", &secret);
	assert_int_equal(cl_mqtt_input_list(input, d, &err), CM_OK);
	cl_devices_free(d);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with(false);
}

static int begin_to_hold(void **state)
{
	(void)state;
	return begin_with(true);
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

static void with_hold_all_fields_of_a_device_are_one_reading_in_every_round(void **state)
{
	(void)state;
	assert_int_equal(come("a", "{\"v\":1}", false), CL_MQTT_KEPT);
	assert_int_equal(come("a", "{\"w\":1}", false), CL_MQTT_KEPT);
	assert_int_equal(come("a", "{\"v\":{\"v\":[]}}", false), CL_MQTT_KEPT);
	assert_int_equal(come("b", "{\"w\":[{}]}", false), CL_MQTT_KEPT);
	assert_int_equal(come("d1", "{}", false), CL_MQTT_KEPT);
	assert_int_equal(come("d10", "{}", false), CL_MQTT_UNLISTED);
	assert_string_equal(feed("q", 1), "a b: no ");
	assert_string_equal(feed("q", 2), "a b: no ");
	/* Another way to write the field's name: with two of one name there would be no reading. */
	assert_int_equal(come("a", "{\"\\u0076\":2}", false), CL_MQTT_KEPT);
	assert_string_equal(feed("q", 3), "a b: no ");
	assert_int_equal(come("a", "{\"v\":null}", false), CL_MQTT_KEPT);
	assert_string_equal(feed("q", 4), "a: no b: no ");
	cl_mqtt_input_expire(input, MAX_AGE + 1);
	assert_string_equal(feed("q", 5), "");
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
	assert_int_equal(come("a/b/c", "{\"v\":1}", false), CL_MQTT_UNASKED);
	assert_int_equal(come("$SYS/a", "{\"v\":1}", true), CL_MQTT_UNASKED);
	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof name, "d%d", i);
		assert_int_equal(come(name, "{}", false), i < 10 ? CL_MQTT_KEPT : CL_MQTT_UNLISTED);
	}
	cl_mqtt_input_counts(input, &counts);
	for (size_t i = 0; i < CL_MQTT_FATES; i++)
		assert_int_equal(counts.fate[i], ((const uint64_t[]){ 10, 2, 1, 1, 1, 1, 2, 0 })[i]);
	conf.retained = true;
	assert_int_equal(come("d1", "{}", true), CL_MQTT_KEPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_round_is_fed_every_reading_that_counts_with_its_device, begin, end),
		cmocka_unit_test_setup_teardown(
			with_hold_all_fields_of_a_device_are_one_reading_in_every_round, begin_to_hold, end),
		cmocka_unit_test_setup_teardown(messages_are_counted_by_what_became_of_them, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
