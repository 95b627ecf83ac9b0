/* test_sh_policy.c - what the operator allows. */
#include "sh_play.h"

#include <math.h>
#include <string.h>

#include "low_order.h"

static struct sh_play play;
static FILE *quiet;

static int set_up(void **state)
{
	(void)state;
	sh_play_init(&play);
	quiet = fopen("/dev/null", "w");
	return quiet ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)fclose(quiet);
	sh_play_fini(&play);
	return 0;
}

static enum cm_rc judge(const struct sh_wish *wish)
{
	sh_play_describe(&play, wish);
	return sh_policy_judge(&play.policy, &play.d, play.now_ms, &play.no);
}

static void a_round_within_the_policy_passes(void **state)
{
	(void)state;
	assert_int_equal(judge(&(struct sh_wish){ 0 }), CM_OK);
}

static void another_population_is_refused(void **state)
{
	(void)state;
	assert_int_equal(judge(&(struct sh_wish){ .population = "else" }), CM_EPROTO);
	assert_int_equal(play.no.code, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED);
	assert_non_null(strstr(play.no.text, "population"));
}

static void a_mode_that_follows_from_answers_is_for_who_accepts_it(void **state)
{
	(void)state;
	play.policy.shared.accept_adaptive = false;
	assert_int_equal(judge(&(struct sh_wish){ 0 }), CM_OK);
	strcpy(play.d.mode, "adaptive.renyi");
	assert_int_equal(sh_policy_judge(&play.policy, &play.d, play.now_ms, &play.no), CM_EPROTO);
	assert_int_equal(play.no.code, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED);
	assert_non_null(strstr(play.no.text, "accept_adaptive"));
	play.policy.shared.accept_adaptive = true;
	assert_int_equal(sh_policy_judge(&play.policy, &play.d, play.now_ms, &play.no), CM_OK);
}

static void a_protocol_that_is_not_listed_is_refused(void **state)
{
	char *names[] = { "bins" };

	(void)state;
	play.policy.shared.protocols = (struct cf_strings){ names, 1 };
	assert_int_equal(judge(&(struct sh_wish){ 0 }), CM_EPROTO);
	names[0] = "grr";
	assert_int_equal(judge(&(struct sh_wish){ 0 }), CM_OK);
	play.policy.shared.protocols = (struct cf_strings){ 0 };
}

static void epsilon0_is_judged_by_the_randomizer_not_by_what_is_stated(void **state)
{
	(void)state;
	play.policy.shared.max_epsilon0 = 2;
	assert_int_equal(judge(&(struct sh_wish){ .epsilon0 = 1.9 }), CM_OK);
	assert_int_equal(judge(&(struct sh_wish){ .epsilon0 = 2.1 }), CM_EPROTO);
	play.d.privacy.epsilon0 = 1;
	assert_int_equal(sh_policy_judge(&play.policy, &play.d, play.now_ms, &play.no), CM_EPROTO);
	assert_non_null(strstr(play.no.text, "max_epsilon0"));
	play.policy.shared.max_epsilon0 = 3;
	assert_int_equal(sh_policy_judge(&play.policy, &play.d, play.now_ms, &play.no), CM_EPROTO);
	assert_non_null(strstr(play.no.text, "states"));
}

static void a_lower_minimum_than_the_floor_is_refused(void **state)
{
	(void)state;
	play.policy.shared.min_batch = 1000;
	assert_int_equal(judge(&(struct sh_wish){ .min_reports = 1000 }), CM_OK);
	assert_int_equal(judge(&(struct sh_wish){ .min_reports = 999 }), CM_EPROTO);
	assert_int_equal(play.no.code, TOMBOLA__V1__ERROR_CODE__ERROR_BATCH_TOO_SMALL);
}

static void the_target_has_a_maximum(void **state)
{
	(void)state;
	play.policy.max_target = 5000;
	assert_int_equal(judge(&(struct sh_wish){ .target = 5000 }), CM_OK);
	assert_int_equal(judge(&(struct sh_wish){ .target = 5001 }), CM_EPROTO);
}

static void a_deadline_in_the_past_or_too_far_ahead_is_refused(void **state)
{
	(void)state;
	play.policy.max_window_ms = 60000;
	assert_int_equal(judge(&(struct sh_wish){ .window_ms = 60000 }), CM_OK);
	assert_int_equal(judge(&(struct sh_wish){ .window_ms = 60001 }), CM_EPROTO);
	sh_play_describe(&play, &(struct sh_wish){ .window_ms = 1000 });
	assert_int_equal(sh_policy_judge(&play.policy, &play.d, play.d.deadline_ms - 1, &play.no), CM_OK);
	assert_int_equal(sh_policy_judge(&play.policy, &play.d, play.d.deadline_ms, &play.no), CM_EPROTO);
	assert_int_equal(play.no.code, TOMBOLA__V1__ERROR_CODE__ERROR_CLOCK);
}

static void a_round_that_opens_much_later_is_refused_by_the_clock(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ .window_ms = 1000 });
	assert_int_equal(
		sh_policy_judge(&play.policy, &play.d, play.d.opens_ms - RD_CLOCK_SLACK_MS, &play.no), CM_OK);
	assert_int_equal(
		sh_policy_judge(&play.policy, &play.d, play.d.opens_ms - RD_CLOCK_SLACK_MS - 1, &play.no),
		CM_EPROTO);
	assert_int_equal(play.no.code, TOMBOLA__V1__ERROR_CODE__ERROR_CLOCK);
	assert_string_equal(play.no.text, "it opens only in 60 s (check the clocks)");
}

