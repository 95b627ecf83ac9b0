/* test_sh_store.c - the shuffler's state: faults of the disk are noticed, and a state that is lost is not
 * begun anew. */
#include "sh_steps.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm_marker.h"

/* ---- Faults of the disk ---- */

/* Writes beyond the limit fail as on a full disk. */
static void a_commit_that_cannot_be_written_fails_and_leaves_the_earlier_ones(void **state)
{
	struct rlimit old, small;
	struct sh_batch batch;
	char path[256];
	struct stat st;

	(void)state;
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 100000 });
	steps_accepted(1, 0, 1000);
	sh_play_work(&play);
	steps_accepted(1, 1000, 4000);
	struct sh_round *r = sh_core_collecting(play.core);
	sh_intake_take(&r->intake, &batch);
	assert_int_equal(stat(steps_place(path, "rounds", ".db-wal"), &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = (rlim_t)st.st_size + 20000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	enum cm_rc rc = sh_vault_commit(&r->vault, &batch, &play.rng, &play.err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(rc, CM_EIO);
	assert_non_null(strstr(play.err.msg, ".db"));
	sh_batch_fini(&batch);
	sh_play_stop(&play);
	sh_play_start(&play);
	assert_int_equal(sh_core_collecting(play.core)->intake.participants, 1000);
}

/* Run a statement on the round's file while the shuffler is down. */
static void tamper(const char *sql)
{
	sqlite3 *db;
	char path[256], *why = NULL;

	assert_int_equal(sqlite3_open(steps_place(path, "rounds", ".db"), &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void damaged_moved_doubled_or_missing_blocks_are_noticed_at_the_seal(void **state)
{
	static const char *const damage[] = {
		"UPDATE block SET body = zeroblob(length(body)) WHERE id = (SELECT min(id) FROM block)",
		"UPDATE block SET body = substr(body, 1, 20) WHERE id = (SELECT min(id) FROM block)",
		"UPDATE block SET bucket = (bucket + 1) % 4 WHERE id = (SELECT min(id) FROM block)",
		"UPDATE block SET id = id + 1 WHERE id = (SELECT min(id) FROM block)",
		"INSERT INTO block SELECT bucket, id + 1, body FROM block LIMIT 1",
		"DELETE FROM block WHERE id = (SELECT min(id) FROM block)",
		"UPDATE run SET body = zeroblob(length(body)) WHERE id = (SELECT min(id) FROM run)",
		"UPDATE run SET body = substr(body, 1, 20) WHERE id = (SELECT min(id) FROM run)",
		"UPDATE run SET id = id + 4096 WHERE id = (SELECT max(id) FROM run)",
		"UPDATE run SET id = 4095 WHERE id = 4096",
		"INSERT INTO run SELECT id + 8192, body FROM run LIMIT 1",
		"INSERT INTO block SELECT id & 4095, id, body FROM run LIMIT 1",
		"INSERT INTO run SELECT 8192 + bucket, body FROM block LIMIT 1",
		"DELETE FROM run WHERE id = (SELECT min(id) FROM run)",
		"DROP TABLE run",
	};

	(void)state;
	for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
		struct rd_bucket *buckets;
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 40000 });
		steps_accepted(1, 0, SH_RUN_LEAST);
		sh_play_work(&play);
		steps_accepted(1, SH_RUN_LEAST, SH_RUN_LEAST);
		sh_play_work(&play);
		steps_accepted(1, 2 * SH_RUN_LEAST, SH_RUN_LEAST - 1); /* no run */
		sh_play_work(&play);
		sh_play_stop(&play);
		tamper(damage[i]);
		sh_play_start(&play);
		struct sh_round *r = sh_core_collecting(play.core);
		if (sh_round_roots(r, &buckets, &play.err) != CM_EDATA)
			fail_msg("not noticed: %s", damage[i]);
		steps_void();
		sh_play_work(&play);
	}
}

/* How many rows a table of the round's file has, while the shuffler is down. */
static int rows_of(const char *table)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	char path[256], sql[64];
	int n;

	(void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
	assert_int_equal(sqlite3_open(steps_place(path, "rounds", ".db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int(st, 0);
	assert_int_equal(sqlite3_finalize(st), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return n;
}

/* Each device has four messages, so that a commit of one device too few has far more messages than the limit
 * says devices. */
static void a_run_is_a_commit_of_so_many_devices_not_messages(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 40000, .dummies = 3 });
	assert_int_equal(play.d.messages_per_client, 4);
	steps_accepted(1, 0, SH_RUN_LEAST - 1);
	sh_play_work(&play);
	sh_play_stop(&play);
	assert_int_equal(rows_of("run"), 0);
	assert_true(rows_of("block") > 0);
	sh_play_start(&play);
	steps_accepted(1, SH_RUN_LEAST - 1, SH_RUN_LEAST);
	sh_play_work(&play);
	sh_play_stop(&play);
	assert_true(rows_of("run") > 0);
	sh_play_start(&play);
	sh_play_deadline(&play);
	steps_release_all(2 * SH_RUN_LEAST - 1);
}

/* Reading all runs up to that number would take years. */
static void a_run_of_an_impossible_number_is_refused(void **state)
{
	struct sh_vault v;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 40000 });
	steps_accepted(1, 0, SH_RUN_LEAST);
	sh_play_work(&play);
	struct sh_round *r = sh_core_collecting(play.core);
	uint32_t buckets = r->vault.buckets;
	size_t len = r->vault.message_len;
	sh_play_stop(&play);
	tamper("UPDATE run SET id = id | (1 << 60) WHERE id = (SELECT max(id) FROM run)");
	assert_int_equal(sh_sqlite_open(play.dir, &play.store, &play.err), CM_OK);
	assert_int_equal(
		sh_vault_open(&v, &play.store, play.key_dir, play.d.round_id, buckets, len, &play.err),
		CM_EDATA);
	assert_non_null(strstr(play.err.msg, ".db: damaged"));
	play.store.close(play.store.ctx);
	tamper("UPDATE run SET id = id & ~(1 << 60)");
	sh_play_start(&play);
}

/* An earlier version had no runs: its rounds go on. */
static void a_round_of_an_earlier_version_goes_on(void **state)
{
	uint64_t all = 0;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 40000 });
	for (unsigned i = 0; i < 10; i++, all += 3) {
		steps_accepted(1, all, 3);
		sh_play_work(&play);
	}
	sh_play_stop(&play);
	tamper("DROP TABLE run");
	sh_play_start(&play);
	steps_accepted(1, all, SH_RUN_LEAST);
	sh_play_work(&play);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	assert_int_equal(play.manifest.participants, all + SH_RUN_LEAST);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	steps_pull_each_once(all + SH_RUN_LEAST);
}

