/* test_sh_round.c - a round from announcement to erasure, across restarts and the ledger's voids. */
#include "bucket_root.h"
#include "sh_steps.h"

#include <string.h>

static void a_round_releases_every_message_once_and_is_erased(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .dummies = 2 });
	steps_submit(1, 0, 700);
	steps_submit(2, 700, 500);
	steps_all_are(OUTCOME(ACCEPTED));
	sh_play_deadline(&play);
	assert_true(steps_file_exists("rounds", ".db") && steps_file_exists("keys", ".key"));
	steps_release_all(1200);
	assert_int_equal(sh_play_settle(&play), CM_OK);
	assert_false(steps_file_exists("rounds", ".db") || steps_file_exists("keys", ".key"));
	assert_false(steps_file_exists("rounds", ".db-wal"));
	/* Settling and releasing may be repeated, also after a restart. */
	steps_restart();
	assert_int_equal(sh_play_settle(&play), CM_OK);
	assert_int_equal(sh_play_release(&play), CM_OK);
	sh_play_manifest(&play);
}

static void the_manifest_states_the_root_of_every_bucket(void **state)
{
	struct cm_buf pulled;
	uint8_t root[PR_HASH_LEN];

	(void)state;
	/* 40000 targets of 64 bytes and more: several buckets. */
	sh_play_round(&play, &(struct sh_wish){ .target = 40000 });
	steps_submit(1, 0, 4000);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	assert_true(play.manifest.buckets >= 4);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	cm_buf_init(&pulled, 64u << 20);
	sh_play_pull(&play, 100000, &pulled);
	size_t len = rd_sealed_len(&play.d), at = 0;
	for (uint32_t b = 0; b < play.manifest.buckets; b++) {
		uint32_t n = play.manifest.bucket[b].messages;
		bucket_root(pulled.data + at, n, len, root);
		assert_memory_equal(root, play.manifest.bucket[b].root, PR_HASH_LEN);
		at += n * len;
	}
	assert_int_equal(at, pulled.len);
	cm_buf_fini(&pulled);
}

static void reaching_the_target_seals_and_later_ones_are_told_closed(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .target = 1000 });
	steps_submit(1, 0, 900);
	sh_play_work(&play);
	steps_submit(1, 900, 300);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(receipt.outcomes[i], i < 100 ? OUTCOME(ACCEPTED) : OUTCOME(CLOSED));
	assert_null(sh_core_offer(play.core, 0, play.now_ms));
	sh_play_work(&play);
	assert_null(sh_core_collecting(play.core));
	steps_submit(1, 900, 300); /* repeats stay repeats after the seal */
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(receipt.outcomes[i], i < 100 ? OUTCOME(ACCEPTED) : OUTCOME(CLOSED));
	steps_release_all(1000);
}

static void below_the_minimum_the_round_is_void_and_its_messages_are_destroyed(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 1000 });
	steps_submit(1, 0, 999);
	sh_play_deadline(&play);
	assert_false(steps_file_exists("rounds", ".db") || steps_file_exists("keys", ".key"));
	for (unsigned i = 0; i < 2; i++) {
		sh_play_manifest(&play);
		assert_true(play.manifest.is_void);
		assert_int_equal(play.manifest.participants, 999);
		steps_restart();
	}
	sh_play_charge(&play);
	steps_refused(sh_play_release(&play), ERROR(BATCH_TOO_SMALL));
	struct cr_span part;
	steps_refused(sh_play_segment(&play, 0, 0, 1000, &part), ERROR(NOT_FOUND));
	steps_refused(sh_play_submit(&play, 1, 1000000, 0, 1, &receipt), ERROR(ROUND_CLOSED));
}

static void nobody_at_all_gives_a_void_round(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 1 });
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	assert_true(play.manifest.is_void && play.manifest.participants == 0);
}

