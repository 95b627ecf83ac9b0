/* test_cl_charges.c - charges in the client's database: whole losses, damage, and databases of earlier
 * versions. */
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

/* The plan of `offer`, its charges composed exactly. */
static struct rd_plan plan_of_offer(void)
{
	struct rd_plan p = { .epsilon = 1e6, .delta = 1e-6, .mode = "plan" };

	memcpy(p.hash, offer.d.plan_hash, sizeof p.hash);
	return p;
}

static enum cm_rc account(struct rd_account **out)
{
	const struct rd_plan p = plan_of_offer();

	return cl_ledger_account(world.db, &p, out, &err);
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

/* Do as the daemon does: judge the descriptor, charge what it costs, and let the plan's filter judge the next
 * beside it. */
static void a_round_of_several_batches_is_judged_and_charged_whole(void **state)
{
	static struct cl_judgement j;
	static struct pt_loss loss;
	struct rd_plan p = { .epsilon = 100, .mode = "adaptive.renyi" };
	struct rd_account *a = NULL;
	double share;

	(void)state;
	cl_offer_free(&offer);
	cl_offer_make(&world, "digits", 2.0, &offer);
	assert_int_equal(cl_world_judge(&world, &offer, &j, &err), CM_OK);
	assert_int_equal(rd_loss(&j.d, &loss, &err), CM_OK);
	assert_true(loss.parts > 1);
	assert_true(j.charge.epsilon_round == composed(&loss));
	assert_int_equal(cl_ledger_charge(world.db, &j.d, &j.charge, CL_WORLD_NOW, &err), CM_OK);
	rd_descriptor_fini(&j.d);
	near(spent(), composed(&loss));
	/* The same under a filter. */
	(void)tear_down(state);
	(void)set_up(state);
	cl_offer_free(&offer);
	cl_offer_make(&world, "digits", 2.0, &offer);
	cl_offer_plan(&world, &p, &offer);
	cl_offer_sign(&world, &offer);
	assert_int_equal(cl_world_judge(&world, &offer, &j, &err), CM_OK);
	share = j.verdict.share;
	assert_int_equal(cl_ledger_charge(world.db, &j.d, &j.charge, CL_WORLD_NOW, &err), CM_OK);
	rd_descriptor_fini(&j.d);
	memcpy(p.hash, offer.d.plan_hash, sizeof p.hash);
	p.delta = 1e-6;
	assert_int_equal(cl_ledger_account(world.db, &p, &a, &err), CM_OK);
	assert_int_equal(rd_account_share(a, &j.verdict.share, &err), CM_OK);
	near(j.verdict.share, share);
	rd_account_free(a);
}

/* Damage of the text, and of the row around it. */
static void damage_anywhere_is_not_counted_as_less(void **state)
{
	static const char *const change[] = { "loss = replace(loss, 'count=3', 'count=2')",
		"loss = replace(loss, ',count=3', '')", "loss = substr(loss, 1, length(loss) - 1)",
		"loss = NULL", "loss = ''", "loss = substr(loss, instr(loss, ';') + 1)", "loss = loss || ' '",
		"round_id = x'01'" };
	static struct pt_loss loss;
	const struct rd_plan plan = plan_of_offer();
	struct rd_account *a = NULL;

	(void)state;
	loss.parts = 2;
	loss.part[0] = among(5000, 3);
	loss.part[1] = among(700, 1);
	charge(&loss, 1);
	assert_int_equal(db_run(world.db->sql, "DROP TRIGGER ledger_update", &err), CM_OK);
	for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
		char sql[160];

		(void)snprintf(sql, sizeof sql, "BEGIN; UPDATE ledger SET %s", change[i]);
		assert_int_equal(db_run(world.db->sql, sql, &err), CM_OK);
		assert_int_equal(account(&a), CM_EDATA);
		assert_string_equal(err.msg, "client.db: a charge of the ledger is damaged");
		assert_int_equal(cl_ledger_kept(world.db, &plan, &a, &err), CM_EDATA);
		db_rollback(world.db->sql);
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
	assert_int_equal(db_int(world.db->sql, "SELECT count(*) FROM ledger", &n, &err), CM_OK);
	assert_int_equal(n, 0);
}

/* ---- earlier versions ---- */

/* These versions knew no plans: no slice can be counted for what they charged, and nothing is forgotten. */
static void a_database_of_an_earlier_version_is_refused_with_a_way_to_go_on(void **state)
{
	char path[96];
	sqlite3 *sql = NULL;
	static const char *const version[] = { "PRAGMA user_version = 1", "PRAGMA user_version = 2",
		"PRAGMA user_version = 5", "PRAGMA application_id = 7" };
	struct cl_db *other = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof version / sizeof *version; i++) {
		size_t before = 0, after = 0;
		uint8_t *then, *now;

		assert_int_equal(db_run(world.db->sql, version[i], &err), CM_OK);
		cl_db_close(world.db);
		then = cl_world_file(&world, "client.db", &before);
		for (int readonly = 0; readonly < 2; readonly++) {
			assert_int_equal(readonly ? cl_db_open_readonly(world.dir, &other, &err)
						  : cl_db_open(world.dir, "test", &other, &err),
				CM_EDATA);
			assert_non_null(strstr(err.msg,
				i < 2 ? "give the population a new name and each party a new state_dir"
				      : "no client database of this version"));
		}
		now = cl_world_file(&world, "client.db", &after);
		assert_int_equal(before, after);
		assert_memory_equal(then, now, before);
		free(then);
		free(now);
		assert_int_equal(
			sqlite3_open(strcat(strcpy(path, world.dir), "/client.db"), &sql), SQLITE_OK);
		assert_int_equal(sqlite3_exec(sql, "PRAGMA user_version = 4", NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_close(sql), SQLITE_OK);
		if (i < 3)
			assert_int_equal(cl_db_open(world.dir, "test", &world.db, &err), CM_OK);
		else
			world.db = NULL;
	}
}

static void a_charge_knows_the_key_of_its_certificate(void **state)
{
	const uint8_t key[PR_HASH_LEN] = { 1, 2 }, fresh[PR_HASH_LEN] = { 1, 3 };
	static struct cl_charge c;
	bool other = true;

	(void)state;
	c = (struct cl_charge){ .epsilon_round = 0.5, .epsilon_total = 1 };
	assert_int_equal(rd_loss(&offer.d, &c.loss, &err), CM_OK);
	charge(&c.loss, 5);
	assert_int_equal(cl_ledger_other_key(world.db, 5, key, &other, &err), CM_OK);
	assert_false(other);
	c.key_hash = key;
	offer.d.sequence = 6;
	offer.d.round_id[0] = 6;
	assert_int_equal(cl_ledger_charge(world.db, &offer.d, &c, CL_WORLD_NOW, &err), CM_OK);
	assert_int_equal(cl_ledger_other_key(world.db, 6, key, &other, &err), CM_OK);
	assert_false(other);
	assert_int_equal(cl_ledger_other_key(world.db, 6, fresh, &other, &err), CM_OK);
	assert_true(other);
	assert_int_equal(cl_ledger_other_key(world.db, 7, fresh, &other, &err), CM_OK);
	assert_false(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_charge_knows_the_key_of_its_certificate),
		TEST(every_part_of_a_charge_is_kept),
		TEST(a_round_of_several_batches_is_judged_and_charged_whole),
		TEST(damage_anywhere_is_not_counted_as_less),
		TEST(what_is_no_loss_is_not_written),
		TEST(a_database_of_an_earlier_version_is_refused_with_a_way_to_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