/* The daemon's records of all rounds are changed while it is down. */
static void tamper_state(const char *sql)
{
	sqlite3 *db;
	char path[256], *why = NULL;

	(void)snprintf(path, sizeof path, "%s/state.db", play.dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* What a start says. */
static enum cm_rc start(void)
{
	struct sh_core *core = NULL;
	struct sh_core_conf conf = {
		.env = { .store = &play.store,
			.key_dir = play.key_dir,
			.signer = play.shuffler.signer,
			.max_bytes = 1 << 20 },
		.policy = &play.policy,
		.analyzer = play.analyzer.verifier,
	};
	enum cm_rc rc = sh_core_new(&conf, &core, &play.err);

	sh_core_free(core);
	return rc;
}

static void a_changed_row_of_the_state_refuses_to_start(void **state)
{
	static const char *const damage[] = {
		"UPDATE round SET state = 5",
		"UPDATE round SET sequence = sequence + 1",
		"UPDATE round SET signature = zeroblob(64)",
		"UPDATE round SET charge = x'00'",
		"UPDATE round SET sum = NULL",
		"UPDATE record SET body = body || x'00' WHERE seq = (SELECT max(seq) FROM record)",
		"UPDATE record SET sum = zeroblob(32)",
	};

	for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 100 });
		steps_accepted(1, 0, 10);
		sh_play_work(&play);
		sh_play_stop(&play);
		tamper_state(damage[i]);
		assert_int_equal(sh_sqlite_open(play.dir, &play.store, &play.err), CM_OK);
		if (start() != CM_EDATA || !strstr(play.err.msg, "state.db"))
			fail_msg("not noticed: %s", damage[i]);
		assert_true(steps_file_exists("rounds", ".db"));
		assert_int_equal(steps_tear_down(state), 0);
		assert_int_equal(steps_set_up(state), 0);
	}
}

