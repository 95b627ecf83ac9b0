/* test_cl_prepare.c - from a descriptor and a file of readings to one value per device. */
#include "cl_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_device.h"
#include "cl_encode.h"
#include "cl_prepare.h"
#include "cm_clock.h"
#include "cm_file.h"
#include "pt_slots_analysis.h"

static struct cm_err err;
static struct cl_world world;
static struct cl_offer offer;
static struct cl_setup setup;
static struct cl_prepared prepared;
static struct cr_key secret = { { 5 } };
static char path[96];

static int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "grr", 1.0, &offer);
	setup = (struct cl_setup){ .policy = world.policy,
		.analyzer = world.analyzer.verifier,
		.shuffler = world.shuffler.verifier };
	(void)snprintf(path, sizeof path, "%s/readings.csv", world.dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

static struct cl_devices *list; /* NULL: the file is the list */
static bool may_be_absent;
static int64_t from_ms;
static const char as_it_is[] = ""; /* the file is not written */

static enum cm_rc prepare(const char *text, bool strict)
{
	const struct cl_input in = { .path = path,
		.format = CL_FORMAT_CSV,
		.device_field = "device",
		.devices = list,
		.may_be_absent = may_be_absent,
		.strict = strict };
	const struct cl_prepare_job job = { .db = world.db,
		.setup = &setup,
		.input = text ? &in : NULL,
		.secret = &secret,
		.descriptor = offer.bytes.data,
		.descriptor_len = offer.bytes.len,
		.signature = offer.signature,
		.signature_len = sizeof offer.signature,
		.now_ms = CL_WORLD_NOW,
		.from_ms = from_ms };

	if (text && text != as_it_is)
		assert_int_equal(cm_file_write(path, text, strlen(text), 0600, &err), CM_OK);
	err.msg[0] = '\0';
	if (cl_prepare(&job, &prepared, &err) == CM_EMORE) {
		assert_int_equal(prepared.j.need.kind, CD_NEED_PLAN);
		assert_true(cl_world_learn(&world, prepared.j.need.plan_hash));
		cl_prepared_fini(&prepared);
		return cl_prepare(&job, &prepared, &err);
	}
	cl_prepared_fini(&prepared);
	return cl_prepare(&job, &prepared, &err);
}

static size_t devices(void)
{
	size_t n;

	(void)cl_batch_entries(prepared.batch, &n);
	return n;
}

/* A device of the file, by name. */
static const struct cl_entry *entry(const char *name)
{
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	size_t n;
	const struct cl_entry *e = cl_batch_entries(prepared.batch, &n);

	cl_device_pseudonym(&secret, "test", name, pseudonym);
	for (; n > 0; n--, e++)
		if (memcmp(e->pseudonym, pseudonym, sizeof pseudonym) == 0)
			return e;
	fail_msg("device %s is not there", name);
	return NULL;
}

static void each_device_of_the_file_takes_part_whatever_its_rows_say(void **state)
{
	(void)state;
	assert_int_equal(
		prepare("device,field\na,red\nb,green\na,blue\nc,purple\nd\ne,\"red\n", false), CM_OK);
	assert_int_equal(devices(), 5);
	assert_int_equal(prepared.rows.duplicates, 1);
	assert_int_equal(prepared.rows.out_of_domain, 1);
	assert_int_equal(prepared.rows.bad, 2);
	assert_int_equal(prepared.rows.none, 3);
	assert_non_null(strstr(prepared.rows.first_bad, "readings.csv:5: "));
	cl_prepared_fini(&prepared);
}

/* The list, not the rows, says who takes part. */
static void the_listed_devices_take_part_and_no_others(void **state)
{
	static const char *const rows[] = { "", "a,red\n", "x,red\ny,green\na,blue\n",
		"a,purple\nb\n\"\n,\n" };
	char text[128], list_path[300];

	(void)state;
	(void)snprintf(list_path, sizeof list_path, "%s/devices.txt", world.dir);
	assert_int_equal(cm_file_write(list_path, "a\nb\nc\n", 6, 0600, &err), CM_OK);
	assert_int_equal(cl_devices_load(list_path, &secret, "test", &list, &err), CM_OK);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		(void)snprintf(text, sizeof text, "device,field\n%s", rows[i]);
		assert_int_equal(prepare(text, false), CM_OK);
		assert_int_equal(devices(), 3);
		assert_non_null(entry("a"));
		assert_non_null(entry("b"));
		assert_non_null(entry("c"));
		cl_prepared_fini(&prepared);
	}
	cl_devices_free(list);
	list = NULL;
}

