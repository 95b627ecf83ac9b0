/* test_cl_device.c - pseudonyms, and one uniformly drawn reading per device in random order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cl_batch.h"
#include "cl_device.h"
#include "cl_devices.h"
#include "cm_buf.h"

static struct cm_err err;
static struct cr_rng rng;

static void name_of(unsigned i, uint8_t out[PR_PSEUDONYM_LEN])
{
	struct cr_key secret = { { 1 } };
	char device[16];

	(void)snprintf(device, sizeof device, "%u", i);
	cl_device_pseudonym(&secret, "p", device, out);
}

/* A histogram of as many categories; nothing of it but that is looked at. */
static const struct qy_query query = { .kind = QY_HISTOGRAM, .categories = 1000, .none = QY_NONE_SYMBOL };

/* List a device, and give it a reading. */
static void reads(struct cl_batch *b, const uint8_t name[PR_PSEUDONYM_LEN], uint64_t x, const uint32_t *at)
{
	assert_int_equal(cl_batch_list(b, name, &err), CM_OK);
	assert_int_equal(cl_batch_add(b, &rng, name, &(struct qy_value){ .x = x, .at = at }, &err), CM_OK);
}

static void complete(struct cl_batch *b)
{
	assert_int_equal(cl_batch_complete(b, &query, &rng, &err), CM_OK);
}

static void a_pseudonym_is_the_hmac_of_population_and_device(void **state)
{
	struct cr_key secret;
	uint8_t got[PR_PSEUDONYM_LEN];
	char hex[2 * PR_PSEUDONYM_LEN + 1];

	(void)state;
	memset(secret.bytes, 7, sizeof secret.bytes);
	cl_device_pseudonym(&secret, "test", "sensor-1", got);
	cm_hex(got, sizeof got, hex);
	/* python3: hmac.new(b"\x07"*32, b"tombola device\0test\0sensor-1", "sha256") */
	assert_string_equal(hex, "5f5c25784a709636b67d76903824bf200a6b8c1f59cb3f939549f85cda6f2228");
}

static void pseudonyms_differ_by_device_population_and_secret(void **state)
{
	struct cr_key one = { { 1 } }, two = { { 2 } };
	uint8_t a[4][PR_PSEUDONYM_LEN];

	(void)state;
	cl_device_pseudonym(&one, "p", "d", a[0]);
	cl_device_pseudonym(&one, "p", "e", a[1]);
	cl_device_pseudonym(&one, "q", "d", a[2]);
	cl_device_pseudonym(&two, "p", "d", a[3]);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(a[i], a[j], PR_PSEUDONYM_LEN);
}

static void the_gateway_secret_is_made_once_and_private(void **state)
{
	char dir[] = "/tmp/tombola-device-XXXXXX", path[64];
	struct cr_key first, again;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/gateway.key", dir);
	assert_int_equal(cl_device_secret(dir, false, &rng, &first, &err), CM_OK);
	assert_int_equal(cl_device_secret(dir, true, &rng, &again, &err), CM_OK);
	assert_memory_equal(first.bytes, again.bytes, sizeof first.bytes);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(cl_device_secret(dir, false, &rng, &again, &err), CM_EPERM);
	/* The secret of devices that have taken part is never made again. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cl_device_secret(dir, true, &rng, &again, &err), CM_EDATA);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir(dir), 0);
}

static void a_device_that_reads_three_times_sends_each_reading_equally_often(void **state)
{
	enum { TRIALS = 3000, READINGS = 3 };
	uint8_t name[PR_PSEUDONYM_LEN];
	double expected = (double)TRIALS / READINGS, chi = 0;
	unsigned held[READINGS] = { 0 };
	struct cl_batch_counts counts;

	(void)state;
	name_of(1, name);
	for (unsigned t = 0; t < TRIALS; t++) {
		struct cl_batch *b = cl_batch_new(0, 0, 1);
		size_t n;

		for (uint64_t v = 0; v < READINGS; v++)
			reads(b, name, v, NULL);
		cl_batch_counts(b, &counts);
		assert_int_equal(counts.duplicates, READINGS - 1);
		complete(b);
		held[cl_batch_entries(b, &n)->value.x]++;
		assert_int_equal(n, 1);
		cl_batch_free(b);
	}
	for (unsigned i = 0; i < READINGS; i++)
		chi += (held[i] - expected) * (held[i] - expected) / expected;
	/* Chi-square with 2 degrees of freedom exceeds 56 with chance exp(-28) = 1e-12. */
	assert_true(chi < 56);
}

