/* test_sh_witness.c - the ledger as the shuffler has seen it. */
#include "sh_steps.h"

#include <string.h>
#include <time.h>

/* A record about the current descriptor's round. */
static enum cm_rc record(enum rd_record_kind kind)
{
	struct rd_record r = { .kind = kind };

	memcpy(r.round_id, play.d.round_id, PR_ROUND_ID_LEN);
	if (kind == RD_CHARGE) {
		r.participants = 1000;
		r.manifest_hash[0] = 1;
	}
	if (kind == RD_SETTLE)
		r.result_hash[0] = 1;
	if (kind == RD_VOID)
		strcpy(r.reason, "gave up");
	return kind == RD_RESERVE ? sh_play_reserve(&play) : sh_play_record(&play, &r);
}

static void refused(enum cm_rc rc, Tombola__V1__ErrorCode code, const char *text)
{
	assert_int_equal(rc, CM_EPROTO);
	assert_int_equal(play.no.code, code);
	if (!strstr(play.no.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, play.no.text);
}

static void the_head_follows_the_records(void **state)
{
	(void)state;
	struct rd_chain head = sh_core_witness(play.core);
	assert_int_equal(head.seq, 1);
	assert_memory_equal(head.head, play.chain.head, PR_HASH_LEN);
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	head = sh_core_witness(play.core);
	assert_int_equal(head.seq, 3); /* the plan, the reservation */
	assert_memory_equal(head.head, play.chain.head, PR_HASH_LEN);
}

static void the_same_records_again_are_taken_without_change(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	const struct cr_span again = { play.record.data, play.record.len };
	assert_int_equal(sh_play_extend(&play, 3, &again, 1), CM_OK);
	assert_int_equal(sh_core_witness(play.core).seq, 3);
}

static void a_restored_older_ledger_is_refused_and_said_so(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	struct rd_chain old = play.chain;
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	/* The analyzer goes back to its copy and writes something else. */
	play.chain = old;
	play.sequence = 0;
	sh_play_describe(&play, &(struct sh_wish){ .entry = 1 });
	refused(sh_play_reserve(&play), ERROR(LEDGER), "ledger does not extend the head known here (seq 3)");
	assert_int_equal(sh_core_witness(play.core).seq, 3);
}

static void a_gap_and_a_number_of_zero_are_refused(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	play.chain.seq++; /* the next record says 4 */
	refused(sh_play_reserve(&play), ERROR(LEDGER), "do not follow");
	const struct cr_span some = { play.record.data, play.record.len };
	play.chain.seq = 2;
	struct sh_extend zero = { 0, &some, 1, { play.signature, CR_SIGN_LEN } };
	refused(sh_core_extend(play.core, &zero, &play.no, &play.err), ERROR(BAD_MESSAGE), "from 1");
	zero.first = UINT64_MAX;
	refused(sh_core_extend(play.core, &zero, &play.no, &play.err), ERROR(LEDGER), "do not follow");
	/* Under the right number, and signed, the record still says the wrong one. */
	memcpy(play.chain.head, sh_core_witness(play.core).head, PR_HASH_LEN);
	refused(sh_play_extend(&play, 3, &some, 1), ERROR(LEDGER), "number 4 follows number 2");
}

/* A thief of the analyzer's TLS key alone can say nothing. */
static void records_that_the_analyzer_did_not_sign_are_refused_unread(void **state)
{
	uint8_t bytes[RD_HEAD_MAX], head[PR_HASH_LEN], signature[CR_SIGN_LEN];
	const struct cr_span garbage = { "garbage", 7 };

	(void)state;
	struct sh_extend e = { 2, &garbage, 1, { NULL, 0 } };
	refused(sh_core_extend(play.core, &e, &play.no, &play.err), ERROR(SIGNATURE), "without");
	const struct cr_span spans[] = { { play.chain.head, PR_HASH_LEN }, garbage };
	cr_sha256_spans(spans, 2, head);
	e.signature = (struct cr_span){ signature, sizeof signature };
	/* Signed by another key, for another purpose, population or number, or over another head. */
	for (int how = 0; how < 6; how++) {
		const char *of = how == 2 ? "else" : "test";
		size_t len = rd_head_bytes(of, how == 3 ? 3 : 2, head, bytes);
		bytes[len - 1] ^= how == 4;
		assert_int_equal(cr_sign(how == 0 ? play.shuffler.signer : play.analyzer.signer,
					 how == 1 ? RD_PURPOSE_CHARGE : RD_PURPOSE_LEDGER, bytes, len,
					 signature, &play.err),
			CM_OK);
		enum cm_rc rc = sh_core_extend(play.core, &e, &play.no, &play.err);
		if (how < 5)
			refused(rc, ERROR(SIGNATURE), "did not sign");
		else /* signed, it is read */
			refused(rc, ERROR(LEDGER), "ledger:");
	}
	assert_int_equal(sh_core_witness(play.core).seq, 1);
	steps_restart();
	sh_play_round(&play, &(struct sh_wish){ 0 });
}

static void a_batch_with_one_bad_record_changes_nothing(void **state)
{
	struct cm_buf good;
	struct cr_span two[2];

	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	struct rd_record r = { .kind = RD_RESERVE, .seq = 3, .time_ms = 1, .plan_round = 1 };
	memcpy(r.round_id, play.d.round_id, PR_ROUND_ID_LEN);
	memcpy(r.plan_hash, play.d.plan_hash, PR_HASH_LEN);
	r.descriptor = play.descriptor;
	cm_buf_init(&good, PR_RECORD_MAX);
	assert_int_equal(rd_record_encode(&r, &good, &play.err), CM_OK);
	two[0] = (struct cr_span){ good.data, good.len };
	two[1] = (struct cr_span){ "garbage", 7 };
	refused(sh_play_extend(&play, 3, two, 2), ERROR(LEDGER), "ledger:");
	assert_int_equal(sh_core_witness(play.core).seq, 2);
	two[1] = two[0]; /* the same round reserved twice */
	refused(sh_play_extend(&play, 3, two, 2), ERROR(LEDGER), "");
	assert_int_equal(sh_core_witness(play.core).seq, 2);
	assert_int_equal(sh_play_extend(&play, 3, two, 1), CM_OK);
	cm_buf_fini(&good);
}

/* The fates of a round: after which records which record may not come. */
static void a_ledger_that_breaks_its_rules_is_refused(void **state)
{
	static const struct {
		enum rd_record_kind before[3];
		enum rd_record_kind bad;
	} rows[] = {
		{ { 0 }, RD_CHARGE },
		{ { 0 }, RD_SETTLE },
		{ { 0 }, RD_VOID },
		{ { RD_RESERVE }, RD_RESERVE },
		{ { RD_RESERVE }, RD_SETTLE },
		{ { RD_RESERVE, RD_CHARGE }, RD_CHARGE },
		{ { RD_RESERVE, RD_CHARGE }, RD_VOID }, /* would hand spent budget back */
		{ { RD_RESERVE, RD_CHARGE }, RD_RESERVE },
		{ { RD_RESERVE, RD_VOID }, RD_CHARGE },
		{ { RD_RESERVE, RD_VOID }, RD_VOID },
		{ { RD_RESERVE, RD_VOID }, RD_RESERVE },
		{ { RD_RESERVE, RD_CHARGE, RD_SETTLE }, RD_VOID },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		sh_play_describe(&play, &(struct sh_wish){ 0 });
		for (size_t j = 0; j < 3 && rows[i].before[j]; j++)
			if (record(rows[i].before[j]) != CM_OK)
				fail_msg("row %zu: %s", i, play.no.text);
		struct rd_chain before = play.chain;
		if (record(rows[i].bad) != CM_EPROTO || play.no.code != ERROR(LEDGER))
			fail_msg("row %zu was taken", i);
		play.chain = before; /* the analyzer thinks again */
		assert_int_equal(sh_core_witness(play.core).seq, before.seq);
	}
}

static void the_ledger_of_another_population_is_refused(void **state)
{
	struct rd_record r = { .kind = RD_OPEN, .seq = 1, .time_ms = 1, .epsilon_limit = 1, .delta = 1e-6 };
	struct sh_plans *plans;
	struct sh_witness *w;
	struct cm_buf bytes;

	(void)state;
	strcpy(r.population, "else");
	strcpy(r.unit, "device");
	cm_buf_init(&bytes, PR_RECORD_MAX);
	assert_int_equal(rd_record_encode(&r, &bytes, &play.err), CM_OK);
	assert_int_equal(sh_plans_new(&play.policy, 0, &plans, &play.err), CM_OK);
	assert_int_equal(sh_witness_new("test", plans, &w, &play.err), CM_OK);
	assert_int_equal(sh_witness_apply(w, bytes.data, bytes.len, &play.err), CM_EDATA);
	assert_non_null(strstr(play.err.msg, "population"));
	sh_witness_free(w);
	sh_plans_free(plans);
	cm_buf_fini(&bytes);
}

/* The worst that an analyzer can do: as many different reservations as once ended a shuffler for good.  They
 * are remembered, and nothing else happens. */
static void thousands_of_reservations_are_only_remembered(void **state)
{
	struct timespec begin, end;

	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	for (unsigned i = 0; i < 5000; i++) {
		sh_play_describe(
			&play, &(struct sh_wish){ .entry = 1, .min_reports = 1000 + i, .target = 100000 });
		assert_int_equal(sh_play_reserve(&play), CM_OK);
	}
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &begin), 0);
	steps_restart();
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &end), 0);
	assert_true((double)(end.tv_sec - begin.tv_sec) < 60); /* a tenth of a second here; composed, hours */
	assert_int_equal(sh_core_witness(play.core).seq, 5002);
	sh_play_round(&play, &(struct sh_wish){ 0 });
}

