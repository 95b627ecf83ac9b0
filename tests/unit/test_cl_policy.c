/* test_cl_policy.c - the client's own limits, each with a round that breaks it and nothing else. */
#include "cl_world.h"
#include "computed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "low_order.h"

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
	cl_world_mutant("");
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

static enum cm_rc check(uint64_t recent)
{
	err.msg[0] = '\0';
	return cl_policy_check(&world.policy, &offer.d, recent, &err);
}

static void a_round_within_every_limit_passes(void **state)
{
	(void)state;
	assert_int_equal(check(0), CM_OK);
}

static void another_population_is_refused(void **state)
{
	(void)state;
	(void)snprintf(offer.d.population, sizeof offer.d.population, "other");
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: the round is for population 'other', not 'test'");
}

/* One field that is not listed is enough, wherever it stands among those of a query. */
static void every_field_of_a_query_must_be_listed(void **state)
{
	static struct qy_column xyz[] = { { .name = "x" }, { .name = "y" }, { .name = "z" } };
	char *all[] = { "z", "y", "x" };
	struct qy_query asked = offer.d.query;

	(void)state;
	offer.d.query.column = xyz;
	offer.d.query.columns = 3;
	world.policy.fields = (struct cf_strings){ all, 3 };
	assert_int_equal(check(0), CM_OK);
	world.policy.fields.n = 2;
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: field 'x' is not among the allowed fields");
	world.policy.fields = (struct cf_strings){ all + 1, 2 };
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: field 'z' is not among the allowed fields");
	world.policy.fields.n = 0;
	offer.d.query = asked;
}

static void no_query_asks_who_a_device_is(void **state)
{
	static struct qy_column xy[] = { { .name = "x" }, { .name = "device" } };
	struct qy_query asked = offer.d.query;
	enum cm_rc rc;

	(void)state;
	world.policy.device_field[0] = "device";
	assert_int_equal(check(0), CM_OK);
	offer.d.query.column = xy;
	offer.d.query.columns = 2;
	rc = check(0);
	offer.d.query = asked;
	assert_int_equal(rc, CM_EPERM);
	assert_string_equal(
		err.msg, "policy: field 'device' names the device, and no query may ask who a device is");
	world.policy.device_field[0] = offer.d.query.field;
	assert_int_equal(check(0), CM_EPERM);
	world.policy.device_field[0] = NULL;
	assert_int_equal(check(0), CM_OK);
}

static void queries_fields_and_protocols_that_are_not_listed_are_refused(void **state)
{
	char *other[] = { "other" }, *both[] = { "other", "query" };

	(void)state;
	world.policy.queries = (struct cf_strings){ other, 1 };
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: query 'query' is not among the allowed queries");
	world.policy.queries = (struct cf_strings){ both, 2 };
	assert_int_equal(check(0), CM_OK);
	world.policy.fields = (struct cf_strings){ other, 1 };
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: field 'field' is not among the allowed fields");
	world.policy.fields.n = 0;
	world.policy.shared.protocols = (struct cf_strings){ other, 1 };
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: protocol 'grr' is not among the allowed protocols");
}

static void a_larger_epsilon0_is_refused_unless_the_check_is_removed(void **state)
{
	(void)state;
	world.policy.shared.max_epsilon0 = 0.9;
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(
		err.msg, "policy: epsilon0 1 is above max_epsilon0 0.9: raise it, or lower the round's");
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("policy.epsilon0");
	assert_int_equal(check(0), CM_OK);
	cl_world_mutant("");
#endif
	world.policy.shared.max_epsilon0 = 1.0;
	assert_int_equal(check(0), CM_OK);
}

static void a_round_without_local_guarantee_needs_inf(void **state)
{
	(void)state;
	cl_offer_free(&offer);
	cl_offer_make(&world, "bins", INFINITY, &offer);
	world.policy.shared.max_epsilon0 = 700;
	assert_int_equal(check(0), CM_EPERM);
	world.policy.shared.max_epsilon0 = INFINITY;
	assert_int_equal(check(0), CM_OK);
}

static void rounds_that_follow_from_answers_are_for_who_accepts_them(void **state)
{
	static const char *const modes[] = { "adaptive.gdp", "adaptive.renyi" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		strcpy(offer.d.mode, modes[i]);
		world.policy.shared.accept_adaptive = false;
		assert_int_equal(check(0), CM_EPERM);
		assert_non_null(strstr(err.msg, "accept_adaptive"));
		world.policy.shared.accept_adaptive = true;
		assert_int_equal(check(0), CM_OK);
	}
	strcpy(offer.d.mode, "plan");
	world.policy.shared.accept_adaptive = false;
	assert_int_equal(check(0), CM_OK);
}