/* A bit of the number of its rows would have SQLite leave some out: it says no word of that by itself. */
static void rows_that_a_page_does_not_count_refuse_to_start(void **state)
{
	static const char *const file[] = { "rounds", "" };

	(void)state;
	for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
		uint8_t page[16384], count[2];
		char path[256];
		long at = -1;

		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 100000 });
		steps_accepted(1, 0, 10);
		sh_play_work(&play);
		steps_accepted(1, 10, 10);
		sh_play_work(&play);
		sh_play_stop(&play);
		if (*file[i])
			(void)steps_place(path, file[i], ".db");
		else
			(void)snprintf(path, sizeof path, "%s/state.db", play.dir);
		FILE *f = fopen(path, "r+b");
		assert_non_null(f);
		/* The last leaf of a table with two rows: the tags, or the records. */
		for (long n = 0; fseek(f, n, SEEK_SET) == 0 && fread(page, 1, sizeof page, f) == sizeof page;
			n += (long)sizeof page)
			if (page[0] == 13 && page[3] == 0 && page[4] >= 2)
				at = n;
		assert_true(at >= 0);
		assert_int_equal(fseek(f, at + 3, SEEK_SET), 0);
		assert_int_equal(fread(count, 1, 2, f), 2);
		count[1]--;
		assert_int_equal(fseek(f, at + 3, SEEK_SET), 0);
		assert_int_equal(fwrite(count, 1, 2, f), 2);
		assert_int_equal(fclose(f), 0);
		enum cm_rc rc = sh_sqlite_open(play.dir, &play.store, &play.err);
		if (rc == CM_OK)
			rc = start();
		if (rc != CM_EDATA || !strstr(play.err.msg, "damaged"))
			fail_msg("not noticed: %s", path);
		assert_int_equal(steps_tear_down(state), 0);
		assert_int_equal(steps_set_up(state), 0);
	}
}

static const struct sh_loss spent = { .closed_to = INT64_MAX };

static void a_damaged_pin_or_standing_refuses(void **state)
{
	struct sh_standing_signed standing;
	uint8_t key[32];

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_accepted(1, 0, 10);
	sh_play_work(&play);
	sh_play_stop(&play);
	tamper_state("UPDATE standing SET sequence = sequence + 1");
	sh_play_start(&play);
	memset(key, 2, sizeof key);
	assert_int_equal(sh_core_standing(play.core, key, NULL, &standing, &play.err), CM_EDATA);
	sh_play_stop(&play);
	tamper_state("UPDATE pin SET taken = x'00'");
	assert_int_equal(sh_sqlite_open(play.dir, &play.store, &play.err), CM_OK);
	assert_int_equal(start(), CM_EDATA);
	assert_non_null(strstr(play.err.msg, "damaged"));
}

static void damaged_tags_refuse_to_start(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_accepted(1, 0, 100);
	sh_play_work(&play);
	sh_core_free(play.core);
	play.core = NULL;
	tamper("UPDATE tags SET body = zeroblob(length(body))");
	assert_int_equal(start(), CM_EDATA);
	assert_non_null(strstr(play.err.msg, "damaged"));
}

/* ---- A state that is lost ---- */

static void gone(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof path, "%s/%s", play.dir, name);
	assert_true(unlink(path) == 0 || errno == ENOENT);
}

static void opens(enum cm_rc want)
{
	struct sh_store store;
	enum cm_rc rc = sh_sqlite_open(play.dir, &store, &play.err);

	if (rc == CM_OK)
		store.close(store.ctx);
	assert_int_equal(rc, want);
}

/* The state of an earlier version is not read as if plans had taken nothing. */
static void a_state_of_a_version_without_plans_is_refused_and_says_how_to_go_on(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 100 });
	sh_play_stop(&play);
	for (int version = 2; version >= 0; version--) {
		char sql[160];
		(void)snprintf(sql, sizeof sql,
			"DROP TABLE IF EXISTS pin; DROP TABLE IF EXISTS standing; DROP TABLE IF EXISTS "
			"closed;PRAGMA user_version = %d",
			version);
		tamper_state(sql);
		opens(CM_EDATA);
		assert_non_null(strstr(play.err.msg, version > 0 ? "new name" : "accept-loss"));
	}
}

