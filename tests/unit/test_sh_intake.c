/* test_sh_intake.c - submissions: each device once, receipts for what is durable. */
#include "rd_receipt.h"
#include "sh_steps.h"

#include <string.h>
#include <sys/mman.h>

/* Bytes that end the program when they are read. */
static const uint8_t *no_access(void)
{
	void *p = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void the_same_bytes_again_are_accepted_again_and_counted_once(void **state)
{
	struct sh_receipt first;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_submit(1, 0, 10);
	first = receipt;
	steps_submit(1, 0, 10); /* not durable yet */
	steps_all_are(OUTCOME(ACCEPTED));
	assert_memory_equal(first.signature, receipt.signature, CR_SIGN_LEN);
	sh_play_work(&play);
	steps_submit(1, 0, 10);
	assert_memory_equal(first.signature, receipt.signature, CR_SIGN_LEN);
	steps_restart();
	steps_submit(1, 0, 10);
	steps_all_are(OUTCOME(ACCEPTED));
	assert_memory_equal(first.signature, receipt.signature, CR_SIGN_LEN);
	sh_play_deadline(&play);
	steps_release_all(10);
}

static void other_bytes_of_the_same_device_are_a_conflict(void **state)
{
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = 5 };
	uint8_t pseudonym[PR_PSEUDONYM_LEN] = { 7 }, sealed[PR_SEALED_MAX] = { 0 };

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	const struct sh_submit s = { &who, pseudonym, sizeof pseudonym, sealed, rd_sealed_len(&play.d),
		pseudonym, sizeof pseudonym, NULL, NULL };
	for (unsigned durable = 0; durable < 3; durable++) {
		assert_int_equal(sh_core_submit(play.core, play.d.round_id, PR_ROUND_ID_LEN, &s, play.now_ms,
					 &receipt, &play.no, &play.err),
			CM_OK);
		assert_int_equal(receipt.outcomes[0], OUTCOME(ACCEPTED));
		sealed[s.sealed_len - 1] ^= 1;
		assert_int_equal(sh_core_submit(play.core, play.d.round_id, PR_ROUND_ID_LEN, &s, play.now_ms,
					 &receipt, &play.no, &play.err),
			CM_OK);
		assert_int_equal(receipt.outcomes[0], OUTCOME(CONFLICT));
		sealed[s.sealed_len - 1] ^= 1;
		sh_play_work(&play);
		if (durable == 1)
			steps_restart();
	}
	/* The same pseudonym under another certificate is another device. */
	who.key_hash[0] = 1;
	assert_int_equal(sh_core_submit(play.core, play.d.round_id, PR_ROUND_ID_LEN, &s, play.now_ms,
				 &receipt, &play.no, &play.err),
		CM_OK);
	assert_int_equal(receipt.outcomes[0], OUTCOME(ACCEPTED));
	assert_int_equal(sh_core_collecting(play.core)->intake.participants, 2);
}

static void a_certificate_speaks_for_its_devices_and_no_more(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_submit(&play, 1, 5, 0, 3, &receipt), CM_OK);
	steps_all_are(OUTCOME(ACCEPTED));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(sh_play_submit(&play, 1, 5, 2, 5, &receipt), CM_OK);
		for (size_t j = 0; j < 5; j++)
			assert_int_equal(
				receipt.outcomes[j], j < 3 ? OUTCOME(ACCEPTED) : OUTCOME(OVER_LIMIT));
		sh_play_work(&play);
		steps_restart(); /* the count outlives it */
	}
	assert_int_equal(sh_play_submit(&play, 2, 1, 100, 1, &receipt), CM_OK);
	steps_all_are(OUTCOME(ACCEPTED));
	assert_int_equal(sh_play_submit(&play, 2, 1, 101, 1, &receipt), CM_OK);
	steps_all_are(OUTCOME(OVER_LIMIT));
	assert_int_equal(sh_core_collecting(play.core)->intake.participants, 6);
}

static void more_devices_than_the_certificate_has_are_refused_before_anything_is_looked_at(void **state)
{
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = 5 };
	uint8_t pseudonyms[6 * PR_PSEUDONYM_LEN] = { 1 };

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	steps_refused(sh_play_submit(&play, 1, 5, 0, 6, &receipt), ERROR(BAD_MESSAGE));
	/* That the sealed bytes are not read is tried with bytes that cannot be read. */
	const struct sh_submit s = { &who, pseudonyms, sizeof pseudonyms, no_access(),
		6 * rd_sealed_len(&play.d), no_access(), sizeof pseudonyms, NULL, NULL };
	steps_refused(sh_core_submit(play.core, play.d.round_id, PR_ROUND_ID_LEN, &s, play.now_ms, &receipt,
			      &play.no, &play.err),
		ERROR(BAD_MESSAGE));
	assert_non_null(strstr(play.no.text, "6 devices, the certificate speaks for 5"));
	const struct sh_intake *in = &sh_core_collecting(play.core)->intake;
	assert_int_equal(in->participants, 0);
	assert_int_equal(in->counts.used, 0);
	assert_int_equal(sh_intake_bytes(in), 0);
}

