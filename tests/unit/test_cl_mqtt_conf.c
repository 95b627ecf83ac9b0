/* test_cl_mqtt_conf.c - the group mqtt: its defaults, its faults with their lines, and the files it names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cl_mqtt_conf.h"
#include "cl_mqtt_mapped.h"
#include "cm_file.h"

static struct cl_mqtt_conf conf;
static struct cm_err err;
static char dir[] = "/tmp/test-mqtt-XXXXXX", path[64], password[MQ_PASSWORD_MAX + 1];

static const struct cf_row rows[] = {
	CF_OPTIONAL("mqtt", CF_GROUP(cl_mqtt_rows), 0, NULL),
	CF_END,
};

static struct cf_file *file;

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/password", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

/* The first fault of a configuration; "" if there is none. */
static const char *first_fault(const char *text)
{
	static struct cm_err first;

	first = (struct cm_err){ .code = CM_OK };
	conf = (struct cl_mqtt_conf){ 0 };
	assert_int_equal(cf_parse(text, "f", rows, &conf, &file, NULL, &err), CM_OK);
	cl_mqtt_conf_check(&conf, file, NULL, &first);
	cf_file_free(file);
	return first.code == CM_OK ? "" : first.msg;
}

/* The same of a group with these keys. */
static const char *fault(const char *keys)
{
	char text[512];

	(void)snprintf(text, sizeof text, "mqtt = {\ntopics = [ \"s/+/r\" ]; %s\n%s\n};\n",
		!strstr(keys, "devices") ? "devices = \"list\";" : "", keys);
	return first_fault(text);
}

static void put_password(const char *bytes, size_t n, mode_t mode)
{
	assert_int_equal(cm_file_write(path, bytes, n, 0600, &err), CM_OK);
	assert_int_equal(chmod(path, mode), 0);
	conf.broker.password_file = path;
}

static void topics_and_a_list_are_enough(void **state)
{
	(void)state;
	assert_string_equal(fault(""), "");
	assert_true(conf.only.form.json);
	assert_int_equal(conf.only.form.device.n, 1);
	assert_int_equal(conf.only.form.device.part[0].from, 2);
	assert_false(conf.retained);
	assert_true(conf.clean_session);
	assert_string_equal(conf.broker.host, "127.0.0.1");
	cf_free(rows, &conf);
}

static void who_takes_part_is_a_list_and_keys_of_the_past_say_what_to_do(void **state)
{
	static const struct {
		const char *key, *said;
	} gone[] = { { "memory_mib = 64;",
			     "f:3: 'mqtt.memory_mib' is no key any more: memory is each device's own" },
		{ "wait = \"1m\";", "f:3: 'mqtt.wait' is no key any more: a round does not wait" } };
	struct cm_err first = { .code = CM_OK };
	char text[128];

	(void)state;
	conf = (struct cl_mqtt_conf){ 0 };
	assert_int_equal(
		cf_parse("mqtt = { topics = [ \"s/+\" ]; };", "f", rows, &conf, &file, NULL, &err), CM_OK);
	/* Whoever only listens needs none. */
	cl_mqtt_conf_check(&conf, file, NULL, &first);
	assert_int_equal(first.code, CM_OK);
	cl_mqtt_conf_check_list(&conf, file, NULL, &first);
	cf_file_free(file);
	assert_int_equal(first.code, CM_ECONFIG);
	assert_non_null(strstr(first.msg, "f:1: mqtt needs devices = \"FILE\""));
	cf_free(rows, &conf);
	for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
		(void)snprintf(text, sizeof text, "mqtt = {\ndevices = \"list\";\n%s\n};\n", gone[i].key);
		conf = (struct cl_mqtt_conf){ 0 };
		assert_int_equal(cf_parse(text, "f", rows, &conf, NULL, NULL, &err), CM_ECONFIG);
		assert_int_equal(strncmp(err.msg, gone[i].said, strlen(gone[i].said)), 0);
		cf_free(rows, &conf);
	}
}

