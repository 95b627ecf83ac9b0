/* test_sh_route.c - messages with tags: as many of each as the descriptor says, whatever came and whatever
 * crashes. */
#include "sh_steps.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pt_record.h"
#include "sh_blanket.h"
#include "sh_tagged.h"

/* ---- Rounds ---- */

static struct cr_key secret;
static uint8_t public_key[CR_HPKE_PUBLIC_LEN];

static void open_round(uint32_t (*tag)(uint64_t device))
{
	assert_int_equal(cr_hpke_keygen(&play.rng, &secret, public_key, &play.err), CM_OK);
	play.tag = tag;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 20,
				     .target = 40000, /* 4 buckets or more */
				     .hpke_key = public_key,
				     .row = &tagged,
				     .tags = TAGS,
				     .tag_messages = CAP });
	steps_accepted(1, 0, DEVICES);
}

/* Count for each tag the messages of devices, each once, and the shuffler's. */
struct found {
	uint64_t devices[TAGS], added[TAGS];
	uint8_t kept[DEVICES];
};

static void tell_apart(const struct cm_buf *all, struct found *f)
{
	size_t len = rd_sealed_len(&play.d);
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], record[PT_RECORD_MAX], want[PR_SEALED_MAX];
	struct cr_hpke_opener *opener;

	*f = (struct found){ 0 };
	rd_hpke_info(&play.d, info);
	rd_hpke_aad(&play.d, aad);
	assert_int_equal(
		cr_hpke_opener_new(play.d.suite, &secret, info, sizeof info, &opener, &play.err), CM_OK);
	for (size_t at = 0; at < all->len; at += len) {
		if (cr_hpke_open(opener, aad, sizeof aad, all->data + at, len, record, &play.err) == CM_OK) {
			uint32_t tag;
			assert_int_equal(pt_record_get(record, TAGS, &tag, &play.err), CM_OK);
			f->added[tag]++;
			continue;
		}
		uint64_t device = cm_get_le64(all->data + at);
		assert_true(device < DEVICES);
		assert_int_equal(f->kept[device]++, 0);
		sh_play_message(device, 0, want, len);
		assert_memory_equal(all->data + at, want, len);
		f->devices[uneven(device)]++;
	}
	cr_hpke_opener_free(opener);
}

static void release(struct found *f)
{
	struct cm_buf all;

	sh_play_manifest(&play);
	assert_int_equal(play.manifest.participants, DEVICES);
	assert_int_equal(play.manifest.messages, TAGS * CAP);
	assert_int_equal(play.manifest.dummies, 0); /* not to be told */
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	cm_buf_init(&all, 64u << 20);
	sh_play_pull(&play, 4000, &all);
	assert_int_equal(all.len, TAGS * CAP * rd_sealed_len(&play.d));
	tell_apart(&all, f);
	cm_buf_fini(&all);
	for (unsigned tag = 0; tag < TAGS; tag++) {
		static const uint64_t kept[TAGS] = { CAP, CAP, 10, 0 };
		assert_int_equal(f->devices[tag], kept[tag]);
		assert_int_equal(f->added[tag], CAP - kept[tag]);
	}
}

static void every_tag_has_as_many_messages_as_prescribed(void **state)
{
	struct found f;

	(void)state;
	for (unsigned by_value = 0; by_value < 2; by_value++) {
		use_row(by_value);
		open_round(uneven);
		sh_play_deadline(&play);
		release(&f);
		assert_int_equal(sh_play_settle(&play), CM_OK);
	}
}

static uint32_t one_for_all(uint64_t device)
{
	(void)device;
	return 2;
}

static void the_work_does_not_depend_on_values_where_tags_do(void **state)
{
	(void)state;
	use_row(true);
	for (unsigned even = 0; even < 2; even++) {
		uint64_t capped = 0, made = 0;

		open_round(even ? NULL : one_for_all);
		sh_play_work(&play);
		play.now_ms = play.d.deadline_ms;
		struct sh_round *r = sh_core_collecting(play.core);
		assert_int_equal(sh_route_step(r, &play.work_rng, &play.err), CM_OK); /* counted */
		assert_int_equal(r->route.over, !even);
		for (; sh_core_task_next(play.core, SH_PACE_FLUSH, play.now_ms) == SH_TASK_ROUTE; capped++) {
			assert_int_equal(sh_route_step(r, &play.work_rng, &play.err), CM_OK);
			assert_int_equal(r->route.capped, capped + 1);
		}
		assert_int_equal(capped, r->vault.buckets);
		for (uint32_t n; (n = sh_blanket_next(r)) > 0; made += n) {
			assert_int_equal(sh_blanket_commit(r, n, &play.work_rng, &play.err), CM_OK);
			sh_blanket_committed(r, n);
		}
		assert_int_equal(made, TAGS * CAP);
		sh_play_work(&play);
		steps_void();
	}
}

