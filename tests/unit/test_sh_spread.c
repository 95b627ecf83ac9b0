/* test_sh_spread.c - a head and intakes: each device is stored once, whatever dies, stops or wakes up. */
#include <string.h>

#include "sh_core_spread.h"
#include "sh_memory.h"
#include "sh_steps.h"

#define INTAKES      3u
#define CERTIFICATES 6u
#define EACH         40u /* devices of a certificate */
#define DEVICES      (CERTIFICATES * EACH)

static struct sh_memory *memory;

/* An intake as the head and the store see it. */
static struct intake {
	uint32_t number;
	struct sh_share *share;
	struct sh_batch flying; /* taken, and signed for */
	bool flies;
	bool held[DEVICES], gathers[DEVICES]; /* answers that wait for the flying batch, or the next */
} intake[INTAKES];
static uint32_t last_number;
static bool acknowledged[DEVICES];

static void end_share(struct intake *n)
{
	if (n->flies)
		sh_batch_fini(&n->flying);
	sh_share_free(n->share);
	n->share = NULL;
	n->flies = false;
	memset(n->held, 0, sizeof n->held);
	memset(n->gathers, 0, sizeof n->gathers);
}

static int set_up(void **state)
{
	(void)state;
	memset(acknowledged, 0, sizeof acknowledged);
	memset(intake, 0, sizeof intake);
	last_number = 0;
	memory = sh_memory_new();
	sh_play_init(&play);
	if (!getenv("TOMBOLA_TEST_DATABASE"))
		play.kept = sh_memory_store(memory);
	play.intakes = true;
	sh_play_start(&play);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < INTAKES; i++)
		end_share(&intake[i]);
	play.to = NULL;
	sh_play_fini(&play);
	sh_memory_free(memory);
	return 0;
}

/* The head's link to it is new: it gets a number, and every intake that is connected a share of the next
 * epoch, unless it is stopped. */
static void connect(struct intake *n)
{
	n->number = ++last_number;
	sh_core_intakes(play.core, INTAKES);
	sh_play_work(&play);
}

static bool share(struct intake *n)
{
	struct sh_vault_keys keys = { 0 };
	struct sh_loan loan;

	end_share(n);
	enum cm_rc rc = sh_core_lend(play.core, &loan, &keys, &play.err);
	if (rc == CM_EMORE)
		return false;
	assert_int_equal(rc, CM_OK);
	assert_int_equal(sh_share_new(&play.store, &loan, 32u << 20, &n->share, &play.err), CM_OK);
	sh_vault_keys_fini(&keys);
	assert_int_equal(sh_share_load(n->share, &play.err), CM_OK);
	return true;
}

/* A certificate's devices arrive; true when the intake may take them. */
static bool submit(struct intake *n, unsigned certificate, uint64_t first, size_t some)
{
	uint8_t key_hash[PR_HASH_LEN];
	enum sh_claim claim;

	memset(key_hash, (int)certificate + 1, sizeof key_hash);
	assert_int_equal(sh_core_claim(play.core, n->number, n->share->epoch, key_hash, play.now_ms, &claim,
				 &play.err),
		CM_OK);
	if (claim != SH_CLAIM_MINE)
		return false;
	play.to = n->share;
	enum cm_rc rc = sh_play_submit(&play, certificate, EACH, first, some, &receipt);
	play.to = NULL;
	assert_int_equal(rc, CM_OK);
	for (size_t i = 0; i < some; i++)
		if (receipt.outcomes[i] == OUTCOME(ACCEPTED))
			n->gathers[first + i] = true;
	return true;
}