/* The same descriptor, in which the shuffler adds messages instead of, or beside, the clients'. */
static void shuffler_adds(const char *protocol, double epsilon0, uint64_t n)
{
	struct pt_request r = { .epsilon0 = epsilon0, .min_reports = 1000, .shuffler_dummies = n };

	cl_offer_free(&offer);
	cl_offer_make(&world, protocol, epsilon0, &offer);
	assert_int_equal(pt_derive(pt_protocol_of(offer.d.randomizer.row), &offer.d.query, &r,
				 &offer.d.randomizer, &err),
		CM_OK);
	offer.d.messages_per_client = offer.d.randomizer.row->messages(&offer.d.randomizer);
	cl_offer_sign(&world, &offer);
}

static void messages_of_the_shuffler_count_only_for_who_accepts_them(void **state)
{
	struct pt_loss with, without;

	(void)state;
	world.policy.shared.max_epsilon0 = INFINITY;
	shuffler_adds("mixbins", 2, 16000);
	assert_int_equal(check(0), CM_OK);
	assert_int_equal(cl_policy_loss(&world.policy, &offer.d, &without, &err), CM_OK);
	world.policy.accept_shuffler_dummies = true;
	assert_int_equal(check(0), CM_OK);
	assert_int_equal(cl_policy_loss(&world.policy, &offer.d, &with, &err), CM_OK);
	assert_true(with.part[0].dummies == 16000 && without.part[0].dummies == 0 &&
		    with.part[0].others == without.part[0].others);

	/* Nothing else protects the round: it has no guarantee to judge. */
	shuffler_adds("bins", INFINITY, 16000);
	assert_int_equal(check(0), CM_OK);
	world.policy.accept_shuffler_dummies = false;
	assert_int_equal(check(0), CM_EPERM);
	assert_non_null(strstr(err.msg, "rests on the shuffler adding 16000 messages"));
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.policy.shuffler_dummies");
	assert_int_equal(check(0), CM_OK);
	cl_world_mutant("");
#endif
	/* The clients' own dummies count without trusting anybody. */
	shuffler_adds("bins", INFINITY, 16000);
	offer.d.randomizer.mixbins.dummies = 3;
	assert_int_equal(check(0), CM_OK);
	assert_int_equal(cl_policy_loss(&world.policy, &offer.d, &without, &err), CM_OK);
	assert_int_equal(without.part[0].dummies, 3000);
}

static void a_statement_below_the_truth_is_refused(void **state)
{
	(void)state;
	offer.d.privacy.epsilon0 = 0.5;
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: the round states epsilon0 0.5, its randomizer has 1");
	offer.d.privacy.epsilon0 = NAN;
	assert_int_equal(check(0), CM_EPERM);
}

static void a_lowered_minimum_batch_is_refused_unless_the_check_is_removed(void **state)
{
	(void)state;
	world.policy.shared.min_batch = 1001;
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg,
		"policy: the round guarantees a batch of 1000 (min_reports of the plan), min_batch is 1001: lower "
		"it, or raise min_reports");
	world.policy.shared.min_batch = 1000;
	assert_int_equal(check(0), CM_OK);
#ifdef TOMBOLA_MUTANTS
	world.policy.shared.min_batch = 1001;
	cl_world_mutant("policy.min_batch");
	assert_int_equal(check(0), CM_OK);
#endif
}

/* Whoever corrects one key wants to know of the others. */
static void every_reason_is_given_to_whoever_asks_for_all(void **state)
{
	struct rd_faults faults = { .n = 0 };

	(void)state;
	assert_int_equal(cl_policy_entry(&world.policy, &offer.d, &faults, &err), CM_OK);
	assert_int_equal(faults.n, 0);
	world.policy.shared.min_batch = 1001;
	world.policy.shared.max_epsilon0 = 0.9;
	assert_int_equal(cl_policy_entry(&world.policy, &offer.d, &faults, &err), CM_EPERM);
	assert_int_equal(faults.n, 2);
	assert_string_equal(faults.fault[0].text, err.msg);
	assert_non_null(strstr(faults.fault[0].text, "max_epsilon0 0.9"));
	assert_non_null(strstr(faults.fault[1].text, "min_batch is 1001"));
	assert_int_equal(cl_policy_entry(&world.policy, &offer.d, NULL, &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "max_epsilon0 0.9"));
}

