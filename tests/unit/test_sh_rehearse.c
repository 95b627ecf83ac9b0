/* test_sh_rehearse.c - rehearsals in the shuffler and at the analyzer: one at a time, what each client counts
 * for, and what the analyzer makes of the result. */
#include "golden_plan.h"

#include <stdio.h>

#include "an_rehearse.h"
#include "sh_rehearse.h"

#define NOW INT64_C(1764403200000)

static struct cm_err err;
static struct sh_refusal no;
static struct sh_policy policy;
static struct sh_plans *plans;
static struct sh_rehearse r;
static struct rd_plan plan;

static int begin(void **state)
{
	(void)state;
	policy = (struct sh_policy){
		.max_share = 0.01, .max_target = 1000000, .max_shuffler_dummies = 1000000
	};
	policy.shared = (struct rd_policy){ .population = "shuttle",
		.max_epsilon = 8,
		.delta = 1e-5,
		.max_epsilon0 = 50,
		.min_batch = 100,
		.honest_fraction = 1,
		.max_payload = PR_PAYLOAD_MAX,
		.max_plan_entries = 100 };
	assert_int_equal(sh_plans_new(&policy, 0, &plans, &err), CM_OK);
	sh_rehearse_init(&r, &policy, plans, analyzer.verifier);
	assert_int_equal(rd_plan_decode(golden.data, golden.len, &plan, &err), CM_OK);
	return 0;
}

static int end(void **state)
{
	(void)state;
	sh_rehearse_fini(&r);
	sh_plans_free(plans);
	rd_plan_fini(&plan);
	return 0;
}

static enum cm_rc ask(int64_t mono_ms)
{
	Tombola__V1__Rehearse q;
	uint8_t signature[CR_SIGN_LEN];
	struct cm_buf draft;
	enum cm_rc rc;

	cm_buf_init(&draft, PR_PLAN_MAX);
	assert_int_equal(an_rehearse_ask(&plan, analyzer.signer, NOW, &draft, signature, &q, &err), CM_OK);
	/* What is asked about is the plan that would be signed, byte for byte. */
	assert_int_equal(draft.len, golden.len);
	assert_memory_equal(draft.data, golden.data, draft.len);
	rc = sh_rehearse_begin(&r, &q, NOW, mono_ms, &no, &err);
	cm_buf_fini(&draft);
	return rc;
}

static void compose(void)
{
	struct sh_compose *w = NULL;

	assert_int_equal(sh_rehearse_compose(&r, &w, &err), CM_OK);
	assert_non_null(w);
	sh_compose_run(w, NULL);
	sh_rehearse_composed(&r, w);
	sh_compose_free(w);
}

static void it_is_one_at_a_time_with_a_pause_between_two(void **state)
{
	struct sh_compose *w = NULL;

	(void)state;
	assert_int_equal(ask(1000), CM_OK);
	assert_int_equal(ask(1000000), CM_EPROTO);
	assert_int_equal(no.code, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY);
	sh_rehearse_end(&r, 5000);
	assert_int_equal(ask(5000 + SH_REHEARSE_REST_MS - 1), CM_EPROTO);
	assert_int_equal(no.code, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY);
	assert_int_equal(no.retry_after_ms, 1);
	assert_int_equal(ask(5000 + SH_REHEARSE_REST_MS), CM_OK);
	/* A composition that outlives its rehearsal keeps the next one waiting, and counts for none. */
	assert_int_equal(sh_rehearse_compose(&r, &w, &err), CM_OK);
	sh_rehearse_end(&r, 10000);
	assert_true(sh_rehearse_outlived(&r));
	assert_int_equal(ask(20000), CM_EPROTO);
	sh_compose_run(w, NULL);
	sh_rehearse_composed(&r, w);
	sh_compose_free(w);
	assert_int_equal(ask(20000), CM_OK);
	assert_false(sh_rehearse_is_done(&r));
	compose();
	assert_true(sh_rehearse_is_done(&r));
	assert_int_equal(rd_pin_count(&r.taken), 2);
	/* Nothing is pinned or taken. */
	assert_true(sh_plans_taken(plans).epsilon == 0 && !sh_plans_at(plans, 0));
}

