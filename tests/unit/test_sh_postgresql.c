/* test_sh_postgresql.c - the store in PostgreSQL: what its string may say, who may write, what is damaged or
 * lost. */
#include "sh_steps.h"

#include <stdlib.h>
#include <string.h>

#include "db_sqlite.h"
#include "sh_pg_data.h"
#include "sh_postgresql.h"

static struct sh_pg_conf conf_of_play(void)
{
	return (struct sh_pg_conf){ .database = play.database };
}

/* ---- Without a server ---- */

static void a_string_says_no_password_and_verifies_a_host_that_is_not_local(void **state)
{
	static const struct {
		const char *string, *why; /* NULL: accepted */
		bool verifies;            /* verify-full is added */
	} rows[] = {
		{ "host=/run/postgresql dbname=t", NULL, false },
		{ "host=@abstract dbname=t", NULL, false },
		{ "host=127.0.0.1 sslmode=disable", NULL, false },
		{ "host=localhost,::1 sslmode=require", NULL, false },
		{ "host=db.example.org hostaddr=127.0.0.1 sslmode=disable", NULL, false },
		{ "host=db.example.org", NULL, true },
		{ "host=db.example.org sslmode=verify-full", NULL, false },
		{ "postgresql://db.example.org/t", NULL, true },
		{ "service=tombola", NULL, true },
		{ "dbname=t", NULL, true },
		{ "host=/run/postgresql service=tombola", NULL, true },
		{ "hostaddr=127.0.0.1 service=tombola sslmode=disable", NULL, false },
		{ "host=db.example.org sslmode=require", "must be verify-full", false },
		{ "host=db.example.org sslmode=verify-ca", "must be verify-full", false },
		{ "host=/run/postgresql,db.example.org sslmode=prefer", "must be verify-full", false },
		{ "host=127.example.org sslmode=disable", "must be verify-full", false },
		{ "host=localhost hostaddr=192.0.2.1 sslmode=disable", "must be verify-full", false },
		{ "service=tombola sslmode=disable", "must be verify-full", false },
		{ "host=localhost service=tombola sslmode=disable", "must be verify-full", false },
		{ "host=/run password=secret", "a password does not belong here", false },
		{ "postgresql://me:secret@db.example.org/t", "a password does not belong here", false },
		{ "host=/run sslpassword=secret", "a password does not belong here", false },
		{ "postgresql://me:secret@[::1x/t", "cannot be read", false },
		{ "host=/run password=my secret", "cannot be read", false },
		{ "host", "database: missing", false },
		{ "colour=red", "invalid connection option", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sh_pg_params params;
		struct cm_err err = { .code = CM_OK };
		bool verifies = false;
		enum cm_rc rc = sh_pg_params(rows[i].string, &params, &err);

		if (rc != (rows[i].why ? CM_ECONFIG : CM_OK) ||
			(rows[i].why && !strstr(err.msg, rows[i].why)))
			fail_msg("%s: %d %s", rows[i].string, rc, err.msg);
		assert_null(strstr(err.msg, "secret"));
		for (size_t k = 0; k < SH_PG_PARAMS_MAX && params.key[k]; k++)
			verifies |= strcmp(params.key[k], "sslmode") == 0 &&
				    strcmp(params.value[k], "verify-full") == 0;
		if (verifies != rows[i].verifies)
			fail_msg("%s: sslmode", rows[i].string);
	}
}

static void a_host_is_local_by_its_address(void **state)
{
	static const struct {
		const char *host;
		bool local;
	} rows[] = { { "127.0.0.1", true }, { "127.8.0.1", true }, { "::1", true }, { "/run", true },
		{ "0.0.0.0", false }, { "192.0.2.1", false }, { "fe80::1", false },
		{ "127.example.org", false } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (sh_pg_host_is_local(rows[i].host) != rows[i].local)
			fail_msg("%s", rows[i].host);
}

static void what_may_send_a_local_host_elsewhere_makes_it_verified(void **state)
{
	static const char *const names[] = { "PGSERVICE", "PGHOSTADDR" };
	struct sh_pg_params params;
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(setenv(names[i], "192.0.2.1", 1), 0);
		assert_int_equal(sh_pg_params("host=localhost", &params, &err), CM_OK);
		assert_string_equal(params.value[1], "verify-full");
		assert_int_equal(sh_pg_params("host=localhost sslmode=disable", &params, &err), CM_ECONFIG);
		assert_int_equal(sh_pg_params("hostaddr=127.0.0.1 sslmode=disable", &params, &err), CM_OK);
		assert_int_equal(unsetenv(names[i]), 0);
	}
}

static void a_row_has_the_sum_that_the_other_store_gives_it(void **state)
{
	uint8_t sum[CR_HASH_LEN];
	struct cm_err err;
	sqlite3_stmt *s;
	sqlite3 *db;

	(void)state;
	assert_int_equal(db_open(":memory:", &(struct db_conf){ .create = true }, &db, &err), CM_OK);
	assert_int_equal(
		db_prepare(db, "SELECT row_sum(-7, x'00ff10', NULL, 9223372036854775807)", &s, &err), CM_OK);
	assert_int_equal(db_step(s, &err), CM_OK);
	const struct sh_pg_value value[] = { sh_pg_int(-7), sh_pg_bytes("\x00\xff\x10", 3),
		sh_pg_bytes(NULL, 0), sh_pg_int(INT64_MAX) };
	sh_pg_sum(value, 4, sum);
	struct cr_span other = db_blob(s, 0);
	assert_int_equal(other.len, sizeof sum);
	assert_memory_equal(other.data, sum, sizeof sum);
	assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- Faults of a session ---- */

static void a_warning_or_the_end_of_a_session_ends_its_use(void **state)
{
	static const struct {
		const char *sql;
		enum cm_rc rc;
		bool ends;
	} rows[] = {
		{ "SELECT 1", CM_OK, false },
		{ "DO 'BEGIN RAISE NOTICE ''n''; END'", CM_OK, false },
		{ "SELECT * FROM tombola.nothing", CM_EDATA, false },
		{ "INSERT INTO tombola.pin SELECT * FROM tombola.pin", CM_OK, false },
		{ "INSERT INTO tombola.closed VALUES(1, 1, NULL)", CM_EIO, false },
		{ "SELECT pg_sleep(100)", CM_EIO, true }, /* statement_timeout of this test */
		{ "DO 'BEGIN RAISE WARNING ''w''; END'", CM_EIO, true },
		{ "SELECT pg_terminate_backend(pg_backend_pid())", CM_EIO, true },
	};
	const struct sh_pg_conf conf = conf_of_play();

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sh_pg *pg;
		assert_int_equal(sh_pg_open(&conf, &pg, &play.err), CM_OK);
		assert_int_equal(sh_pg_run(pg, "SET statement_timeout = 100", &play.err), CM_OK);
		enum cm_rc rc = sh_pg_run(pg, rows[i].sql, &play.err);
		if (rc != rows[i].rc)
			fail_msg("%s: %d %s", rows[i].sql, rc, play.err.msg);
		rc = sh_pg_run(pg, "SELECT 1", &play.err);
		bool timed_out =
			strstr(rows[i].sql, "sleep"); /* the server ended the statement, not the session */
		if (rc != (rows[i].ends && !timed_out ? CM_EIO : CM_OK))
			fail_msg("after %s: %d", rows[i].sql, rc);
		sh_pg_close(pg);
	}
}

static enum cm_rc count_row(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	(void)row;
	(void)err;
	++*(int *)user;
	return CM_OK;
}

static void rows_may_take_longer_than_one_statement(void **state)
{
	const struct sh_pg_conf conf = conf_of_play();
	struct sh_pg *pg;
	int64_t n;
	int rows = 0;

	(void)state;
	assert_int_equal(sh_pg_open(&conf, &pg, &play.err), CM_OK);
	/* PostgreSQL 17 has another limit, which an administrator may set for a role. */
	static const char limit[] =
		"SELECT count(*) FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout'";
	assert_int_equal(sh_pg_number(pg, limit, NULL, 0, &n, &play.err), CM_OK);
	if (n > 0) {
		sh_pg_close(pg);
		assert_int_equal(setenv("PGOPTIONS", "-c transaction_timeout=100", 1), 0);
		assert_int_equal(sh_pg_open(&conf, &pg, &play.err), CM_OK);
		assert_int_equal(unsetenv("PGOPTIONS"), 0);
	}
	assert_int_equal(sh_pg_run(pg, "SET statement_timeout = 100", &play.err), CM_OK);
	assert_int_equal(sh_pg_stream(pg, "SELECT pg_sleep(0.1)::text FROM generate_series(1, 4)", NULL, 0,
				 count_row, &rows, &play.err),
		CM_OK);
	assert_int_equal(rows, 4);
	static const char ask[] =
		"SELECT setting::int8 FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'";
	assert_int_equal(sh_pg_number(pg, ask, NULL, 0, &n, &play.err), CM_OK);
	assert_int_equal(n, strtol(SH_PG_STATEMENT_MS, NULL, 10));
	sh_pg_close(pg);
}

static void a_transaction_that_failed_commits_nothing(void **state)
{
	const struct sh_pg_conf conf = conf_of_play();
	struct sh_pg *pg;
	int64_t n;

	(void)state;
	assert_int_equal(sh_pg_open(&conf, &pg, &play.err), CM_OK);
	assert_int_equal(sh_pg_begin(pg, &play.err), CM_OK);
	const struct sh_pg_value one = sh_pg_int(1);
	assert_int_equal(sh_pg_put(pg, "INSERT INTO tombola.closed(id, record, sum) VALUES($1, 1, $2)", &one,
				 1, &play.err),
		CM_OK);
	assert_int_equal(sh_pg_run(pg, "SELECT 1 / 0", &play.err), CM_EIO);
	/* A caller that ignores the fault is told again. */
	assert_int_equal(sh_pg_end(pg, CM_OK, &play.err), CM_EIO);
	assert_int_equal(
		sh_pg_number(pg, "SELECT count(*) FROM tombola.closed", NULL, 0, &n, &play.err), CM_OK);
	assert_int_equal(n, 0);
	sh_pg_close(pg);
}

static void a_server_without_room_is_waited_for_and_a_refused_login_is_not(void **state)
{
	static const struct {
		const char *role;
		enum cm_rc rc;
	} rows[] = { { "crowded", CM_EUNAVAIL }, { "nobody_at_all", CM_EPERM } };
	char string[400];
	struct sh_pg *pg;

	(void)state;
	sh_play_sql(&play, "DROP ROLE IF EXISTS crowded; CREATE ROLE crowded LOGIN CONNECTION LIMIT 0");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		(void)snprintf(string, sizeof string, "%s user=%s", play.database, rows[i].role);
		enum cm_rc rc = sh_pg_open(&(struct sh_pg_conf){ .database = string }, &pg, &play.err);
		if (rc != rows[i].rc)
			fail_msg("%s: %d %s", rows[i].role, rc, play.err.msg);
	}
	sh_play_sql(&play, "DROP ROLE crowded");
}

