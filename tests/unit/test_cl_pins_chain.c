/* test_cl_pins_chain.c - rounds that are not of the plan that was pinned, plans that contradict it, and a pin
 * that is damaged. */
#include "cl_pinned.h"
#include "cl_world.h"

#include <string.h>

/* ---- Rounds that are not the plan's ---- */

static void a_round_that_is_not_its_entry_is_refused_unless_the_check_is_removed(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		cl_offer_free(&next);
		cl_offer_make(&world, i == 0 ? "levels" : "grr", i == 1 ? 1.5 : 1.0, &next);
		memcpy(next.d.plan_hash, offer.d.plan_hash, PR_HASH_LEN);
		if (i == 2)
			next.d.min_reports = 999;
		if (i == 3)
			next.d.entry = 9;
		if (i == 4)
			next.d.attempt = 4;
		cl_offer_sign(&world, &next);
		assert_int_equal(judge(&next), CM_EPERM);
		assert_int_equal(count("SELECT count(*) FROM pin"), 0);
		(void)tear_down(state);
		(void)set_up(state);
	}
#ifdef TOMBOLA_MUTANTS
	next.d.min_reports = 999;
	cl_offer_sign(&world, &next);
	cl_world_mutant("client.plan.covers");
	assert_int_equal(judge(&next), CM_OK);
#endif
}

/* Name and field of a query may be chosen late: that does not change what a device gives away. */
static void another_field_of_the_same_kind_is_the_same_entry(void **state)
{
	(void)state;
	strcpy(offer.d.query.name, "later");
	strcpy(offer.d.query.field, "another");
	cl_offer_sign(&world, &offer);
	assert_int_equal(judge(&offer), CM_OK);
}

/* ---- Plans that contradict each other ---- */

static void a_plan_swapped_after_the_pin_is_refused_and_kept_as_evidence(void **state)
{
	(void)state;
	plan(&offer, NULL, 1, 10, 1e-7, NULL);
	assert_int_equal(judge(&offer), CM_OK);
	plan(&next, NULL, 1, 11, 1e-7, NULL);
	after(&next, &offer);
	assert_int_equal(judge(&next), CM_EPERM);
	assert_string_equal(err.msg, "two plans of number 1: 'plan' is not the one seen before");
	assert_int_equal(count("SELECT count(*) FROM plan"), 2);
	assert_int_equal(count("SELECT count(*) FROM pin"), 1);
	cl_world_restart(&world);
	assert_int_equal(judge(&next), CM_EPERM);
	assert_string_equal(err.msg, "two plans of number 1: 'plan' is not the one seen before");
	/* Rounds of the plan that was seen first go on. */
	cl_offer_follow(&next, &next);
	memcpy(next.d.plan_hash, offer.d.plan_hash, PR_HASH_LEN);
	next.d.entry = 2;
	cl_offer_sign(&world, &next);
	assert_int_equal(judge(&next), CM_OK);
}

static void a_swapped_plan_passes_when_the_check_is_removed(void **state)
{
	(void)state;
#ifdef TOMBOLA_MUTANTS
	plan(&offer, NULL, 1, 10, 1e-7, NULL);
	assert_int_equal(judge(&offer), CM_OK);
	plan(&next, NULL, 1, 11, 1e-7, NULL);
	after(&next, &offer);
	cl_world_mutant("client.plan.chain");
	assert_int_equal(judge(&next), CM_OK);
	assert_true(slices().epsilon == 21);
#else
	skip();
#endif
}

static void plans_form_one_chain_in_whatever_order_they_are_seen(void **state)
{
	struct cl_offer first, second, third, fork;
	struct cl_offer *const all[] = { &first, &second, &third, &fork };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		cl_offer_make(&world, "grr", 1.0, all[i]);
	plan(&first, NULL, 1, 10, 1e-7, NULL);
	plan(&second, NULL, 2, 10, 1e-7, &first);
	plan(&third, NULL, 3, 10, 1e-7, &second);
	/* A client that comes late sees the third plan first. */
	assert_int_equal(judge(&third), CM_OK);
	/* A second plan that the third does not follow. */
	plan(&fork, NULL, 2, 11, 1e-7, &first);
	after(&fork, &third);
	assert_int_equal(judge(&fork), CM_EPERM);
	assert_string_equal(err.msg, "plan 'plan' (2) does not follow the plan 3 seen before");
	after(&second, &fork);
	assert_int_equal(judge(&second), CM_OK);
	after(&first, &second);
	assert_int_equal(judge(&first), CM_OK);
	/* A third one after the fork. */
	plan(&fork, NULL, 4, 11, 1e-7, &first);
	after(&fork, &first);
	assert_int_equal(judge(&fork), CM_EPERM);
	assert_string_equal(err.msg, "plan 'plan' (4) does not follow the plan 3 seen before");
	assert_true(slices().epsilon == 30);
	for (size_t i = 0; i < 4; i++)
		cl_offer_free(all[i]);
}

/* ---- Damage, stops ---- */