/* Whether there is a file of this form may depend on a reading, too; if the file is the list of devices, it
 * cannot. */
static void who_is_listed_takes_part_without_a_file(void **state)
{
	static const char *const no_file[] = { NULL, "", "a,red\n", "device,other\na,red\n", "\"" };
	char list_path[300], kept[sizeof path];

	(void)state;
	(void)snprintf(list_path, sizeof list_path, "%s/devices.txt", world.dir);
	assert_int_equal(cm_file_write(list_path, "a\nb\n", 4, 0600, &err), CM_OK);
	assert_int_equal(cl_devices_load(list_path, &secret, "test", &list, &err), CM_OK);
	memcpy(kept, path, sizeof path);
	may_be_absent = true;
	for (size_t i = 0; i < sizeof no_file / sizeof no_file[0]; i++) {
		if (!no_file[i])
			(void)snprintf(path, sizeof path, "%s/none", world.dir);
		assert_int_equal(prepare(no_file[i] ? no_file[i] : as_it_is, false), CM_OK);
		assert_int_equal(devices(), 2);
		assert_int_equal(prepared.rows.none, 2);
		assert_int_equal(prepared.rows.bad, 1);
		assert_non_null(strstr(prepared.rows.first_bad, world.dir));
		cl_prepared_fini(&prepared);
		memcpy(path, kept, sizeof path);
	}
	cl_devices_free(list);
	list = NULL;
	assert_int_equal(prepare("device,other\na,red\n", false), CM_EDATA);
	cl_prepared_fini(&prepared);
	may_be_absent = false;
}

/* An unusable row takes no part in the draw of a device's readings. */
static void an_unusable_reading_does_not_compete_with_a_devices_others(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		assert_int_equal(prepare("device,field\na,purple\na,\na\na,green\na,\"\n", false), CM_OK);
		assert_int_equal(entry("a")->value.x, 1);
		assert_int_equal(devices(), 1);
		cl_prepared_fini(&prepared);
	}
}

static void no_message_names_a_value(void **state)
{
	(void)state;
	assert_int_equal(prepare("device,field\na,purple\n", false), CM_OK);
	assert_null(strstr(prepared.rows.first_bad, "purple"));
	cl_prepared_fini(&prepared);
	assert_int_equal(prepare("device,field\na,purple\n", true), CM_EDATA);
	assert_null(strstr(err.msg, "purple"));
	assert_non_null(strstr(err.msg, "readings.csv:2: field 'field' is none of the query's categories"));
	cl_prepared_fini(&prepared);
}

static void numbers_are_clamped_and_nonsense_is_no_reading(void **state)
{
	(void)state;
	cl_offer_free(&offer);
	cl_offer_make(&world, "levels", 1.0, &offer);
	assert_int_equal(
		prepare("device,field\na,5\nb,11\nc,-1\nd,nan\ne,inf\nf,1e999\ng,x\nh,\n", false), CM_OK);
	assert_int_equal(prepared.rows.clamped, 2);
	assert_int_equal(prepared.rows.out_of_domain, 5);
	assert_int_equal(prepared.rows.none, 5);
	assert_int_equal(entry("a")->value.x, 1ull << 31);
	assert_int_equal(entry("b")->value.x, 1ull << 32);
	assert_int_equal(entry("c")->value.x, 0);
	assert_int_equal(devices(), 8);
	cl_prepared_fini(&prepared);
}

static void readings_without_the_querys_field_are_refused(void **state)
{
	(void)state;
	assert_int_equal(prepare("device,other\na,red\n", false), CM_EDATA);
	assert_non_null(strstr(err.msg, "no column 'field' among the 2 of the header"));
	cl_prepared_fini(&prepared);
}