static void every_order_of_four_devices_is_equally_likely(void **state)
{
	enum { TRIALS = 24000, ORDERS = 256 };
	unsigned seen[ORDERS] = { 0 }, orders = 0;
	double chi = 0;

	(void)state;
	for (unsigned t = 0; t < TRIALS; t++) {
		struct cl_batch *b = cl_batch_new(0, 0, 1);
		const struct cl_entry *e;
		unsigned order = 0;
		size_t n;

		for (unsigned i = 0; i < 4; i++) {
			uint8_t name[PR_PSEUDONYM_LEN];

			name_of(i, name);
			reads(b, name, i, NULL);
		}
		complete(b);
		e = cl_batch_entries(b, &n);
		for (unsigned i = 0; i < 4; i++)
			order = order << 2 | (unsigned)e[i].value.x;
		seen[order]++;
		cl_batch_free(b);
	}
	for (unsigned i = 0; i < ORDERS; i++)
		if (seen[i] > 0) {
			orders++;
			chi += (seen[i] - 1000.0) * (seen[i] - 1000.0) / 1000.0;
		}
	assert_int_equal(orders, 24);
	/* 23 degrees of freedom: above 109 with chance below 1e-12. */
	assert_true(chi < 109);
}

static void taken_devices_are_left_out_and_the_limit_takes_the_first_ones(void **state)
{
	struct cl_batch *b = cl_batch_new(5, 0, 1);
	uint8_t name[PR_PSEUDONYM_LEN];
	const struct cl_entry *e;
	struct cl_batch_counts counts;
	unsigned seen = 0;
	size_t n;

	(void)state;
	name_of(2, name);
	assert_int_equal(cl_batch_taken(b, name, &err), CM_OK);
	for (unsigned i = 0; i < 10; i++) {
		name_of(i, name);
		reads(b, name, i, NULL);
	}
	cl_batch_counts(b, &counts);
	assert_int_equal(counts.unlisted, 5);
	complete(b);
	e = cl_batch_entries(b, &n);
	assert_int_equal(n, 4);
	for (size_t i = 0; i < n; i++)
		seen |= 1u << e[i].value.x;
	assert_int_equal(seen, 1u << 0 | 1u << 1 | 1u << 3 | 1u << 4);
	cl_batch_free(b);
}

static void every_one_of_many_devices_comes_out_once(void **state)
{
	enum { DEVICES = 20000 };
	struct cl_batch *b = cl_batch_new(0, 0, 1);
	static unsigned char seen[DEVICES];
	const struct cl_entry *e;
	size_t n;

	(void)state;
	for (unsigned i = 0; i < DEVICES; i++) {
		uint8_t name[PR_PSEUDONYM_LEN];

		name_of(i, name);
		reads(b, name, i, NULL);
	}
	complete(b);
	e = cl_batch_entries(b, &n);
	assert_int_equal(n, DEVICES);
	for (size_t i = 0; i < n; i++) {
		uint8_t name[PR_PSEUDONYM_LEN];

		name_of((unsigned)e[i].value.x, name);
		assert_memory_equal(name, e[i].pseudonym, sizeof name);
		assert_int_equal(seen[e[i].value.x]++, 0);
	}
	cl_batch_free(b);
}

/* There are three listed devices: one has a reading, one has none, and all readings of the third were taken;
 * a fourth device is not listed. */
