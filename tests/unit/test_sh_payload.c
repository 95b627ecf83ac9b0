/* test_sh_payload.c - payloads at the shuffler: put in parts, checked by hash, given while the round is open,
 * erased with it; and how little of them there is whatever the analyzer does. */
#include "sh_steps.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SIZE = 300001 };
static uint8_t bytes[SIZE], other[SIZE];
static const struct cr_span whole = { bytes, SIZE };
static uint64_t held;

static int set_up(void **state)
{
	for (size_t i = 0; i < SIZE; i++) {
		bytes[i] = (uint8_t)(i * 7 + i / 251);
		other[i] = (uint8_t)(bytes[i] + 1);
	}
	return steps_set_up(state);
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, steps_tear_down)

static enum cm_rc put_as(
	const uint8_t hash[PR_HASH_LEN], uint64_t size, const uint8_t *from, uint64_t offset, size_t n)
{
	const struct sh_put put = { { hash, PR_HASH_LEN }, { offset < SIZE ? from + offset : from, n }, size,
		offset };

	return sh_core_put_payload(play.core, &put, &held, &play.no, &play.err);
}

static enum cm_rc put(const uint8_t *from, uint64_t offset, size_t n)
{
	uint8_t hash[PR_HASH_LEN];

	cr_sha256(from, SIZE, hash);
	return put_as(hash, SIZE, from, offset, n);
}

static void put_all(const uint8_t *from)
{
	held = 0;
	assert_int_equal(put(from, 0, 0), CM_OK);
	while (held < SIZE)
		if (put(from, held, SIZE - held < 100000 ? SIZE - held : 100000) != CM_OK)
			fail_msg("put: %s", play.no.text);
}

/* Files of payloads; *bytes_of: how many bytes they have. */
static size_t files(uint64_t *bytes_of)
{
	char path[400];
	struct dirent *e;
	struct stat st;
	size_t n = 0;

	*bytes_of = 0;
	if (play.database[0]) {
		uint64_t rows;
		sh_play_payloads(&play, &rows, bytes_of);
		return rows;
	}
	(void)snprintf(path, sizeof path, "%s/payloads", play.dir);
	DIR *d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "%s/payloads/%s", play.dir, e->d_name);
		assert_int_equal(stat(path, &st), 0);
		*bytes_of += (uint64_t)st.st_size;
		n++;
	}
	(void)closedir(d);
	return n;
}

static void holds(size_t n)
{
	uint64_t total;

	if (files(&total) != n)
		fail_msg("%zu payloads", files(&total));
	assert_true(total <= n * SIZE);
}

static enum cm_rc get(uint64_t offset, uint32_t length, uint8_t *out, size_t *n)
{
	const struct sh_part part = { offset, length };

	return sh_core_get_payload(
		play.core, play.d.round_id, PR_ROUND_ID_LEN, &part, out, n, &play.no, &play.err);
}

static void is_given(const uint8_t *from)
{
	static uint8_t part[PR_PAYLOAD_PART];
	size_t n;

	for (uint64_t at = 0; at < SIZE; at += n) {
		assert_int_equal(get(at, PR_PAYLOAD_PART, part, &n), CM_OK);
		assert_int_equal(n, SIZE - at < PR_PAYLOAD_PART ? SIZE - at : PR_PAYLOAD_PART);
		assert_memory_equal(part, from + at, n);
	}
}

static void announce_with(const uint8_t *from)
{
	const struct sh_wish wish = { .min_reports = 1, .payload = { from, SIZE } };

	sh_play_describe(&play, &wish);
	assert_int_equal(sh_play_reserve(&play), CM_OK);
}

static void a_payload_is_put_in_parts_given_and_erased_with_its_round(void **state)
{
	uint8_t part[16];
	size_t n;

	(void)state;
	put_all(bytes);
	announce_with(bytes);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	is_given(bytes);
	steps_restart();
	is_given(bytes);
	steps_accepted(1, 0, 5);
	sh_play_deadline(&play);
	steps_refused(get(0, 16, part, &n), ERROR(ROUND_CLOSED));
	steps_release_all(5);
	holds(1);
	assert_int_equal(sh_play_settle(&play), CM_OK);
	holds(0);
	steps_refused(get(0, 16, part, &n), ERROR(NOT_FOUND));
}

