/* test_sh_plans.c - plans that the shuffler takes: their chain, slices and pins. */
#include "sh_steps.h"
#include "sh_tries.h"

#include <math.h>
#include <string.h>

/* ---- The chain of plans ---- */

static void a_plan_that_is_not_the_next_one_or_not_signed_is_refused(void **state)
{
	struct rd_chain before;
	struct rd_record r;

	(void)state;
	plan_of(1);
	before = play.chain;
	for (int how = 0; how < 5; how++) {
		struct sh_wish wish = { .population = how == 0 ? "else" : NULL };
		play.plans = how == 1 ? 2 : how == 2 ? 0 : 1;
		play.plan_hash[3] ^= how == 3;
		if (how == 2)
			memset(play.plan_hash, 0, PR_HASH_LEN);
		uint8_t kept[PR_HASH_LEN];
		memcpy(kept, play.d.plan_hash, PR_HASH_LEN);
		sh_play_plan_make(&play, &wish, &play.d, &r);
		r.signature[5] ^= how == 4;
		says(sh_play_record(&play, &r), ERROR(LEDGER),
			how == 0   ? "population"
			: how == 4 ? "plan"
				   : "does not follow");
		play.chain = before;
		play.plans = 1;
		memcpy(play.plan_hash, kept, PR_HASH_LEN);
	}
	assert_int_equal(sh_core_witness(play.core).seq, 2);
	plan_of(1);
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
}

static void two_plans_in_one_frame_follow_each_other(void **state)
{
	struct cr_span records[2];
	struct cm_buf bytes[2];
	struct rd_record r;

	(void)state;
	plan_of(1);
	for (unsigned i = 0; i < 2; i++) {
		cm_buf_init(&bytes[i], PR_RECORD_MAX);
		sh_play_plan_make(&play, &(struct sh_wish){ 0 }, &play.d, &r);
		r.seq = play.chain.seq + 1 + i;
		r.time_ms = 1;
		assert_int_equal(rd_record_encode(&r, &bytes[i], &play.err), CM_OK);
		cr_sha256(play.plan.data, play.plan.len, play.plan_hash);
		play.plans++;
		records[i] = (struct cr_span){ bytes[i].data, bytes[i].len };
	}
	const struct cr_span swapped[] = { records[1], records[0] };
	says(sh_play_extend(&play, 3, swapped, 2), ERROR(LEDGER), "ledger:");
	if (sh_play_extend(&play, 3, records, 2) != CM_OK)
		fail_msg("%s", play.no.text);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			rd_chain_extend(&play.chain, bytes[i].data, bytes[i].len, NULL, &play.err), CM_OK);
		cm_buf_fini(&bytes[i]);
	}
	sh_play_compose(&play);
	assert_int_equal(sh_core_plan_at(play.core, 2)->state, SH_PIN_TAKEN);
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
}

static void a_client_gets_the_plan_as_it_was_signed(void **state)
{
	struct sh_plan_signed got;
	uint8_t first[PR_HASH_LEN];

	(void)state;
	plan_of(3);
	memcpy(first, play.plan_hash, PR_HASH_LEN);
	plan_of(2);
	for (int again = 0; again < 3; again++) {
		assert_int_equal(
			sh_core_plan(play.core, play.plan_hash, PR_HASH_LEN, &got, &play.no, &play.err),
			CM_OK);
		assert_int_equal(got.bytes.len, play.plan.len);
		assert_memory_equal(got.bytes.data, play.plan.data, play.plan.len);
		assert_memory_equal(got.signature, play.plan_signature, CR_SIGN_LEN);
		assert_int_equal(
			sh_core_plan(play.core, first, PR_HASH_LEN, &got, &play.no, &play.err), CM_OK);
		assert_int_not_equal(got.bytes.len, play.plan.len);
		if (again == 1)
			steps_restart();
	}
	first[0] ^= 1;
	says(sh_core_plan(play.core, first, PR_HASH_LEN, &got, &play.no, &play.err), ERROR(NOT_FOUND),
		"plan");
	says(sh_core_plan(play.core, first, 31, &got, &play.no, &play.err), ERROR(NOT_FOUND), "plan");
}

/* ---- Slices ---- */

static struct rd_figure figure(void)
{
	size_t plans;

	return sh_core_figure(play.core, &plans);
}