static void what_a_broker_drops_for_another_devices_sake_is_refused(void **state)
{
	(void)state;
	assert_non_null(strstr(fault("qos = 0;"), "f:3: qos = 0: a broker drops messages of QoS 0"));
	cf_free(rows, &conf);
	assert_string_equal(fault("qos = 1; clean_session = false;"), "");
	cf_free(rows, &conf);
}

/* The same of a group with these sources. */
static const char *fault_of(const char *keys, const char *sources)
{
	char text[5000];

	(void)snprintf(text, sizeof text, "mqtt = {\ndevices = \"list\"; %s\nsources = (\n%s\n);\n};\n", keys,
		sources);
	return first_fault(text);
}

static void the_first_source_that_matches_reads_a_message(void **state)
{
	struct cl_mqtt_sources sources;

	(void)state;
	assert_string_equal(fault_of("", "{ topics = [ \"a/+\", \"b/+\" ]; },\n"
					 "{ topics = [ \"+/+\" ]; payload = \"text\"; field = \"t\"; }"),
		"");
	sources = cl_mqtt_conf_sources(&conf);
	assert_int_equal(sources.n, 2);
	assert_true(sources.item[0].form.json && !sources.item[1].form.json);
	assert_ptr_equal(cl_mqtt_conf_source(&conf, "b/x"), &sources.item[0]);
	assert_ptr_equal(cl_mqtt_conf_source(&conf, "c/x"), &sources.item[1]);
	assert_null(cl_mqtt_conf_source(&conf, "c"));
	cf_free(rows, &conf);
}

/* What becomes of a payload by the map of the first source. */
static void expect_mapped(const char *keys, const char *payload, const char *line)
{
	char source[4000];
	struct cl_mqtt_mapped *mapped;
	struct cm_buf b;

	(void)snprintf(source, sizeof source, "{ topics = [ \"a/+\" ]; map = { t = { %s }; }; }", keys);
	assert_string_equal(fault_of("", source), "");
	assert_int_equal(cl_mqtt_mapped_new(&cl_mqtt_conf_sources(&conf).item[0].map, &mapped, &err), CM_OK);
	cm_buf_init(&b, 4000);
	assert_int_equal(cm_buf_put(&b, payload, strlen(payload)), CM_OK);
	assert_int_equal(cl_mqtt_mapped_line(mapped, &b), CM_OK);
	assert_int_equal(cm_buf_put(&b, "", 1), CM_OK);
	assert_string_equal((char *)b.data, line);
	cm_buf_fini(&b);
	cl_mqtt_mapped_free(mapped);
	cf_free(rows, &conf);
}

static void a_map_makes_readings_of_what_stands_at_its_paths(void **state)
{
	static const char at[] = "path = \"a.b\";", bad[] = "path = \"a.b\"; invalid = [ -127.0 ];",
			  scale[] = "path = \"a.b\"; scale = 2.0; offset = 1.0;";

	(void)state;
	expect_mapped(at, "{\"a\":{\"b\":1.50},\"h\":\"x\",\"t\":9}", "{\"t\":1.50,\"h\":\"x\"}");
	expect_mapped(at, "{\"a\":{\"c\":1.50},\"h\":[{}]}", "{\"h\":[{}]}");
	expect_mapped(at, "{\"a\":{\"b\":1,\"b\":2}}", "{}");
	expect_mapped(at, "{\"a\":{\"b\":{}}}", "{}");
	/* It ends an earlier value, where that is held. */
	expect_mapped(bad, "{\"a\":{\"b\":-127}}", "{\"t\":null}");
	expect_mapped(bad, "{\"a\":{\"b\":[1,-127]}}", "{\"t\":null}");
	expect_mapped(bad, "{\"a\":{\"c\":-127}}", "{}");
	expect_mapped(bad, "{\"a\":{\"b\":-126},\"z\":1}", "{\"t\":-126,\"z\":1}");
	expect_mapped(bad, "{\"a\":{\"b\":\"off\"}}", "{\"t\":\"off\"}");
	expect_mapped(scale, "{\"a\":{\"b\":\"10\"}}", "{\"t\":21}");
	expect_mapped(scale, "{\"a\":{\"b\":[1,2.5]}}", "{\"t\":[3,6]}");
	expect_mapped(scale, "{\"a\":{\"b\":\"off\"}}", "{\"t\":null}");
	expect_mapped(scale, "{\"a\":{\"b\":null}}", "{\"t\":null}");
}