/* With separate classes a report hides among its own: 200 where epsilon0 3 is allowed, 900 where 1 is. */
static void the_batch_of_a_class_apart_counts(void **state)
{
	const struct pt_request r = {
		.epsilon0 = 3, .classes = 2, .class_epsilon0 = { 1, 3 }, .class_least = { 900, 200 }
	};

	(void)state;
	for (int pooled = 0; pooled < 2; pooled++) {
		offer.d.privacy.epsilon0 = 3;
		assert_int_equal(pt_derive(pt_find(pooled ? "gspa-pooled" : "gspa-classes"), &offer.d.query,
					 &r, &offer.d.randomizer, &err),
			CM_OK);
		offer.d.messages_per_client = offer.d.randomizer.row->messages(&offer.d.randomizer);
		world.policy.shared.max_epsilon0 = 3;
		world.policy.shared.min_batch = 201;
		assert_int_equal(check(0), pooled ? CM_OK : CM_EPERM);
		if (!pooled)
			assert_string_equal(err.msg,
				"policy: the round guarantees a batch of 200 of its "
				"class (min_reports of the plan), min_batch is 201: lower "
				"it, or raise min_reports");
		world.policy.shared.max_epsilon0 = 1;
		assert_int_equal(check(0), CM_OK);
		world.policy.shared.min_batch = 901;
		assert_int_equal(check(0), pooled ? CM_OK : CM_EPERM);
		world.policy.shared.min_batch = 1001;
		assert_int_equal(check(0), CM_EPERM);
	}
}

static void more_tries_than_the_policy_allows_are_refused_unless_the_check_is_removed(void **state)
{
	(void)state;
	world.policy.shared.max_tries = 2;
	offer.d.attempt = 2;
	assert_int_equal(check(0), CM_OK);
	offer.d.attempt = 3;
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: this is try 3 of the plan's entry 1, max_tries is 2");
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.policy.tries");
	assert_int_equal(check(0), CM_OK);
#endif
}

/* Only programs that the device's owner agreed to may run. */
static void a_program_must_be_agreed_to(void **state)
{
	static const uint8_t agreed[2][PR_HASH_LEN] = { { 7 }, { 8 } };
	struct qy_query asked = offer.d.query;

	(void)state;
	offer.d.query = computed_vector(3, 1);
	offer.d.computing = computed_by("program", 2, 0, CO_PART_ALL, 1);
	offer.d.computing.program[0] = 8;
	assert_int_equal(check(0), CM_EPERM);
	assert_non_null(strstr(err.msg, "policy: program sha256:0800"));
	world.policy.program = agreed;
	world.policy.programs = 1;
	assert_int_equal(check(0), CM_EPERM);
	world.policy.programs = 2;
	assert_int_equal(check(0), CM_OK);
	offer.d.computing.program[PR_HASH_LEN - 1] = 1;
	assert_int_equal(check(0), CM_EPERM);
	assert_non_null(strstr(err.msg, "is not among this client's programs"));
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.policy.program");
	assert_int_equal(check(0), CM_OK);
	cl_world_mutant("");
#endif
	world.policy.programs = 0;
	memset(&offer.d.computing, 0, sizeof offer.d.computing);
	offer.d.query = asked;
}

/* In a round that computes, the fields that the map reads are judged; the query's field names the output. */
static void a_map_reads_only_allowed_fields_and_small_payloads(void **state)
{
	static char x[] = "x", y[] = "y", mean[] = "moments", other[] = "tree-path";
	char *allowed[] = { x, y }, *maps[] = { other, mean };
	const struct qy_query before = offer.d.query;

	(void)state;
	offer.d.query = computed_vector(6 + 3 * 2, 1);
	offer.d.computing = computed_by("moments", 2, 2, CO_PART_ALL, 1);
	world.policy.maps = (struct cf_strings){ maps, 2 };
	assert_int_equal(check(0), CM_OK);
	world.policy.maps.n = 1;
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: map 'moments' is not among the allowed maps");
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.policy.maps");
	assert_int_equal(check(0), CM_OK);
	cl_world_mutant("");
#endif
	world.policy.maps.n = 0;
	offer.d.query.dimension--;
	assert_int_equal(check(0), CM_EPERM);
	assert_non_null(strstr(err.msg, "the map makes 12 numbers"));
	offer.d.query.dimension++;
	world.policy.fields = (struct cf_strings){ allowed, 2 };
	assert_int_equal(check(0), CM_OK);
	world.policy.fields.n = 1;
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: field 'y' is not among the allowed fields");
	world.policy.fields.n = 0;
	world.policy.device_field[0] = "x";
	assert_int_equal(check(0), CM_EPERM);
	world.policy.device_field[0] = NULL;
	offer.d.payload_max = (1 << 20) + 1;
	assert_int_equal(check(0), CM_EPERM);
	assert_string_equal(err.msg, "policy: payloads of up to 1048577 bytes, max_payload is 1048576");
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("policy.payload");
	assert_int_equal(check(0), CM_OK);
	cl_world_mutant("");
#endif
	offer.d.payload_max--;
	assert_int_equal(check(0), CM_OK);
	offer.d.payload_max = 0;
	offer.d.computing = (struct qy_computing){ .map = "" };
	offer.d.query = before;
}

