/* test_sh_entries.c - entries of a plan at the shuffler: rounds that are theirs, tries, and those of adaptive
 * plans. */
#include "sh_steps.h"
#include "sh_tries.h"

#include <math.h>
#include <string.h>

/* ---- What a descriptor may differ in ---- */

static void a_round_that_is_not_its_entrys_is_refused(void **state)
{
	static const struct sh_wish other[] = {
		{ .entry = 1, .min_reports = 10, .epsilon0 = 1.01 },
		{ .entry = 1, .min_reports = 11 },
		{ .entry = 1, .min_reports = 10, .target = 2001 },
		{ .entry = 1, .min_reports = 10, .dummies = 1 },
		{ .entry = 3, .min_reports = 10 },
		{ .entry = 1, .min_reports = 10, .attempt = 11 },
	};

	(void)state;
	play.policy.shared.max_tries = 20;
	plan_of(2);
	for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
		static const uint8_t some[PR_HASH_LEN] = { 5 };
		struct sh_wish wish = other[i];
		wish.void_manifest = wish.attempt > 1 ? some : NULL;
		sh_play_describe(&play, &wish);
		assert_int_equal(sh_play_reserve(&play), CM_OK);
		says(sh_play_announce(&play), ERROR(POLICY_REFUSED), "plan:");
		steps_void();
	}
	uint8_t hash[PR_HASH_LEN];
	memcpy(hash, play.plan_hash, PR_HASH_LEN);
	play.plan_hash[0] ^= 1;
	says(try_entry(1, 1, NULL), ERROR(LEDGER), "a plan that is not in the ledger");
	steps_void();
	memcpy(play.plan_hash, hash, PR_HASH_LEN);
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
}

/* ---- Tries ---- */

static double used(void)
{
	size_t plans;

	return sh_core_figure(play.core, &plans).used;
}

static void a_sealed_manifest_spends_the_entry(void **state)
{
	(void)state;
	plan_of(2);
	assert_true(used() == 0);
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
	says(try_entry(1, 1, NULL), ERROR(BUSY), "open");
	steps_void(); /* the second try, which nobody was asked for */
	sh_core_collecting(play.core);
	play.d.deadline_ms = sh_core_collecting(play.core)->d.deadline_ms;
	assert_int_equal(sh_core_collecting(play.core)->d.attempt, 1);
	memcpy(play.d.round_id, sh_core_collecting(play.core)->d.round_id, PR_ROUND_ID_LEN);
	steps_accepted(1, 0, 10);
	sh_play_work(&play);
	sh_play_deadline(&play);
	for (int again = 0; again < 2; again++) {
		/* The first of two entries uses half of what both cost by the plan: 1 of 2. */
		const struct sh_plan *plan = sh_core_plan_at(play.core, 0);
		assert_true(plan->pin->epsilon > 0 && used() == plan->pin->epsilon / 2);
		says(try_entry(1, 1, NULL), ERROR(CONFLICT), "is answered");
		steps_void();
		says(try_entry(1, 2, play.manifest_hash), ERROR(CONFLICT), "is answered");
		steps_void();
		steps_restart();
	}
	assert_int_equal(try_entry(2, 1, NULL), CM_OK);
}

static void after_a_void_round_the_next_try_names_its_manifest(void **state)
{
	uint8_t first[PR_HASH_LEN];

	(void)state;
	plan_of(2);
	says(try_entry(1, 2, first), ERROR(CONFLICT), "where 1 is next");
	steps_void();
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	assert_true(play.manifest.is_void);
	memcpy(first, play.manifest_hash, PR_HASH_LEN);
	for (int again = 0; again < 2; again++) {
		says(try_entry(1, 1, NULL), ERROR(CONFLICT), "where 2 is next");
		steps_void();
		says(try_entry(1, 3, first), ERROR(CONFLICT), "where 2 is next");
		steps_void();
		first[31] ^= 1;
		says(try_entry(1, 2, first), ERROR(CONFLICT), "does not name the VOID manifest");
		steps_void();
		first[31] ^= 1;
		steps_restart();
	}
	/* A round that the ledger voids while it collects is such a try, too. */
	assert_int_equal(try_entry(1, 2, first), CM_OK);
	steps_accepted(1, 0, 20);
	steps_void();
	sh_play_work(&play);
	sh_play_manifest(&play);
	assert_true(play.manifest.is_void);
	says(try_entry(1, 3, first), ERROR(CONFLICT), "does not name the VOID manifest");
	steps_void();
	assert_int_equal(try_entry(1, 3, play.manifest_hash), CM_OK);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	says(try_entry(1, 4, play.manifest_hash), ERROR(POLICY_REFUSED), "max_tries is 3");
	steps_void();
	assert_int_equal(try_entry(2, 1, NULL), CM_OK);
}

/* A round that was refused before anybody was asked is no try. */
static void a_refused_descriptor_is_no_try(void **state)
{
	(void)state;
	plan_of(1);
	play.policy.max_window_ms = 1000;
	says(try_entry(1, 1, NULL), ERROR(POLICY_REFUSED), "max_window");
	steps_void();
	steps_restart();
	play.policy.max_window_ms = 100000;
	assert_int_equal(try_entry(1, 1, NULL), CM_OK);
}

/* ---- Adaptive plans ---- */