static void a_refused_round_reads_nothing(void **state)
{
	(void)state;
	setup.policy.shared.min_batch = 5000;
	assert_int_equal(prepare("device,field\na,red\n", true), CM_EPERM);
	assert_true(prepared.j.verified);
	assert_null(prepared.batch);
	assert_int_equal(prepared.rows.rows, 0);
	cl_prepared_fini(&prepared);
}

static void a_resumed_round_prepares_only_the_devices_not_stored(void **state)
{
	struct cl_opening o = { .descriptor = offer.bytes.data,
		.signature = offer.signature,
		.descriptor_len = offer.bytes.len };
	const struct cl_entry *e;
	uint8_t sealed[4096], salt[32] = { 1 };
	size_t n;

	(void)state;
	assert_int_equal(prepare("device,field\na,red\nb,green\nc,blue\n", false), CM_OK);
	assert_false(prepared.j.resumed);
	e = cl_batch_entries(prepared.batch, &n);
	o.d = &prepared.j.d;
	o.charge = prepared.j.charge;
	assert_int_equal(cl_encode(o.d, e, 1, &world.rng, sealed, &err), CM_OK);
	assert_int_equal(
		cl_reports_put(world.db, &o, e, 1, salt, sealed, cd_device_len(o.d), CL_WORLD_NOW, &err),
		CM_OK);
	cl_prepared_fini(&prepared);
	cl_world_restart(&world);
	/* The round goes on even if the policy has become stricter: its charge is made. */
	setup.policy.shared.min_batch = 5000;
	assert_int_equal(prepare("device,field\na,red\nb,green\nc,blue\n", false), CM_OK);
	assert_true(prepared.j.resumed);
	assert_int_equal(devices(), 2);
	cl_prepared_fini(&prepared);
	assert_int_equal(cl_reports_whole(world.db, &err), CM_OK);
	assert_int_equal(prepare("not even read", true), CM_OK);
	assert_null(prepared.batch);
	cl_prepared_fini(&prepared);
}

/* Feed every reading, as the input by MQTT does. */
static enum cm_rc feed(void *user, const struct cl_reader_conf *conf, struct cm_err *e)
{
	const char *const text[] = { "red" };

	(void)user;
	return conf->on_row(conf->user, &(struct cl_row){ .device = "a", .text = text }, e);
}

static void wherever_readings_come_from_a_device_has_the_policys_class(void **state)
{
	const struct cl_input in = { .path = "mqtt", .feed = feed, .format = CL_FORMAT_NDJSON };
	struct cl_batch *batch = NULL;
	struct cl_rows rows;
	uint32_t classes;
	size_t n;

	(void)state;
	cl_offer_free(&offer);
	cl_offer_make(&world, "gspa-classes", 3.0, &offer);
	classes = offer.d.randomizer.slots.kinds;
	assert_true(classes >= 2);
	for (uint32_t level = 0; level < classes; level++) {
		setup.policy.shared.max_epsilon0 =
			pt_mixbins_guarantee(&offer.d.randomizer.slots.slot[level].each);
		assert_int_equal(cl_prepare_batch(&in, &offer.d, &setup.policy, &secret, &world.rng, NULL,
					 &batch, &rows, &err),
			CM_OK);
		assert_int_equal(cl_batch_entries(batch, &n)->value.level, level);
		assert_int_equal(n, 1);
		cl_batch_free(batch);
		assert_int_equal(prepare("device,field\na,red\n", true), CM_OK);
		assert_int_equal(cl_batch_entries(prepared.batch, &n)->value.level, level);
		cl_prepared_fini(&prepared);
	}
}

