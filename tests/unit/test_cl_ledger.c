/* test_cl_ledger.c - what the client saw, refused and was charged for; each refusal of a descriptor with the
 * check in place and with it removed. */
#include "cl_followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void a_good_descriptor_is_taken_and_charged_by_the_clients_own_account(void **state)
{
	struct acct_round cells;
	struct acct_bound alone;

	(void)state;
	assert_int_equal(judge(&first), CM_OK);
	/* The same cells computed in another way: by the protocol itself, at the whole minimum batch. */
	assert_int_equal(
		pt_protocol_of(first.d.randomizer.row)->cells(&first.d.randomizer, 1000, &cells, &err),
		CM_OK);
	assert_int_equal(acct_epsilon(&cells, 1, 1e-6, &alone), ACCT_OK);
	assert_true(judged.charge.epsilon_round >= alone.lower);
	assert_true(judged.charge.epsilon_round <= alone.upper * (1 + 1e-9));
	/* The slice of its plan is spent, too. */
	assert_true(judged.charge.epsilon_total == 100);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 0);
}

static void another_keys_signature_is_refused_unless_the_check_is_removed(void **state)
{
	(void)state;
	assert_int_equal(cr_sign(world.shuffler.signer, RD_PURPOSE_DESCRIPTOR, first.bytes.data,
				 first.bytes.len, first.signature, &err),
		CM_OK);
	assert_int_equal(judge(&first), CM_EPERM);
	assert_int_equal(count("SELECT count(*) FROM ledger"), 0);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.signature");
	assert_int_equal(judge(&first), CM_OK);
#endif
}

static void a_descriptor_with_any_flipped_byte_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < first.bytes.len; i++) {
		first.bytes.data[i] ^= 0x20;
		assert_int_equal(judge(&first), CM_EPERM);
		first.bytes.data[i] ^= 0x20;
	}
	assert_int_equal(judge(&first), CM_OK);
}

static void a_swapped_round_key_is_refused(void **state)
{
	uint8_t *at = memmem(first.bytes.data, first.bytes.len, world.hpke_public, sizeof world.hpke_public);
	struct cr_key mine;

	(void)state;
	assert_non_null(at);
	assert_int_equal(cr_hpke_keygen(&world.rng, &mine, at, &err), CM_OK);
	assert_int_equal(judge(&first), CM_EPERM);
}

static void two_descriptors_for_one_sequence_number_are_refused_unless_the_check_is_removed(void **state)
{
	(void)state;
	assert_int_equal(judge(&first), CM_OK);
	assert_int_equal(judge(&first), CM_OK);
	first.d.deadline_ms++;
	cl_offer_sign(&world, &first);
	assert_int_equal(judge(&first), CM_EPERM);
	/* Both are kept, but no third one: two convict the analyzer. */
	assert_int_equal(count("SELECT count(*) FROM descriptor WHERE sequence = 1"), 2);
	assert_string_equal(
		err.msg, "two descriptors for sequence number 1: this one is not the one seen before");
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused'"), 1);
	cl_world_restart(&world);
	assert_int_equal(judge(&first), CM_EPERM);
	first.d.deadline_ms++;
	cl_offer_sign(&world, &first);
	assert_int_equal(judge(&first), CM_EPERM);
	assert_int_equal(count("SELECT count(*) FROM descriptor WHERE sequence = 1"), 2);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.sequence");
	assert_int_equal(judge(&first), CM_OK);
#endif
}

static void a_sequence_that_goes_back_is_refused(void **state)
{
	(void)state;
	assert_int_equal(judge(&second), CM_OK);
	assert_int_equal(judge(&first), CM_EPERM);
	assert_string_equal(err.msg, "sequence went back: round 1 is offered after round 2");
}