static void a_restart_keeps_a_collecting_round(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 100 });
	for (uint64_t i = 0; i < 10; i++) {
		steps_submit((unsigned)i, i * 10, 10);
		sh_play_work(&play);
		steps_restart();
		assert_int_equal(sh_core_collecting(play.core)->intake.participants, (i + 1) * 10);
	}
	assert_non_null(sh_core_offer(play.core, 0, play.now_ms));
	assert_null(sh_core_offer(play.core, 1, play.now_ms));
	play.now_ms = play.d.deadline_ms;
	steps_restart();
	sh_play_work(&play); /* the round was due before the restart */
	steps_release_all(100);
}

static void what_was_not_committed_is_gone_and_taken_anew(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_submit(1, 0, 10);
	sh_play_work(&play);
	steps_submit(1, 10, 10); /* no receipt was sent for these */
	steps_restart();
	steps_submit(1, 5, 15);
	steps_all_are(OUTCOME(ACCEPTED));
	sh_play_deadline(&play);
	steps_release_all(20);
}

/* The process dies between the VOID record and the erasure it asks for. */
static void a_void_that_a_crash_interrupted_is_completed_at_the_start(void **state)
{
	(void)state;
	for (unsigned sealed = 0; sealed < 2; sealed++) {
		struct rd_record r = { .kind = RD_VOID, .reason = "gave up" };
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
		steps_submit(1, 0, 10);
		sh_play_work(&play);
		if (sealed)
			sh_play_deadline(&play);
		sh_core_free(play.core);
		play.core = NULL;
		memcpy(r.round_id, play.d.round_id, PR_ROUND_ID_LEN);
		r.seq = play.chain.seq + 1;
		play.record.len = 0;
		assert_int_equal(rd_record_encode(&r, &play.record, &play.err), CM_OK);
		assert_int_equal(
			rd_chain_extend(&play.chain, play.record.data, play.record.len, NULL, &play.err),
			CM_OK);
		const struct cr_span span = { play.record.data, play.record.len };
		assert_int_equal(play.store.records_put(play.store.ctx, r.seq, &span, 1, &play.err), CM_OK);
		steps_restart();
		sh_play_work(&play);
		assert_null(sh_core_round(play.core, 0));
		assert_false(steps_file_exists("rounds", ".db") || steps_file_exists("keys", ".key"));
		assert_int_equal(sh_play_settle(&play), CM_OK);
	}
}

static void settling_a_voided_round_whose_commit_is_under_way_is_put_off(void **state)
{
	struct sh_batch batch;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_submit(1, 0, 10);
	struct sh_round *r = sh_core_collecting(play.core);
	sh_intake_take(&r->intake, &batch);
	steps_void();
	steps_refused(sh_play_settle(&play), ERROR(BUSY));
	assert_true(play.no.retry_after_ms > 0);
	assert_int_equal(sh_vault_commit(&r->vault, &batch, &play.rng, &play.err), CM_OK);
	sh_batch_fini(&batch);
	sh_intake_committed(&r->intake);
	sh_play_work(&play);
	assert_int_equal(sh_play_settle(&play), CM_OK);
}

/* From the begin of a task to its end. */
static void begins(enum sh_pace pace, enum sh_task_kind kind, bool slow, struct sh_task *t)
{
	assert_int_equal(sh_core_task_begin(play.core, pace, play.now_ms, t), kind);
	assert_true(kind == SH_TASK_NONE || t->slow == slow);
}

static void ends(struct sh_task *t, struct sh_task_done *done)
{
	if (t->slow)
		sh_core_task_run(t, &play.work_rng);
	assert_int_equal(sh_core_task_end(play.core, t, done, &play.err), CM_OK);
	assert_int_equal(done->kind, t->kind);
}

static void a_shuffler_that_goes_down_begins_commits_alone(void **state)
{
	struct sh_task_done done;
	struct sh_task t;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_submit(1, 0, 10);
	assert_int_equal(sh_core_not_durable(play.core), 10);
	begins(SH_PACE_STOP, SH_TASK_COMMIT, true, &t);
	steps_submit(2, 10, 5);
	assert_int_equal(sh_core_not_durable(play.core), 15);
	ends(&t, &done);
	assert_int_equal(done.submissions, 10);
	assert_int_equal(sh_core_not_durable(play.core), 5);
	play.now_ms = play.d.deadline_ms;
	begins(SH_PACE_STOP, SH_TASK_COMMIT, true, &t);
	ends(&t, &done);
	assert_int_equal(done.submissions, 5);
	assert_int_equal(sh_core_not_durable(play.core), 0);
	begins(SH_PACE_STOP, SH_TASK_NONE, false, &t);
	begins(SH_PACE_GATHER, SH_TASK_SEAL, true, &t);
	ends(&t, &done);
	assert_false(done.is_void);
	assert_int_equal(done.participants, 15);
}