static void a_descriptor_that_was_not_reserved_is_refused(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	refused(sh_play_announce(&play), ERROR(LEDGER), "extend the witness first");
}

static void a_descriptor_on_another_head_than_its_reservation_is_refused(void **state)
{
	(void)state;
	/* One descriptor is reserved, and another is announced for the same place. */
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	struct rd_chain before = play.chain;
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	struct rd_chain after = play.chain;
	play.chain = before;
	sh_play_describe(&play, &(struct sh_wish){ .entry = 1 });
	play.chain = after;
	refused(sh_play_announce(&play), ERROR(LEDGER), "does not reserve this descriptor");
	/* A head that never was. */
	play.chain.head[0] ^= 1;
	play.chain.seq--;
	sh_play_describe(&play, &(struct sh_wish){ .entry = 1 });
	refused(sh_play_announce(&play), ERROR(LEDGER), "older copy");
}

static void a_descriptor_whose_reservation_is_void_is_refused(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(record(RD_RESERVE), CM_OK);
	assert_int_equal(record(RD_VOID), CM_OK);
	refused(sh_play_announce(&play), ERROR(LEDGER), "void");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(the_head_follows_the_records),
		STEPS_TEST(the_same_records_again_are_taken_without_change),
		STEPS_TEST(a_restored_older_ledger_is_refused_and_said_so),
		STEPS_TEST(a_gap_and_a_number_of_zero_are_refused),
		STEPS_TEST(records_that_the_analyzer_did_not_sign_are_refused_unread),
		STEPS_TEST(a_batch_with_one_bad_record_changes_nothing),
		STEPS_TEST(thousands_of_reservations_are_only_remembered),
		STEPS_TEST(a_ledger_that_breaks_its_rules_is_refused),
		STEPS_TEST(the_ledger_of_another_population_is_refused),
		STEPS_TEST(a_descriptor_that_was_not_reserved_is_refused),
		STEPS_TEST(a_descriptor_on_another_head_than_its_reservation_is_refused),
		STEPS_TEST(a_descriptor_whose_reservation_is_void_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