static void rounds_beyond_the_window_are_refused(void **state)
{
	(void)state;
	world.policy.max_rounds = 2;
	assert_int_equal(check(1), CM_OK);
	assert_int_equal(check(2), CM_EPERM);
	assert_string_equal(err.msg, "policy: 2 rounds within the last 86400 s, max_rounds is 2");
}

static void messages_that_do_not_fit_a_frame_are_refused(void **state)
{
	(void)state;
	offer.d.messages_per_client = 1024;
	offer.d.record_len = 4096;
	assert_int_equal(check(0), CM_EPERM);
}

static void a_key_to_which_nothing_can_be_sealed_is_refused_for_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < LOW_ORDER; i++) {
		memcpy(offer.d.hpke_key, low_order[i], sizeof offer.d.hpke_key);
		assert_int_equal(check(0), CM_EPERM); /* as every refusal that a ledger keeps */
		assert_non_null(strstr(err.msg, "hpke_key"));
	}
}

static void the_smaller_honest_fraction_and_the_more_colluders_count(void **state)
{
	(void)state;
	/* max(1, floor(h n) - c), h the smaller, c the larger, n = 1000. */
	assert_int_equal(cl_policy_honest(&world.policy, &offer.d), 1000);
	world.policy.shared.honest_fraction = 0.5;
	assert_int_equal(cl_policy_honest(&world.policy, &offer.d), 500);
	offer.d.honest_fraction = 0.25;
	assert_int_equal(cl_policy_honest(&world.policy, &offer.d), 250);
	offer.d.colluders = 20;
	world.policy.shared.colluders = 10;
	assert_int_equal(cl_policy_honest(&world.policy, &offer.d), 230);
	world.policy.shared.colluders = 1000;
	assert_int_equal(cl_policy_honest(&world.policy, &offer.d), 1);
}

static void fewer_honest_participants_cost_more(void **state)
{
	struct pt_loss many, few;
	struct acct_bound cheap, dear;

	(void)state;
	assert_int_equal(cl_policy_loss(&world.policy, &offer.d, &many, &err), CM_OK);
	world.policy.shared.honest_fraction = 0.1;
	assert_int_equal(cl_policy_loss(&world.policy, &offer.d, &few, &err), CM_OK);
	assert_int_equal(many.part[0].others, 999);
	assert_int_equal(few.part[0].others, 99);
	assert_int_equal(acct_epsilon(many.part, many.parts, 1e-6, &cheap), ACCT_OK);
	assert_int_equal(acct_epsilon(few.part, few.parts, 1e-6, &dear), ACCT_OK);
	/* The upper end is charged. */
	assert_true(cheap.upper < dear.upper);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_round_within_every_limit_passes),
		TEST(another_population_is_refused),
		TEST(queries_fields_and_protocols_that_are_not_listed_are_refused),
		TEST(every_field_of_a_query_must_be_listed),
		TEST(no_query_asks_who_a_device_is),
		TEST(a_larger_epsilon0_is_refused_unless_the_check_is_removed),
		TEST(a_round_without_local_guarantee_needs_inf),
		TEST(rounds_that_follow_from_answers_are_for_who_accepts_them),
		TEST(messages_of_the_shuffler_count_only_for_who_accepts_them),
		TEST(a_statement_below_the_truth_is_refused),
		TEST(a_lowered_minimum_batch_is_refused_unless_the_check_is_removed),
		TEST(every_reason_is_given_to_whoever_asks_for_all),
		TEST(the_batch_of_a_class_apart_counts),
		TEST(more_tries_than_the_policy_allows_are_refused_unless_the_check_is_removed),
		TEST(a_program_must_be_agreed_to),
		TEST(a_map_reads_only_allowed_fields_and_small_payloads),
		TEST(rounds_beyond_the_window_are_refused),
		TEST(messages_that_do_not_fit_a_frame_are_refused),
		TEST(a_key_to_which_nothing_can_be_sealed_is_refused_for_good),
		TEST(the_smaller_honest_fraction_and_the_more_colluders_count),
		TEST(fewer_honest_participants_cost_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