static void tags_without_a_number_come_as_they_are(void **state)
{
	(void)state;
	use_row(false);
	play.tag = uneven;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 20, .row = &tagged, .tags = TAGS });
	steps_accepted(1, 0, DEVICES);
	sh_play_deadline(&play);
	steps_release_all(DEVICES);
}

/* ---- Which messages are dropped ---- */

#define FEW  6u
#define STAY 2u

/* Which of FEW messages of one tag, strewn over buckets, stay: bit i for message i. */
static unsigned choose_once(struct sh_round *r, uint32_t buckets)
{
	uint8_t message[64] = { 0 };
	struct sh_batch batch;
	struct cm_buf left;
	unsigned kept = 0;

	r->route = (struct sh_route){ 0 };
	play.rng.fill(play.rng.ctx, r->d.round_id, PR_ROUND_ID_LEN);
	assert_int_equal(sh_vault_create(&r->vault, &play.store, play.key_dir, r->d.round_id, buckets,
				 sizeof message, &play.rng, &play.err),
		CM_OK);
	sh_batch_init(&batch, sizeof message, 1 << 20);
	assert_int_equal(sh_batch_reserve(&batch, FEW, 1, &play.err), CM_OK);
	for (unsigned i = 0; i < FEW; i++) {
		struct sh_tag who = { .tag = { (uint8_t)i } };
		cm_put_le16(message, 1);
		message[2] = (uint8_t)i;
		sh_batch_add(&batch, &who, message, sizeof message);
	}
	assert_int_equal(sh_vault_commit(&r->vault, &batch, &play.rng, &play.err), CM_OK);
	sh_batch_fini(&batch);
	while (sh_route_next(r))
		assert_int_equal(sh_route_step(r, &play.rng, &play.err), CM_OK);
	cm_buf_init(&left, 1 << 20);
	for (uint32_t b = 0; b < buckets; b++)
		assert_int_equal(sh_vault_read(&r->vault, b, &left, &play.err), CM_OK);
	assert_int_equal(left.len, STAY * sizeof message);
	for (size_t at = 0; at < left.len; at += sizeof message)
		kept |= 1u << left.data[at + 2];
	cm_buf_fini(&left);
	sh_route_fini(&r->route);
	sh_vault_close(&r->vault);
	assert_int_equal(sh_vault_destroy(&play.store, play.key_dir, r->d.round_id, &play.err), CM_OK);
	return kept;
}

static void every_choice_of_those_that_stay_is_equally_likely(void **state)
{
	struct sh_round r = { .state = SH_COLLECTING,
		.d = { .randomizer = { .row = &tagged, .shuffler = { .tags = 2, .tag_messages = STAY } } } };
	enum { ROUNDS = 600, CHOICES = 15 }; /* 6 over 2 */
	unsigned count[1 << FEW] = { 0 };
	double square = 0;

	(void)state;
	use_row(false);
	for (unsigned i = 0; i < ROUNDS; i++)
		count[choose_once(&r, 4)]++;
	for (unsigned i = 0; i < 1 << FEW; i++)
		if (__builtin_popcount(i) == STAY)
			square += pow(count[i] - (double)ROUNDS / CHOICES, 2) / ((double)ROUNDS / CHOICES);
		else
			assert_int_equal(count[i], 0);
	/* Chi-square of 14 degrees: 88 is exceeded with chance 1e-12. */
	assert_true(square < 88);
}

/* ---- Crashes ---- */

/* One task towards the seal: false when it is the seal's turn. */
static bool step(bool counted)
{
	struct sh_round *r = sh_core_collecting(play.core);
	enum sh_task_kind task = sh_core_task_next(play.core, SH_PACE_FLUSH, play.now_ms);

	if (task == SH_TASK_ROUTE) {
		assert_int_equal(sh_route_step(r, &play.work_rng, &play.err), CM_OK);
		return true;
	}
	if (task != SH_TASK_BLANKET)
		return false;
	uint32_t n = sh_blanket_next(r);
	assert_int_equal(sh_blanket_commit(r, n, &play.work_rng, &play.err), CM_OK);
	if (counted)
		sh_blanket_committed(r, n);
	return true;
}

