/* test_cl_pins.c - plans that are known, what is taken of them, and slices that add up; each refusal with the
 * check in place and with it removed. */
#include "cl_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct cm_err err;
static struct cl_world world;
static struct cl_offer offer, next;
static struct cl_judgement judged;
static struct cl_pin pin;

static int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "grr", 1.0, &offer);
	cl_offer_make(&world, "grr", 1.0, &next);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_world_mutant("");
	cl_offer_free(&offer);
	cl_offer_free(&next);
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

	assert_int_equal(db_int(world.db->sql, sql, &n, &err), CM_OK);
	return n;
}

static struct rd_slices slices(void)
{
	struct rd_slices s;

	assert_int_equal(cl_pin_slices(world.db, &s, &err), CM_OK);
	return s;
}

/* A round of a plan of its own: the one with this number and slice, after the plan of `before` (NULL:
 * zero). */
static void plan(struct cl_offer *o, const char *mode, uint64_t number, double epsilon, double delta,
	const struct cl_offer *before)
{
	struct rd_plan p = { .number = number, .epsilon = epsilon, .delta = delta };

	if (mode)
		strcpy(p.mode, mode);
	if (before)
		memcpy(p.previous, before->d.plan_hash, sizeof p.previous);
	cl_offer_plan(&world, &p, o);
	cl_offer_sign(&world, o);
}

/* `o` comes after the round of `before`, its plan as it is. */
static void after(struct cl_offer *o, const struct cl_offer *before)
{
	o->d.sequence = before->d.sequence + 1;
	o->d.ledger_seq = before->d.ledger_seq + 3;
	memcpy(o->d.previous, before->d.hash, sizeof o->d.previous);
	cl_offer_sign(&world, o);
}

/* ---- What is needed, and what is not to be had ---- */

static void an_unknown_plan_is_asked_for_and_without_it_the_round_is_refused(void **state)
{
	struct cl_judge_job job = { .store = cl_judge_db(world.db),
		.policy = &world.policy,
		.analyzer = world.analyzer.verifier,
		.descriptor = offer.bytes.data,
		.descriptor_len = offer.bytes.len,
		.signature = offer.signature,
		.signature_len = sizeof offer.signature,
		.now_ms = CL_WORLD_NOW };

	(void)state;
	assert_int_equal(cl_judge(&job, &judged, &err), CM_EMORE);
	assert_int_equal(judged.need.kind, CL_NEED_PLAN);
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
	const struct cl_judge_store store = cl_judge_db(world.db);
	assert_int_equal(cl_plan_view_read(&store, offer.d.plan_hash, &view, &err), CM_OK);
	assert_string_equal(view.name, "plan");
	assert_int_equal(view.number, 1);
	assert_int_equal(view.taken, CL_WORLD_ENTRIES);
}

/* Composed by another way: the accountant's own composition of so many equal rounds. */
static void what_is_pinned_is_composed_with_the_clients_own_numbers(void **state)
{
	struct acct_round cells;
	struct acct_bound all;

	(void)state;
	world.policy.honest_fraction = 0.5;
	world.policy.colluders = 100;
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
	world.policy.honest_fraction = 0.5;
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
	/* A client that trusts more today took what it took. */
	world.policy.honest_fraction = 1;
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
	world.policy.max_epsilon0 = 0.5;
	assert_int_equal(judge(&offer), CM_EPERM);
	assert_true(slices().epsilon == 0);
	assert_int_equal(count("SELECT count(*) FROM pin"), 0);
}

static void a_plan_too_long_to_compose_is_refused(void **state)
{
	(void)state;
	world.policy.max_plan_entries = 3;
	assert_int_equal(judge(&offer), CM_EPERM);
	assert_string_equal(err.msg, "policy: plan 'plan' (1) has 4 entries, max_plan_entries is 3");
	world.policy.max_plan_entries = 4;
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
		"at 5e-07 of 100 at 1e-06 is pinned");
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
	/* A budget lowered since then refuses what is left of both. */
	world.policy.max_epsilon = 99;
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
	world.policy.accept_adaptive = false;
	plan(&offer, "adaptive.renyi", 1, 30, 5e-7, NULL);
	assert_int_equal(judge(&offer), CM_EPERM);
	assert_non_null(strstr(err.msg, "accept_adaptive"));
	assert_true(slices().epsilon == 0);
}

static void who_trusts_less_than_at_the_pin_takes_part_no_more(void **state)
{
	(void)state;
	world.policy.honest_fraction = 0.9;
	world.policy.colluders = 5;
	world.policy.accept_shuffler_dummies = true;
	assert_int_equal(judge(&offer), CM_OK);
	for (int i = 0; i < 4; i++) {
		world.policy.honest_fraction = i == 1 ? 0.8 : 0.95;
		world.policy.colluders = i == 2 ? 6 : 4;
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

/* What it asks about may come late: it does not change what is given away. */
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
	/* The one that was seen first goes on. */
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
	/* Who comes late sees the third first. */
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

/* What a dry run judges by: all that is known, and nothing of the round itself or of what is sealed. */
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
		/* What was seen is left out, and what was charged for this round. */
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
