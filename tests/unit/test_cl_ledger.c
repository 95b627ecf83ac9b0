/* test_cl_ledger.c - what the client saw, refused and was charged for; each refusal of a descriptor with the
 * check in place and with it removed. */
#include "cl_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cl_encode.h"

static struct cm_err err;
static struct cl_world world;
static struct cl_offer first, second;
static struct cl_judgement judged;

static int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "grr", 1.0, &first);
	cl_offer_make(&world, "grr", 1.0, &second);
	cl_offer_follow(&second, &first);
	cl_offer_sign(&world, &second);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_world_mutant("");
	cl_offer_free(&first);
	cl_offer_free(&second);
	cl_world_free(&world);
	return 0;
}

static enum cm_rc judge(const struct cl_offer *o)
{
	enum cm_rc rc;

	err.msg[0] = '\0';
	rc = cl_world_judge(&world, o, &judged, &err);
	if (judged.verified)
		rd_descriptor_fini(&judged.d);
	return rc;
}

static int64_t count(const char *sql)
{
	int64_t n = -1;

	assert_int_equal(cl_db_int(world.db, sql, &n, &err), CM_OK);
	return n;
}

/* Take part with one device, as the daemon does. */
static void take_part(const struct cl_offer *o)
{
	struct cl_entry e = { .pseudonym = { 1 } };
	struct cl_opening opening = {
		.descriptor = o->bytes.data, .descriptor_len = o->bytes.len, .signature = o->signature
	};
	uint8_t sealed[4096];

	assert_int_equal(cl_world_judge(&world, o, &judged, &err), CM_OK);
	opening.d = &judged.d;
	opening.charge = judged.charge;
	assert_true(cl_device_len(&judged.d) <= sizeof sealed);
	assert_int_equal(cl_encode(&judged.d, &e, 1, &world.rng, sealed, &err), CM_OK);
	assert_int_equal(
		cl_store_put(world.db, &opening, &e, 1, sealed, cl_device_len(&judged.d), CL_WORLD_NOW, &err),
		CM_OK);
	assert_int_equal(cl_store_erase(world.db, &judged.d, CL_WORLD_NOW, &err), CM_OK);
	rd_descriptor_fini(&judged.d);
}

static void a_good_descriptor_is_taken_and_charged_by_the_clients_own_account(void **state)
{
	struct acct_round cells;
	struct acct_bound alone;

	(void)state;
	assert_int_equal(judge(&first), CM_OK);
	/* The same cells by another way: the protocol's own, at the whole minimum batch. */
	assert_int_equal(first.d.protocol->cells(&first.d.params, 1000, &cells, &err), CM_OK);
	assert_int_equal(acct_epsilon(&cells, 1, 1e-6, &alone), ACCT_OK);
	assert_true(judged.charge.epsilon_round >= alone.lower);
	assert_true(judged.charge.epsilon_round <= alone.upper * (1 + 1e-9));
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 0);
}