/* A number of JSON belongs to the category with its own text, or else with its shortest decimal. */
static void a_number_of_json_is_the_category_that_a_person_would_write(void **state)
{
	static char *const words[] = { "1.1", "2.0", "2", "0.3", "1000000" };
	static const struct {
		const char *text;
		uint64_t value;
	} rows[] = { { "1.1", 0 }, { "1.10", 0 }, { "2.0", 1 }, { "2", 2 }, { "2.00", 2 }, { "0.3", 3 },
		{ "3e-1", 3 }, { "1e6", 4 }, { "1000000", 4 }, { "\"1e6\"", 5 }, { "1.2", 5 } };
	char text[512] = "", line[64];
	char **kept = offer.d.query.category;
	uint32_t categories = offer.d.query.categories;
	const struct cl_input in = { .path = path, .format = CL_FORMAT_NDJSON, .device_field = "device" };
	struct cl_rows counts;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		(void)snprintf(line, sizeof line, "{\"device\":\"%zu\",\"field\":%s}\n", i, rows[i].text);
		(void)strcat(text, line);
	}
	assert_int_equal(cm_file_write(path, text, strlen(text), 0600, &err), CM_OK);
	offer.d.query.category = (char **)(uintptr_t)words;
	offer.d.query.categories = 5;
	offer.d.query.none = QY_NONE_SYMBOL;
	assert_int_equal(cl_prepare_batch(&in, &offer.d, &setup.policy, &secret, &world.rng, NULL,
				 &prepared.batch, &counts, &err),
		CM_OK);
	offer.d.query.category = kept;
	offer.d.query.categories = categories;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		(void)snprintf(line, sizeof line, "%zu", i);
		assert_int_equal(entry(line)->value.x, rows[i].value);
	}
	cl_batch_free(prepared.batch);
	prepared.batch = NULL;
}

/* When the time for reading is over, what was not read does not count, and everybody takes part. */
static void what_is_not_read_in_time_is_left_out(void **state)
{
	char list_path[300];

	(void)state;
	(void)snprintf(list_path, sizeof list_path, "%s/devices.txt", world.dir);
	assert_int_equal(cm_file_write(list_path, "a\nb\n", 4, 0600, &err), CM_OK);
	assert_int_equal(cl_devices_load(list_path, &secret, "test", &list, &err), CM_OK);
	from_ms = cm_clock_wall_ms() - 3600000;
	assert_int_equal(prepare("device,field\na,red\nb,green\n", false), CM_OK);
	assert_int_equal(devices(), 2);
	assert_int_equal(prepared.rows.none, 2);
	assert_true(prepared.rows.late);
	cl_prepared_fini(&prepared);
	/* The moment follows from when the round came, and from no reading, even if there is time left. */
	setup.conf.prepare_ms = 60000;
	from_ms = cm_clock_wall_ms();
	assert_int_equal(prepare("device,field\na,red\nb,green\n", false), CM_OK);
	assert_int_equal(prepared.rows.none, 0);
	assert_false(prepared.rows.late);
	cl_prepared_fini(&prepared);
	/* If the file is the list of devices, all of it is read. */
	cl_devices_free(list);
	list = NULL;
	from_ms = cm_clock_wall_ms() - 3600000;
	assert_int_equal(prepare("device,field\na,red\nb,green\n", false), CM_OK);
	assert_int_equal(prepared.rows.none, 0);
	cl_prepared_fini(&prepared);
	from_ms = 0;
}

static void readings_are_shown_where_somebody_asks_for_it_alone(void **state)
{
	struct cl_setup any = { .conf = { .show_readings = false } };

	(void)state;
	assert_false(cl_setup_shows(&any));
	any.conf.show_readings = true;
	assert_true(cl_setup_shows(&any));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_device_of_the_file_takes_part_whatever_its_rows_say),
		TEST(the_listed_devices_take_part_and_no_others),
		TEST(who_is_listed_takes_part_without_a_file),
		TEST(an_unusable_reading_does_not_compete_with_a_devices_others),
		TEST(no_message_names_a_value),
		TEST(numbers_are_clamped_and_nonsense_is_no_reading),
		TEST(readings_without_the_querys_field_are_refused),
		TEST(a_refused_round_reads_nothing),
		TEST(a_resumed_round_prepares_only_the_devices_not_stored),
		TEST(wherever_readings_come_from_a_device_has_the_policys_class),
		TEST(a_number_of_json_is_the_category_that_a_person_would_write),
		TEST(what_is_not_read_in_time_is_left_out),
		TEST(readings_are_shown_where_somebody_asks_for_it_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