/* The head signs what has gathered; false: the share has to end. */
static bool sign(struct intake *n)
{
	/* The number of receipts is that of submissions by different certificates; all but the first do not
	 * matter. */
	uint8_t bytes[CERTIFICATES][PR_RECEIPT_LEN] = { { 0 } }, signature[CERTIFICATES][CR_SIGN_LEN];
	const struct cm_buf *stands = &n->share->intake.gathering.stands;
	struct sh_signing s = { .epoch = n->share->epoch,
		.devices = (uint32_t)sh_batch_submissions(&n->share->intake.gathering),
		.receipts = bytes[0],
		.n = CERTIFICATES,
		.stand = (const void *)stands->data,
		.stands = stands->len / sizeof(struct sh_stand) };
	struct sh_promise promise;

	memcpy(bytes[0], play.root, PR_HASH_LEN);
	cm_put_le64(bytes[0] + PR_HASH_LEN, receipt.n);
	if (!sh_core_promise(play.core, n->number, &s, &promise))
		return false;
	assert_int_equal(sh_core_sign(play.core, &promise, &s, signature[0], &play.err), CM_OK);
	sh_intake_take(&n->share->intake, &n->flying);
	sh_share_room(n->share, promise.room);
	n->flies = true;
	memcpy(n->held, n->gathers, sizeof n->held);
	memset(n->gathers, 0, sizeof n->gathers);
	return true;
}

/* The flying batch is stored and acknowledged, or the share has to end. */
static bool store(struct intake *n)
{
	size_t devices = sh_batch_submissions(&n->flying);
	struct sh_mark *mark;
	uint64_t all;

	enum cm_rc rc = sh_share_store(n->share, &n->flying, &play.work_rng, &play.err);
	assert_true(rc == CM_OK || rc == CM_ELATER);
	sh_batch_fini(&n->flying);
	n->flies = false;
	if (rc == CM_ELATER)
		return false;
	sh_intake_committed(&n->share->intake);
	if (!sh_core_stored(play.core, n->share->epoch, devices, &mark, &all))
		return false;
	assert_int_equal(sh_core_mark(mark, all, &play.err), CM_OK);
	sh_mark_free(mark);
	for (size_t i = 0; i < DEVICES; i++)
		acknowledged[i] = acknowledged[i] || n->held[i];
	memset(n->held, 0, sizeof n->held);
	return true;
}

static void flush(struct intake *n)
{
	if (sh_batch_submissions(&n->share->intake.gathering) > 0)
		assert_true(sign(n) && store(n));
}

static void the_next_round(uint64_t target)
{
	sh_play_round(&play, &(struct sh_wish){ .target = target, .min_reports = 1 });
	for (size_t i = 0; i < INTAKES; i++)
		connect(&intake[i]);
	for (size_t i = 0; i < INTAKES; i++)
		assert_true(share(&intake[i]));
}

/* Released is what was acknowledged, and perhaps what was stored without an answer: each device once. */
static void release(uint64_t target)
{
	size_t len = rd_sealed_len(&play.d), acked = 0;
	struct cm_buf pulled;
	bool seen[DEVICES] = { false };

	sh_play_manifest(&play);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	cm_buf_init(&pulled, 256u << 20);
	sh_play_pull(&play, 4000, &pulled);
	assert_int_equal(pulled.len, play.manifest.participants * play.d.messages_per_client * len);
	for (size_t at = 0; at < pulled.len; at += len) {
		uint64_t device = cm_get_le64(pulled.data + at);
		if (cm_get_le32(pulled.data + at + 8) != 0)
			continue;
		assert_true(device < DEVICES && !seen[device]);
		seen[device] = true;
	}
	cm_buf_fini(&pulled);
	for (size_t i = 0; i < DEVICES; i++) {
		acked += acknowledged[i];
		assert_true(seen[i] || !acknowledged[i]);
	}
	assert_true(acked <= play.manifest.participants && play.manifest.participants <= target);
}

static void two_intakes_take_a_round(void **state)
{
	(void)state;
	the_next_round(DEVICES);
	assert_non_null(sh_core_offer(play.core, 0, play.now_ms));
	for (unsigned c = 0; c < CERTIFICATES; c++)
		assert_true(submit(&intake[c % 2], c, c * EACH, EACH / 2));
	flush(&intake[0]);
	flush(&intake[1]);
	/* The head itself takes no submissions. */
	steps_refused(sh_play_submit(&play, 9, 1, 0, 1, &receipt), ERROR(BUSY));
	sh_play_deadline(&play);
	/* The intake answers repeats after the data are closed. */
	steps_submit(1, EACH, EACH);
	for (size_t i = 0; i < EACH; i++)
		assert_int_equal(receipt.outcomes[i], i < EACH / 2 ? OUTCOME(ACCEPTED) : OUTCOME(CLOSED));
	release(DEVICES);
	assert_int_equal(play.manifest.participants, DEVICES / 2);
}