/* The database is removed, emptied, or replaced by a new one. */
static void lose(int how)
{
	char path[256];
	FILE *f;
	sqlite3 *db;

	gone("state.db"), gone("state.db-wal"), gone("state.db-shm");
	(void)snprintf(path, sizeof path, "%s/state.db", play.dir);
	if (how == 1) {
		f = fopen(path, "w");
		assert_non_null(f);
		assert_int_equal(fclose(f), 0);
	} else if (how == 2) {
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_close(db), SQLITE_OK);
	}
}

static void a_state_that_is_lost_is_not_begun_anew(void **state)
{
	struct cm_marker marker;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	sh_play_stop(&play);
	assert_int_equal(sh_sqlite_anew(play.dir, &spent, &play.err), CM_EOTHER);
	for (int how = 0; how < 3; how++) {
		lose(how);
		opens(CM_EDATA);
		assert_non_null(strstr(play.err.msg, "accept-loss"));
		opens(CM_EDATA);
	}
	/* Any file that is there proves that there was a state. */
	assert_int_equal(sh_sqlite_anew(play.dir, &spent, &play.err), CM_EOTHER);
	gone("state.db");
	assert_int_equal(sh_sqlite_anew(play.dir, &spent, &play.err), CM_OK);
	assert_int_equal(cm_marker_read(play.dir, &marker, &play.err), CM_OK);
	assert_true(marker.there && marker.losses == 1);
	opens(CM_OK);
	/* A first start is not a loss, and neither is one that a crash ended before it was noted. */
	gone("state.db"), gone("in-service");
	assert_int_equal(sh_sqlite_anew(play.dir, &spent, &play.err), CM_EOTHER);
	opens(CM_OK);
	gone("in-service");
	opens(CM_OK);
	lose(0);
	opens(CM_EDATA);
	assert_int_equal(sh_sqlite_anew(play.dir, &spent, &play.err), CM_OK);
	play.chain = (struct rd_chain){ 0 };
	sh_play_start(&play);
}

static void a_database_that_cannot_be_opened_is_named(void **state)
{
	char path[256];

	(void)state;
	sh_play_stop(&play);
	gone("state.db"), gone("in-service");
	(void)snprintf(path, sizeof path, "%s/state.db", play.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	opens(CM_EDATA);
	assert_ptr_equal(strstr(play.err.msg, path), play.err.msg);
	assert_int_equal(rmdir(path), 0);
	play.chain = (struct rd_chain){ 0 };
	sh_play_start(&play);
}

/* ---- At rest ---- */

/* The second of two stores on one folder must not come up. */
static void two_shufflers_cannot_share_a_folder(void **state)
{
	struct sh_store second;
	int status;

	(void)state;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(sh_sqlite_open(play.dir, &second, &play.err) == CM_OK ? 1 : 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(a_commit_that_cannot_be_written_fails_and_leaves_the_earlier_ones),
		STEPS_TEST(damaged_moved_doubled_or_missing_blocks_are_noticed_at_the_seal),
		STEPS_TEST(a_run_is_a_commit_of_so_many_devices_not_messages),
		STEPS_TEST(a_run_of_an_impossible_number_is_refused),
		STEPS_TEST(a_round_of_an_earlier_version_goes_on),
		STEPS_TEST(a_changed_row_of_the_state_refuses_to_start),
		STEPS_TEST(rows_that_a_page_does_not_count_refuse_to_start),
		STEPS_TEST(a_state_of_a_version_without_plans_is_refused_and_says_how_to_go_on),
		STEPS_TEST(a_damaged_pin_or_standing_refuses),
		STEPS_TEST(damaged_tags_refuse_to_start),
		STEPS_TEST(a_state_that_is_lost_is_not_begun_anew),
		STEPS_TEST(a_database_that_cannot_be_opened_is_named),
		STEPS_TEST(two_shufflers_cannot_share_a_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
