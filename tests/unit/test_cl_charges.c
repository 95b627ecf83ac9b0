/* test_cl_charges.c - charges in the client's database: whole losses, damage, and databases of version 1. */
#include "cl_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cm_err err;
static struct cl_world world;
static struct cl_offer offer;

static int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "grr", 1.0, &offer);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

static void charge(const struct pt_loss *loss, uint64_t sequence)
{
	static struct cl_charge c;

	c = (struct cl_charge){ .epsilon_round = 0.5, .epsilon_total = 1 };
	c.loss = *loss;
	offer.d.sequence = sequence;
	offer.d.round_id[0] = (uint8_t)sequence;
	assert_int_equal(cl_ledger_charge(world.db, &offer.d, &c, CL_WORLD_NOW, &err), CM_OK);
}

static enum cm_rc account(struct rd_account **out)
{
	return cl_ledger_account(world.db, 1e6, 1e-6, out, &err);
}

static double spent(void)
{
	struct rd_account *a = NULL;
	double e = -1;

	assert_int_equal(account(&a), CM_OK);
	assert_int_equal(rd_account_spent(a, &e, &err), CM_OK);
	rd_account_free(a);
	return e;
}

static double composed(const struct pt_loss *loss)
{
	struct acct_bound b;

	assert_int_equal(acct_epsilon(loss->part, loss->parts, 1e-6, &b), ACCT_OK);
	return b.upper;
}

static struct acct_round among(uint64_t others, uint64_t count)
{
	struct acct_round r = { .others = others, .count = count };

	assert_int_equal(acct_cells_generic(1.0, &r, NULL), ACCT_OK);
	return r;
}

static void near(double have, double want)
{
	assert_true(fabs(have - want) <= 1e-3 * want);
}

static void every_part_of_a_charge_is_kept(void **state)
{
	static struct pt_loss loss;
	double all;

	(void)state;
	loss.parts = 4;
	loss.part[0] = among(5000, 3);
	loss.part[1] = among(800, 1);
	loss.part[1].level[0] = (struct acct_level){ .share = 0.5, .count = 300 };
	loss.part[1].levels = 1;
	loss.part[2] = among(5000, 2);
	loss.part[2].defect = 1e-8;
	loss.part[3] = among(5000, 1);
	loss.part[3].sampling = 0.5;
	loss.part[3].dummies = 17;
	all = composed(&loss);
	charge(&loss, 1);
	near(spent(), all);
	cl_world_restart(&world);
	near(spent(), all);
	/* Each of them matters. */
	for (size_t i = 0; i < 4; i++) {
		struct pt_loss less = loss;

		less.part[i] = less.part[--less.parts];
		assert_true(composed(&less) < all * (1 - 5e-3));
	}
	charge(&loss, 2);
	for (size_t i = 0; i < loss.parts; i++)
		loss.part[i].count *= 2;
	near(spent(), composed(&loss));
}

/* As the daemon goes: the descriptor is judged, what it costs is charged, and judged beside it the next time.
 */
static void a_round_of_several_batches_is_judged_and_charged_whole(void **state)
{
	static struct cl_judgement j;
	static struct pt_loss loss;
	struct cl_offer first;
	double before;

	(void)state;
	cl_offer_make(&world, "digits", 2.0, &first);
	assert_int_equal(cl_world_judge(&world, &first, &j, &err), CM_OK);
	assert_int_equal(rd_loss(&j.d, &loss, &err), CM_OK);
	assert_true(loss.parts > 1);
	assert_true(j.charge.epsilon_round == composed(&loss) && j.charge.epsilon_total == composed(&loss));
	assert_int_equal(cl_ledger_charge(world.db, &j.d, &j.charge, CL_WORLD_NOW, &err), CM_OK);
	rd_descriptor_fini(&j.d);
	near(spent(), composed(&loss));
	before = j.charge.epsilon_total;
	cl_offer_free(&offer);
	cl_offer_make(&world, "digits", 2.0, &offer);
	cl_offer_follow(&offer, &first);
	cl_offer_sign(&world, &offer);
	assert_int_equal(cl_world_judge(&world, &offer, &j, &err), CM_OK);
	rd_descriptor_fini(&j.d);
	for (size_t i = 0; i < loss.parts; i++)
		loss.part[i].count *= 2;
	near(j.charge.epsilon_total, composed(&loss));
	/* What one of them costs is no budget for two. */
	world.policy.max_epsilon = before * 0.999;
	assert_int_equal(cl_world_judge(&world, &offer, &j, &err), CM_EBUDGET);
	rd_descriptor_fini(&j.d);
	cl_offer_free(&first);
}