static void every_listed_device_takes_part_and_no_other(void **state)
{
	struct cl_batch *b = cl_batch_new(0, 0, 1);
	uint8_t name[5][PR_PSEUDONYM_LEN];
	struct cl_batch_counts counts;
	const struct cl_entry *e;
	size_t n;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		name_of(i, name[i]);
	assert_int_equal(cl_batch_taken(b, name[0], &err), CM_OK);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(cl_batch_list(b, name[i], &err), CM_OK);
	assert_int_equal(cl_batch_add(b, &rng, name[1], &(struct qy_value){ .x = 7 }, &err), CM_OK);
	assert_int_equal(cl_batch_add(b, &rng, name[3], &(struct qy_value){ .x = 8 }, &err), CM_OK);
	complete(b);
	cl_batch_counts(b, &counts);
	assert_int_equal(counts.unlisted, 1);
	assert_int_equal(counts.none, 1);
	e = cl_batch_entries(b, &n);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		bool reading = memcmp(e[i].pseudonym, name[1], PR_PSEUDONYM_LEN) == 0;

		assert_true(reading || memcmp(e[i].pseudonym, name[2], PR_PSEUDONYM_LEN) == 0);
		assert_int_equal(e[i].value.x, reading ? 7 : query.categories);
	}
	cl_batch_free(b);
}

/* ---- lists ---- */

static enum cm_rc load(const char *text, size_t n, struct cl_devices **out)
{
	static const struct cr_key secret = { { 1 } };
	char path[] = "/tmp/tombola-devices-XXXXXX";
	int fd = mkstemp(path);
	enum cm_rc rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	assert_int_equal(close(fd), 0);
	*out = NULL;
	rc = cl_devices_load(path, &secret, "p", out, &err);
	assert_int_equal(unlink(path), 0);
	return rc;
}

static void a_list_is_a_name_a_line(void **state)
{
	static const char text[] = "\xef\xbb\xbf"
				   "0\n\n1\r\n2 x\n# 3";
	const char *const names[] = { "0", "1", "2 x", "# 3" };
	static const struct cr_key secret = { { 1 } };
	uint8_t name[PR_PSEUDONYM_LEN];
	struct cl_devices *d;

	(void)state;
	assert_int_equal(load(text, sizeof text - 1, &d), CM_OK);
	assert_int_equal(cl_devices_n(d), 4);
	for (size_t i = 0; i < 4; i++) {
		cl_device_pseudonym(&secret, "p", names[i], name);
		assert_memory_equal(cl_devices_at(d, i), name, sizeof name);
	}
	cl_devices_free(d);
	assert_int_equal(cl_devices_n(NULL), 0);
}

static void a_list_with_a_fault_is_none(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *said;
	} bad[] = { { "", 0, ": no device is listed" }, { "\n\r\n", 3, ": no device is listed" },
		{ "a\nb\n\na\n", 7, ":4: the device of line 1 again: delete one" },
		{ "a\n b\n", 5, ":2: a device's name with white space at its ends: correct this line" },
		{ "a\t\n", 3, ":1: a device's name with white space at its ends: correct this line" },
		{ "a\0b\nc\n", 6, ":1: a device's name has a NUL byte" },
		/* A file whose end a power cut left out. */
		{ "a\nb\0\0", 5, ":2: a device's name has a NUL byte" },
		{ "a\n\0\0", 4, ":2: a device's name has a NUL byte" },
		{ "a\rb\rc\r", 6, ":1: a device's name with a CR" } };
	char line[300];
	struct cl_devices *d;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(load(bad[i].text, bad[i].n, &d), CM_EDATA);
		assert_non_null(strstr(err.msg, bad[i].said));
		assert_null(d);
	}
	for (int n = 199; n <= 220; n++) {
		(void)snprintf(line, sizeof line, "a\n%0*d\nb\n", n, 7);
		assert_int_equal(load(line, strlen(line), &d), n <= 200 ? CM_OK : CM_EDATA);
		assert_true(n <= 200 || strstr(err.msg, ":2: "));
		assert_int_equal(cl_devices_n(d), n <= 200 ? 3 : 0);
		cl_devices_free(d);
	}
	assert_int_equal(
		cl_devices_load("/nonexistent/list", &(struct cr_key){ 0 }, "p", &d, &err), CM_ENOINPUT);
	assert_int_equal(cl_devices_load("/tmp", &(struct cr_key){ 0 }, "p", &d, &err), CM_EDATA);
}