static void a_ledger_that_went_back_is_refused(void **state)
{
	(void)state;
	assert_int_equal(judge(&first), CM_OK);
	second.d.ledger_seq = first.d.ledger_seq;
	cl_offer_sign(&world, &second);
	assert_int_equal(judge(&second), CM_EPERM);
	assert_string_equal(err.msg, "the analyzer's ledger went back: 1 records at round 2, 1 at round 1");
	second.d.ledger_seq = first.d.ledger_seq + 1;
	cl_offer_sign(&world, &second);
	assert_int_equal(judge(&second), CM_OK);
}

static void a_descriptor_that_does_not_link_to_the_one_before_is_refused(void **state)
{
	(void)state;
	assert_int_equal(judge(&first), CM_OK);
	second.d.previous[0] ^= 1;
	cl_offer_sign(&world, &second);
	assert_int_equal(judge(&second), CM_EPERM);
	assert_string_equal(err.msg, "round 2 does not follow the descriptor seen for round 1");
}

static void a_round_missed_in_between_needs_no_link(void **state)
{
	(void)state;
	assert_int_equal(judge(&first), CM_OK);
	second.d.sequence = 3;
	second.d.previous[0] ^= 1;
	cl_offer_sign(&world, &second);
	assert_int_equal(judge(&second), CM_OK);
}

static void a_passed_deadline_is_too_late(void **state)
{
	(void)state;
	first.d.deadline_ms = CL_WORLD_NOW;
	cl_offer_sign(&world, &first);
	assert_int_equal(judge(&first), CM_ELATER);
	assert_true(judged.clock);
	assert_string_equal(err.msg, "round 1: the deadline has passed by 0 s (check the clocks)");
}

static void a_round_that_opens_much_later_by_our_clock_waits_and_is_not_charged(void **state)
{
	bool charged = true;

	(void)state;
	first.d.opens_ms = CL_WORLD_NOW + RD_CLOCK_SLACK_MS + 1;
	first.d.deadline_ms = first.d.opens_ms + 1000;
	cl_offer_sign(&world, &first);
	assert_int_equal(judge(&first), CM_ELATER);
	assert_true(judged.clock);
	assert_string_equal(err.msg, "round 1: it opens only in 60 s (check the clocks)");
	assert_int_equal(cl_ledger_charged(world.db, 1, &charged, &err), CM_OK);
	assert_false(charged);
}

/* The filter of an adaptive plan is used up round by round; its slice was spent with the first. */
static void a_round_over_the_filters_budget_is_refused_unless_the_check_is_removed(void **state)
{
	struct rd_plan p = { .epsilon = 0.14, .mode = "adaptive.gdp" };

	(void)state;
	cl_offer_plan(&world, &p, &first);
	cl_offer_sign(&world, &first);
	take_part(&first);
	assert_true(judged.charge.epsilon_total == 0.14);
	assert_true(judged.verdict.share_total > 0.5);
	cl_offer_follow(&second, &first);
	memcpy(second.d.mode, first.d.mode, sizeof second.d.mode);
	second.d.attempt = 0;
	cl_offer_sign(&world, &second);
	assert_int_equal(judge(&second), CM_EBUDGET);
	assert_non_null(strstr(err.msg, "% of the filter's budget"));
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused' AND sequence = 2"), 1);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 1);
	/* A restart does not forget what was spent. */
	cl_world_restart(&world);
	assert_int_equal(judge(&second), CM_EBUDGET);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.budget");
	assert_int_equal(judge(&second), CM_OK);
#endif
}

/* A shuffler may offer the same descriptor as often as it likes. */
static void a_refusal_is_recorded_once(void **state)
{
	(void)state;
	world.policy.shared.min_batch = INT64_MAX;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(judge(&first), CM_EPERM);
	assert_int_equal(judge(&second), CM_EPERM);
	cl_world_restart(&world);
	assert_int_equal(judge(&first),
		CM_EPERM); /* the sequence number decreased: another reason for the same round */
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused'"), 2);
}

/* The same as the composition of the plan's rounds, without its filter. */
static struct rd_plan plan_of(const struct cl_offer *o)
{
	struct rd_plan p = { .epsilon = 100, .delta = 1e-6, .mode = "plan" };