static void another_keys_signature_is_refused_unless_the_check_is_removed(void **state)
{
	(void)state;
	assert_int_equal(cm_sign(world.shuffler.signer, RD_PURPOSE_DESCRIPTOR, first.bytes.data,
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
	struct cm_key mine;

	(void)state;
	assert_non_null(at);
	assert_int_equal(cm_hpke_keygen(&world.rng, &mine, at, &err), CM_OK);
	assert_int_equal(judge(&first), CM_EPERM);
}

static void two_descriptors_for_one_sequence_number_are_refused_unless_the_check_is_removed(void **state)
{
	(void)state;
	assert_int_equal(judge(&first), CM_OK);
	assert_int_equal(judge(&first), CM_OK);
	first.d.min_batch = 900;
	cl_offer_sign(&world, &first);
	assert_int_equal(judge(&first), CM_EPERM);
	assert_string_equal(
		err.msg, "two descriptors for sequence number 1: this one is not the one seen before");
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused'"), 1);
	cl_world_restart(&world);
	assert_int_equal(judge(&first), CM_EPERM);
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
	assert_true(judged.late);
}

static void a_round_over_the_budget_is_refused_unless_the_check_is_removed(void **state)
{
	double one;

	(void)state;
	take_part(&first);
	one = judged.charge.epsilon_round;
	world.policy.max_epsilon = one * 1.01;
	assert_int_equal(judge(&second), CM_EBUDGET);
	assert_true(judged.verdict.total > one);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused' AND sequence = 2"), 1);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 1);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.budget");
	assert_int_equal(judge(&second), CM_OK);
	cl_world_mutant("");
#endif
	/* A restart does not forget what was spent. */
	cl_world_restart(&world);
	assert_int_equal(judge(&second), CM_EBUDGET);
	world.policy.max_epsilon = 100;
	assert_int_equal(judge(&second), CM_OK);
}

/* A shuffler may offer the same descriptor as often as it likes. */
static void a_refusal_is_recorded_once(void **state)
{
	(void)state;
	world.policy.min_batch = INT64_MAX;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(judge(&first), CM_EPERM);
	assert_int_equal(judge(&second), CM_EPERM);
	cl_world_restart(&world);
	assert_int_equal(
		judge(&first), CM_EPERM); /* the sequence went back: another reason, the same round */
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused'"), 2);
}

static void a_charge_read_back_is_the_charge_written(void **state)
{
	struct rd_account *a = NULL;
	struct acct_round cells;
	struct acct_bound alone;
	double spent = 0;

	(void)state;
	take_part(&first);
	assert_int_equal(cl_ledger_account(world.db, 100, 1e-6, &a, &err), CM_OK);
	assert_int_equal(rd_account_rounds(a), 1);
	assert_int_equal(rd_account_spent(a, &spent, &err), CM_OK);
	assert_int_equal(first.d.protocol->cells(&first.d.params, 1000, &cells, &err), CM_OK);
	assert_int_equal(acct_epsilon(&cells, 1, 1e-6, &alone), ACCT_OK);
	assert_true(spent == alone.upper);
	rd_account_free(a);
}

static void the_mode_of_the_first_round_is_for_good(void **state)
{
	static const char *const modes[] = { "plan", "adaptive.gdp", "adaptive.renyi" };

	for (size_t a = 0; a < 3; a++)
		for (size_t b = 0; b < 3; b++) {
			char mode[RD_MODE_LEN];
			struct rd_account *account = NULL;

			strcpy(first.d.mode, modes[a]);
			cl_offer_sign(&world, &first);
			strcpy(second.d.mode, modes[b]);
			cl_offer_follow(&second, &first);
			cl_offer_sign(&world, &second);
			take_part(&first);
			assert_int_equal(judged.verdict.adaptive, a > 0);
			cl_world_restart(&world);
			assert_int_equal(judge(&second), a == b ? CM_OK : CM_EPERM);
			if (a != b)
				assert_non_null(strstr(err.msg, "the ledger's mode is"));
			assert_int_equal(cl_ledger_mode(world.db, mode, &err), CM_OK);
			assert_string_equal(mode, modes[a]);
			assert_int_equal(cl_ledger_account(world.db, 100, 1e-6, &account, &err), CM_OK);
			assert_string_equal(rd_account_mode(account), modes[a]);
			rd_account_free(account);
			(void)tear_down(state);
			(void)set_up(state);
		}
}

static void an_adaptive_budget_refuses_what_its_filter_does(void **state)
{
	(void)state;
	strcpy(first.d.mode, "adaptive.gdp");
	cl_offer_sign(&world, &first);
	world.policy.max_epsilon = 0.01;
	assert_int_equal(judge(&first), CM_EBUDGET);
	assert_non_null(strstr(err.msg, "% of the filter's budget"));
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'charged'"), 0);
}

/* The account that is kept is the one that is read anew, whatever happened in between. */
static void the_kept_account_follows_the_ledger(void **state)
{
	struct rd_account *kept = NULL, *anew = NULL;
	double a = 0, b = 0;

	(void)state;
	for (int step = 0; step < 5; step++) {
		double limit = step == 3 ? 50 : 100;

		if (step == 1)
			take_part(&first);
		if (step == 2)
			take_part(&second);
		if (step == 4) { /* a transaction that is undone */
			assert_int_equal(cl_db_exec(world.db, "BEGIN", &err), CM_OK);
			assert_int_equal(
				cl_db_exec(world.db,
					"INSERT INTO ledger SELECT 1000, 'charged', 1, 99, descriptor_hash, "
					"zeroblob(16), query, 9, ledger_head, loss, 1, 1, "
					"NULL "
					"FROM ledger WHERE kind = 'charged' LIMIT 1",
					&err),
				CM_OK);
			assert_int_equal(cl_ledger_kept(world.db, limit, 1e-6, &kept, &err), CM_OK);
			assert_int_equal(rd_account_rounds(kept), 3);
			cl_db_rollback(world.db);
		}
		assert_int_equal(cl_ledger_kept(world.db, limit, 1e-6, &kept, &err), CM_OK);
		assert_int_equal(cl_ledger_account(world.db, limit, 1e-6, &anew, &err), CM_OK);
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

static void the_ledger_cannot_be_changed_or_shortened(void **state)
{
	(void)state;
	take_part(&first);
	assert_int_equal(cl_db_exec(world.db, "UPDATE ledger SET epsilon_total = 0", &err), CM_EIO);
	assert_int_equal(cl_db_exec(world.db, "DELETE FROM ledger", &err), CM_EIO);
}

static void a_damaged_charge_is_not_counted_as_nothing(void **state)
{
	struct rd_account *a = NULL;

	(void)state;
	take_part(&first);
	assert_int_equal(cl_db_exec(world.db,
				 "DROP TRIGGER no_update; UPDATE ledger SET loss = '0.5:1'"
				 " WHERE kind = 'charged'",
				 &err),
		CM_OK);
	assert_int_equal(cl_ledger_account(world.db, 1, 1e-6, &a, &err), CM_EDATA);
	assert_int_equal(judge(&second), CM_EDATA);
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
		TEST(a_round_over_the_budget_is_refused_unless_the_check_is_removed),
		TEST(a_refusal_is_recorded_once),
		TEST(a_charge_read_back_is_the_charge_written),
		TEST(the_mode_of_the_first_round_is_for_good),
		TEST(an_adaptive_budget_refuses_what_its_filter_does),
		TEST(the_kept_account_follows_the_ledger),
		TEST(a_round_is_never_taken_part_in_twice),
		TEST(the_window_counts_charged_rounds),
		TEST(the_ledger_cannot_be_changed_or_shortened),
		TEST(a_damaged_charge_is_not_counted_as_nothing),
		TEST(a_database_of_another_population_or_kind_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