/* However long it is: a payload has many other members, and each is compared with all fields at once. */
static void a_member_is_known_by_the_name_of_a_field(void **state)
{
	static char keys[3600], payload[3600], name[3301];

	(void)state;
	memset(name, 'n', sizeof name - 1);
	(void)snprintf(keys, sizeof keys, "field = \"%s\"; path = \"a.b\";", name);
	(void)snprintf(payload, sizeof payload, "{\"h\":2,\"%s\":3}", name);
	expect_mapped(keys, payload, "{\"h\":2}");
	expect_mapped(
		"field = \"\\\"x\"; path = \"a.b\";", "{\"\\u0022x\":1,\"a\":{\"b\":2}}", "{\"\\\"x\":2}");
}

static void a_source_is_blamed_by_its_line(void **state)
{
	static const struct {
		const char *keys, *sources, *said;
	} bad[] = {
		{ "", "{ topics = [ \"a/+\" ]; },\n{ topics = [ \"b\" ]; }", "f:5: 'b' has 1 topic levels" },
		{ "", "{ topics = [ \"a/+\" ]; },\n{ topics = [ \"b/+\" ]; payload = \"xml\"; }",
			"f:5: payload is neither" },
		{ "", "{ topics = [ \"a/+\" ]; },\n{ topics = [ \"b/+\" ]; payload = \"text\"; }",
			"f:5: payload \"text\" needs field" },
		{ "", "{ topics = [ \"a/+\" ]; group = \"a\"; },\n{ topics = [ \"b/+\" ]; }",
			"f:5: this source has no group" },
		{ "", "{ topics = [ \"a/+\" ]; group = \"a/b\"; }", "f:4: group is a name" },
		{ "topics = [ \"a/+\" ];", "{ topics = [ \"a/+\" ]; }", "f:2: mqtt.topics stands beside" },
		{ "", "{ topics = [ \"a/+\" ]; payload = \"text\"; field = \"t\";\nmap = { t = { path = \"a\"; }; }; }",
			"f:5: " },
		{ "", "{ topics = [ \"a/+\" ]; device = \"field:id\";\nmap = { id = { path = \"x.id\"; }; }; }",
			"f:5: the field that names the device" },
		{ "payload = \"json\";", "{ topics = [ \"a/+\" ]; }", "f:2: mqtt.payload stands beside" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const char *said = fault_of(bad[i].keys, bad[i].sources);

		if (strncmp(said, bad[i].said, strlen(bad[i].said)) != 0)
			fail_msg("%s", said);
		cf_free(rows, &conf);
	}
}

static void more_topics_than_wait_for_a_broker_are_refused(void **state)
{
	char source[512] = "{ topics = [ ", text[16384] = "mqtt = { devices = \"list\"; sources = ( ";
	struct cm_err first = { .code = CM_OK };

	(void)state;
	for (int i = 0; i < 57; i++)
		(void)strcat(source, i == 0 ? "\"a/+\"" : ",\"a/+\"");
	for (int i = 0; i < 9; i++)
		(void)strcat(strcat(strcat(text, i == 0 ? "" : ", "), source), " ]; }");
	(void)strcat(text, " ); };");
	conf = (struct cl_mqtt_conf){ 0 };
	assert_int_equal(cf_parse(text, "f", rows, &conf, &file, NULL, &err), CM_OK);
	cl_mqtt_conf_check(&conf, file, NULL, &first);
	cf_file_free(file);
	assert_non_null(strstr(first.msg, "513 topic filters in all sources, and at most 512"));
	cf_free(rows, &conf);
}

static void without_topics_nothing_else_matters(void **state)
{
	struct cm_err first = { .code = CM_OK };

	(void)state;
	conf = (struct cl_mqtt_conf){ 0 };
	assert_int_equal(cf_parse("mqtt = { host = \"far\"; };", "f", rows, &conf, &file, NULL, &err), CM_OK);
	cl_mqtt_conf_check(&conf, file, NULL, &first);
	cf_file_free(file);
	assert_int_equal(first.code, CM_OK);
	cf_free(rows, &conf);
}

static void plaintext_stays_on_loopback_unless_it_is_meant(void **state)
{
	static const char *const near[] = { "127.0.0.1", "127.3.2.1", "::1", "localhost" };
	static const char *const far[] = { "10.0.0.1", "fe80::1", "broker", "localhost.example", "128.0.0.1",
		"0.0.0.0" };
	char keys[128];

	(void)state;
	for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
		(void)snprintf(keys, sizeof keys, "host = \"%s\";", near[i]);
		assert_string_equal(fault(keys), "");
		cf_free(rows, &conf);
	}
	for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
		(void)snprintf(keys, sizeof keys, "host = \"%s\";", far[i]);
		assert_non_null(strstr(fault(keys), "f:3: a broker that is not on loopback without tls.ca"));
		cf_free(rows, &conf);
		(void)snprintf(keys, sizeof keys, "host = \"%s\"; plaintext_to_remote = true;", far[i]);
		assert_string_equal(fault(keys), "");
		cf_free(rows, &conf);
	}
}