	memcpy(p.hash, o->d.plan_hash, sizeof p.hash);
	return p;
}

static void a_charge_read_back_is_the_charge_written(void **state)
{
	const struct rd_plan plan = plan_of(&first), other = { .epsilon = 1, .delta = 1e-6, .mode = "plan" };
	struct rd_account *a = NULL;
	struct acct_round cells;
	struct acct_bound alone;
	double spent = 0;

	(void)state;
	take_part(&first);
	assert_int_equal(cl_ledger_account(world.db, &plan, &a, &err), CM_OK);
	assert_int_equal(rd_account_rounds(a), 1);
	assert_int_equal(rd_account_spent(a, &spent, &err), CM_OK);
	assert_int_equal(
		pt_protocol_of(first.d.randomizer.row)->cells(&first.d.randomizer, 1000, &cells, &err),
		CM_OK);
	assert_int_equal(acct_epsilon(&cells, 1, 1e-6, &alone), ACCT_OK);
	assert_true(spent == alone.upper);
	rd_account_free(a);
	/* Another plan has no charge. */
	assert_int_equal(cl_ledger_account(world.db, &other, &a, &err), CM_OK);
	assert_int_equal(rd_account_rounds(a), 0);
	rd_account_free(a);
}

/* The cached account equals a new one, whatever happened in between. */
static void the_kept_account_follows_the_ledger(void **state)
{
	const struct rd_plan plan = plan_of(&first), other = { .epsilon = 1, .delta = 1e-6, .mode = "plan" };
	struct rd_account *kept = NULL, *anew = NULL;
	double a = 0, b = 0;

	(void)state;
	for (int step = 0; step < 5; step++) {
		if (step == 1)
			take_part(&first);
		if (step == 2)
			take_part(&second);
		if (step == 3) { /* another plan's in between */
			assert_int_equal(cl_ledger_kept(world.db, &other, &kept, &err), CM_OK);
			assert_int_equal(rd_account_rounds(kept), 0);
		}
		if (step == 4) { /* a transaction that is rolled back */
			assert_int_equal(db_run(world.db->sql, "BEGIN", &err), CM_OK);
			assert_int_equal(
				db_run(world.db->sql,
					"INSERT INTO ledger SELECT 1000, 'charged', 1, 99, descriptor_hash, "
					"zeroblob(16), query, 9, ledger_head, plan_hash, 3, 1, loss, 1, 1, "
					"NULL, seal FROM ledger WHERE kind = 'charged' LIMIT 1",
					&err),
				CM_OK);
			assert_int_equal(cl_ledger_kept(world.db, &plan, &kept, &err), CM_OK);
			assert_int_equal(rd_account_rounds(kept), 3);
			db_rollback(world.db->sql);
		}
		assert_int_equal(cl_ledger_kept(world.db, &plan, &kept, &err), CM_OK);
		assert_int_equal(cl_ledger_account(world.db, &plan, &anew, &err), CM_OK);
		assert_int_equal(rd_account_rounds(kept), step < 2 ? step : 2);
		assert_int_equal(rd_account_rounds(kept), rd_account_rounds(anew));
		assert_int_equal(rd_account_spent(kept, &a, &err), CM_OK);
		assert_int_equal(rd_account_spent(anew, &b, &err), CM_OK);
		assert_true(a <= 1.001 * b && b <= 1.001 * a);
		rd_account_free(anew);
	}
}

static void a_round_is_never_taken_part_in_twice(void **state)
{
	(void)state;
	take_part(&first);
	assert_int_equal(judge(&first), CM_EPERM);
	assert_string_equal(err.msg, "round 1 is over for this client");
}

static void the_window_counts_charged_rounds(void **state)
{
	uint64_t n = 9;

	(void)state;
	world.policy.max_rounds = 1;
	take_part(&first);
	assert_int_equal(judge(&second), CM_EPERM);
	assert_string_equal(err.msg, "policy: 1 rounds within the last 86400 s, max_rounds is 1");
	assert_int_equal(cl_ledger_recent(world.db, CL_WORLD_NOW + 1, &n, &err), CM_OK);
	assert_int_equal(n, 0);
}