static void a_damaged_plan_or_pin_is_not_counted_as_less(void **state)
{
	static const char *const change[] = { "UPDATE pin SET slice_epsilon = 1",
		"UPDATE pin SET slice_delta = 1e-9", "UPDATE pin SET epsilon = 0",
		"UPDATE pin SET taken = x'ff'", "UPDATE pin SET entries = 9", "UPDATE pin SET number = 2",
		"UPDATE pin SET plan_hash = x'00'", "UPDATE pin SET plan_hash = zeroblob(32)",
		"UPDATE pin SET honest_fraction = 0.5", "UPDATE pin SET colluders = 1",
		"UPDATE pin SET trusted = 1", "UPDATE pin SET adaptive = 1", "UPDATE pin SET seal = x'00'",
		"UPDATE plan SET bytes = x'00'",
		"UPDATE plan SET bytes = substr(bytes, 1, length(bytes) - 1)" };

	(void)state;
	assert_int_equal(judge(&offer), CM_OK);
	assert_int_equal(
		db_run(world.db->sql, "DROP TRIGGER pin_update; DROP TRIGGER plan_update", &err), CM_OK);
	for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
		assert_int_equal(db_run(world.db->sql, "BEGIN", &err), CM_OK);
		assert_int_equal(db_run(world.db->sql, change[i], &err), CM_OK);
		assert_int_equal(judge(&offer), CM_EDATA);
		assert_non_null(strstr(err.msg, "is damaged"));
		db_rollback(world.db->sql);
	}
	assert_int_equal(judge(&offer), CM_OK);
}

static void a_client_that_stops_pins_nothing(void **state)
{
	atomic_bool stop = true;
	struct rd_plan p;

	(void)state;
	assert_true(cl_world_learn(&world, offer.d.plan_hash));
	assert_int_equal(cl_plan_find(world.db, offer.d.plan_hash, &p, &err), CM_OK);
	assert_int_equal(cl_world_pin(world.db, &world.policy, &p, &stop, 1, &pin, &err), CM_ELATER);
	assert_int_equal(count("SELECT count(*) FROM pin"), 0);
	stop = false;
	assert_int_equal(cl_world_pin(world.db, &world.policy, &p, &stop, 1, &pin, &err), CM_OK);
	rd_plan_fini(&p);
}

/* A dry run judges by all records but those of the round itself and the sealed reports. */
static void a_copy_in_memory_knows_the_same_and_changes_nothing(void **state)
{
	struct cl_charge charge = { .epsilon_round = 0.5, .epsilon_total = 1 };
	struct cl_db *copy = NULL;
	struct rd_slices s;
	int64_t n = -1;

	(void)state;
	assert_int_equal(cl_world_judge(&world, &offer, &judged, &err), CM_OK);
	charge.loss = judged.charge.loss;
	assert_int_equal(cl_ledger_charge(world.db, &judged.d, &charge, CL_WORLD_NOW, &err), CM_OK);
	rd_descriptor_fini(&judged.d);
	for (uint64_t sequence = 1; sequence <= 2; sequence++) {
		assert_int_equal(cl_db_copy(world.dir, "test", sequence, &copy, &err), CM_OK);
		assert_int_equal(cl_pin_slices(copy, &s, &err), CM_OK);
		assert_true(s.epsilon == 100);
		assert_int_equal(db_int(copy->sql, "SELECT count(*) FROM plan", &n, &err), CM_OK);
		assert_int_equal(n, 1);
		/* The copy lacks what was recorded of the round: that it was seen, and its charge. */
		assert_int_equal(db_int(copy->sql, "SELECT count(*) FROM ledger", &n, &err), CM_OK);
		assert_int_equal(n, sequence - 1);
		assert_int_equal(
			db_run(copy->sql, "INSERT INTO loss VALUES(1, 2, 3, x'04', NULL)", &err), CM_OK);
		cl_db_close(copy);
	}
	assert_int_equal(count("SELECT count(*) FROM loss"), 0);
	assert_int_equal(cl_db_copy(world.dir, "other", 1, &copy, &err), CM_ECONFIG);
	assert_null(copy);
	assert_int_equal(cl_db_copy("/tmp/tombola-nowhere", "test", 1, &copy, &err), CM_OK);
	assert_int_equal(db_int(copy->sql, "SELECT count(*) FROM pin", &n, &err), CM_OK);
	assert_int_equal(n, 0);
	cl_db_close(copy);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_round_that_is_not_its_entry_is_refused_unless_the_check_is_removed),
		TEST(another_field_of_the_same_kind_is_the_same_entry),
		TEST(a_plan_swapped_after_the_pin_is_refused_and_kept_as_evidence),
		TEST(a_swapped_plan_passes_when_the_check_is_removed),
		TEST(plans_form_one_chain_in_whatever_order_they_are_seen),
		TEST(a_damaged_plan_or_pin_is_not_counted_as_less),
		TEST(a_client_that_stops_pins_nothing),
		TEST(a_copy_in_memory_knows_the_same_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
