/* test_cl_values.c - from readings to the values that are encoded, in a round whose values are computed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_prepare.h"
#include "cl_world.h"
#include "computed.h"

#define FEATURES 3u
#define CLASSES  2u
#define WIDTH    (CLASSES * (FEATURES + 1))

static struct cl_world world;
static struct cl_offer offer;
static struct qy_query query_before;
static struct computed_payload weights;

static int set_up(void **state)
{
	static const uint32_t dim[2] = { CLASSES, FEATURES + 1 };

	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "levels", 2.0, &offer);
	query_before = offer.d.query;
	offer.d.query = computed_vector(WIDTH, 1);
	offer.d.computing = computed_by("linear-gradient", FEATURES, CLASSES, CO_PART_ALL, 1);
	memset(&weights, 0, sizeof weights);
	computed_head(&weights, "weights", 1, 2, dim);
	for (uint32_t i = 0; i < WIDTH; i++)
		computed_float(&weights, (float)i / 4 - 1);
	computed_end(&weights);
	offer.d.payload_size = weights.len;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	offer.d.query = query_before;
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

static struct cl_batch *prepare(const char *readings, struct cl_payload_bytes payload, struct cl_rows *rows)
{
	char path[] = "/tmp/tombola-values-XXXXXX";
	int fd = mkstemp(path);
	struct cl_input in = {
		.path = path, .format = CL_FORMAT_NDJSON, .device_field = "device", .payload = payload
	};
	struct cr_key secret = { { 1 } };
	struct cl_batch *batch = NULL;
	struct cm_err err = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(write(fd, readings, strlen(readings)), (ssize_t)strlen(readings));
	(void)close(fd);
	if (cl_prepare_batch(&in, &offer.d, &world.policy, &secret, &world.rng, NULL, &batch, rows, &err) !=
		CM_OK)
		fail_msg("%s", err.msg);
	(void)unlink(path);
	return batch;
}

/* The value that a reading must have, by the library that has its own tests. */
static void want(const char *x, const char *y, uint32_t out[WIDTH])
{
	const char *const text[2] = { x, y };
	struct co_maker *m = NULL;
	float features[FEATURES];
	uint32_t label;
	struct cm_err err = { 0 };

	assert_int_equal(
		co_maker_new(&offer.d.computing, &offer.d.query, weights.bytes, weights.len, &m, &err),
		CM_OK);
	assert_true(co_reading(m, text, features, &label) && co_value(m, features, label, out));
	co_maker_free(m);
}

/* Count the entries with each of `kinds` values. */
static void count(const struct cl_batch *b, struct cl_payload_bytes payload, uint32_t kind[][WIDTH],
	unsigned kinds, unsigned *seen)
{
	struct cl_values *v = NULL;
	struct cm_err err = { 0 };
	size_t n;
	const struct cl_entry *e = cl_batch_entries(b, &n);

	memset(seen, 0, kinds * sizeof *seen);
	assert_int_equal(cl_values_new(&offer.d, &payload, &v, &err), CM_OK);
	for (size_t i = 0; i < n; i++) {
		struct qy_value value = cl_values_of(v, &e[i].value, &world.rng);
		unsigned k = 0;

		while (k < kinds && memcmp(value.at, kind[k], sizeof kind[k]) != 0)
			k++;
		assert_true(k < kinds);
		seen[k]++;
	}
	cl_values_free(v);
}

#define GOOD_A "{\"device\":\"a\",\"x\":[1,-2,0.5],\"y\":1}\n"
#define GOOD_B "{\"device\":\"b\",\"x\":[0,0,3e38],\"y\":\"0\"}\n"