static void a_rehearsal_under_way_is_decided_by_the_policy_that_is_in_force(void **state)
{
	struct sh_compose *w = NULL;

	(void)state;
	assert_int_equal(ask(1000), CM_OK);
	compose();
	assert_int_equal(rd_pin_count(&r.taken), 2);
	policy.shared.max_plan_entries = 1;
	sh_rehearse_reconsider(&r);
	assert_true(sh_rehearse_is_done(&r));
	assert_int_equal(rd_pin_count(&r.taken), 0);
	assert_int_equal(r.faults.n, 1);
	assert_non_null(strstr(r.faults.fault[0].text, "max_plan_entries"));
	/* What a worker thread composes by an older policy says nothing. */
	policy.shared.max_plan_entries = 100;
	sh_rehearse_reconsider(&r);
	assert_int_equal(sh_rehearse_compose(&r, &w, &err), CM_OK);
	assert_non_null(w);
	policy.shared.min_batch = 1000000000;
	sh_rehearse_reconsider(&r);
	sh_compose_run(w, NULL);
	sh_rehearse_composed(&r, NULL);
	sh_compose_free(w);
	assert_false(sh_rehearse_is_done(&r));
	compose();
	assert_int_equal(rd_pin_count(&r.taken), 0);
	assert_true(r.faults.n > 0 && strstr(r.faults.fault[0].text, "min_batch"));
}

static void what_the_policy_refuses_is_said_with_key_and_values(void **state)
{
	(void)state;
	policy.shared.min_batch = 2000;
	assert_int_equal(ask(0), CM_OK);
	compose();
	assert_int_equal(rd_pin_count(&r.taken), 0);
	assert_int_equal(r.faults.n, 1);
	assert_int_equal(r.faults.fault[0].entries, 2);
	assert_non_null(strstr(r.faults.fault[0].text, "1000 (min_reports of the plan), min_batch is 2000"));
	sh_rehearse_end(&r, 0);
	/* All that is wrong at once: also that the slice would not hold what the policy refuses. */
	policy.shared.colluders = 999;
	assert_int_equal(ask(10000), CM_OK);
	compose();
	assert_int_equal(r.faults.n, 2);
	assert_non_null(strstr(r.faults.fault[1].text, "does not fit the slice"));
	assert_non_null(strstr(r.faults.fault[1].text, "; colluders is 999, the plan's 10"));
	policy.shared.colluders = 0;
	sh_rehearse_end(&r, 10000);
	/* The slice as a whole, and too many entries, need no composition. */
	policy.shared.max_epsilon = 0.5;
	assert_int_equal(ask(20000), CM_OK);
	assert_true(sh_rehearse_is_done(&r));
	assert_non_null(strstr(r.faults.fault[0].text, "max_epsilon is 0.5"));
	assert_non_null(strstr(r.faults.fault[1].text, "min_batch is 2000"));
	sh_rehearse_end(&r, 20000);
	policy.shared.max_epsilon = 8;
	policy.shared.max_plan_entries = 1;
	assert_int_equal(ask(30000), CM_OK);
	assert_true(sh_rehearse_is_done(&r));
	assert_non_null(strstr(r.faults.fault[0].text, "2 entries, max_plan_entries is 1"));
}

/* ---- Clients ---- */

static struct cr_identity client(uint8_t number, uint32_t devices)
{
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = devices };

	who.key_hash[0] = number;
	(void)snprintf(who.name, sizeof who.name, "c%u", number);
	return who;
}

static void say(uint8_t number, uint32_t devices, uint64_t listed, uint8_t bits, bool known)
{
	const struct cr_identity who = client(number, devices);
	Tombola__V1__RehearsalAnswer a = TOMBOLA__V1__REHEARSAL_ANSWER__INIT;

	a.draft_hash = (ProtobufCBinaryData){ PR_HASH_LEN, plan.hash };
	a.devices = listed;
	a.taken = (ProtobufCBinaryData){ 1, &bits };
	assert_int_equal(sh_rehearse_answer(&r, &who, &a), known);
}

static void ask_client(uint8_t number, uint32_t devices)
{
	const struct cr_identity who = client(number, devices);

	assert_int_equal(sh_rehearse_ask(&r, &who, &err), CM_OK);
	assert_int_equal(sh_rehearse_ask(&r, &who, &err), CM_ELATER);
}

static struct an_rehearsal found;

static void keep(void *user, Tombola__V1__Rehearsed *result)
{
	size_t *told = user;

	++*told;
	assert_int_equal(an_rehearse_read(&plan, result, &found, &err), CM_OK);
}

