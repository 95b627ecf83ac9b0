/* test_cl_pins.c - plans that are known, what is taken of them, and slices that add up; each refusal with the
 * check in place and with it removed. */
#include "cl_pinned.h"
#include "cl_world.h"

#include <string.h>

/* ---- What is needed, and what is not to be had ---- */

static void an_unknown_plan_is_asked_for_and_without_it_the_round_is_refused(void **state)
{
	struct cl_judge_job job = { .db = world.db,
		.policy = &world.policy,
		.analyzer = world.analyzer.verifier,
		.descriptor = offer.bytes.data,
		.descriptor_len = offer.bytes.len,
		.signature = offer.signature,
		.signature_len = sizeof offer.signature,
		.now_ms = CL_WORLD_NOW };

	(void)state;
	assert_int_equal(cl_judge(&job, &judged, &err), CM_EMORE);
	assert_int_equal(judged.need.kind, CD_NEED_PLAN);
	assert_memory_equal(judged.need.plan_hash, offer.d.plan_hash, PR_HASH_LEN);
	rd_descriptor_fini(&judged.d);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused'"), 0);
	job.absent = "not found";
	assert_int_equal(cl_judge(&job, &judged, &err), CM_EPERM);
	rd_descriptor_fini(&judged.d);
	assert_string_equal(err.msg, "the round's plan is not to be had: not found");
	assert_int_equal(count("SELECT count(*) FROM pin"), 0);
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused'"), 1);
}

static void only_the_analyzers_plan_of_this_hash_and_population_is_learnt(void **state)
{
	const struct cl_world_plan *made = &world.plan[0];
	struct cl_offered_plan o = {
		.bytes = made->bytes.data, .len = made->bytes.len, .signature = made->signature
	};
	uint8_t forged[CR_SIGN_LEN];

	(void)state;
	/* Another hash was asked for. */
	assert_int_equal(cl_plan_learn(world.db, &o, "test", world.analyzer.verifier, 1, &err), CM_EPROTO);
	assert_non_null(strstr(err.msg, "is not the one that was asked for"));
	memcpy(o.hash, made->hash, sizeof o.hash);
	assert_int_equal(cl_plan_learn(world.db, &o, "other", world.analyzer.verifier, 1, &err), CM_EPROTO);
	assert_non_null(strstr(err.msg, "is of population 'test'"));
	assert_int_equal(cl_plan_learn(world.db, &o, "test", world.shuffler.verifier, 1, &err), CM_EPROTO);
	assert_string_equal(err.msg, "the plan is not signed by the analyzer");
	/* The key signs other documents, too. */
	assert_int_equal(cr_sign(world.analyzer.signer, RD_PURPOSE_DESCRIPTOR, made->bytes.data,
				 made->bytes.len, forged, &err),
		CM_OK);
	o.signature = forged;
	assert_int_equal(cl_plan_learn(world.db, &o, "test", world.analyzer.verifier, 1, &err), CM_EPROTO);
	for (size_t i = 0; i < made->bytes.len; i++) {
		made->bytes.data[i] ^= 4;
		o.signature = made->signature;
		assert_int_equal(
			cl_plan_learn(world.db, &o, "test", world.analyzer.verifier, 1, &err), CM_EPROTO);
		made->bytes.data[i] ^= 4;
	}
	assert_int_equal(count("SELECT count(*) FROM plan"), 0);
	for (int twice = 0; twice < 2; twice++)
		assert_int_equal(
			cl_plan_learn(world.db, &o, "test", world.analyzer.verifier, 1, &err), CM_OK);
	assert_int_equal(count("SELECT count(*) FROM plan"), 1);
}

/* ---- The pin ---- */

static void a_slice_is_spent_whole_with_the_first_round_and_once(void **state)
{
	struct cl_plan_view view;

	(void)state;
	assert_true(slices().epsilon == 0);
	assert_int_equal(judge(&offer), CM_OK);
	assert_true(slices().epsilon == 100 && slices().delta == 1e-6);
	assert_int_equal(cl_pin_find(world.db, offer.d.plan_hash, &pin, &err), CM_OK);
	assert_int_equal(rd_pin_count(&pin.pin), CL_WORLD_ENTRIES);
	cl_offer_follow(&next, &offer);
	cl_offer_sign(&world, &next);
	assert_int_equal(judge(&next), CM_OK);
	assert_int_equal(count("SELECT count(*) FROM pin"), 1);
	cl_world_restart(&world);
	assert_true(slices().epsilon == 100 && slices().delta == 1e-6);
	assert_int_equal(cl_plan_view_read(world.db, offer.d.plan_hash, &view, &err), CM_OK);
	assert_string_equal(view.name, "plan");
	assert_int_equal(view.number, 1);
	assert_int_equal(view.taken, CL_WORLD_ENTRIES);
}

