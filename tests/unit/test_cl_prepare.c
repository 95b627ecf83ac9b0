/* test_cl_prepare.c - from a descriptor and a file of readings to one value per device. */
#include "cl_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_encode.h"
#include "cl_prepare.h"
#include "cm_file.h"
#include "pt_slots.h"

static struct cm_err err;
static struct cl_world world;
static struct cl_offer offer;
static struct cl_setup setup;
static struct cl_prepared prepared;
static struct cm_key secret = { { 5 } };
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

static enum cm_rc prepare(const char *text, bool strict)
{
	const struct cl_input in = {
		.path = path, .format = CL_FORMAT_CSV, .device_field = "device", .strict = strict
	};
	const struct cl_prepare_job job = { .db = world.db,
		.setup = &setup,
		.input = text != NULL ? &in : NULL,
		.secret = &secret,
		.descriptor = offer.bytes.data,
		.descriptor_len = offer.bytes.len,
		.signature = offer.signature,
		.signature_len = sizeof offer.signature,
		.now_ms = CL_WORLD_NOW };

	if (text != NULL)
		assert_int_equal(cm_file_write(path, text, strlen(text), 0600, &err), CM_OK);
	err.msg[0] = '\0';
	return cl_prepare(&job, &prepared, &err);
}

static size_t devices(void)
{
	size_t n;

	(void)cl_batch_entries(prepared.batch, &n);
	return n;
}

static void each_device_has_one_value_and_every_other_row_is_counted(void **state)
{
	(void)state;
	assert_int_equal(prepare("device,field\na,red\nb,green\na,blue\nc,purple\nd\n", false), CM_OK);
	assert_int_equal(devices(), 2);
	assert_int_equal(prepared.rows.rows, 5);
	assert_int_equal(prepared.rows.duplicates, 1);
	assert_int_equal(prepared.rows.out_of_domain, 1);
	assert_int_equal(prepared.rows.bad, 1);
	assert_non_null(strstr(prepared.rows.first_bad, "readings.csv:5: "));
	cl_prepared_fini(&prepared);
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

static void numbers_are_clamped_and_nonsense_is_left_out(void **state)
{
	size_t n;

	(void)state;
	cl_offer_free(&offer);
	cl_offer_make(&world, "levels", 1.0, &offer);
	assert_int_equal(
		prepare("device,field\na,5\nb,11\nc,-1\nd,nan\ne,inf\nf,1e999\ng,x\nh,\n", false), CM_OK);
	assert_int_equal(prepared.rows.clamped, 2);
	assert_int_equal(prepared.rows.out_of_domain, 5);
	for (const struct cl_entry *e = cl_batch_entries(prepared.batch, &n); n > 0; n--)
		assert_true(e[n - 1].value.x == 0 || e[n - 1].value.x == 1ull << 31 ||
			    e[n - 1].value.x == 1ull << 32);
	assert_int_equal(devices(), 3);
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
	setup.policy.min_batch = 5000;
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
	uint8_t sealed[4096];
	size_t n;

	(void)state;
	assert_int_equal(prepare("device,field\na,red\nb,green\nc,blue\n", false), CM_OK);
	assert_false(prepared.j.resumed);
	e = cl_batch_entries(prepared.batch, &n);
	o.d = &prepared.j.d;
	o.charge = prepared.j.charge;
	assert_int_equal(cl_encode(o.d, e, 1, &world.rng, sealed, &err), CM_OK);
	assert_int_equal(
		cl_store_put(world.db, &o, e, 1, sealed, cl_device_len(o.d), CL_WORLD_NOW, &err), CM_OK);
	cl_prepared_fini(&prepared);
	cl_world_restart(&world);
	/* Even when the policy has become stricter: the charge is made. */
	setup.policy.min_batch = 5000;
	assert_int_equal(prepare("device,field\na,red\nb,green\nc,blue\n", false), CM_OK);
	assert_true(prepared.j.resumed);
	assert_int_equal(devices(), 2);
	cl_prepared_fini(&prepared);
	assert_int_equal(cl_store_whole(world.db, &err), CM_OK);
	assert_int_equal(prepare("not even read", true), CM_OK);
	assert_null(prepared.batch);
	cl_prepared_fini(&prepared);
}

/* Hand every reading over, as readings by MQTT are. */
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
	classes = offer.d.params.slots;
	assert_true(classes >= 2);
	for (uint32_t level = 0; level < classes; level++) {
		setup.policy.max_epsilon0 = pt_slot_epsilon0(&offer.d.params.slot[level]);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_device_has_one_value_and_every_other_row_is_counted),
		TEST(no_message_names_a_value),
		TEST(numbers_are_clamped_and_nonsense_is_left_out),
		TEST(readings_without_the_querys_field_are_refused),
		TEST(a_refused_round_reads_nothing),
		TEST(a_resumed_round_prepares_only_the_devices_not_stored),
		TEST(wherever_readings_come_from_a_device_has_the_policys_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