/* max_share 0.01 of target 58000 is 580 devices of one certificate. */
static void a_client_counts_for_what_certificate_and_share_leave_of_its_list(void **state)
{
	uint8_t key[4][PR_HASH_LEN] = { { 9 }, { 1 }, { 9 }, { 4 } };
	const uint8_t *connected[] = { key[0], key[1], key[2], key[3] };
	size_t told = 0;

	(void)state;
	assert_int_equal(ask(0), CM_OK);
	say(1, 1000, 1000, 3, false); /* nobody asked it */
	ask_client(1, 1000);
	ask_client(2, 300);
	ask_client(3, 100000);
	ask_client(4, 7);
	assert_false(sh_rehearse_is_done(&r));
	say(1, 1000, 900, 3, true);       /* 580 of both entries */
	say(1, 1000, 900, 3, false);      /* it has answered */
	say(2, 300, UINT64_MAX, 1, true); /* 300 of the first */
	say(3, 100000, 0, 0xff, true);    /* without a list: up to 580 of both */
	compose();
	assert_int_equal(
		sh_rehearse_tell(&r, connected, sizeof connected / sizeof connected[0], keep, &told, &err),
		CM_OK);
	assert_int_equal(told, 1);
	assert_int_equal(found.answered, 3);
	assert_int_equal(found.silent, 1);
	assert_int_equal(found.unasked, 1); /* the one that is connected twice and was not asked */
	assert_int_equal(found.clients, 4);
	assert_int_equal(found.entry[0].participants, 880);
	assert_int_equal(found.entry[0].at_most, 1460);
	assert_int_equal(found.entry[0].reach, AN_MAYBE);
	assert_int_equal(found.entry[1].participants, 580);
	assert_int_equal(found.entry[1].at_most, 1160);
	assert_int_equal(found.entry[0].listed, 900 + PR_ROUND_REPORTS_MAX);
	/* 320 of the first client are over the share; of the second all but 300 over its certificate. */
	assert_int_equal(found.entry[0].over_share, 320);
	assert_int_equal(found.entry[0].over_certificate, PR_ROUND_REPORTS_MAX - 300);
	assert_int_equal(an_rehearse_faults(&found), 0);
	an_rehearse_fini(&found);
}

static void with_nobody_or_too_few_something_is_wrong(void **state)
{
	size_t told = 0;

	(void)state;
	assert_int_equal(ask(0), CM_OK);
	compose();
	assert_int_equal(sh_rehearse_tell(&r, NULL, 0, keep, &told, &err), CM_OK);
	/* Nobody answers, and neither entry reaches min_reports. */
	assert_int_equal(an_rehearse_faults(&found), 3);
	an_rehearse_fini(&found);
	ask_client(1, 1000);
	say(1, 1000, 1000, 3, true);
	assert_int_equal(sh_rehearse_tell(&r, NULL, 0, keep, &told, &err), CM_OK);
	assert_int_equal(found.entry[0].participants, 580);
	assert_int_equal(found.entry[0].reach, AN_MISSED);
	assert_int_equal(an_rehearse_faults(&found), 2);
	/* 0.02 of 58000 is 1160, and 0.01 of it 580. */
	assert_int_equal(found.shuffler.faults.n, 1);
	assert_int_equal(found.shuffler.faults.fault[0].entries, 2);
	assert_string_equal(found.shuffler.faults.fault[0].text,
		"policy: max_share is 0.01, so at most 580 devices of one certificate take part at target 58000, "
		"and one has 1000: raise it to 0.02");
	an_rehearse_fini(&found);
	ask_client(2, 1000);
	say(2, 1000, 420, 3, true);
	assert_int_equal(sh_rehearse_tell(&r, NULL, 0, keep, &told, &err), CM_OK);
	assert_int_equal(found.entry[0].reach, AN_REACHED); /* 580 + 420 */
	assert_int_equal(an_rehearse_faults(&found), 0);
	an_rehearse_fini(&found);
}