/* Composed in another way: the accountant's own composition of so many equal rounds. */
static void what_is_pinned_is_composed_with_the_clients_own_numbers(void **state)
{
	struct acct_round cells;
	struct acct_bound all;

	(void)state;
	world.policy.shared.honest_fraction = 0.5;
	world.policy.shared.colluders = 100;
	assert_int_equal(judge(&offer), CM_OK);
	assert_int_equal(cl_pin_find(world.db, offer.d.plan_hash, &pin, &err), CM_OK);
	assert_int_equal(
		pt_protocol_of(offer.d.randomizer.row)->cells(&offer.d.randomizer, 400, &cells, &err), CM_OK);
	cells.count = CL_WORLD_ENTRIES;
	assert_int_equal(acct_epsilon(&cells, 1, 1e-6, &all), ACCT_OK);
	assert_true(pin.pin.epsilon >= all.lower && pin.pin.epsilon <= all.upper * 1.001);
	assert_true(pin.honest_fraction == 0.5 && pin.colluders == 100);
}

static void of_a_plan_that_does_not_fit_its_slice_a_part_is_taken_once_and_for_all(void **state)
{
	struct acct_round cells;
	struct acct_bound two, three;

	(void)state;
	assert_int_equal(
		pt_protocol_of(offer.d.randomizer.row)->cells(&offer.d.randomizer, 500, &cells, &err), CM_OK);
	cells.count = 2;
	assert_int_equal(acct_epsilon(&cells, 1, 1e-6, &two), ACCT_OK);
	cells.count = 3;
	assert_int_equal(acct_epsilon(&cells, 1, 1e-6, &three), ACCT_OK);
	world.policy.shared.honest_fraction = 0.5;
	plan(&offer, NULL, 1, (two.upper + three.lower) / 2, 1e-6, NULL);
	assert_int_equal(judge(&offer), CM_OK);
	assert_int_equal(judged.plan.taken, 2);
	assert_int_equal(judged.plan.entries, CL_WORLD_ENTRIES);
	cl_offer_follow(&next, &offer);
	next.d.entry = 3;
	cl_offer_sign(&world, &next);
	assert_int_equal(judge(&next), CM_EPERM);
	assert_string_equal(
		err.msg, "entry 3 is not among the 2 of 4 that this client pinned of plan 'plan' (1)");
	/* A client that trusts others more now keeps its choice. */
	world.policy.shared.honest_fraction = 1;
	assert_int_equal(judge(&next), CM_EPERM);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.plan.entry");
	assert_int_equal(judge(&next), CM_OK);
#endif
}

static void a_plan_with_nothing_to_take_is_not_pinned_and_costs_nothing(void **state)
{
	(void)state;
	plan(&offer, NULL, 1, 0.001, 1e-6, NULL);
	assert_int_equal(judge(&offer), CM_EBUDGET);
	assert_non_null(strstr(err.msg, "no entry of plan 'plan' (1) fits its slice of epsilon 0.001"));
	assert_true(slices().epsilon == 0);
	world.policy.shared.max_epsilon0 = 0.5;
	assert_int_equal(judge(&offer), CM_EPERM);
	assert_true(slices().epsilon == 0);
	assert_int_equal(count("SELECT count(*) FROM pin"), 0);
}

static void a_plan_too_long_to_compose_is_refused(void **state)
{
	(void)state;
	world.policy.shared.max_plan_entries = 3;
	assert_int_equal(judge(&offer), CM_EPERM);
	assert_string_equal(err.msg, "policy: plan 'plan' (1) has 4 entries, max_plan_entries is 3");
	world.policy.shared.max_plan_entries = 4;
	assert_int_equal(judge(&offer), CM_OK);
}

static void slices_add_up_to_the_policys_budget_unless_the_check_is_removed(void **state)
{
	struct cl_offer third;

	(void)state;
	plan(&offer, NULL, 1, 60, 5e-7, NULL);
	assert_int_equal(judge(&offer), CM_OK);
	plan(&next, NULL, 2, 50, 5e-7, &offer);
	after(&next, &offer);
	assert_int_equal(judge(&next), CM_EBUDGET);
	assert_string_equal(err.msg,
		"budget: plan 'plan' (2) takes a slice of epsilon 50 at delta 5e-07, and 60 "
		"at 5e-07 of 100 at 1e-06 is pinned (max_epsilon, delta)");
	assert_int_equal(count("SELECT count(*) FROM pin"), 1);
	/* Deltas add up as epsilons do. */
	cl_offer_make(&world, "grr", 1.0, &third);
	plan(&third, NULL, 3, 40, 6e-7, &next);
	cl_world_restart(&world);
	after(&third, &next);
	assert_int_equal(judge(&third), CM_EBUDGET);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.budget");
	assert_int_equal(judge(&third), CM_OK);
	assert_int_equal(count("SELECT count(*) FROM pin"), 2);
#endif
	cl_offer_free(&third);
}