/* ---- Who may write ---- */

static void one_shuffler_at_a_time_has_a_database(void **state)
{
	const struct sh_pg_conf conf = conf_of_play();
	struct sh_store second;
	struct sh_pg_data *d;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	assert_int_equal(sh_postgresql_open(play.dir, &conf, &second, &play.err), CM_ELATER);
	assert_non_null(strstr(play.err.msg, "another shuffler"));
	assert_int_equal(sh_postgresql_open_readonly(play.dir, &conf, &second, &play.err), CM_ELATER);
	assert_int_equal(sh_pg_data_open(&conf, play.d.round_id, 0, SH_PG_WRITE, &d, &play.err), CM_ELATER);
	sh_play_stop(&play);
	assert_int_equal(sh_postgresql_open_readonly(play.dir, &conf, &second, &play.err), CM_OK);
	assert_int_not_equal(
		second.loss_put(second.ctx, &(struct sh_loss){ .closed_to = 1 }, &play.err), CM_OK);
	second.close(second.ctx);
	sh_play_start(&play);
}

static void sessions_that_the_server_ends_acknowledge_nothing_more(void **state)
{
	struct sh_batch batch;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 1000 });
	steps_accepted(1, 0, 40);
	sh_play_work(&play);
	steps_accepted(1, 40, 30);
	struct sh_round *r = sh_core_collecting(play.core);
	sh_intake_take(&r->intake, &batch);
	sh_play_sql(&play,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND"
		" pid <> pg_backend_pid()");
	assert_int_equal(sh_vault_commit(&r->vault, &batch, &play.rng, &play.err), CM_EIO);
	assert_int_equal(sh_vault_commit(&r->vault, &batch, &play.rng, &play.err), CM_EIO);
	sh_batch_fini(&batch);
	assert_int_equal(play.store.loss_put(play.store.ctx, &(struct sh_loss){ 0 }, &play.err), CM_EIO);
	sh_play_stop(&play);
	sh_play_start(&play);
	assert_int_equal(sh_core_collecting(play.core)->intake.participants, 40);
	steps_accepted(1, 40, 30);
	sh_play_work(&play);
	sh_play_deadline(&play);
	steps_release_all(70);
}