static void a_key_to_which_nothing_can_be_sealed_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < LOW_ORDER; i++) {
		assert_int_equal(judge(&(struct sh_wish){ .hpke_key = low_order[i] }), CM_EPROTO);
		assert_int_equal(play.no.code, TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED);
		assert_non_null(strstr(play.no.text, "low order"));
	}
}

static void one_certificate_may_be_its_share_of_the_target(void **state)
{
	static const struct {
		double share;
		uint64_t target, most;
	} row[] = { { 1.0, 7, 7 }, { 0.5, 7, 3 }, { 0.5, 8, 4 }, { 0.29, 100, 29 }, { 0.1, 10, 1 },
		{ 0.01, 10, 1 }, { 1e-6, 2000000, 2 }, { 0.3, 1000000, 300000 }, { 0.7, 10, 7 },
		{ 0.999999, 10, 9 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		assert_int_equal(sh_round_most_of_one(&(struct sh_round){
					 .max_share = row[i].share, .d.target = row[i].target }),
			row[i].most);
	}
}

/* Load a policy file with this text. */
static enum cm_rc load(const char *text, struct sh_policy *out)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/policy.conf", play.dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
	return sh_policy_load(path, out, quiet, &play.err);
}

#define BELIEFS "honest_fraction = 0.75; colluders = 3; max_share = 0.5;"
#define NEEDED  "population = \"x\"; max_epsilon = 1.0; delta = 1e-6; min_batch = 1000;" BELIEFS

static void the_file_is_read_with_its_defaults(void **state)
{
	struct sh_policy p;

	(void)state;
	assert_int_equal(load(NEEDED, &p), CM_OK);
	assert_string_equal(p.shared.population, "x");
	assert_int_equal(p.shared.min_batch, 1000);
	assert_int_equal(p.max_window_ms, 7 * 86400000LL);
	assert_int_equal(p.shared.max_plan_entries, 400);
	assert_int_equal(p.shared.max_tries, 3);
	assert_int_equal(p.shared.colluders, 3);
	assert_true(p.shared.max_epsilon0 == 8.0 && p.shared.honest_fraction == 0.75 && p.max_share == 0.5);
	sh_policy_fini(&p);
	assert_int_equal(load(NEEDED "max_epsilon0 = \"inf\"; protocols = [\"grr\", \"bins\"];", &p), CM_OK);
	assert_true(isinf(p.shared.max_epsilon0));
	assert_int_equal(p.shared.protocols.n, 2);
	sh_policy_fini(&p);
}

static void faults_in_the_file_are_refused_by_line(void **state)
{
	static const char *const bad[] = {
		"population = \"x\"; max_epsilon = 1.0; delta = 1e-6;" BELIEFS, /* no minimum */
		"population = \"x\"; max_epsilon = 1.0; delta = 1e-6; min_batch = 0;" BELIEFS,     /* zero */
		"population = \"x\"; max_epsilon = -1.0; delta = 1e-6; min_batch = 10;" BELIEFS,   /*
												    negative */
		"population = \"x\"; max_epsilon = 1.0; delta = 1.0; min_batch = 10;" BELIEFS,     /* delta */
		"population = \"x\"; max_epsilon = \"inf\"; delta = 1e-6; min_batch = 1;" BELIEFS, /* no
												    limit */
		"population = \"x\"; max_epsilon = 1.0; delta = 1e-6; min_batch = 10;"
		"colluders = 0; max_share = 1.0;", /* no honest_fraction */
		"population = \"x\"; max_epsilon = 1.0; delta = 1e-6; min_batch = 10;"
		"honest_fraction = 1.0; max_share = 1.0;", /* no colluders */
		"population = \"x\"; max_epsilon = 1.0; delta = 1e-6; min_batch = 10;"
		"honest_fraction = 1.0; colluders = 0;", /* no max_share */
		NEEDED "max_tries = 0;",
		NEEDED "max_plan_entries = 1001;",
		NEEDED "surprise = 1;",
		NEEDED "\nprotocols = [\"nonesuch\"];",
		NEEDED "max_window = \"soon\";",
		"population = ",
	};
	struct sh_policy p;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(load(bad[i], &p), CM_ECONFIG);
		assert_non_null(strstr(play.err.msg, "policy.conf:"));
		sh_policy_fini(&p);
	}
	assert_int_equal(load(bad[11], &p), CM_ECONFIG);
	assert_non_null(strstr(play.err.msg, ":2:"));
	assert_non_null(strstr(play.err.msg, "nonesuch"));
	sh_policy_fini(&p);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_round_within_the_policy_passes),
		T(another_population_is_refused),
		T(a_mode_that_follows_from_answers_is_for_who_accepts_it),
		T(a_protocol_that_is_not_listed_is_refused),
		T(epsilon0_is_judged_by_the_randomizer_not_by_what_is_stated),
		T(a_lower_minimum_than_the_floor_is_refused),
		T(the_target_has_a_maximum),
		T(a_key_to_which_nothing_can_be_sealed_is_refused),
		T(one_certificate_may_be_its_share_of_the_target),
		T(a_deadline_in_the_past_or_too_far_ahead_is_refused),
		T(a_round_that_opens_much_later_is_refused_by_the_clock),
		T(the_file_is_read_with_its_defaults),
		T(faults_in_the_file_are_refused_by_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
