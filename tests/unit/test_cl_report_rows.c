/* test_cl_report_rows.c - rows of many sealed reports: each device once, each outcome its own device's, and
 * rows of the version before. */
#include "cl_stored.h"

static void a_device_cannot_come_twice_in_one_put_nor_after_a_restart(void **state)
{
	uint8_t all[DEVICES * 4096];
	struct cl_opening o = opening();
	struct cl_entry e[3] = { device(1), device(2), device(1) };
	uint8_t *sealed = calloc(3, device_len);

	(void)state;
	assert_non_null(sealed);
	assert_int_equal(cl_reports_put(world.db, &o, e, 3, salts, sealed, device_len, CL_WORLD_NOW, &err),
		CM_EINTERNAL);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 0);
	free(sealed);
	assert_int_equal(put(0, CHUNK), CM_OK);
	cl_world_restart(&world);
	assert_int_equal(put(CHUNK - 1, CHUNK), CM_EINTERNAL);
	assert_int_equal(put(CHUNK, CHUNK), CM_OK);
	assert_int_equal(stored(all), 2 * CHUNK);
}

/* Eight bytes of a pseudonym are kept in memory; the stored ones decide. */
static void a_device_with_the_first_bytes_of_another_is_another(void **state)
{
	struct cl_opening o = opening();
	struct cl_entry e = device(4);
	uint8_t *sealed = calloc(1, device_len);

	(void)state;
	assert_non_null(sealed);
	assert_int_equal(put(0, CHUNK), CM_OK);
	memset(e.pseudonym + 8, 0xee, PR_PSEUDONYM_LEN - 8);
	assert_int_equal(
		cl_reports_put(world.db, &o, &e, 1, salts, sealed, device_len, CL_WORLD_NOW, &err), CM_OK);
	assert_int_equal(cl_reports_put(world.db, &o, &e, 1, salts, sealed, device_len, CL_WORLD_NOW, &err),
		CM_EINTERNAL);
	assert_int_equal(count(DEVICES_STORED), CHUNK + 1);
	free(sealed);
}

/* Outcomes that span rows and have gaps go to their own devices. */
static void outcomes_are_kept_by_device(void **state)
{
	static const int64_t slot[] = { 2, 3, 9, 10, 11, 12, 20 };
	static const uint8_t outcome[] = { 1, 2, 3, 4, 1, 2, 3 };
	uint8_t names[DEVICES * PR_PSEUDONYM_LEN], salt[DEVICES * RD_SALT_LEN],
		*sealed = malloc(DEVICES * device_len);
	int64_t left[DEVICES], none = 21;
	struct cl_counts counts;
	size_t n;

	(void)state;
	assert_non_null(sealed);
	assert_int_equal(put(0, CHUNK), CM_OK);
	assert_int_equal(put(CHUNK, CHUNK), CM_OK);
	assert_int_equal(cl_reports_answer(world.db, slot, outcome, 7, &err), CM_OK);
	assert_int_equal(cl_reports_answer(world.db, &none, outcome, 1, &err), CM_EINTERNAL);
	assert_int_equal(cl_reports_flush(world.db, &err), CM_OK);
	assert_int_equal(cl_reports_counts(world.db, &counts, &err), CM_OK);
	assert_int_equal(counts.by[CL_ACCEPTED], 2);
	assert_int_equal(counts.by[CL_CONFLICT], 2);
	assert_int_equal(counts.by[CL_CLOSED], 2);
	assert_int_equal(counts.by[CL_OVER_LIMIT], 1);
	assert_int_equal(
		cl_reports_next(world.db, 7, DEVICES, device_len, left, names, salt, sealed, &n, &err),
		CM_OK);
	assert_int_equal(n, 8); /* 8, and 13 to 19 */
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(left[i], i == 0 ? 8 : 12 + i);
		assert_int_equal(names[i * PR_PSEUDONYM_LEN], left[i]);
	}
	free(sealed);
}

/* The tables of version 3: a row for each device. */
static void a_round_of_the_version_before_goes_on(void **state)
{
	uint8_t before[DEVICES * 4096], after[DEVICES * 4096];
	struct cl_counts counts;
	struct cl_db *other;

	(void)state;
	assert_int_equal(put(0, CHUNK), CM_OK);
	(void)stored(before);
	assert_int_equal(
		db_run(world.db->sql,
			"CREATE TABLE submission(slot INTEGER PRIMARY KEY, pseudonym BLOB NOT NULL UNIQUE,"
			" salt BLOB NOT NULL, sealed BLOB NOT NULL, outcome INTEGER) STRICT;"
			"WITH RECURSIVE i(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM i WHERE n < 9)"
			" INSERT INTO submission SELECT first + n, substr(pseudonyms, 32 * n + 1, 32),"
			" substr(salts, 32 * n + 1, 32), substr(sealed, length(sealed) / 10 * n + 1,"
			" length(sealed) / 10), CASE n WHEN 4 THEN 1 WHEN 5 THEN 3 END FROM reports, i;"
			"DROP TABLE reports; PRAGMA user_version=3",
			&err),
		CM_OK);
	assert_int_equal(cl_db_open_readonly(world.dir, &other, &err), CM_ELATER);
	assert_non_null(strstr(err.msg, "tombola-client run"));
	cl_world_restart(&world);
	assert_int_equal(stored(after), CHUNK);
	assert_memory_equal(before, after, DEVICES * device_len);
	assert_int_equal(cl_reports_counts(world.db, &counts, &err), CM_OK);
	assert_int_equal(counts.by[CL_ACCEPTED], 1);
	assert_int_equal(counts.by[CL_CLOSED], 1);
	assert_int_equal(counts.total, CHUNK);
	assert_int_equal(put(CHUNK - 1, 2), CM_EINTERNAL);
	assert_int_equal(put(CHUNK, CHUNK), CM_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_device_cannot_come_twice_in_one_put_nor_after_a_restart),
		TEST(a_device_with_the_first_bytes_of_another_is_another),
		TEST(outcomes_are_kept_by_device),
		TEST(a_round_of_the_version_before_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