static void a_certificate_has_one_intake_in_an_epoch(void **state)
{
	(void)state;
	the_next_round(DEVICES);
	assert_true(submit(&intake[0], 0, 0, 5));
	flush(&intake[0]);
	assert_false(submit(&intake[1], 0, 0, 5));
	/* The intake has left the first epoch: another begins, though not at once. */
	uint8_t key_hash[PR_HASH_LEN];
	memset(key_hash, 1, sizeof key_hash);
	uint64_t epoch = intake[0].share->epoch;
	sh_core_leave(play.core, intake[0].number, epoch, key_hash);
	assert_false(submit(&intake[1], 0, 0, 5));
	sh_play_work(&play);
	assert_int_equal(sh_core_collecting(play.core)->spread.epoch, epoch);
	play.now_ms += SH_SPREAD_PAUSE_MS;
	assert_false(submit(&intake[1], 0, 0, 5));
	sh_play_work(&play);
	assert_true(sh_core_collecting(play.core)->spread.epoch > epoch);
	assert_true(share(&intake[1]));
	assert_true(submit(&intake[1], 0, 0, 10));
	assert_int_equal(sh_batch_submissions(&intake[1].share->intake.gathering), 5);
	flush(&intake[1]);
	/* The first share is of an epoch that is over. */
	assert_false(submit(&intake[0], 0, 10, 5));
	sh_play_deadline(&play);
	release(DEVICES);
	assert_int_equal(play.manifest.participants, 10);
}

/* A certificate comes to this intake, and leaves it again. */
static void pass_by(const struct intake *n, uint64_t epoch)
{
	const uint8_t key_hash[PR_HASH_LEN] = { 1 };
	enum sh_claim claim;

	assert_int_equal(
		sh_core_claim(play.core, n->number, epoch, key_hash, play.now_ms, &claim, &play.err), CM_OK);
	sh_core_leave(play.core, n->number, epoch, key_hash);
}

static void a_certificate_that_moves_on_and_on_begins_few_epochs(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 1, .target = DEVICES, .window_ms = 3600000 });
	connect(&intake[0]);
	connect(&intake[1]);
	const struct sh_spread *s = &sh_core_collecting(play.core)->spread;
	const uint64_t first = s->epoch;
	for (unsigned i = 0; i < 3000; i++, play.now_ms += 100) {
		pass_by(&intake[i % 2], s->epoch);
		sh_play_work(&play);
	}
	assert_in_range(s->epoch - first, 5, 10);
	/* After a long time without a new epoch the pause is as short as at first. */
	play.now_ms += 4 * SH_SPREAD_LONGEST_MS;
	for (unsigned i = 0; i < 4; i++)
		pass_by(&intake[i % 2], s->epoch);
	sh_play_work(&play);
	assert_int_equal(s->pause_ms, SH_SPREAD_PAUSE_MS);
}

static void who_was_stopped_stores_nothing_when_it_wakes_up(void **state)
{
	(void)state;
	the_next_round(DEVICES);
	assert_true(submit(&intake[0], 0, 0, 10));
	assert_true(sign(&intake[0])); /* and the intake is stopped here, for an epoch */
	connect(&intake[1]);
	assert_true(share(&intake[1]));
	assert_true(submit(&intake[1], 0, 0, 10));
	flush(&intake[1]);
	assert_false(store(&intake[0]));
	/* The time after the end does not count either. */
	assert_true(share(&intake[0]) && submit(&intake[0], 1, EACH, 10) && sign(&intake[0]));
	sh_play_deadline(&play);
	assert_false(store(&intake[0]));
	release(DEVICES);
	assert_int_equal(play.manifest.participants, 10);
}