static void a_void_round_leaves_no_payload(void **state)
{
	(void)state;
	put_all(bytes);
	const struct sh_wish wish = { .payload = whole };
	sh_play_round(&play, &wish);
	sh_play_deadline(&play);
	holds(0);
	/* A payload whose round the ledger ends is not held either. */
	put_all(bytes);
	sh_play_round(&play, &wish);
	steps_void();
	sh_play_deadline(&play);
	holds(0);
}

static void a_round_without_its_payload_is_refused_and_costs_nothing(void **state)
{
	(void)state;
	announce_with(bytes);
	steps_refused(sh_play_announce(&play), ERROR(NOT_FOUND));
	assert_int_equal(put(bytes, 0, 100000), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(NOT_FOUND));
	put_all(other);
	steps_refused(sh_play_announce(&play), ERROR(NOT_FOUND));
	assert_null(sh_core_collecting(play.core));
	put_all(bytes);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	is_given(bytes);
}

static void a_part_is_resumed_and_said_twice(void **state)
{
	(void)state;
	assert_int_equal(put(bytes, 0, 1000), CM_OK);
	assert_int_equal(held, 1000);
	/* Parts that repeat, or go beyond: nothing is taken, and the answer says where to go on. */
	assert_int_equal(put(bytes, 0, 2000), CM_OK);
	assert_int_equal(held, 1000);
	assert_int_equal(put(bytes, 5000, 10), CM_OK);
	assert_int_equal(held, 1000);
	steps_restart();
	assert_int_equal(put(bytes, 0, 0), CM_OK);
	assert_int_equal(held, 1000);
	assert_int_equal(put(bytes, 1000, SIZE - 1000), CM_OK);
	assert_int_equal(held, SIZE);
	assert_int_equal(put(bytes, 0, 5), CM_OK);
	assert_int_equal(held, SIZE);
	announce_with(bytes);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	is_given(bytes);
}

static void wrong_bytes_are_dropped(void **state)
{
	uint8_t hash[PR_HASH_LEN];

	(void)state;
	cr_sha256(bytes, SIZE, hash);
	assert_int_equal(put_as(hash, SIZE, other, 0, SIZE - 1), CM_OK);
	steps_refused(put_as(hash, SIZE, bytes, SIZE - 1, 1), ERROR(BAD_MESSAGE));
	holds(0);
	/* Right bytes under a wrong size. */
	assert_int_equal(put_as(hash, SIZE + 1, bytes, 0, SIZE), CM_OK);
	announce_with(bytes);
	steps_refused(sh_play_announce(&play), ERROR(NOT_FOUND));
	assert_int_equal(put_as(hash, SIZE, bytes, SIZE, 0), CM_OK);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	steps_refused(put_as(hash, SIZE + 1, bytes, 0, 1), ERROR(BAD_MESSAGE));
}

static void what_is_no_part_is_refused(void **state)
{
	uint8_t hash[PR_HASH_LEN] = { 1 };
	const struct sh_put no_hash = { { hash, 31 }, { bytes, 1 }, 10, 0 };

	(void)state;
	steps_refused(
		sh_core_put_payload(play.core, &no_hash, &held, &play.no, &play.err), ERROR(BAD_MESSAGE));
	steps_refused(put_as(hash, 0, bytes, 0, 0), ERROR(BAD_MESSAGE));
	steps_refused(put_as(hash, 10, bytes, 11, 0), ERROR(BAD_MESSAGE));
	steps_refused(put_as(hash, 10, bytes, 5, 6), ERROR(BAD_MESSAGE));
	steps_refused(put_as(hash, 10, bytes, UINT64_MAX, 1), ERROR(BAD_MESSAGE));
	steps_refused(put_as(hash, (1 << 20) + 1, bytes, 0, 1), ERROR(POLICY_REFUSED));
	steps_refused(put_as(hash, UINT64_MAX, bytes, 0, 1), ERROR(POLICY_REFUSED));
	holds(0);
}

static void a_dishonest_analyzer_fills_no_disk(void **state)
{
	uint8_t hash[PR_HASH_LEN] = { 0 };

	(void)state;
	/* A hundred payloads are begun, then a hundred whole ones are put: each replaces the one before. */
	for (unsigned i = 0; i < 100; i++) {
		hash[0] = (uint8_t)i;
		assert_int_equal(put_as(hash, SIZE, bytes, 0, SIZE / 2), CM_OK);
		holds(1);
	}
	for (unsigned i = 0; i < 100; i++) {
		bytes[0]++;
		put_all(bytes);
		holds(1);
	}
	/* Payloads of live rounds stay: one for each, and the one that is being put. */
	for (unsigned i = 0; i < SH_ROUNDS_MAX; i++) {
		bytes[1]++;
		put_all(bytes);
		announce_with(bytes);
		assert_int_equal(sh_play_announce(&play), CM_OK);
		steps_accepted(1, 0, 3);
		sh_play_deadline(&play);
		put_all(other);
		holds(i + 2);
	}
}