static void answers_with_faults_are_told_first_and_all_count(void **state)
{
	const uint32_t clients = PR_REHEARSED_MAX + 40;
	char text[] = "policy: min_batch";
	Tombola__V1__RehearsalFault fault = TOMBOLA__V1__REHEARSAL_FAULT__INIT, *faults[] = { &fault };
	size_t told = 0;

	(void)state;
	assert_int_equal(ask(0), CM_OK);
	fault.text = text;
	for (uint32_t i = 0; i < clients; i++) {
		struct cr_identity who = client((uint8_t)i, 3);
		Tombola__V1__RehearsalAnswer a = TOMBOLA__V1__REHEARSAL_ANSWER__INIT;
		uint8_t both = 3;

		who.key_hash[1] = (uint8_t)(i >> 8);
		assert_int_equal(sh_rehearse_ask(&r, &who, &err), CM_OK);
		a.draft_hash = (ProtobufCBinaryData){ PR_HASH_LEN, plan.hash };
		a.devices = 2;
		a.taken = (ProtobufCBinaryData){ 1, &both };
		a.n_faults = i >= clients - 5; /* the last five, for which there is no place left */
		a.faults = faults;
		assert_true(sh_rehearse_answer(&r, &who, &a));
	}
	compose();
	assert_int_equal(sh_rehearse_tell(&r, NULL, 0, keep, &told, &err), CM_OK);
	assert_int_equal(found.answered, clients);
	assert_int_equal(found.clients, PR_REHEARSED_MAX);
	assert_int_equal(found.entry[0].participants, 2 * clients);
	for (size_t i = 0; i < found.clients; i++)
		assert_int_equal(found.client[i].faults.n, i < 5);
	an_rehearse_fini(&found);
}

/* Each is found at once, so that thousands of clients do not keep the shuffler busy. */
static void as_many_are_asked_as_there_may_be_and_no_more(void **state)
{
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = 1 };
	Tombola__V1__RehearsalAnswer answer = TOMBOLA__V1__REHEARSAL_ANSWER__INIT;

	(void)state;
	policy.max_share = 1;
	assert_int_equal(ask(0), CM_OK);
	compose();
	answer.draft_hash = (ProtobufCBinaryData){ PR_HASH_LEN, plan.hash };
	answer.taken = (ProtobufCBinaryData){ 1, (uint8_t[]){ 3 } };
	for (uint32_t i = 0; i <= SH_REHEARSE_ASKED; i++) {
		cm_put_le32(who.key_hash + 4, i); /* two in one place of the table */
		cm_put_le32(who.key_hash, i / 2 * 2654435761u);
		assert_int_equal(sh_rehearse_ask(&r, &who, &err), i < SH_REHEARSE_ASKED ? CM_OK : CM_ELATER);
		assert_int_equal(sh_rehearse_answer(&r, &who, &answer), i < SH_REHEARSE_ASKED);
	}
	assert_true(sh_rehearse_is_done(&r));
	assert_int_equal(r.asks, SH_REHEARSE_ASKED);
	assert_int_equal(r.would[0].at_most, SH_REHEARSE_ASKED);
}

static void an_answer_about_something_else_is_refused(void **state)
{
	Tombola__V1__Rehearsed m = TOMBOLA__V1__REHEARSED__INIT;
	Tombola__V1__RehearsedEntry entry = TOMBOLA__V1__REHEARSED_ENTRY__INIT,
				    *entries[] = { &entry, &entry };
	uint8_t hash[PR_HASH_LEN];

	(void)state;
	memcpy(hash, plan.hash, sizeof hash);
	m.draft_hash = (ProtobufCBinaryData){ sizeof hash, hash };
	m.max_share = 1;
	m.n_entries = 2;
	m.entries = entries;
	assert_int_equal(an_rehearse_read(&plan, &m, &found, &err), CM_OK);
	an_rehearse_fini(&found);
	m.n_entries = 1;
	assert_int_equal(an_rehearse_read(&plan, &m, &found, &err), CM_EPROTO);
	an_rehearse_fini(&found);
	m.n_entries = 2;
	m.max_share = 1.1;
	assert_int_equal(an_rehearse_read(&plan, &m, &found, &err), CM_EPROTO);
	an_rehearse_fini(&found);
	m.max_share = 1;
	hash[31] ^= 1;
	assert_int_equal(an_rehearse_read(&plan, &m, &found, &err), CM_EPROTO);
	an_rehearse_fini(&found);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(it_is_one_at_a_time_with_a_pause_between_two),
		CASE(a_rehearsal_under_way_is_decided_by_the_policy_that_is_in_force),
		CASE(what_the_policy_refuses_is_said_with_key_and_values),
		CASE(a_client_counts_for_what_certificate_and_share_leave_of_its_list),
		CASE(with_nobody_or_too_few_something_is_wrong),
		CASE(answers_with_faults_are_told_first_and_all_count),
		CASE(as_many_are_asked_as_there_may_be_and_no_more),
		CASE(an_answer_about_something_else_is_refused),
	};

	return cmocka_run_group_tests(tests, golden_load, golden_drop);
}
