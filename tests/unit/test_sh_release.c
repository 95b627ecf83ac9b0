/* test_sh_release.c - nothing without its charge, and the same bytes every time. */
#include "sh_steps.h"

#include <string.h>

/* A sealed round of ten. */
static void sealed_round(void)
{
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_submit(1, 0, 10);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
}

static enum cm_rc pull(uint32_t bucket, uint64_t offset)
{
	struct cr_span part;

	return sh_play_segment(&play, bucket, offset, 1000, &part);
}

static void nothing_is_released_without_a_charge(void **state)
{
	(void)state;
	sealed_round();
	steps_refused(pull(0, 0), ERROR(POLICY_REFUSED));
	steps_refused(sh_play_settle(&play), ERROR(CONFLICT));
	sh_play_charge(&play);
	steps_refused(pull(0, 0), ERROR(POLICY_REFUSED)); /* in the ledger, but not sent */
	assert_int_equal(sh_play_release(&play), CM_OK);
	assert_int_equal(pull(0, 0), CM_OK);
	assert_int_equal(pull(0, 10), CM_OK);
	steps_refused(pull(0, 11), ERROR(BAD_MESSAGE));
	steps_refused(pull(play.manifest.buckets, 0), ERROR(BAD_MESSAGE));
}

/* SETTLE of a round that never was released: its batch is lost to the analyzer, so it is given up. */
static void settle_unreleased(void)
{
	struct rd_record r = { .kind = RD_SETTLE, .reason = "lost" };

	memcpy(r.round_id, play.d.round_id, PR_ROUND_ID_LEN);
	memset(r.result_hash, 1, sizeof r.result_hash);
	assert_int_equal(sh_play_record(&play, &r), CM_OK);
	sh_play_work(&play);
}

static void a_sealed_round_that_the_ledger_settles_is_erased(void **state)
{
	(void)state;
	sealed_round();
	sh_play_charge(&play);
	assert_true(steps_file_exists("keys", ".key") && steps_file_exists("rounds", ".db"));
	settle_unreleased();
	assert_false(steps_file_exists("keys", ".key") || steps_file_exists("rounds", ".db"));
	assert_int_equal(sh_play_settle(&play), CM_OK);
	steps_refused(sh_play_release(&play), ERROR(CONFLICT));
	steps_restart();
	sealed_round();
}

/* Make the state as it was before the seal, as if a copy had been restored. */
static void a_collecting_round_that_the_ledger_settles_is_erased(void **state)
{
	struct rd_record charge = { .kind = RD_CHARGE, .participants = 10 };

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_submit(1, 0, 5);
	memcpy(charge.round_id, play.d.round_id, PR_ROUND_ID_LEN);
	memset(charge.manifest_hash, 1, sizeof charge.manifest_hash);
	assert_int_equal(sh_play_record(&play, &charge), CM_OK);
	sh_play_work(&play);
	assert_true(steps_file_exists("keys", ".key"));
	settle_unreleased();
	assert_false(steps_file_exists("keys", ".key") || steps_file_exists("rounds", ".db"));
	assert_int_equal(sh_play_settle(&play), CM_OK);
}

static void a_released_round_waits_for_the_analyzers_word(void **state)
{
	(void)state;
	sealed_round();
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	settle_unreleased();
	assert_true(steps_file_exists("keys", ".key"));
	assert_int_equal(sh_play_settle(&play), CM_OK);
	assert_false(steps_file_exists("keys", ".key"));
}

/* Sign this charge and send it. */
static enum cm_rc release_with(const struct rd_charge *c, struct cr_signer *signer)
{
	play.charge.len = 0;
	assert_int_equal(rd_charge_encode(c, &play.charge, &play.err), CM_OK);
	assert_int_equal(cr_sign(signer, RD_PURPOSE_CHARGE, play.charge.data, play.charge.len,
				 play.charge_signature, &play.err),
		CM_OK);
	return sh_play_release(&play);
}