static void what_a_crash_left_of_a_round_that_is_over_is_erased(void **state)
{
	char path[400];
	uint64_t total;
	FILE *f;

	(void)state;
	put_all(bytes);
	announce_with(bytes);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	put_all(other);
	sh_play_stop(&play);
	assert_int_equal(files(&total), 2);
	/* Files with other names are left alone. */
	(void)snprintf(path, sizeof path, "%s/payloads/README", play.dir);
	f = play.database[0] ? NULL : fopen(path, "w");
	assert_true(play.database[0] || (f && fclose(f) == 0));
	sh_play_start(&play);
	assert_int_equal(files(&total), play.database[0] ? 1 : 2);
	is_given(bytes);
}

static void a_payload_that_is_lost_ends_nothing(void **state)
{
	char path[400], hex[2 * PR_HASH_LEN + 1];
	uint8_t part[16];
	size_t n;

	(void)state;
	put_all(bytes);
	announce_with(bytes);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	cm_hex(play.d.payload_hash, PR_HASH_LEN, hex);
	(void)snprintf(path, sizeof path, "%s/payloads/%s", play.dir, hex);
	if (play.database[0])
		sh_play_sql(&play, "UPDATE tombola.payload SET body = substr(body, 1, 10)");
	else
		assert_int_equal(truncate(path, 10), 0);
	steps_refused(get(0, 16, part, &n), ERROR(NOT_FOUND));
	if (play.database[0])
		sh_play_sql(&play, "DELETE FROM tombola.payload");
	else
		assert_int_equal(unlink(path), 0);
	steps_refused(get(0, 16, part, &n), ERROR(NOT_FOUND));
	steps_accepted(1, 0, 3);
	sh_play_work(&play);
	steps_restart();
	steps_refused(get(0, 16, part, &n), ERROR(NOT_FOUND));
	sh_play_deadline(&play);
	steps_release_all(3);
}

static void only_parts_of_the_open_rounds_payload_are_given(void **state)
{
	uint8_t part[PR_PAYLOAD_PART];
	size_t n;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 1 });
	steps_refused(get(0, 16, part, &n), ERROR(NOT_FOUND));
	sh_play_deadline(&play);
	put_all(bytes);
	announce_with(bytes);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	steps_refused(get(0, 0, part, &n), ERROR(BAD_MESSAGE));
	steps_refused(get(0, PR_PAYLOAD_PART + 1, part, &n), ERROR(BAD_MESSAGE));
	steps_refused(get(SIZE, 1, part, &n), ERROR(BAD_MESSAGE));
	steps_refused(get(UINT64_MAX, 1, part, &n), ERROR(BAD_MESSAGE));
	assert_int_equal(get(SIZE - 1, 100, part, &n), CM_OK);
	assert_int_equal(n, 1);
	play.d.round_id[0] ^= 1;
	steps_refused(get(0, 16, part, &n), ERROR(NOT_FOUND));
}

static void the_policy_bounds_payloads(void **state)
{
	(void)state;
	play.policy.shared.max_payload = (1 << 20) - 1;
	put_all(bytes);
	announce_with(bytes);
	steps_refused(sh_play_announce(&play), ERROR(POLICY_REFUSED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_payload_is_put_in_parts_given_and_erased_with_its_round),
		TEST(a_void_round_leaves_no_payload),
		TEST(a_round_without_its_payload_is_refused_and_costs_nothing),
		TEST(a_part_is_resumed_and_said_twice),
		TEST(wrong_bytes_are_dropped),
		TEST(what_is_no_part_is_refused),
		TEST(a_dishonest_analyzer_fills_no_disk),
		TEST(what_a_crash_left_of_a_round_that_is_over_is_erased),
		TEST(a_payload_that_is_lost_ends_nothing),
		TEST(only_parts_of_the_open_rounds_payload_are_given),
		TEST(the_policy_bounds_payloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