/* In the middle of an intake's commit, which waits for this block. */
static enum cm_rc next_epoch(void *user, struct sh_block *out, struct cm_err *err)
{
	struct sh_epoch *epoch = user;
	void *data = sh_core_collecting(play.core)->vault.data;

	(void)out;
	assert_int_equal(play.store.data_epoch(data, false, epoch, err), CM_OK);
	return CM_EMORE;
}

static void a_commit_that_stands_still_holds_up_no_epoch(void **state)
{
	const struct sh_pg_conf conf = conf_of_play();
	const struct sh_block tags = { .id = 1, .body = (const uint8_t *)"tags", .len = 4, .devices = 1 };
	struct sh_epoch epoch;
	struct sh_pg_data *d;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	void *data = sh_core_collecting(play.core)->vault.data;
	assert_int_equal(play.store.data_epoch(data, false, &epoch, &play.err), CM_OK);
	assert_int_equal(sh_pg_data_open(&conf, play.d.round_id, 0, SH_PG_JOIN, &d, &play.err), CM_OK);
	const uint64_t first = epoch.number;
	sh_pg_data_join(d, first);
	/* The server ended its session. */
	assert_int_equal(sh_pg_data_commit(d, NULL, next_epoch, &epoch, &tags, &play.err), CM_EIO);
	sh_pg_data_close(d);
	assert_true(epoch.number > first);
	assert_int_equal(epoch.devices, 0);
}