static enum cm_rc adaptive_round(const char *mode, uint64_t min_reports)
{
	sh_play_describe(&play, &(struct sh_wish){ .entry = 1, .mode = mode, .min_reports = min_reports });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	says(sh_play_announce(&play), ERROR(BUSY), "composed");
	sh_play_compose(&play);
	return sh_play_announce(&play);
}

static void a_filter_judges_the_rounds_of_an_adaptive_plan(void **state)
{
	static const char *const modes[] = { "adaptive.gdp", "adaptive.renyi" };

	(void)state;
	play.policy.shared.accept_adaptive = true;
	for (unsigned m = 0; m < 2; m++) {
		unsigned served = 0;
		sh_play_describe(
			&play, &(struct sh_wish){
				       .mode = modes[m], .slice = 0.5, .delta = 1e-6, .min_reports = 1000 });
		assert_true(sh_core_taken(play.core).epsilon == 0.5 * (m + 1));
		unsigned voids = 0;
		double base = used(), before = base;
		/* Every round counts for ever, a void one as much as others, also after a restart. */
		for (; served < 200; served++) {
			if (adaptive_round(modes[m], 1000) != CM_OK)
				break;
			if (served == 1 && voids == 0) {
				sh_play_deadline(&play);
				sh_play_manifest(&play);
				assert_true(play.manifest.is_void);
				voids = 1;
				assert_true(used() - base > 1.9 * (before - base));
				if (adaptive_round(modes[m], 1000) != CM_OK)
					break;
			}
			steps_accepted(1, 0, 1000);
			sh_play_deadline(&play);
			sh_play_manifest(&play);
			assert_false(play.manifest.is_void);
			sh_play_charge(&play);
			assert_int_equal(sh_play_release(&play), CM_OK);
			assert_int_equal(sh_play_settle(&play), CM_OK);
			double now = used();
			assert_true(now > before);
			before = now;
			if (served == 2) {
				steps_restart(); /* and it is counted again */
				assert_true(fabs(used() - now) < 1e-9);
			}
		}
		steps_refused(CM_EPROTO, ERROR(BUDGET_EXHAUSTED));
		assert_non_null(strstr(play.no.text, "filter"));
		assert_true(served > 3 && served < 200);
		steps_void();
		steps_restart();
		says(adaptive_round(modes[m], 1000), ERROR(BUDGET_EXHAUSTED), "filter");
		steps_void();
	}
}

/* A judgement by the policy before is not used, and the rounds before it are counted by the new one. */
static void another_policy_judges_a_round_of_an_adaptive_plan_anew(void **state)
{
	(void)state;
	play.policy.shared.accept_adaptive = true;
	sh_play_describe(
		&play, &(struct sh_wish){ .mode = "adaptive.gdp", .slice = 20, .min_reports = 1000 });
	assert_int_equal(adaptive_round("adaptive.gdp", 1000), CM_OK);
	steps_accepted(1, 0, 1000);
	sh_play_deadline(&play);
	double before = used();
	play.policy.shared.honest_fraction /= 10; /* fewer to hide among: each round costs more */
	sh_core_reconsider(play.core);
	sh_play_compose(&play);
	assert_true(used() > 1.5 * before);

	sh_play_describe(&play, &(struct sh_wish){ .entry = 1, .mode = "adaptive.gdp", .min_reports = 1000 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	says(sh_play_announce(&play), ERROR(BUSY), "composed");
	sh_play_compose(&play);
	sh_core_reconsider(play.core);
	says(sh_play_announce(&play), ERROR(BUSY), "composed");
	sh_play_compose(&play);
	assert_int_equal(sh_play_announce(&play), CM_OK);
}

static void rounds_of_an_adaptive_plan_are_bounded_in_number(void **state)
{
	(void)state;
	play.policy.shared.accept_adaptive = true;
	play.policy.shared.max_plan_entries = 2;
	sh_play_describe(&play, &(struct sh_wish){ .mode = "adaptive.gdp" });
	for (int i = 0; i < 2; i++) {
		assert_int_equal(adaptive_round("adaptive.gdp", 1000), CM_OK);
		sh_play_deadline(&play);
	}
	sh_play_describe(&play, &(struct sh_wish){ .entry = 1, .mode = "adaptive.gdp" });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	says(sh_play_announce(&play), ERROR(POLICY_REFUSED), "max_plan_entries");
}

static void who_does_not_accept_adaptive_plans_does_not_count_them(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ .mode = "adaptive.gdp" });
	assert_true(sh_core_taken(play.core).epsilon == 0);
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	says(sh_play_announce(&play), ERROR(POLICY_REFUSED), "accept_adaptive");
	play.policy.shared.accept_adaptive = true;
	says(sh_play_announce(&play), ERROR(POLICY_REFUSED), "nothing of plan 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(a_round_that_is_not_its_entrys_is_refused),
		STEPS_TEST(a_sealed_manifest_spends_the_entry),
		STEPS_TEST(after_a_void_round_the_next_try_names_its_manifest),
		STEPS_TEST(a_refused_descriptor_is_no_try),
		STEPS_TEST(a_filter_judges_the_rounds_of_an_adaptive_plan),
		STEPS_TEST(another_policy_judges_a_round_of_an_adaptive_plan_anew),
		STEPS_TEST(rounds_of_an_adaptive_plan_are_bounded_in_number),
		STEPS_TEST(who_does_not_accept_adaptive_plans_does_not_count_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