static void a_sum_equal_to_the_budget_fits(void **state)
{
	(void)state;
	plan(&offer, NULL, 1, 60, 5e-7, NULL);
	assert_int_equal(judge(&offer), CM_OK);
	plan(&next, NULL, 2, 40, 5e-7, &offer);
	after(&next, &offer);
	assert_int_equal(judge(&next), CM_OK);
	assert_true(slices().epsilon == 100 && slices().delta == 1e-6);
	/* If the budget was lowered since then, what is left of both plans is refused. */
	world.policy.shared.max_epsilon = 99;
	assert_int_equal(judge(&next), CM_EBUDGET);
	assert_non_null(
		strstr(err.msg, "plans of epsilon 100 at delta 1e-06 are pinned, the policy allows 99"));
}

static void each_plan_has_its_own_mode_and_filter(void **state)
{
	(void)state;
	plan(&offer, "adaptive.gdp", 1, 30, 5e-7, NULL);
	assert_int_equal(judge(&offer), CM_OK);
	assert_true(judged.verdict.adaptive && judged.plan.adaptive);
	plan(&next, NULL, 2, 40, 5e-7, &offer);
	after(&next, &offer);
	assert_int_equal(judge(&next), CM_OK);
	assert_false(judged.verdict.adaptive);
	assert_true(slices().epsilon == 70);
}

static void an_adaptive_plan_is_for_who_accepts_it(void **state)
{
	(void)state;
	world.policy.shared.accept_adaptive = false;
	plan(&offer, "adaptive.renyi", 1, 30, 5e-7, NULL);
	assert_int_equal(judge(&offer), CM_EPERM);
	assert_non_null(strstr(err.msg, "accept_adaptive"));
	assert_true(slices().epsilon == 0);
}

static void who_trusts_less_than_at_the_pin_takes_part_no_more(void **state)
{
	(void)state;
	world.policy.shared.honest_fraction = 0.9;
	world.policy.shared.colluders = 5;
	world.policy.accept_shuffler_dummies = true;
	assert_int_equal(judge(&offer), CM_OK);
	for (int i = 0; i < 4; i++) {
		world.policy.shared.honest_fraction = i == 1 ? 0.8 : 0.95;
		world.policy.shared.colluders = i == 2 ? 6 : 4;
		world.policy.accept_shuffler_dummies = i != 3;
		assert_int_equal(judge(&offer), i == 0 ? CM_OK : CM_EPERM);
		if (i > 0)
			assert_non_null(strstr(err.msg, "trust others less than when plan 1 was pinned"));
#ifdef TOMBOLA_MUTANTS
		cl_world_mutant("client.plan.trust");
		assert_int_equal(judge(&offer), CM_OK);
		cl_world_mutant("");
#endif
	}
}

static void only_the_plan_that_the_policy_names_is_answered(void **state)
{
	(void)state;
	world.policy.plan_only = true;
	memcpy(world.policy.plan_hash, offer.d.plan_hash, PR_HASH_LEN);
	assert_int_equal(judge(&offer), CM_OK);
	world.policy.plan_hash[0] ^= 1;
	assert_int_equal(judge(&offer), CM_EPERM);
	assert_string_equal(err.msg, "policy: the round is of another plan than `plan` names");
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.policy.plan");
	assert_int_equal(judge(&offer), CM_OK);
#endif
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_unknown_plan_is_asked_for_and_without_it_the_round_is_refused),
		TEST(only_the_analyzers_plan_of_this_hash_and_population_is_learnt),
		TEST(a_slice_is_spent_whole_with_the_first_round_and_once),
		TEST(what_is_pinned_is_composed_with_the_clients_own_numbers),
		TEST(of_a_plan_that_does_not_fit_its_slice_a_part_is_taken_once_and_for_all),
		TEST(a_plan_with_nothing_to_take_is_not_pinned_and_costs_nothing),
		TEST(a_plan_too_long_to_compose_is_refused),
		TEST(slices_add_up_to_the_policys_budget_unless_the_check_is_removed),
		TEST(a_sum_equal_to_the_budget_fits),
		TEST(each_plan_has_its_own_mode_and_filter),
		TEST(an_adaptive_plan_is_for_who_accepts_it),
		TEST(who_trusts_less_than_at_the_pin_takes_part_no_more),
		TEST(only_the_plan_that_the_policy_names_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
