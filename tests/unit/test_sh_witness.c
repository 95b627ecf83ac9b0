/* test_sh_witness.c - the ledger as the shuffler has seen it. */
#include "sh_steps.h"

#include <string.h>

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
	if (kind == RD_RESERVE) {
		r.plan_round = 1;
		r.descriptor = play.descriptor;
	}
	return sh_play_record(&play, &r);
}

static void refused(enum cm_rc rc, Tombola__V1__ErrorCode code, const char *text)
{
	assert_int_equal(rc, CM_EPROTO);
	assert_int_equal(play.no.code, code);
	if (!strstr(play.no.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, play.no.text);
}

static double spent(void)
{
	double epsilon = -1;

	assert_int_equal(sh_core_spent(play.core, &epsilon, &play.err), CM_OK);
	return epsilon;
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
	assert_int_equal(head.seq, 2);
	assert_memory_equal(head.head, play.chain.head, PR_HASH_LEN);
}

static void the_same_records_again_are_taken_without_change(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	const struct cm_span again = { play.record.data, play.record.len };
	assert_int_equal(sh_core_extend(play.core, 2, &again, 1, &play.no, &play.err), CM_OK);
	assert_int_equal(sh_core_witness(play.core).seq, 2);
}

static void a_restored_older_ledger_is_refused_and_said_so(void **state)
{
	struct rd_chain old = play.chain;

	(void)state;
	old = play.chain;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	/* The analyzer goes back to its copy and writes something else. */
	play.chain = old;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	refused(sh_play_reserve(&play), ERROR(LEDGER), "ledger does not extend the head known here (seq 2)");
	assert_int_equal(sh_core_witness(play.core).seq, 2);
}

static void a_gap_and_a_number_of_zero_are_refused(void **state)
{
	(void)state;
	play.chain.seq++; /* the next record says 3 */
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	refused(sh_play_reserve(&play), ERROR(LEDGER), "do not follow");
	const struct cm_span some = { play.record.data, play.record.len };
	refused(sh_core_extend(play.core, 0, &some, 1, &play.no, &play.err), ERROR(BAD_MESSAGE), "from 1");
	/* Under the right number the record still says the wrong one. */
	refused(sh_core_extend(play.core, 2, &some, 1, &play.no, &play.err), ERROR(LEDGER), "");
}

static void a_batch_with_one_bad_record_changes_nothing(void **state)
{
	struct cm_buf good;
	struct cm_span two[2];

	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	struct rd_record r = { .kind = RD_RESERVE, .seq = 2, .time_ms = 1, .plan_round = 1 };
	memcpy(r.round_id, play.d.round_id, PR_ROUND_ID_LEN);
	r.descriptor = play.descriptor;
	cm_buf_init(&good, PR_RECORD_MAX);
	assert_int_equal(rd_record_encode(&r, &good, &play.err), CM_OK);
	two[0] = (struct cm_span){ good.data, good.len };
	two[1] = (struct cm_span){ "garbage", 7 };
	refused(sh_core_extend(play.core, 2, two, 2, &play.no, &play.err), ERROR(LEDGER), "ledger:");
	assert_int_equal(sh_core_witness(play.core).seq, 1);
	assert_true(spent() == 0);
	two[1] = two[0]; /* the same round reserved twice */
	refused(sh_core_extend(play.core, 2, two, 2, &play.no, &play.err), ERROR(LEDGER), "");
	assert_int_equal(sh_core_witness(play.core).seq, 1);
	assert_int_equal(sh_core_extend(play.core, 2, two, 1, &play.no, &play.err), CM_OK);
	cm_buf_fini(&good);
}

/* After which records which record may not come: the fates of a round. */
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
	struct sh_witness *w;
	struct rd_record r = {
		.kind = RD_OPEN, .seq = 1, .time_ms = 1, .epsilon_limit = 1, .delta = 1e-6, .plan_hash = { 1 }
	};
	struct cm_buf bytes;
	size_t skip;

	(void)state;
	strcpy(r.population, "else");
	strcpy(r.mode, "plan");
	strcpy(r.unit, "device");
	cm_buf_init(&bytes, PR_RECORD_MAX);
	assert_int_equal(rd_record_encode(&r, &bytes, &play.err), CM_OK);
	assert_int_equal(sh_witness_new("test", 1, 1e-6, &w, &play.err), CM_OK);
	const struct cm_span span = { bytes.data, bytes.len };
	refused(sh_witness_check(w, 1, &span, 1, &skip, &play.no, &play.err), ERROR(LEDGER), "population");
	sh_witness_free(w);
	cm_buf_fini(&bytes);
}