/* In a child: `steps` tasks towards the seal, then death; before or after the end of the last one was
 * seen. */
static bool die_after(unsigned steps, bool counted)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		sh_play_start(&play);
		play.now_ms = play.d.deadline_ms;
		for (unsigned i = 0; i < steps; i++)
			if (!step(counted || i + 1 < steps))
				_exit(0);
		(void)kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

/* Devices whose messages lie in the first `buckets`. */
static void look(uint32_t buckets, uint8_t there[DEVICES])
{
	struct sh_round *r = sh_core_collecting(play.core);
	struct cm_buf stored;

	memset(there, 0, DEVICES);
	cm_buf_init(&stored, 64u << 20);
	for (uint32_t b = 0; b < buckets; b++)
		assert_int_equal(sh_vault_read(&r->vault, b, &stored, &play.err), CM_OK);
	for (size_t at = 0; at < stored.len; at += r->vault.message_len) {
		uint64_t device = cm_get_le64(stored.data + at + PR_TAG_LEN);
		if (device < DEVICES)
			there[device] = 1;
	}
	cm_buf_fini(&stored);
}

static void a_crash_at_any_step_changes_no_choice_and_no_number(void **state)
{
	static uint8_t chosen[DEVICES];
	struct found f;
	bool died = true;

	(void)state;
	for (unsigned by_value = 0; by_value < 2; by_value++) {
		use_row(by_value);
		died = true;
		for (unsigned steps = 1; died; steps++) {
			open_round(uneven);
			sh_play_work(&play);
			sh_play_stop(&play);
			died = die_after(steps, steps % 2);
			sh_play_start(&play);
			uint32_t capped = sh_core_collecting(play.core)->route.capped;
			look(capped, chosen);
			/* The clock may go back, but nobody comes in who was not counted. */
			play.now_ms = play.d.opens_ms;
			if (capped > 0) {
				steps_submit(1, 90000, 1);
				steps_all_are(OUTCOME(CLOSED));
				assert_null(sh_core_offer(play.core, 0, play.now_ms));
			}
			sh_play_deadline(&play);
			release(&f);
			/* The chosen messages were released, and the buckets that were done lost nothing
			 * more. */
			for (unsigned i = 0; i < DEVICES; i++)
				assert_true(f.kept[i] || !chosen[i]);
			assert_int_equal(sh_play_settle(&play), CM_OK);
		}
	}
}

static void kill_9_at_any_moment_changes_no_number(void **state)
{
	struct found f;

	(void)state;
	use_row(true);
	open_round(uneven);
	sh_play_work(&play);
	sh_play_stop(&play);
	for (unsigned kills = 0; kills < 12; kills++)
		sh_play_killed(&play, sh_play_deadline, 30000000);
	sh_play_start(&play);
	sh_play_deadline(&play);
	release(&f);
	steps_restart();
	sh_play_manifest(&play);
}

/* ---- What clients and the analyzer may ask for ---- */

static void damage_is_noticed(void **state)
{
	(void)state;
	use_row(false);
	open_round(uneven);
	sh_play_work(&play);
	struct sh_round *r = sh_core_collecting(play.core);
	r->d.randomizer.shuffler.tags = 2; /* messages of tag 2 are stored */
	assert_int_equal(sh_route_step(r, &play.work_rng, &play.err), CM_EDATA);
	sh_route_fini(&r->route);
	r->d.randomizer.shuffler.tags = TAGS;
	r->route.capped = r->vault.buckets; /* nothing was dropped */
	assert_int_equal(sh_route_step(r, &play.work_rng, &play.err), CM_EDATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(every_tag_has_as_many_messages_as_prescribed),
		STEPS_TEST(the_work_does_not_depend_on_values_where_tags_do),
		STEPS_TEST(tags_without_a_number_come_as_they_are),
		STEPS_TEST(every_choice_of_those_that_stay_is_equally_likely),
		STEPS_TEST(a_crash_at_any_step_changes_no_choice_and_no_number),
		STEPS_TEST(kill_9_at_any_moment_changes_no_number),
		STEPS_TEST(damage_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