static void what_is_kept_cannot_be_changed_or_shortened(void **state)
{
	static const char *const table[] = { "ledger", "descriptor", "plan", "pin", "manifest", "loss" };

	(void)state;
	take_part(&first);
	assert_int_equal(db_run(world.db->sql,
				 "INSERT INTO manifest VALUES(x'01', x'02', x'03', x'04', 5);"
				 "INSERT INTO loss VALUES(1, 2, 3, x'04', NULL)",
				 &err),
		CM_OK);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		char sql[96];

		(void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table[i]);
		assert_true(count(sql) > 0);
		(void)snprintf(sql, sizeof sql, "DELETE FROM %s", table[i]);
		assert_int_equal(db_run(world.db->sql, sql, &err), CM_EIO);
		(void)snprintf(sql, sizeof sql, "UPDATE %s SET rowid = rowid + 1000", table[i]);
		assert_int_equal(db_run(world.db->sql, sql, &err), CM_EIO);
	}
}

/* A wrong bit of the file, or tables that are not ours, are reported as a fault of the file. */
static void a_fault_of_the_file_is_said_to_be_one(void **state)
{
	struct cl_db *again = NULL;
	char path[96];
	FILE *f;

	(void)state;
	assert_int_equal(db_run(world.db->sql, "SELECT x FROM nowhere", &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "client.db: no such table"));
	cl_db_close(world.db);
	world.db = NULL;
	(void)snprintf(path, sizeof path, "%s/client.db", world.dir);
	f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(fseek(f, 18, SEEK_SET),
		0); /* the version of the file format that says whether it may be written */
	assert_int_equal(fputc(3, f), 3);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(cl_db_open(world.dir, "test", &again, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "cannot be written"));
	assert_null(again);
}

static void a_database_of_another_population_or_kind_is_refused(void **state)
{
	struct cl_db *other = NULL;
	char path[96];
	FILE *f;

	(void)state;
	assert_int_equal(cl_db_open(world.dir, "elsewhere", &other, &err), CM_ECONFIG);
	assert_null(other);
	(void)snprintf(path, sizeof path, "%s/x", world.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof path, "%s/x/client.db", world.dir);
	f = fopen(path, "w");
	assert_non_null(f);
	for (int i = 0; i < 200; i++)
		(void)fputs("this is no database\n", f);
	assert_int_equal(fclose(f), 0);
	(void)snprintf(path, sizeof path, "%s/x", world.dir);
	assert_int_equal(cl_db_open(path, "test", &other, &err), CM_EDATA);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_good_descriptor_is_taken_and_charged_by_the_clients_own_account),
		TEST(another_keys_signature_is_refused_unless_the_check_is_removed),
		TEST(a_descriptor_with_any_flipped_byte_is_refused),
		TEST(a_swapped_round_key_is_refused),
		TEST(two_descriptors_for_one_sequence_number_are_refused_unless_the_check_is_removed),
		TEST(a_sequence_that_goes_back_is_refused),
		TEST(a_ledger_that_went_back_is_refused),
		TEST(a_descriptor_that_does_not_link_to_the_one_before_is_refused),
		TEST(a_round_missed_in_between_needs_no_link),
		TEST(a_passed_deadline_is_too_late),
		TEST(a_round_that_opens_much_later_by_our_clock_waits_and_is_not_charged),
		TEST(a_round_over_the_filters_budget_is_refused_unless_the_check_is_removed),
		TEST(a_refusal_is_recorded_once),
		TEST(a_charge_read_back_is_the_charge_written),
		TEST(the_kept_account_follows_the_ledger),
		TEST(a_round_is_never_taken_part_in_twice),
		TEST(the_window_counts_charged_rounds),
		TEST(what_is_kept_cannot_be_changed_or_shortened),
		TEST(a_fault_of_the_file_is_said_to_be_one),
		TEST(a_database_of_another_population_or_kind_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
