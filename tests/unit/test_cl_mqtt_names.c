/* test_cl_mqtt_names.c - names of devices that are heard: which are kept, in which order, and how many. */
#include <stdio.h>

#include "cl_mqtt_names.h"
#include "mqtt_held.h"

static char *filters[] = { "+/#" };
static struct cl_mqtt_conf conf;
static struct cl_mqtt_names *names;

static int begin(void **state)
{
	(void)state;
	conf = (struct cl_mqtt_conf){ .only = { .topics = { filters, 1 },
					      .form = form("topic:1", "json", NULL) },
		.broker.payload_max = 100 };
	names = cl_mqtt_names_new(&conf);
	assert_non_null(names);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cl_mqtt_names_free(names);
	return 0;
}

static void come(const char *topic, const char *payload)
{
	const struct cl_mqtt_message m = { topic, (const uint8_t *)payload, strlen(payload), false };

	cl_mqtt_names_take(names, &m);
}

static char listed[64];

static void put_name(void *user, const char *name)
{
	(void)user;
	(void)strncat(listed, name, sizeof listed - strlen(listed) - 1);
	(void)strncat(listed, " ", sizeof listed - strlen(listed) - 1);
}

static void names_are_kept_once_in_the_order_of_their_bytes_with_their_fields(void **state)
{
	const struct cl_mqtt_names_field *f;
	struct cl_mqtt_names_counts counts;

	(void)state;
	come("b", "{\"t\":1,\"o\":{\"t\":2}}");
	come("a", "{\"t\":1,\"\\u0075\":1}");
	come("a", "{\"t\":2}");
	come("Z", "{}");
	come("\xc3\xa4", "{\"u\":1}");
	come("c", "no object");
	come("d",
		"{\"a\":\"more than the hundred bytes that a payload may have, and it goes on and on until it has more of them\"}");
	listed[0] = '\0';
	cl_mqtt_names_each(names, put_name, NULL);
	assert_string_equal(listed, "Z a b \xc3\xa4 ");
	counts = cl_mqtt_names_counts(names);
	assert_int_equal(counts.names, 4);
	assert_int_equal(counts.messages, 7);
	assert_int_equal(counts.fate[CL_MQTT_KEPT], 5);
	assert_int_equal(counts.fate[CL_MQTT_MALFORMED], 1);
	assert_int_equal(counts.fate[CL_MQTT_TOO_LARGE], 1);
	f = cl_mqtt_names_field(names, 0);
	assert_string_equal(f->name, "\"t\"");
	assert_int_equal(f->devices, 2);
	f = cl_mqtt_names_field(names, 1);
	assert_string_equal(f->name, "\"u\"");
	assert_int_equal(f->devices, 2);
	assert_null(cl_mqtt_names_field(names, 2));
}

static void names_that_no_list_holds_are_told_once_each(void **state)
{
	char topic[40], longer[CL_DEVICE_MAX + 2];

	(void)state;
	come(" a", "{}");
	come(" a", "{}");
	come("b\r", "{}");
	come("\x1b[2J", "{}");
	come("/x", "{}");
	(void)snprintf(longer, sizeof longer, "%0*d", (int)CL_DEVICE_MAX + 1, 7);
	come(longer, "{}");
	assert_int_equal(cl_mqtt_names_counts(names).names, 0);
	assert_int_equal(cl_mqtt_names_counts(names).unlistable, 4);
	assert_string_equal(cl_mqtt_names_fault(names, 0)->name, " a");
	assert_non_null(strstr(cl_mqtt_names_fault(names, 0)->why, "white space at its ends"));
	assert_string_equal(cl_mqtt_names_fault(names, 1)->name, "b\r");
	assert_non_null(strstr(cl_mqtt_names_fault(names, 2)->why, "a terminal"));
	assert_string_equal(cl_mqtt_names_fault(names, 3)->name, "/x");
	assert_string_equal(cl_mqtt_names_fault(names, 4)->name, longer);
	assert_null(cl_mqtt_names_fault(names, 5));
	for (unsigned i = 0; i < 2 * CL_MQTT_NAMES_FAULTS_MAX; i++) {
		(void)snprintf(topic, sizeof topic, " %u", i);
		come(topic, "{}");
	}
	assert_non_null(cl_mqtt_names_fault(names, CL_MQTT_NAMES_FAULTS_MAX - 1));
	assert_null(cl_mqtt_names_fault(names, CL_MQTT_NAMES_FAULTS_MAX));
}

static void a_broker_cannot_fill_the_memory(void **state)
{
	struct cl_mqtt_names_counts counts;
	char topic[40], payload[40];

	(void)state;
	for (unsigned i = 0; i < CL_MQTT_NAMES_MAX + 10; i++) {
		(void)snprintf(topic, sizeof topic, "%u", i);
		(void)snprintf(payload, sizeof payload, "{\"f%u\":1}", i % 200);
		come(topic, payload);
	}
	come("7", "{}"); /* which is known */
	counts = cl_mqtt_names_counts(names);
	assert_int_equal(counts.names, CL_MQTT_NAMES_MAX);
	assert_int_equal(counts.over, 10);
	assert_non_null(cl_mqtt_names_field(names, CL_MQTT_NAMES_FIELDS_MAX - 1));
	assert_null(cl_mqtt_names_field(names, CL_MQTT_NAMES_FIELDS_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			names_are_kept_once_in_the_order_of_their_bytes_with_their_fields, begin, end),
		cmocka_unit_test_setup_teardown(names_that_no_list_holds_are_told_once_each, begin, end),
		cmocka_unit_test_setup_teardown(a_broker_cannot_fill_the_memory, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