/* ---- Damage and loss ---- */

/* %s: the round, in hex. */
static void tamper(const char *sql)
{
	char id[2 * PR_ROUND_ID_LEN + 1], text[512];

	cm_hex(play.d.round_id, PR_ROUND_ID_LEN, id);
	(void)snprintf(text, sizeof text, sql, id, id);
	sh_play_sql(&play, text);
}

static void damaged_moved_doubled_or_missing_blocks_are_noticed_at_the_seal(void **state)
{
#define FIRST " WHERE ctid = (SELECT min(ctid) FROM tombola.block_%s_0 WHERE id "
	static const char *const damage[] = {
		"UPDATE tombola.block_%s_0 SET body = set_byte(body, 5, 255 - get_byte(body, 5))" FIRST
		">= 0)",
		"UPDATE tombola.block_%s_0 SET body = substr(body, 1, 20)" FIRST ">= 0)",
		"UPDATE tombola.block_%s_0 SET bucket = (bucket + 1) %% 4" FIRST ">= 0)",
		"UPDATE tombola.block_%s_0 SET id = id + 1" FIRST ">= 0)",
		"INSERT INTO tombola.block_%s_0 SELECT bucket, id + 1, body FROM tombola.block_%s_0 LIMIT 1",
		"INSERT INTO tombola.block_%s_0 SELECT * FROM tombola.block_%s_0 LIMIT 1",
		"DELETE FROM tombola.block_%s_0" FIRST ">= 0)",
		"DELETE FROM tombola.block_%s_0" FIRST "< 0)",
		"UPDATE tombola.block_%s_0 SET id = id + 4096" FIRST "< 0)",
		"UPDATE tombola.block_%s_0 SET body = substr(body, 1, 20)" FIRST "< 0)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
		struct rd_bucket *buckets;
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 40000 });
		steps_accepted(1, 0, SH_RUN_LEAST);
		sh_play_work(&play);
		steps_accepted(1, SH_RUN_LEAST, 50); /* no run */
		sh_play_work(&play);
		sh_play_stop(&play);
		tamper(damage[i]);
		sh_play_start(&play);
		if (sh_round_roots(sh_core_collecting(play.core), &buckets, &play.err) != CM_EDATA)
			fail_msg("not noticed: %s", damage[i]);
		steps_void();
		sh_play_work(&play);
	}
}