/* Of the text, and of the row around it. */
static void damage_anywhere_is_not_counted_as_less(void **state)
{
	static const char *const change[] = { "loss = replace(loss, 'count=3', 'count=2')",
		"loss = replace(loss, ',count=3', '')", "loss = substr(loss, 1, length(loss) - 1)",
		"loss = NULL", "loss = ''", "loss = substr(loss, instr(loss, ';') + 1)", "loss = loss || ' '",
		"round_id = x'01'" };
	static struct pt_loss loss;
	struct rd_account *a = NULL;

	(void)state;
	loss.parts = 2;
	loss.part[0] = among(5000, 3);
	loss.part[1] = among(700, 1);
	charge(&loss, 1);
	assert_int_equal(cl_db_exec(world.db, "DROP TRIGGER no_update", &err), CM_OK);
	for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
		char sql[160];

		(void)snprintf(sql, sizeof sql, "BEGIN; UPDATE ledger SET %s", change[i]);
		assert_int_equal(cl_db_exec(world.db, sql, &err), CM_OK);
		assert_int_equal(account(&a), CM_EDATA);
		assert_string_equal(err.msg, "client.db: a charge of the ledger is damaged");
		assert_int_equal(cl_ledger_kept(world.db, 10, 1e-6, &a, &err), CM_EDATA);
		cl_db_rollback(world.db);
	}
	near(spent(), composed(&loss));
}

static void what_is_no_loss_is_not_written(void **state)
{
	static struct cl_charge c;
	int64_t n = -1;

	(void)state;
	assert_int_equal(cl_ledger_charge(world.db, &offer.d, &c, CL_WORLD_NOW, &err), CM_EINTERNAL);
	c.loss.parts = 2;
	c.loss.part[0] = among(10, 1);
	assert_int_equal(cl_ledger_charge(world.db, &offer.d, &c, CL_WORLD_NOW, &err), CM_EINTERNAL);
	assert_int_equal(cl_db_int(world.db, "SELECT count(*) FROM ledger", &n, &err), CM_OK);
	assert_int_equal(n, 0);
}

/* ---- version 1: a charge is `others`, `dummies` and `cells` ---- */

static const char version_1[] =
	"DROP TABLE ledger;"
	"CREATE TABLE ledger(entry INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK(kind IN"
	" ('seen', 'refused', 'charged', 'over')), time_ms INTEGER NOT NULL, sequence INTEGER NOT NULL,"
	" descriptor_hash BLOB NOT NULL, round_id BLOB NOT NULL, query TEXT NOT NULL,"
	" ledger_seq INTEGER NOT NULL, ledger_head BLOB NOT NULL, others INTEGER, dummies INTEGER,"
	" cells TEXT, epsilon_round REAL, epsilon_total REAL, note TEXT) STRICT;"
	"CREATE UNIQUE INDEX one_descriptor ON ledger(sequence) WHERE kind = 'seen';"
	"CREATE UNIQUE INDEX one_charge ON ledger(sequence) WHERE kind = 'charged';"
	"CREATE TRIGGER no_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'append-only'); END;"
	"CREATE TRIGGER no_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'append-only'); END;"
	"PRAGMA user_version = 1;"
	"INSERT INTO ledger VALUES(1, 'seen', 7, 1, x'0102', zeroblob(16), 'q', 3, x'04', NULL, NULL, NULL, "
	"NULL,"
	" NULL, 'plan');"
	"INSERT INTO ledger VALUES(5, 'over', 9, 1, x'0102', zeroblob(16), 'q', 3, x'04', NULL, NULL, NULL, "
	"NULL,"
	" NULL, '{}');"
	"INSERT INTO ledger VALUES(6, 'refused', 9, 2, x'0103', zeroblob(16), 'q', 3, x'04', NULL, NULL, "
	"NULL,"
	" NULL, NULL, 'no');";

static void make_version_1(const struct acct_round *r, size_t n)
{
	assert_int_equal(cl_db_exec(world.db, version_1, &err), CM_OK);
	for (size_t i = 0; i < n; i++) {
		char cells[ACCT_MAX_CELLS * 80], *at = cells, sql[sizeof cells + 400];

		for (size_t j = 0; j < r[i].cells; j++)
			at += sprintf(at, "%s%.17g:%.17g:%.17g", j > 0 ? " " : "", r[i].cell[j].omega,
				r[i].cell[j].u, r[i].cell[j].v);
		(void)snprintf(sql, sizeof sql,
			"INSERT INTO ledger VALUES(%zu, 'charged', 8, %zu, x'01', cast(printf('%%016d', %zu) "
			"AS BLOB),"
			" 'q', 3, x'04', %llu, %llu, '%s', 0.25, 0.75, NULL)",
			10 + i, 1 + i, i, (unsigned long long)r[i].others, (unsigned long long)r[i].dummies,
			cells);
		assert_int_equal(cl_db_exec(world.db, sql, &err), CM_OK);
	}
	cl_db_close(world.db);
	world.db = NULL;
}

static int64_t ask(const char *sql)
{
	int64_t n = -1;

	assert_int_equal(cl_db_int(world.db, sql, &n, &err), CM_OK);
	return n;
}