static void each_device_has_the_value_of_its_reading_or_none(void **state)
{
	static const char readings[] = GOOD_A GOOD_B "{\"device\":\"c\",\"x\":[1,2],\"y\":1}\n"
						     "{\"device\":\"d\",\"x\":[1,2,3],\"y\":2}\n"
						     "{\"device\":\"e\",\"x\":[1,2,1e39],\"y\":0}\n"
						     "{\"device\":\"f\",\"x\":[1,2,\"3\"],\"y\":0}\n"
						     "{\"device\":\"g\",\"y\":0}\n"
						     "{\"device\":\"h\",\"x\":[1,2,3]}\n";
	const struct cl_payload_bytes payload = { weights.bytes, weights.len };
	uint32_t kind[3][WIDTH];
	struct cl_rows rows;
	unsigned seen[3];
	struct cl_batch *b = prepare(readings, payload, &rows);

	(void)state;
	want("1 -2 0.5", "1", kind[0]);
	want("0 0 3e38", "0", kind[1]);
	for (unsigned i = 0; i < WIDTH; i++)
		kind[2][i] = 1u << 30; /* the middle of the range */
	count(b, payload, kind, 3, seen);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 1);
	assert_int_equal(seen[2], 6);
	assert_int_equal(rows.rows, 8);
	assert_int_equal(rows.none, 6);
	cl_batch_free(b);
}

static void without_the_right_payload_everybody_is_none(void **state)
{
	struct computed_payload wrong = weights;
	const struct cl_payload_bytes bad[] = { { NULL, 0 }, { weights.bytes, weights.len - 1 },
		{ wrong.bytes, wrong.len } };
	uint32_t kind[1][WIDTH];
	unsigned seen[1];

	(void)state;
	wrong.bytes[weights.len - 1] = 0xff; /* not finite */
	wrong.bytes[weights.len - 2] = 0xff;
	for (unsigned i = 0; i < WIDTH; i++)
		kind[0][i] = 1u << 30;
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct cl_rows rows;
		struct cl_batch *b = prepare(GOOD_A GOOD_B, bad[i], &rows);

		count(b, bad[i], kind, 1, seen);
		assert_int_equal(seen[0], 2);
		cl_batch_free(b);
	}
}

static void none_is_what_the_query_says(void **state)
{
	const struct cl_payload_bytes payload = { weights.bytes, weights.len };
	struct cl_values *v = NULL;
	struct qy_value nothing = { .level = 1 }, value;
	struct cm_err err = { 0 };
	uint32_t first[WIDTH];

	(void)state;
	offer.d.query.none_value = 0.5;
	assert_int_equal(cl_values_new(&offer.d, &payload, &v, &err), CM_OK);
	value = cl_values_of(v, &nothing, &world.rng);
	for (unsigned i = 0; i < WIDTH; i++)
		assert_int_equal(value.at[i], 3u << 29);
	assert_int_equal(value.level, 1);
	offer.d.query.none = QY_NONE_EVEN;
	value = cl_values_of(v, &nothing, &world.rng);
	memcpy(first, value.at, sizeof first);
	value = cl_values_of(v, &nothing, &world.rng);
	assert_memory_not_equal(first, value.at, sizeof first); /* alike by chance once in 2^240 */
	cl_values_free(v);
}

static void of_several_readings_a_whole_one_is_drawn(void **state)
{
	static const char readings[] = GOOD_A "{\"device\":\"a\",\"x\":[0,0,3e38],\"y\":0}\n"
					      "{\"device\":\"a\",\"x\":[7],\"y\":0}\n";
	const struct cl_payload_bytes payload = { weights.bytes, weights.len };
	uint32_t kind[2][WIDTH];
	unsigned seen[2], first = 0;

	(void)state;
	want("1 -2 0.5", "1", kind[0]);
	want("0 0 3e38", "0", kind[1]);
	for (unsigned round = 0; round < 64; round++) {
		struct cl_rows rows;
		struct cl_batch *b = prepare(readings, payload, &rows);

		count(b, payload, kind, 2, seen);
		assert_int_equal(seen[0] + seen[1], 1);
		first += seen[0];
		cl_batch_free(b);
	}
	assert_in_range(first, 1, 63); /* else by chance once in 2^63 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			each_device_has_the_value_of_its_reading_or_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			without_the_right_payload_everybody_is_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(none_is_what_the_query_says, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_several_readings_a_whole_one_is_drawn, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