static void a_password_is_a_line_in_a_file_of_ours_alone(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *word; /* NULL: refused */
	} files[] = { { "sesame", 6, "sesame" }, { "sesame\n", 7, "sesame" },
		{ "open sesame\r\n", 13, "open sesame" }, { "", 0, NULL }, { "\n", 1, NULL },
		{ "a\nb\n", 4, NULL }, { "a\0b", 3, NULL } };

	(void)state;
	conf = (struct cl_mqtt_conf){ 0 };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		put_password(files[i].bytes, files[i].n, 0600);
		assert_int_equal(mq_password(&conf.broker, password, &err), files[i].word ? CM_OK : CM_EDATA);
		if (files[i].word)
			assert_string_equal(password, files[i].word);
	}
	put_password("sesame", 6, 0400);
	assert_int_equal(mq_password(&conf.broker, password, &err), CM_OK);
	put_password("sesame", 6, 0640);
	assert_int_equal(mq_password(&conf.broker, password, &err), CM_EPERM);
	assert_null(strstr(err.msg, "sesame"));
	conf.broker.password_file = dir;
	assert_int_equal(mq_password(&conf.broker, password, &err), CM_EDATA);
}

static void the_sample_of_the_group_is_accepted(void **state)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	(void)state;
	assert_non_null(out);
	cf_sample(rows, out);
	assert_int_equal(fclose(out), 0);
	conf = (struct cl_mqtt_conf){ 0 };
	assert_int_equal(cf_parse(text, "f", rows, &conf, NULL, NULL, &err), CM_OK);
	assert_int_equal(conf.broker.payload_max, 4096);
	cf_free(rows, &conf);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(topics_and_a_list_are_enough),
		cmocka_unit_test(who_takes_part_is_a_list_and_keys_of_the_past_say_what_to_do),
		cmocka_unit_test(what_a_broker_drops_for_another_devices_sake_is_refused),
		cmocka_unit_test(the_first_source_that_matches_reads_a_message),
		cmocka_unit_test(a_map_makes_readings_of_what_stands_at_its_paths),
		cmocka_unit_test(a_member_is_known_by_the_name_of_a_field),
		cmocka_unit_test(a_source_is_blamed_by_its_line),
		cmocka_unit_test(more_topics_than_wait_for_a_broker_are_refused),
		cmocka_unit_test(without_topics_nothing_else_matters),
		cmocka_unit_test(plaintext_stays_on_loopback_unless_it_is_meant),
		cmocka_unit_test(a_password_is_a_line_in_a_file_of_ours_alone),
		cmocka_unit_test(the_sample_of_the_group_is_accepted),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