static void an_old_ledger_counts_the_same(void **state)
{
	static struct acct_round r[12];
	static struct pt_loss loss;
	struct rd_account *a = NULL;
	double e = 0, want = 0;

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		r[i] = among(1000 + 77 * i, 1);
		assert_int_equal(acct_cells_generic(0.5 + 0.1 * (double)i, &r[i], NULL), ACCT_OK);
		r[i].dummies = i % 2 ? 50 : 0;
	}
	make_version_1(r, 12);
	assert_int_equal(cl_db_open(world.dir, "test", &world.db, &err), CM_OK);
	assert_int_equal(ask("PRAGMA user_version"), 2);
	assert_int_equal(ask("SELECT count(*) FROM ledger"), 15);
	assert_int_equal(
		ask("SELECT count(*) FROM ledger WHERE kind = 'seen' AND entry = 1 AND time_ms = 7 AND "
		    "sequence = 1 AND descriptor_hash = x'0102' AND query = 'q' AND ledger_seq = 3 AND "
		    "ledger_head = x'04' AND loss IS NULL AND note = 'plan'"),
		1);
	assert_int_equal(
		ask("SELECT count(*) FROM ledger WHERE kind = 'charged' AND epsilon_round = 0.25 AND "
		    "epsilon_total = 0.75 AND entry = 9 + sequence AND loss LIKE 'cells:%'"),
		12);
	/* The rounds as they were, one by one. */
	assert_int_equal(account(&a), CM_OK);
	assert_int_equal(rd_account_rounds(a), 12);
	struct rd_account *b = rd_account_new(1e6, 1e-6);

	for (size_t i = 0; i < 12; i++) {
		uint8_t id[PR_ROUND_ID_LEN + 1];

		(void)snprintf((char *)id, sizeof id, "%016zu", i);
		loss.parts = 1;
		loss.part[0] = r[i];
		assert_int_equal(rd_account_add(b, id, &loss, &err), CM_OK);
	}
	assert_int_equal(rd_account_spent(a, &e, &err), CM_OK);
	assert_int_equal(rd_account_spent(b, &want, &err), CM_OK);
	assert_true(e == want);
	rd_account_free(a);
	rd_account_free(b);
	/* It goes on as any other. */
	assert_int_equal(cl_db_exec(world.db, "DELETE FROM ledger", &err), CM_EIO);
	assert_int_equal(cl_db_exec(world.db, "UPDATE ledger SET loss = NULL", &err), CM_EIO);
	loss.part[0] = among(100, 1);
	charge(&loss, 13);
	cl_world_restart(&world);
	assert_int_equal(account(&a), CM_OK);
	assert_int_equal(rd_account_rounds(a), 13);
	rd_account_free(a);
}

static void a_damaged_old_ledger_stays_as_it_is(void **state)
{
	static const char *const change[] = { "cells = '0.5:1'", "cells = NULL", "cells = ''",
		"cells = replace(cells, ':', ';')", "others = -1", "dummies = -1" };
	char path[96];

	(void)state;
	(void)snprintf(path, sizeof path, "%s/client.db", world.dir);
	for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
		struct acct_round r = among(50, 1);
		sqlite3 *sql = NULL;
		char command[200];

		if (i > 0) {
			assert_int_equal(unlink(path), 0);
			assert_int_equal(cl_db_open(world.dir, "test", &world.db, &err), CM_OK);
		}
		make_version_1(&r, 1);
		assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
		(void)snprintf(command, sizeof command,
			"DROP TRIGGER no_update; UPDATE ledger SET %s WHERE kind = 'charged'", change[i]);
		assert_int_equal(sqlite3_exec(sql, command, NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_close(sql), SQLITE_OK);
		assert_int_equal(cl_db_open(world.dir, "test", &world.db, &err), CM_EDATA);
		assert_non_null(strstr(err.msg, "client.db: a charge of the ledger is damaged"));
		assert_null(world.db);
		assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
		assert_int_equal(
			sqlite3_exec(sql, "SELECT others, dummies, cells FROM ledger", NULL, NULL, NULL),
			SQLITE_OK);
		assert_int_equal(sqlite3_close(sql), SQLITE_OK);
	}
}

static void only_the_owner_brings_it_up_to_date(void **state)
{
	struct acct_round r = among(50, 1);
	struct cl_db *other = NULL;

	(void)state;
	make_version_1(&r, 1);
	assert_int_equal(cl_db_open_readonly(world.dir, &other, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "of an earlier version"));
	assert_int_equal(cl_db_open(world.dir, "elsewhere", &other, &err), CM_ECONFIG);
	assert_int_equal(cl_db_open_readonly(world.dir, &other, &err), CM_EDATA);
	assert_int_equal(cl_db_open(world.dir, "test", &world.db, &err), CM_OK);
	assert_int_equal(cl_db_open_readonly(world.dir, &other, &err), CM_OK);
	cl_db_close(other);
	assert_int_equal(cl_db_exec(world.db, "PRAGMA user_version = 3", &err), CM_OK);
	assert_int_equal(cl_db_open(world.dir, "test", &other, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "no client database of this version"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(every_part_of_a_charge_is_kept),
		TEST(a_round_of_several_batches_is_judged_and_charged_whole),
		TEST(damage_anywhere_is_not_counted_as_less),
		TEST(what_is_no_loss_is_not_written),
		TEST(an_old_ledger_counts_the_same),
		TEST(a_damaged_old_ledger_stays_as_it_is),
		TEST(only_the_owner_brings_it_up_to_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