/* Values of 30000 numbers each: two values to a block. */
static void values_of_several_numbers_stay_with_their_device(void **state)
{
	enum { DEVICES = 51, WIDTH = 30000 };
	struct cl_batch *b = cl_batch_new(0, WIDTH, 1);
	static uint32_t at[WIDTH];
	const struct cl_entry *e;
	uint8_t name[PR_PSEUDONYM_LEN];
	size_t n;

	(void)state;
	name_of(7, name);
	assert_int_equal(cl_batch_taken(b, name, &err), CM_OK);
	for (unsigned i = 0; i < 3 * DEVICES; i++) {
		name_of(i % DEVICES, name);
		for (unsigned j = 0; j < WIDTH; j++)
			at[j] = i % DEVICES * WIDTH + j;
		reads(b, name, 0, at);
	}
	memset(at, 0, sizeof at); /* they were copied */
	complete(b);
	e = cl_batch_entries(b, &n);
	assert_int_equal(n, DEVICES - 1);
	for (size_t i = 0; i < n; i++) {
		unsigned device = e[i].value.at[0] / WIDTH;

		assert_int_not_equal(device, 7);
		name_of(device, name);
		assert_memory_equal(name, e[i].pseudonym, sizeof name);
		for (unsigned j = 0; j < WIDTH; j++)
			assert_int_equal(e[i].value.at[j], device * WIDTH + j);
	}
	cl_batch_free(b);
}

static void values_of_taken_devices_need_no_memory(void **state)
{
	enum { WIDTH = 1 << 17 };
	struct cl_batch *b = cl_batch_new(0, WIDTH, 1);
	static uint32_t at[WIDTH];
	uint8_t name[PR_PSEUDONYM_LEN];
	enum cm_rc rc = CM_OK;
	unsigned i;

	(void)state;
	/* More than there is room for the values of. */
	assert_true(5000 > CL_BATCH_NUMBERS_MAX / WIDTH);
	for (i = 0; i < 5000 && rc == CM_OK; i++) {
		name_of(i, name);
		rc = cl_batch_taken(b, name, &err);
	}
	assert_int_equal(rc, CM_OK);
	name_of(5000, name);
	reads(b, name, 0, at);
	cl_batch_free(b);
}

/* Whether there is room for the values is known of the list, and no reading changes it. */
static void too_many_values_are_refused_before_any_reading(void **state)
{
	enum { WIDTH = 1 << 17, MOST = CL_BATCH_NUMBERS_MAX / WIDTH };
	struct cl_batch *b = cl_batch_new(0, WIDTH, 1);
	uint8_t name[PR_PSEUDONYM_LEN];

	(void)state;
	for (unsigned i = 0; i < MOST; i++) {
		name_of(i, name);
		assert_int_equal(cl_batch_list(b, name, &err), CM_OK);
	}
	assert_int_equal(cl_batch_list(b, name, &err), CM_OK); /* again */
	name_of(MOST, name);
	assert_int_equal(cl_batch_list(b, name, &err), CM_EDATA);
	cl_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pseudonym_is_the_hmac_of_population_and_device),
		cmocka_unit_test(pseudonyms_differ_by_device_population_and_secret),
		cmocka_unit_test(the_gateway_secret_is_made_once_and_private),
		cmocka_unit_test(a_device_that_reads_three_times_sends_each_reading_equally_often),
		cmocka_unit_test(every_order_of_four_devices_is_equally_likely),
		cmocka_unit_test(taken_devices_are_left_out_and_the_limit_takes_the_first_ones),
		cmocka_unit_test(every_one_of_many_devices_comes_out_once),
		cmocka_unit_test(every_listed_device_takes_part_and_no_other),
		cmocka_unit_test(a_list_is_a_name_a_line),
		cmocka_unit_test(a_list_with_a_fault_is_none),
		cmocka_unit_test(values_of_several_numbers_stay_with_their_device),
		cmocka_unit_test(values_of_taken_devices_need_no_memory),
		cmocka_unit_test(too_many_values_are_refused_before_any_reading),
	};

	if (cr_rng_system(&rng, &err) != CM_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