static void no_more_than_the_target_are_taken(void **state)
{
	(void)state;
	the_next_round(50);
	assert_true(submit(&intake[0], 0, 0, 40));
	assert_true(submit(&intake[1], 1, EACH, 40));
	flush(&intake[0]);
	assert_false(sign(&intake[1])); /* ten places are left */
	assert_true(share(&intake[1]));
	assert_true(submit(&intake[1], 1, EACH, 40));
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(receipt.outcomes[i], i < 10 ? OUTCOME(ACCEPTED) : OUTCOME(CLOSED));
	assert_non_null(sh_core_offer(play.core, 0, play.now_ms));
	flush(&intake[1]);
	assert_null(sh_core_offer(play.core, 0, play.now_ms));
	sh_play_work(&play); /* full: sealed before the deadline */
	release(50);
	assert_int_equal(play.manifest.participants, 50);
}

static void places_of_a_dead_intake_are_free_again(void **state)
{
	(void)state;
	the_next_round(50);
	assert_true(submit(&intake[0], 0, 0, 40) && sign(&intake[0]));
	end_share(&intake[0]); /* killed before it stored */
	connect(&intake[1]);
	assert_true(share(&intake[1]));
	assert_true(submit(&intake[1], 0, 0, 40) && submit(&intake[1], 1, EACH, 10));
	flush(&intake[1]);
	sh_play_work(&play);
	release(50);
	assert_int_equal(play.manifest.participants, 50);
}

static void a_head_that_starts_again_goes_on(void **state)
{
	(void)state;
	the_next_round(DEVICES);
	assert_true(submit(&intake[0], 0, 0, 10));
	flush(&intake[0]);
	assert_true(submit(&intake[0], 0, 10, 10) && sign(&intake[0]));
	steps_restart();
	assert_null(sh_core_offer(play.core, 0, play.now_ms)); /* nobody could take reports */
	assert_false(store(
		&intake[0])); /* it is stored, in an epoch that this head does not know: no receipt is sent */
	connect(&intake[0]);
	assert_true(share(&intake[0]));
	assert_int_equal(intake[0].share->intake.participants, 20);
	assert_true(submit(&intake[0], 0, 10, 10)); /* it comes again */
	/* After the data are closed another start does not open them. */
	play.now_ms = play.d.deadline_ms;
	struct sh_task t;
	struct sh_task_done done;
	assert_int_equal(sh_core_task_begin(play.core, SH_PACE_FLUSH, play.now_ms, &t), SH_TASK_CLOSE);
	sh_core_task_run(&t, &play.work_rng);
	assert_int_equal(sh_core_task_end(play.core, &t, &done, &play.err), CM_OK);
	steps_restart();
	play.now_ms = play.d.deadline_ms - 1000; /* the clock was set back, too */
	sh_core_intakes(play.core, 1);
	sh_play_work(&play);
	assert_null(sh_core_collecting(play.core));
	release(DEVICES);
	assert_int_equal(play.manifest.participants, 20);
}

static void a_receipt_that_was_lost_is_given_again_after_the_seal(void **state)
{
	(void)state;
	the_next_round(DEVICES);
	assert_true(submit(&intake[0], 0, 0, 10));
	flush(&intake[0]);
	sh_play_deadline(&play);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(sh_play_submit(&play, 0, EACH, 9, 2, &receipt), CM_OK);
		assert_int_equal(receipt.outcomes[0], OUTCOME(ACCEPTED));
		assert_int_equal(receipt.outcomes[1], OUTCOME(CLOSED));
		steps_restart();
	}
	release(DEVICES);
}

/* Its configuration has no intakes any more, and one of them still runs. */
static void a_head_that_takes_reports_itself_again_waits_for_no_intake(void **state)
{
	(void)state;
	the_next_round(DEVICES);
	assert_true(submit(&intake[0], 0, 0, 10));
	flush(&intake[0]);
	assert_true(submit(&intake[0], 0, 10, 10) && sign(&intake[0]));
	play.intakes = false;
	steps_restart();
	assert_false(store(&intake[0]));
	assert_int_equal(sh_play_submit(&play, 0, EACH, 10, 10, &receipt), CM_OK);
	sh_play_work(&play);
	sh_play_deadline(&play);
	release(DEVICES);
	assert_int_equal(play.manifest.participants, 20);
}