/* The first record names the mode; the account is the filter's, and a round of another mode is refused. */
static void the_mode_of_a_ledger_is_for_good(void **state)
{
	static const char *const modes[] = { "plan", "adaptive.gdp", "adaptive.renyi" };

	(void)state;
	for (size_t ledger = 0; ledger < 3; ledger++)
		for (size_t round = 0; round < 3; round++) {
			struct rd_chain chain = { 0 };
			struct sh_witness *w;
			struct rd_verdict verdict;
			struct rd_record r = { .kind = RD_OPEN,
				.seq = 1,
				.time_ms = 1,
				.epsilon_limit = 1,
				.delta = 1e-6,
				.plan_hash = { 1 } };
			struct cm_buf bytes;

			sh_play_describe(&play, &(struct sh_wish){ 0 });
			strcpy(play.d.mode, modes[round]);
			strcpy(r.population, "test");
			strcpy(r.mode, modes[ledger]);
			strcpy(r.unit, "device");
			cm_buf_init(&bytes, PR_RECORD_MAX);
			assert_int_equal(rd_record_encode(&r, &bytes, &play.err), CM_OK);
			assert_int_equal(sh_witness_new("test", 10, 1e-6, &w, &play.err), CM_OK);
			assert_string_equal(sh_witness_mode(w), "plan");
			assert_int_equal(sh_witness_apply(w, bytes.data, bytes.len, &play.err), CM_OK);
			assert_string_equal(sh_witness_mode(w), modes[ledger]);
			chain = sh_witness_head(w);
			assert_int_equal(chain.seq, 1);
			enum cm_rc rc = sh_witness_judge(w, &play.d, &verdict, &play.no, &play.err);
			if (ledger == round) {
				assert_int_equal(rc, CM_OK);
				assert_int_equal(verdict.adaptive, ledger > 0);
			} else {
				refused(rc, ERROR(LEDGER), "mode");
			}
			sh_witness_free(w);
			cm_buf_fini(&bytes);
		}
}

static void reservations_count_until_they_are_void(void **state)
{
	(void)state;
	assert_true(spent() == 0);
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(record(RD_RESERVE), CM_OK);
	double one = spent();
	assert_true(one > 0);
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(record(RD_RESERVE), CM_OK);
	double two = spent();
	assert_true(two > one);
	assert_int_equal(record(RD_VOID), CM_OK);
	assert_true(spent() == one);
}

static void charges_count_for_ever_and_across_restarts(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(record(RD_RESERVE), CM_OK);
	assert_int_equal(record(RD_CHARGE), CM_OK);
	assert_int_equal(record(RD_SETTLE), CM_OK);
	double before = spent();
	assert_true(before > 0);
	sh_play_stop(&play);
	sh_play_start(&play);
	assert_true(spent() == before);
	assert_int_equal(sh_core_witness(play.core).seq, play.chain.seq);
	assert_memory_equal(sh_core_witness(play.core).head, play.chain.head, PR_HASH_LEN);
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
	/* Reserved is one descriptor, announced another for the same place. */
	struct rd_chain before = play.chain;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	struct rd_chain after = play.chain;
	play.chain = before;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	play.chain = after;
	refused(sh_play_announce(&play), ERROR(LEDGER), "does not reserve this descriptor");
	/* A head that never was. */
	play.chain.head[0] ^= 1;
	play.chain.seq--;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
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

static void the_shufflers_own_limit_refuses_whatever_the_ledger_says(void **state)
{
	(void)state;
	sh_play_stop(&play);
	play.policy.max_epsilon = 0.05;
	sh_play_start(&play);
	sh_play_describe(&play, &(struct sh_wish){ .epsilon0 = 2 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	refused(sh_play_announce(&play), ERROR(BUDGET_EXHAUSTED), "over the limit 0.05");
	assert_true(spent() > 0); /* the reservation stands until the ledger voids it */
	assert_int_equal(record(RD_VOID), CM_OK);
	assert_true(spent() == 0);
}

static void a_round_is_judged_without_its_own_reservation(void **state)
{
	double one;

	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	one = spent();
	/* A limit that holds one such round, not two. */
	sh_play_stop(&play);
	play.policy.max_epsilon = one * 1.2;
	sh_play_start(&play);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	assert_true(spent() == one);
	sh_play_deadline(&play);
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	refused(sh_play_announce(&play), ERROR(BUDGET_EXHAUSTED), "budget:");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(the_head_follows_the_records),
		STEPS_TEST(the_same_records_again_are_taken_without_change),
		STEPS_TEST(a_restored_older_ledger_is_refused_and_said_so),
		STEPS_TEST(a_gap_and_a_number_of_zero_are_refused),
		STEPS_TEST(a_batch_with_one_bad_record_changes_nothing),
		STEPS_TEST(a_ledger_that_breaks_its_rules_is_refused),
		STEPS_TEST(the_ledger_of_another_population_is_refused),
		STEPS_TEST(the_mode_of_a_ledger_is_for_good),
		STEPS_TEST(reservations_count_until_they_are_void),
		STEPS_TEST(charges_count_for_ever_and_across_restarts),
		STEPS_TEST(a_descriptor_that_was_not_reserved_is_refused),
		STEPS_TEST(a_descriptor_on_another_head_than_its_reservation_is_refused),
		STEPS_TEST(a_descriptor_whose_reservation_is_void_is_refused),
		STEPS_TEST(the_shufflers_own_limit_refuses_whatever_the_ledger_says),
		STEPS_TEST(a_round_is_judged_without_its_own_reservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