static void a_plan_whose_slice_does_not_fit_is_not_taken_and_not_counted(void **state)
{
	(void)state;
	play.policy.shared.max_epsilon = 50;
	play.policy.shared.delta = 3e-6;
	for (int again = 0; again < 2; again++) {
		sh_play_describe(&play, &(struct sh_wish){ .slice = 25, .min_reports = 10 });
		sh_play_describe(&play, &(struct sh_wish){ .slice = 25.1, .min_reports = 10 });
		assert_int_equal(sh_play_reserve(&play), CM_OK);
		says(sh_play_announce(&play), ERROR(BUDGET_EXHAUSTED), "slice of plan");
		assert_true(sh_core_taken(play.core).epsilon == (again ? 50 : 25));
		steps_restart(); /* and it stays so */
		says(sh_play_announce(&play), ERROR(BUDGET_EXHAUSTED), "slice of plan");
		assert_true(sh_core_taken(play.core).epsilon == (again ? 50 : 25));
		steps_void();
	}
	assert_true(figure().pinned == 50 && figure().free == 0); /* 25 and 25 are 50 */
	sh_play_describe(&play, &(struct sh_wish){ .slice = 1e-9, .min_reports = 10 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	says(sh_play_announce(&play), ERROR(BUDGET_EXHAUSTED), "slice of plan");
	steps_void();
	/* An entry that was not taken then is not taken later; a new plan is. */
	play.policy.shared.max_epsilon = 1000;
	says(sh_play_announce(&play), ERROR(LEDGER), "void");
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
}

static void deltas_add_up_like_epsilons(void **state)
{
	(void)state;
	play.policy.shared.delta = 3e-6;
	for (int i = 0; i < 2; i++)
		sh_play_describe(&play, &(struct sh_wish){ .delta = 1e-6 });
	sh_play_describe(&play, &(struct sh_wish){ .delta = 1.0001e-6 });
	assert_int_equal(sh_core_plan_at(play.core, 2)->state, SH_PIN_SLICE);
	sh_play_describe(&play, &(struct sh_wish){ .delta = 0.9e-6 });
	assert_int_equal(sh_core_plan_at(play.core, 3)->state, SH_PIN_TAKEN);
}

/* ---- Pins ---- */

/* epsilon of n rounds like play.d at delta 1e-6, by the accountant itself. */
static double epsilon_of(unsigned n)
{
	struct acct_bound bound;
	struct pt_loss loss;

	assert_int_equal(rd_loss(&play.d, &loss, &play.err), CM_OK);
	assert_int_equal(loss.parts, 1);
	loss.part[0].count *= n;
	assert_int_equal(acct_epsilon(loss.part, 1, 1e-6, &bound), ACCT_OK);
	return bound.upper;
}

static void entries_that_the_slice_does_not_hold_are_not_taken(void **state)
{
	(void)state;
	plan_of(1);
	double slice = (epsilon_of(2) + epsilon_of(3)) / 2;
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entries = 4, .slice = slice });
	const struct sh_plan *plan = sh_core_plan_at(play.core, 1);
	assert_int_equal(plan->state, SH_PIN_TAKEN);
	assert_int_equal(rd_pin_count(plan->pin), 2);
	for (uint32_t entry = 4; entry > 2; entry--) {
		says(try_entry(entry, 1, NULL), ERROR(BUDGET_EXHAUSTED), "is not among those");
		steps_void();
	}
	/* The order is free. */
	assert_int_equal(try_entry(2, 1, NULL), CM_OK);
	sh_play_deadline(&play);
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
}

/* Half of 1000 participants, less 450, are 50: four rounds that fit among 1000 do not fit among those. */
static void the_shufflers_own_view_of_who_is_honest_counts(void **state)
{
	const struct sh_wish wish = { .min_reports = 1000, .entries = 4, .slice = 0.8 };

	(void)state;
	sh_play_describe(&play, &wish);
	assert_int_equal(rd_pin_count(sh_core_plan_at(play.core, 0)->pin), 4);
	play.policy.shared.honest_fraction = 0.5;
	play.policy.shared.colluders = 450;
	steps_restart();
	sh_play_describe(&play, &wish);
	assert_true(rd_pin_count(sh_core_plan_at(play.core, 1)->pin) < 4);
	/* Trusting more than the descriptor gains nothing. */
	play.d.honest_fraction = 0.5;
	play.d.colluders = 450;
	assert_int_equal(rd_honest_as(&play.d, 1.0, 0), 50);
	assert_int_equal(rd_honest_as(&play.d, 0.1, 0), 1);
	assert_int_equal(rd_honest_as(&play.d, 1.0, 460), 40);
}

