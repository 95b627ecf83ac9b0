/* test_rehearsal.c - a plan as a question: whose it is, when it was asked, and what is read of answers. */
#include "golden_plan.h"

#include <stdio.h>

#include "rd_rehearsal.h"

#define NOW INT64_C(1764403200000)

static struct cm_err err;
static uint8_t signature[CR_SIGN_LEN];

static Tombola__V1__Rehearse question(int64_t asked_ms)
{
	Tombola__V1__Rehearse q = TOMBOLA__V1__REHEARSE__INIT;

	q.draft = (ProtobufCBinaryData){ golden.len, golden.data };
	q.asked_ms = asked_ms;
	q.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, signature };
	assert_int_equal(rd_rehearsal_sign(analyzer.signer, (struct cr_span){ golden.data, golden.len },
				 asked_ms, signature, &err),
		CM_OK);
	return q;
}

static enum cm_rc verify(
	const Tombola__V1__Rehearse *q, const struct cr_verifier *key, const char *population, int64_t now_ms)
{
	struct rd_plan plan;
	enum cm_rc rc = rd_rehearsal_verify(q, key, population, now_ms, &plan, &err);

	if (rc == CM_OK)
		assert_int_equal(plan.entries, 2);
	rd_plan_fini(&plan);
	return rc;
}

static void a_question_is_the_analyzers_of_that_time_and_that_population(void **state)
{
	Tombola__V1__Rehearse q = question(NOW);

	(void)state;
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW), CM_OK);
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW + RD_REHEARSAL_AGE_MS), CM_OK);
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW - RD_REHEARSAL_AGE_MS), CM_OK);
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW + RD_REHEARSAL_AGE_MS + 1), CM_EPERM);
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW - RD_REHEARSAL_AGE_MS - 1), CM_EPERM);
	assert_int_equal(verify(&q, other.verifier, "shuttle", NOW), CM_EPERM);
	assert_int_equal(verify(&q, analyzer.verifier, "shuttles", NOW), CM_EPERM);
	q.asked_ms++;
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW), CM_EPERM);
	q = question(NOW);
	q.draft.len--;
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW), CM_EPERM);
	q = question(NOW);
	q.signature.len = 0;
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW), CM_EPERM);
}

static void a_question_is_no_plan_and_a_plan_is_no_question(void **state)
{
	Tombola__V1__Rehearse q = question(NOW);
	struct rd_plan plan;

	(void)state;
	assert_int_equal(
		rd_plan_verify(golden.data, golden.len, signature, analyzer.verifier, &plan, &err), CM_EPERM);
	assert_int_equal(
		cr_sign(analyzer.signer, RD_PURPOSE_PLAN, golden.data, golden.len, signature, &err), CM_OK);
	assert_int_equal(
		rd_plan_verify(golden.data, golden.len, signature, analyzer.verifier, &plan, &err), CM_OK);
	rd_plan_fini(&plan);
	assert_int_equal(verify(&q, analyzer.verifier, "shuttle", NOW), CM_EPERM);
}

static void reasons_are_counted_bounded_and_safe_to_print(void **state)
{
	struct rd_faults faults = { .n = 0 }, back;
	struct rd_faults_wire wire;
	char text[32];

	(void)state;
	rd_faults_add(NULL, 1, "nobody asks");
	for (uint32_t i = 1; i <= 10; i++) {
		(void)snprintf(text, sizeof text, "reason %u\x1b", i % 6);
		rd_faults_add(&faults, i, text);
	}
	/* Ten entries of six reasons, 1 to 4 twice: the first four are kept. */
	assert_int_equal(faults.n, PR_FAULTS_MAX);
	for (uint32_t i = 0; i < PR_FAULTS_MAX; i++) {
		(void)snprintf(text, sizeof text, "reason %u?", i + 1);
		assert_string_equal(faults.fault[i].text, text);
		assert_int_equal(faults.fault[i].entry, i + 1);
		assert_int_equal(faults.fault[i].entries, 2);
	}
	rd_faults_wire(&faults, &wire);
	rd_faults_read(wire.at, faults.n, &back);
	assert_int_equal(back.n, faults.n);
	for (size_t i = 0; i < back.n; i++)
		assert_string_equal(back.fault[i].text, faults.fault[i].text);
}

static void of_a_peers_bits_those_of_entries_count(void **state)
{
	uint8_t all[PR_TAKEN_MAX];
	struct rd_pin pin;

	(void)state;
	memset(all, 0xff, sizeof all);
	for (size_t entries = 0; entries <= PR_ENTRIES_MAX; entries++) {
		rd_taken_read(&(ProtobufCBinaryData){ sizeof all, all }, entries, &pin);
		assert_int_equal(rd_pin_count(&pin), entries);
		assert_int_equal(rd_taken_len(&pin), (entries + 7) / 8);
	}
	rd_taken_read(&(ProtobufCBinaryData){ 1, all }, 20, &pin);
	assert_int_equal(rd_pin_count(&pin), 8);
	rd_taken_read(&(ProtobufCBinaryData){ 0, NULL }, 20, &pin);
	assert_int_equal(rd_pin_count(&pin), 0);
	assert_int_equal(rd_taken_len(&pin), 0);
}

/* Rounds tolerate a minute (rd_in_time). */
static void a_clock_that_rounds_do_not_tolerate_is_a_fault_of_the_whole_plan(void **state)
{
	struct rd_faults faults = { .n = 0 };

	(void)state;
	rd_faults_add_clock(&faults, "client", 60000);
	rd_faults_add_clock(&faults, "client", -60000);
	assert_int_equal(faults.n, 0);
	rd_faults_add_clock(&faults, "client", 60001);
	rd_faults_add_clock(&faults, "shuffler", -3600000);
	assert_int_equal(faults.n, 2);
	assert_int_equal(faults.fault[0].entry, 0);
	assert_string_equal(faults.fault[0].text,
		"the client's clock is 60 s ahead of the analyzer's, and rounds would "
		"be missed: set both clocks (NTP)");
	assert_string_equal(faults.fault[1].text,
		"the shuffler's clock is 3600 s behind the analyzer's, and rounds would "
		"be missed: set both clocks (NTP)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_is_the_analyzers_of_that_time_and_that_population),
		cmocka_unit_test(a_question_is_no_plan_and_a_plan_is_no_question),
		cmocka_unit_test(reasons_are_counted_bounded_and_safe_to_print),
		cmocka_unit_test(of_a_peers_bits_those_of_entries_count),
		cmocka_unit_test(a_clock_that_rounds_do_not_tolerate_is_a_fault_of_the_whole_plan),
	};

	return cmocka_run_group_tests(tests, golden_load, golden_drop);
}