static void a_round_that_is_called_off_while_it_is_sealed_is_void(void **state)
{
	struct sh_task_done done;
	struct sh_task t;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_submit(1, 0, 10);
	sh_play_work(&play);
	play.now_ms = play.d.deadline_ms;
	begins(SH_PACE_GATHER, SH_TASK_SEAL, true, &t);
	sh_core_task_run(&t, NULL);
	steps_void();
	assert_int_equal(sh_core_task_end(play.core, &t, &done, &play.err), CM_OK);
	assert_true(done.is_void);
	assert_int_equal(done.sequence, play.d.sequence);
	assert_null(sh_core_collecting(play.core));
	assert_false(steps_file_exists("keys", ".key"));
	sh_play_jobs(&play);
	assert_false(steps_file_exists("rounds", ".db"));
}

static void a_clock_set_back_delays_no_commit(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	play.now_ms += 30000;
	steps_submit(1, 0, 1);
	assert_int_equal(sh_core_task_next(play.core, SH_PACE_GATHER, play.now_ms), SH_TASK_NONE);
	assert_true(sh_core_wait_ms(play.core, play.now_ms) > 0);
	assert_int_equal(sh_core_task_next(play.core, SH_PACE_GATHER, play.now_ms - 20000), SH_TASK_COMMIT);
	assert_int_equal(sh_core_wait_ms(play.core, play.now_ms - 20000), 0);
}

static void a_round_that_the_ledger_voids_is_erased_and_void_if_it_was_not_sealed(void **state)
{
	(void)state;
	for (unsigned sealed = 0; sealed < 2; sealed++) {
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
		steps_submit(1, 0, 20); /* more than the minimum */
		if (sealed)
			sh_play_deadline(&play);
		steps_void();
		sh_play_work(&play);
		assert_false(steps_file_exists("rounds", ".db") || steps_file_exists("keys", ".key"));
		assert_null(sh_core_round(play.core, 0));
		for (unsigned again = 0; again < 2; again++) {
			sh_play_manifest(&play);
			assert_int_equal(play.manifest.is_void, !sealed);
			assert_int_equal(play.manifest.participants, sealed ? 20 : 0);
			steps_restart();
		}
	}
}

static void rounds_follow_each_other(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
		assert_int_equal(sh_core_offer(play.core, i - 1, play.now_ms)->d.sequence, i);
		steps_submit(1, 0, 10);
		sh_play_deadline(&play);
		steps_release_all(10);
		assert_int_equal(sh_play_settle(&play), CM_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(a_round_releases_every_message_once_and_is_erased),
		STEPS_TEST(the_manifest_states_the_root_of_every_bucket),
		STEPS_TEST(reaching_the_target_seals_and_later_ones_are_told_closed),
		STEPS_TEST(below_the_minimum_the_round_is_void_and_its_messages_are_destroyed),
		STEPS_TEST(nobody_at_all_gives_a_void_round),
		STEPS_TEST(a_restart_keeps_a_collecting_round),
		STEPS_TEST(what_was_not_committed_is_gone_and_taken_anew),
		STEPS_TEST(a_round_that_the_ledger_voids_is_erased_and_void_if_it_was_not_sealed),
		STEPS_TEST(a_void_that_a_crash_interrupted_is_completed_at_the_start),
		STEPS_TEST(settling_a_voided_round_whose_commit_is_under_way_is_put_off),
		STEPS_TEST(a_clock_set_back_delays_no_commit),
		STEPS_TEST(a_shuffler_that_goes_down_begins_commits_alone),
		STEPS_TEST(a_round_that_is_called_off_while_it_is_sealed_is_void),
		STEPS_TEST(rounds_follow_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