static void one_certificate_is_at_most_its_share_of_the_target(void **state)
{
	(void)state;
	sh_play_stop(&play);
	play.policy.max_share = 0.25;
	sh_play_start(&play);
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 40 });
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(sh_play_submit(&play, 1, 1000, 0, 12, &receipt), CM_OK);
		for (size_t j = 0; j < 12; j++)
			assert_int_equal(
				receipt.outcomes[j], j < 10 ? OUTCOME(ACCEPTED) : OUTCOME(OVER_LIMIT));
		sh_play_work(&play);
		steps_restart();
	}
	/* Other certificates have their own places; one of fewer devices has no more places than devices. */
	assert_int_equal(sh_play_submit(&play, 2, 3, 100, 3, &receipt), CM_OK);
	steps_all_are(OUTCOME(ACCEPTED));
	assert_int_equal(sh_play_submit(&play, 2, 3, 103, 1, &receipt), CM_OK);
	steps_all_are(OUTCOME(OVER_LIMIT));
	assert_int_equal(sh_core_collecting(play.core)->intake.participants, 13);
}

static void an_open_round_keeps_its_max_share_when_the_policy_changes(void **state)
{
	const struct sh_wish wish = { .min_reports = 10, .target = 40 };

	(void)state;
	sh_play_stop(&play);
	play.policy.max_share = 0.25;
	sh_play_start(&play);
	sh_play_round(&play, &wish);
	play.policy.max_share = 0.5;
	sh_core_reconsider(play.core);
	/* floor(0.25 * 40) = 10; in the next round floor(0.5 * 40) = 20. */
	assert_int_equal(sh_play_submit(&play, 1, 1000, 0, 24, &receipt), CM_OK);
	for (size_t j = 0; j < 24; j++)
		assert_int_equal(receipt.outcomes[j], j < 10 ? OUTCOME(ACCEPTED) : OUTCOME(OVER_LIMIT));
	sh_play_deadline(&play);
	sh_play_round(&play, &wish);
	assert_int_equal(sh_play_submit(&play, 1, 1000, 0, 24, &receipt), CM_OK);
	for (size_t j = 0; j < 24; j++)
		assert_int_equal(receipt.outcomes[j], j < 20 ? OUTCOME(ACCEPTED) : OUTCOME(OVER_LIMIT));
}

static void lengths_that_do_not_fit_are_bad_messages(void **state)
{
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = 5 };
	uint8_t bytes[PR_SEALED_MAX] = { 0 };

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	size_t len = rd_sealed_len(&play.d);
	const struct {
		size_t pseudonyms, sealed, salts;
	} bad[] = { { 0, 0, 0 }, { 0, len, 0 }, { 31, len, 32 }, { 33, len, 32 }, { 32, 0, 32 },
		{ 32, len - 1, 32 }, { 32, len + 1, 32 }, { 32, 2 * len, 32 }, { 64, len, 64 },
		{ 64, 2 * len - 1, 64 }, { 32, len, 0 }, { 32, len, 31 }, { 32, len, 64 } };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const struct sh_submit s = { &who, bytes, bad[i].pseudonyms, bytes, bad[i].sealed, bytes,
			bad[i].salts, NULL, NULL };
		steps_refused(sh_core_submit(play.core, play.d.round_id, PR_ROUND_ID_LEN, &s, play.now_ms,
				      &receipt, &play.no, &play.err),
			ERROR(BAD_MESSAGE));
	}
	assert_int_equal(sh_core_collecting(play.core)->intake.participants, 0);
}

static void an_unknown_round_is_not_found(void **state)
{
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = 5 };
	uint8_t id[PR_ROUND_ID_LEN] = { 1 };
	const struct sh_submit s = { &who, id, 0, id, 0, id, 0, NULL, NULL };
	struct sh_signed *m = calloc(1, sizeof *m);

	(void)state;
	assert_non_null(m);
	for (size_t len = 0; len <= PR_ROUND_ID_LEN; len += PR_ROUND_ID_LEN) {
		steps_refused(
			sh_core_submit(play.core, id, len, &s, play.now_ms, &receipt, &play.no, &play.err),
			ERROR(NOT_FOUND));
		steps_refused(sh_core_manifest(play.core, id, len, m, &play.no, &play.err), ERROR(NOT_FOUND));
		steps_refused(sh_core_settle(play.core, id, len, &play.no, &play.err), ERROR(NOT_FOUND));
	}
	free(m);
}

static void nothing_is_taken_before_the_opening_or_from_the_deadline_on(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	play.now_ms = play.d.opens_ms - 5;
	assert_null(sh_core_offer(play.core, 0, play.now_ms));
	steps_refused(sh_play_submit(&play, 1, 10, 0, 1, &receipt), ERROR(BUSY));
	assert_int_equal(play.no.retry_after_ms, 5);
	play.now_ms = play.d.deadline_ms - 1;
	steps_submit(1, 0, 1);
	steps_all_are(OUTCOME(ACCEPTED));
	play.now_ms = play.d.deadline_ms;
	steps_submit(1, 1, 1);
	steps_all_are(OUTCOME(CLOSED));
	steps_submit(1, 0, 1);
	steps_all_are(OUTCOME(ACCEPTED));
}