/* Which entries are taken was decided when the plan came: no later policy, and no restart, changes it. */
static void a_pin_is_for_good(void **state)
{
	(void)state;
	play.policy.shared.max_epsilon0 = 0.5; /* below the rounds' */
	plan_of(2);
	steps_restart();
	assert_int_equal(sh_core_plan_at(play.core, 0)->state, SH_PIN_POLICY);
	assert_true(sh_core_taken(play.core).epsilon == 0);
	play.policy.shared.max_epsilon0 = 8;
	steps_restart();
	says(try_entry(1, 1, NULL), ERROR(POLICY_REFUSED), "nothing of plan 1");
	steps_void();
	plan_of(2);
	play.policy.shared.max_epsilon = 1;
	play.policy.shared.max_plan_entries = 1;
	steps_restart();
	assert_int_equal(sh_core_plan_at(play.core, 1)->state, SH_PIN_TAKEN);
	/* A smaller budget, however, holds at once. */
	says(try_entry(1, 1, NULL), ERROR(BUDGET_EXHAUSTED), "the policy now has");
	steps_void();
	play.policy.shared.max_epsilon = 20;
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
}

/* The assumptions about participants are fixed as well: a shuffler that later trusts them less no longer
 * serves the plan. */
static void a_pin_is_of_those_believed_honest_then(void **state)
{
	double fraction = play.policy.shared.honest_fraction;

	(void)state;
	plan_of(2);
	play.policy.shared.honest_fraction = fraction / 2;
	steps_restart();
	says(try_entry(1, 1, NULL), ERROR(BUDGET_EXHAUSTED), "trust others less than when plan 1 was pinned");
	steps_void();
	play.policy.shared.honest_fraction = fraction;
	play.policy.shared.colluders++;
	says(try_entry(1, 1, NULL), ERROR(BUDGET_EXHAUSTED), "trust others less than when plan 1 was pinned");
	steps_void();
	play.policy.shared.colluders--;
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
}

static void a_plan_with_more_entries_than_the_policy_composes_is_not_taken(void **state)
{
	(void)state;
	play.policy.shared.max_plan_entries = 3;
	plan_of(4);
	assert_int_equal(sh_core_plan_at(play.core, 0)->state, SH_PIN_COST);
	says(try_entry(1, 1, NULL), ERROR(POLICY_REFUSED), "max_plan_entries");
	steps_void();
	plan_of(3);
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
}

/* Show a plan without composing it. */
static void show_plan(void)
{
	struct rd_record r;

	plan_of(1);
	sh_play_plan_make(&play, &(struct sh_wish){ 0 }, &play.d, &r);
	assert_int_equal(sh_play_record(&play, &r), CM_OK);
	cr_sha256(play.plan.data, play.plan.len, play.plan_hash);
	play.plans++;
}

/* A plan that is being composed when the policy changes is judged by the new one, and the next round of a
 * plan that is pinned, too. */
static void another_policy_judges_what_is_not_pinned(void **state)
{
	struct sh_compose *w;

	(void)state;
	show_plan();
	assert_int_equal(sh_core_compose(play.core, &w, &play.err), CM_OK);
	assert_non_null(w);
	play.policy.shared.max_epsilon0 = 0.5; /* the entry has 1 */
	sh_core_reconsider(play.core);
	sh_compose_run(w, NULL);
	assert_int_equal(w->rc, CM_OK);
	assert_int_equal(sh_core_composed(play.core, w, &play.err), CM_OK);
	sh_compose_free(w);
	assert_int_equal(sh_core_plan_at(play.core, 1)->state, SH_PIN_WAITS);
	sh_play_compose(&play);
	assert_int_equal(sh_core_plan_at(play.core, 1)->state, SH_PIN_POLICY);
	says(try_entry(1, 1, NULL), ERROR(POLICY_REFUSED), "max_epsilon0");
	steps_void();
	assert_int_equal(sh_core_plan_at(play.core, 0)->state, SH_PIN_TAKEN);
}