static void a_charge_must_be_this_rounds_in_the_witnessed_ledger(void **state)
{
	struct rd_charge good = { 0 }, bad;

	(void)state;
	sealed_round();
	sh_play_charge(&play);
	memcpy(good.round_id, play.d.round_id, PR_ROUND_ID_LEN);
	memcpy(good.descriptor_hash, play.d.hash, PR_HASH_LEN);
	memcpy(good.manifest_hash, play.manifest_hash, PR_HASH_LEN);
	memcpy(good.ledger_head, play.chain.head, PR_HASH_LEN);
	good.ledger_seq = play.chain.seq;
	steps_refused(release_with(&good, play.shuffler.signer), ERROR(SIGNATURE));
	bad = good;
	bad.round_id[0] ^= 1;
	steps_refused(release_with(&bad, play.analyzer.signer), ERROR(NOT_FOUND));
	bad = good;
	bad.descriptor_hash[0] ^= 1;
	steps_refused(release_with(&bad, play.analyzer.signer), ERROR(CONFLICT));
	bad = good;
	bad.manifest_hash[0] ^= 1;
	steps_refused(release_with(&bad, play.analyzer.signer), ERROR(CONFLICT));
	bad = good;
	bad.ledger_head[0] ^= 1;
	steps_refused(release_with(&bad, play.analyzer.signer), ERROR(LEDGER));
	bad = good;
	bad.ledger_seq++; /* not witnessed */
	steps_refused(release_with(&bad, play.analyzer.signer), ERROR(LEDGER));
	steps_refused(pull(0, 0), ERROR(POLICY_REFUSED));
	assert_int_equal(release_with(&good, play.analyzer.signer), CM_OK);
}

static void a_charge_of_another_manifest_in_the_ledger_does_not_release(void **state)
{
	(void)state;
	sealed_round();
	uint8_t real[PR_HASH_LEN];
	memcpy(real, play.manifest_hash, PR_HASH_LEN);
	play.manifest_hash[0] ^= 1;
	sh_play_charge(&play);
	steps_refused(sh_play_release(&play), ERROR(CONFLICT));
	/* With the right hash in the charge, the record it points at still has the wrong one. */
	struct rd_charge c = { .ledger_seq = play.chain.seq };
	memcpy(c.round_id, play.d.round_id, PR_ROUND_ID_LEN);
	memcpy(c.descriptor_hash, play.d.hash, PR_HASH_LEN);
	memcpy(c.manifest_hash, real, PR_HASH_LEN);
	memcpy(c.ledger_head, play.chain.head, PR_HASH_LEN);
	steps_refused(release_with(&c, play.analyzer.signer), ERROR(LEDGER));
}

static void the_same_charge_again_is_fine_and_another_is_a_conflict(void **state)
{
	(void)state;
	sealed_round();
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	assert_int_equal(sh_play_release(&play), CM_OK);
	steps_restart();
	assert_int_equal(sh_play_release(&play), CM_OK);
	assert_int_equal(pull(0, 0), CM_OK);
	struct rd_charge other = { .ledger_seq = play.chain.seq + 1 };
	memcpy(other.round_id, play.d.round_id, PR_ROUND_ID_LEN);
	steps_refused(release_with(&other, play.analyzer.signer), ERROR(CONFLICT));
}

static void a_second_reading_gives_the_same_bytes_also_after_a_restart(void **state)
{
	struct cm_buf first, second;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .target = 40000 });
	steps_submit(1, 0, 3000);
	sh_play_work(&play);
	steps_submit(1, 3000, 3000);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	cm_buf_init(&first, 64u << 20);
	cm_buf_init(&second, 64u << 20);
	sh_play_pull(&play, 100000, &first);
	steps_restart();
	sh_play_pull(&play, 777, &second);
	steps_each_once(&first, 6000);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	cm_buf_fini(&first);
	cm_buf_fini(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(nothing_is_released_without_a_charge),
		STEPS_TEST(a_sealed_round_that_the_ledger_settles_is_erased),
		STEPS_TEST(a_collecting_round_that_the_ledger_settles_is_erased),
		STEPS_TEST(a_released_round_waits_for_the_analyzers_word),
		STEPS_TEST(a_charge_must_be_this_rounds_in_the_witnessed_ledger),
		STEPS_TEST(a_charge_of_another_manifest_in_the_ledger_does_not_release),
		STEPS_TEST(the_same_charge_again_is_fine_and_another_is_a_conflict),
		STEPS_TEST(a_second_reading_gives_the_same_bytes_also_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