static void who_leaves_without_a_claim_takes_no_memory(void **state)
{
	(void)state;
	the_next_round(DEVICES);
	assert_true(submit(&intake[0], 0, 0, 10));
	const struct sh_spread *s = &sh_core_collecting(play.core)->spread;
	for (uint8_t key_hash[PR_HASH_LEN] = { 2 }; key_hash[0] < 100; key_hash[0]++)
		sh_core_leave(play.core, intake[0].number, s->epoch, key_hash);
	assert_int_equal(s->claims.used, 1);
}

static void a_receipt_for_another_epoch_is_not_signed(void **state)
{
	uint8_t bytes[PR_RECEIPT_LEN] = { 0 };
	struct sh_signing s = { .receipts = bytes, .n = 1 };
	struct sh_promise promise;

	(void)state;
	the_next_round(DEVICES);
	s.epoch = sh_core_collecting(play.core)->spread.epoch - 1;
	assert_false(sh_core_promise(play.core, 1, &s, &promise));
	s.epoch++;
	assert_true(sh_core_promise(play.core, 1, &s, &promise));
	assert_memory_equal(promise.round_id, sh_core_collecting(play.core)->d.round_id, PR_ROUND_ID_LEN);
	sh_play_deadline(&play);
	the_next_round(DEVICES); /* in which no number of an epoch comes again */
	assert_true(sh_core_collecting(play.core)->spread.epoch > s.epoch);
}

/* Statements of an intake about clients that did not connect to it are not stored, and its batch is not
 * granted. */
static void only_who_claimed_a_certificate_says_where_it_stands(void **state)
{
	uint8_t bytes[2][PR_RECEIPT_LEN] = { { 0 } }, signature[2][CR_SIGN_LEN];
	struct sh_stand stand[3] = { { .mac = { 1 } }, { .mac = { 2 } }, { .mac = { 3 } } };
	struct sh_signing s = { .receipts = bytes[0], .n = 2, .stand = stand, .stands = 1 };
	struct sh_standing_signed got;
	struct sh_promise promise;
	enum sh_claim claim;

	(void)state;
	the_next_round(DEVICES);
	s.epoch = sh_core_collecting(play.core)->spread.epoch;
	for (size_t i = 0; i < 3; i++)
		memset(stand[i].key_hash, 50 + (int)i, PR_HASH_LEN);
	assert_false(sh_core_promise(play.core, 1, &s, &promise)); /* nobody claimed it */
	assert_int_equal(
		sh_core_claim(play.core, 2, s.epoch, stand[0].key_hash, play.now_ms, &claim, &play.err),
		CM_OK);
	assert_int_equal(claim, SH_CLAIM_MINE);
	assert_false(sh_core_promise(play.core, 1, &s, &promise)); /* another did */
	s.stands = 2;
	assert_false(sh_core_promise(play.core, 2, &s, &promise)); /* one of the two */
	assert_int_equal(sh_core_standing(play.core, stand[0].key_hash, NULL, &got, &play.err), CM_OK);
	assert_int_equal(got.standing.sequence, 0);
	s.stands = 1;
	assert_true(sh_core_promise(play.core, 2, &s, &promise));
	assert_int_equal(sh_core_sign(play.core, &promise, &s, signature[0], &play.err), CM_OK);
	assert_int_equal(sh_core_standing(play.core, stand[0].key_hash, NULL, &got, &play.err), CM_OK);
	assert_int_equal(got.standing.sequence, sh_core_collecting(play.core)->d.sequence);
	assert_memory_equal(got.standing.mac, stand[0].mac, PR_MAC_LEN);
	/* More certificates than receipts cannot be: each has one at least. */
	for (size_t i = 1; i < 3; i++)
		assert_int_equal(sh_core_claim(play.core, 2, s.epoch, stand[i].key_hash, play.now_ms, &claim,
					 &play.err),
			CM_OK);
	s.stands = 3;
	assert_false(sh_core_promise(play.core, 2, &s, &promise));
	s.stands = 2;
	assert_true(sh_core_promise(play.core, 2, &s, &promise));
}