/* The plan is shown and not composed yet: ask again.  A shuffler that was stopped while it composed does so
 * anew. */
static void a_round_before_its_plan_is_composed_is_asked_to_wait(void **state)
{
	struct sh_compose *w, *second;
	atomic_bool stop = true;

	(void)state;
	show_plan();
	says(try_entry(1, 1, NULL), ERROR(BUSY), "composed");
	assert_int_equal(sh_core_compose(play.core, &w, &play.err), CM_OK);
	assert_non_null(w);
	assert_int_equal(sh_core_compose(play.core, &second, &play.err), CM_OK);
	assert_null(second); /* one at a time */
	sh_compose_run(w, &stop);
	assert_int_equal(w->rc, CM_ELATER);
	assert_int_equal(sh_core_composed(play.core, w, &play.err), CM_OK);
	sh_compose_free(w);
	says(sh_play_announce(&play), ERROR(BUSY), "composed");
	assert_true(play.no.retry_after_ms > 0);
	steps_restart(); /* composes what waits */
	assert_int_equal(sh_play_announce(&play), CM_OK);
}

/* Composing fails, as without memory: it is tried again, then given up until the next start, and never
 * stored. */
static void a_composition_that_fails_ends_nothing(void **state)
{
	struct sh_compose *w;

	(void)state;
	show_plan();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sh_core_plan_at(play.core, 1)->state, SH_PIN_WAITS);
		assert_int_equal(sh_core_compose(play.core, &w, &play.err), CM_OK);
		assert_non_null(w);
		w->rc = CM_EINTERNAL;
		assert_int_equal(sh_core_composed(play.core, w, &play.err), CM_OK);
		sh_compose_free(w);
	}
	assert_int_equal(sh_core_plan_at(play.core, 1)->state, SH_PIN_FAILED);
	says(try_entry(1, 1, NULL), ERROR(BUDGET_EXHAUSTED), "cannot be composed");
	assert_true(sh_core_taken(play.core).epsilon == 20);
	steps_restart();
	assert_int_equal(sh_play_announce(&play), CM_OK);
}

/* The process is killed at any moment of pinning: afterwards the pin is there or is made, with the same
 * choice. */
static void pinning_can_be_killed_at_any_moment(void **state)
{
	struct rd_record r;

	(void)state;
	plan_of(1);
	double slice = (epsilon_of(3) + epsilon_of(4)) / 2;
	for (unsigned i = 0; i < 10; i++) {
		sh_play_plan_make(&play, &(struct sh_wish){ .entries = 5, .slice = slice }, &play.d, &r);
		assert_int_equal(sh_play_record(&play, &r), CM_OK);
		cr_sha256(play.plan.data, play.plan.len, play.plan_hash);
		play.plans++;
		sh_play_stop(&play);
		sh_play_killed(&play, sh_play_compose, 20000000);
		sh_play_start(&play);
		const struct sh_plan *plan = sh_core_plan_at(play.core, play.plans - 1);
		assert_int_equal(plan->state, SH_PIN_TAKEN);
		assert_int_equal(rd_pin_count(plan->pin), 3);
		assert_true(fabs(sh_core_taken(play.core).epsilon - (20 + (i + 1) * slice)) < 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(a_plan_that_is_not_the_next_one_or_not_signed_is_refused),
		STEPS_TEST(two_plans_in_one_frame_follow_each_other),
		STEPS_TEST(a_client_gets_the_plan_as_it_was_signed),
		STEPS_TEST(a_plan_whose_slice_does_not_fit_is_not_taken_and_not_counted),
		STEPS_TEST(deltas_add_up_like_epsilons),
		STEPS_TEST(entries_that_the_slice_does_not_hold_are_not_taken),
		STEPS_TEST(the_shufflers_own_view_of_who_is_honest_counts),
		STEPS_TEST(a_pin_is_for_good),
		STEPS_TEST(a_pin_is_of_those_believed_honest_then),
		STEPS_TEST(a_plan_with_more_entries_than_the_policy_composes_is_not_taken),
		STEPS_TEST(another_policy_judges_what_is_not_pinned),
		STEPS_TEST(a_round_before_its_plan_is_composed_is_asked_to_wait),
		STEPS_TEST(a_composition_that_fails_ends_nothing),
		STEPS_TEST(pinning_can_be_killed_at_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