static void an_answer_waits_for_the_commit_it_rests_on(void **state)
{
	struct sh_batch batch;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	steps_submit(1, 0, 3);
	assert_int_equal(receipt.wait, SH_WAIT_GATHERING);
	struct sh_intake *in = &sh_core_collecting(play.core)->intake;
	sh_intake_take(in, &batch);
	steps_submit(1, 0, 3); /* repeats of what is being committed */
	assert_int_equal(receipt.wait, SH_WAIT_FLYING);
	steps_submit(1, 3, 1);
	assert_int_equal(receipt.wait, SH_WAIT_GATHERING);
	steps_submit(1, 0, 3);
	assert_int_equal(receipt.wait, SH_WAIT_GATHERING); /* in order behind the one before it */
	assert_int_equal(
		sh_vault_commit(&sh_core_collecting(play.core)->vault, &batch, &play.rng, &play.err), CM_OK);
	sh_batch_fini(&batch);
	sh_intake_committed(in);
	sh_play_work(&play);
	steps_submit(1, 0, 3);
	assert_int_equal(receipt.wait, SH_WAIT_NOT);
}

static void too_much_that_is_not_durable_is_busy_and_nothing_of_it_is_taken(void **state)
{
	enum cm_rc rc = CM_OK;
	uint64_t taken = 0;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .target = 2000000 });
	while ((rc = sh_play_submit(&play, 1, 2000000, taken, 4096, &receipt)) == CM_OK)
		taken += 4096;
	steps_refused(rc, ERROR(BUSY));
	struct sh_intake *in = &sh_core_collecting(play.core)->intake;
	assert_int_equal(in->participants, taken);
	assert_true(sh_intake_bytes(in) <= 2 * (32u << 20));
	sh_play_work(&play);
	steps_submit(1, taken, 4096);
	steps_all_are(OUTCOME(ACCEPTED));
}

static void a_receipt_is_signed_over_the_submission_and_its_outcomes(void **state)
{
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = 2 };
	uint8_t pseudonyms[2 * PR_PSEUDONYM_LEN] = { 7 }, sealed[2 * PR_SEALED_MAX] = { 0 };
	uint8_t salts[2 * RD_SALT_LEN] = { 3 }, leaf[2][PR_HASH_LEN], bytes[RD_RECEIPT_BYTES],
			  root[PR_HASH_LEN];
	struct rd_receipt_device device;

	(void)state;
	sh_play_stop(&play);
	play.policy.max_share = 1e-6; /* one device of each certificate */
	sh_play_start(&play);
	sh_play_round(&play, &(struct sh_wish){ 0 });
	size_t len = rd_sealed_len(&play.d);
	const struct rd_receipt_shape shape = { 1, len, 0 };
	const struct sh_submit s = { &who, pseudonyms, sizeof pseudonyms, sealed, 2 * len, salts,
		sizeof salts, NULL, NULL };
	assert_int_equal(sh_core_submit(play.core, play.d.round_id, PR_ROUND_ID_LEN, &s, play.now_ms,
				 &receipt, &play.no, &play.err),
		CM_OK);
	const uint8_t outcomes[] = { OUTCOME(ACCEPTED), OUTCOME(OVER_LIMIT) };
	assert_int_equal(receipt.n, 2);
	assert_memory_equal(receipt.outcomes, outcomes, 2);
	for (size_t i = 0; i < 2; i++) {
		rd_receipt_device(&shape, pseudonyms + i * PR_PSEUDONYM_LEN, salts + i * RD_SALT_LEN,
			sealed + i * len, &device);
		rd_receipt_leaf(&device, outcomes[i], leaf[i]);
	}
	rd_tree_node(leaf[0], leaf[1], root);
	rd_receipt_bytes(play.d.round_id, root, 2, bytes);
	assert_int_equal(cr_verify(play.shuffler.verifier, RD_PURPOSE_RECEIPT, bytes, sizeof bytes,
				 receipt.signature, &play.err),
		CM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(the_same_bytes_again_are_accepted_again_and_counted_once),
		STEPS_TEST(other_bytes_of_the_same_device_are_a_conflict),
		STEPS_TEST(a_certificate_speaks_for_its_devices_and_no_more),
		STEPS_TEST(more_devices_than_the_certificate_has_are_refused_before_anything_is_looked_at),
		STEPS_TEST(one_certificate_is_at_most_its_share_of_the_target),
		STEPS_TEST(an_open_round_keeps_its_max_share_when_the_policy_changes),
		STEPS_TEST(lengths_that_do_not_fit_are_bad_messages),
		STEPS_TEST(an_unknown_round_is_not_found),
		STEPS_TEST(nothing_is_taken_before_the_opening_or_from_the_deadline_on),
		STEPS_TEST(an_answer_waits_for_the_commit_it_rests_on),
		STEPS_TEST(too_much_that_is_not_durable_is_busy_and_nothing_of_it_is_taken),
		STEPS_TEST(a_receipt_is_signed_over_the_submission_and_its_outcomes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