/* One step of a random life. */
/* There is no block, only the row of tags. */
static enum cm_rc no_block(void *user, struct sh_block *out, struct cm_err *err)
{
	(void)user;
	(void)out;
	(void)err;
	return CM_EMORE;
}

/* Whoever has an intake's role adds a row of tags that no key opens, for a device. */
static void a_row_that_nobody_with_the_rounds_keys_stored_costs_that_round_alone(void **state)
{
	const struct sh_block junk = { .id = 1, .devices = 1, .body = (const uint8_t *)"", .len = 1 };
	void *data;

	(void)state;
	if (play.database[0])
		skip(); /* test_intake_rights.py has an intake's role */
	the_next_round(DEVICES);
	assert_true(submit(&intake[0], 0, 0, 10));
	flush(&intake[0]);
	assert_int_equal(play.store.data_join(
				 play.store.ctx, play.d.round_id, intake[0].share->epoch, &data, &play.err),
		CM_OK);
	assert_int_equal(play.store.data_commit(data, no_block, NULL, &junk, &play.err), CM_OK);
	play.store.data_close(data);
	steps_restart(); /* it reads the tags */
	sh_play_work(&play);
	assert_null(sh_core_collecting(play.core));
	steps_restart();
	the_next_round(DEVICES);
	assert_non_null(sh_core_offer(play.core, 0, play.now_ms));
}

static void step(struct cr_rng *rng)
{
	struct intake *n = &intake[cr_rng_below(rng, INTAKES)];
	uint64_t what = cr_rng_below(rng, 16);

	if (what == 0) {
		end_share(n); /* killed; it comes back */
		connect(n);
	} else if (what == 1) {
		steps_restart();
		connect(n);
	} else if (what < 4 || !n->share) {
		share(n);
	} else if (what < 10) {
		unsigned certificate = (unsigned)cr_rng_below(rng, CERTIFICATES);
		size_t first = cr_rng_below(rng, EACH), some = 1 + cr_rng_below(rng, EACH - first);
		(void)submit(n, certificate, certificate * EACH + first, some);
	} else if (n->flies) {
		if (!store(n))
			share(n);
	} else if (sh_batch_submissions(&n->share->intake.gathering) > 0 && !sign(n)) {
		share(n);
	}
	sh_play_work(&play);
}

static void each_device_counts_once_over_random_lives(void **state)
{
	const unsigned lives = getenv("TOMBOLA_TEST_DATABASE") ? 6 : 60; /* a database is made for each */
	struct cr_rng rng;

	for (unsigned life = 0; life < lives; life++) {
		uint8_t seed[CR_SEED_LEN] = { (uint8_t)life, 's', 'p', 'r', 'e', 'a', 'd' };
		struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &rng);
		assert_non_null(g);
		if (life > 0) {
			tear_down(state);
			set_up(state);
		}
		uint64_t target = life % 2 ? DEVICES : DEVICES / 3;
		the_next_round(target);
		for (unsigned i = 0; i < 300 && sh_core_collecting(play.core); i++)
			step(&rng);
		if (sh_core_collecting(play.core))
			sh_play_deadline(&play);
		for (size_t i = 0; i < INTAKES; i++)
			if (intake[i].flies)
				assert_false(store(&intake[i]));
		release(target);
		cr_rng_seeded_free(g);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_intakes_take_a_round),
		TEST(a_certificate_has_one_intake_in_an_epoch),
		TEST(a_certificate_that_moves_on_and_on_begins_few_epochs),
		TEST(who_was_stopped_stores_nothing_when_it_wakes_up),
		TEST(no_more_than_the_target_are_taken),
		TEST(places_of_a_dead_intake_are_free_again),
		TEST(a_head_that_starts_again_goes_on),
		TEST(a_receipt_that_was_lost_is_given_again_after_the_seal),
		TEST(a_head_that_takes_reports_itself_again_waits_for_no_intake),
		TEST(who_leaves_without_a_claim_takes_no_memory),
		TEST(a_receipt_for_another_epoch_is_not_signed),
		TEST(only_who_claimed_a_certificate_says_where_it_stands),
		TEST(a_row_that_nobody_with_the_rounds_keys_stored_costs_that_round_alone),
		TEST(each_device_counts_once_over_random_lives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