/* Check that the next start fails with this text; then run `mend`. */
static void start_fails(const char *damage, enum cm_rc want, const char *why, const char *mend)
{
	const struct sh_core_conf conf = {
		.env = { .store = &play.store,
			.key_dir = play.key_dir,
			.signer = play.shuffler.signer,
			.max_bytes = 32u << 20 },
		.policy = &play.policy,
		.analyzer = play.analyzer.verifier,
	};
	struct sh_core *core;

	sh_play_stop(&play);
	tamper(damage);
	enum cm_rc rc = sh_play_store_open(&play);
	if (rc == CM_OK)
		rc = sh_core_new(&conf, &core, &play.err);
	if (rc != want || !strstr(play.err.msg, why))
		fail_msg("%s: %d %s", damage, rc, play.err.msg);
	if (play.store.close)
		play.store.close(play.store.ctx);
	play.store = (struct sh_store){ 0 };
	tamper(mend);
	sh_play_start(&play);
}

static void a_state_that_is_damaged_lost_or_too_new_is_refused(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	start_fails("UPDATE tombola.round SET state = 5", CM_EDATA, "round's row is damaged",
		"UPDATE tombola.round SET state = 1");
	start_fails("UPDATE tombola.record SET seq = seq + 100", CM_EDATA, "record is missing",
		"UPDATE tombola.record SET seq = seq - 100");
	start_fails("UPDATE tombola.pin SET state = state + 1", CM_EDATA, "pin of a plan is damaged",
		"UPDATE tombola.pin SET state = state - 1");
	start_fails("ALTER TABLE tombola.tags_%s_0 RENAME TO away", CM_EDATA, "is missing or damaged",
		"ALTER TABLE tombola.away RENAME TO tags_%s_0");
	start_fails(
		"ALTER TABLE tombola.block_%s_0 RENAME body TO bytes; ALTER TABLE tombola.block_%s_0 ALTER bytes DROP "
		"NOT NULL",
		CM_EDATA, "is missing or damaged",
		"ALTER TABLE tombola.block_%s_0 ALTER bytes SET NOT NULL; ALTER TABLE tombola.block_%s_0 RENAME bytes TO "
		"body");
	start_fails("UPDATE tombola.meta SET version = version + 97", CM_EDATA, "later version",
		"UPDATE tombola.meta SET version = version - 97");
	start_fails("ALTER SCHEMA tombola RENAME TO away", CM_EDATA, "has been in service",
		"ALTER SCHEMA away RENAME TO tombola");
	assert_int_equal(sh_core_collecting(play.core)->intake.participants, 0);
}

static void standbys_that_the_server_lacks_are_demanded_in_vain(void **state)
{
	const struct sh_pg_conf conf = { .database = play.database, .standbys = 1 };
	struct sh_pg *pg;

	(void)state;
	assert_int_equal(sh_pg_open(&conf, &pg, &play.err), CM_ECONFIG);
	assert_non_null(strstr(play.err.msg, "synchronous_standby_names"));
}

int main(void)
{
	const struct CMUnitTest alone[] = {
		cmocka_unit_test(a_string_says_no_password_and_verifies_a_host_that_is_not_local),
		cmocka_unit_test(a_host_is_local_by_its_address),
		cmocka_unit_test(what_may_send_a_local_host_elsewhere_makes_it_verified),
		cmocka_unit_test(a_row_has_the_sum_that_the_other_store_gives_it),
	};
	const struct CMUnitTest tests[] = {
		STEPS_TEST(a_warning_or_the_end_of_a_session_ends_its_use),
		STEPS_TEST(rows_may_take_longer_than_one_statement),
		STEPS_TEST(a_transaction_that_failed_commits_nothing),
		STEPS_TEST(a_server_without_room_is_waited_for_and_a_refused_login_is_not),
		STEPS_TEST(one_shuffler_at_a_time_has_a_database),
		STEPS_TEST(sessions_that_the_server_ends_acknowledge_nothing_more),
		STEPS_TEST(a_commit_that_stands_still_holds_up_no_epoch),
		STEPS_TEST(damaged_moved_doubled_or_missing_blocks_are_noticed_at_the_seal),
		STEPS_TEST(a_state_that_is_damaged_lost_or_too_new_is_refused),
		STEPS_TEST(standbys_that_the_server_lacks_are_demanded_in_vain),
	};

	int failed = cmocka_run_group_tests(alone, NULL, NULL);
	if (getenv("TOMBOLA_TEST_DATABASE"))
		return failed + cmocka_run_group_tests(tests, NULL, NULL);
	print_message(
		"skipped, what asks a server: TOMBOLA_TEST_DATABASE is not set (tests/postgresql.sh sets it)\n");
	return failed;
}
