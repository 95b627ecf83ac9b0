/* test_sh_blanket.c - messages that the shuffler adds: as many as prescribed whatever crashes, and like any
 * other. */
#include "sh_steps.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pt_noise_analysis.h"
#include "sh_blanket.h"

#define DEVICES 300u

static struct cr_key secret;
static uint8_t public_key[CR_HPKE_PUBLIC_LEN];

static void open_round_as(struct sh_wish wish)
{
	assert_int_equal(cr_hpke_keygen(&play.rng, &secret, public_key, &play.err), CM_OK);
	wish.min_reports = 100;
	wish.target = 20000;
	wish.hpke_key = public_key;
	sh_play_round(&play, &wish);
	steps_accepted(1, 0, DEVICES);
}

static void open_round(uint64_t dummies)
{
	open_round_as((struct sh_wish){ .shuffler_dummies = dummies });
}

/* The messages that were pulled: made-up ones of devices, and those that open. */
struct found {
	uint64_t dummies, counts[4];
	uint64_t early; /* dummies in the first half of the release */
};

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

/* No two messages have one encapsulated key. */
static void keys_differ(const struct cm_buf *b, size_t len)
{
	size_t n = b->len / len;
	uint8_t *key = malloc(n * 32);

	assert_non_null(key);
	for (size_t i = 0; i < n; i++)
		memcpy(key + i * 32, b->data + i * len, 32);
	qsort(key, n, 32, by_bytes);
	for (size_t i = 1; i < n; i++)
		assert_int_not_equal(memcmp(key + (i - 1) * 32, key + i * 32, 32), 0);
	free(key);
}

static void tell_apart(const struct cm_buf *all, struct found *f)
{
	size_t len = rd_sealed_len(&play.d);
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], record[PT_RECORD_MAX];
	struct cr_hpke_opener *opener;
	struct cm_buf devices;

	*f = (struct found){ 0 };
	rd_hpke_info(&play.d, info);
	rd_hpke_aad(&play.d, aad);
	cm_buf_init(&devices, 64u << 20);
	assert_int_equal(
		cr_hpke_opener_new(play.d.suite, &secret, info, sizeof info, &opener, &play.err), CM_OK);
	for (size_t at = 0; at < all->len; at += len) {
		if (cr_hpke_open(opener, aad, sizeof aad, all->data + at, len, record, &play.err) != CM_OK) {
			assert_int_equal(cm_buf_put(&devices, all->data + at, len), CM_OK);
			continue;
		}
		assert_int_equal(pt_protocol_of(play.d.randomizer.row)
					 ->tally(&play.d.randomizer, record, f->counts, &play.err),
			CM_OK);
		f->dummies++;
		f->early += at < all->len / 2;
	}
	steps_each_once(&devices, DEVICES);
	cr_hpke_opener_free(opener);
	cm_buf_fini(&devices);
}

/* Manifest, charge, release: the devices' messages once each, and exactly the prescribed dummies. */
static void release(uint64_t dummies, struct found *f)
{
	struct cm_buf all;

	sh_play_manifest(&play);
	assert_int_equal(play.manifest.participants, DEVICES);
	assert_int_equal(play.manifest.dummies, dummies);
	assert_int_equal(play.manifest.messages, DEVICES + dummies);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	cm_buf_init(&all, 64u << 20);
	sh_play_pull(&play, 4000, &all);
	assert_int_equal(all.len, (DEVICES + dummies) * rd_sealed_len(&play.d));
	tell_apart(&all, f);
	assert_int_equal(f->dummies, dummies);
	keys_differ(&all, rd_sealed_len(&play.d));
	cm_buf_fini(&all);
}

static void as_many_as_prescribed_are_added_uniform_and_anywhere(void **state)
{
	const uint64_t n = SH_BLANKET_SLICE + 904;
	struct found f;
	double square = 0;

	(void)state;
	open_round(n);
	sh_play_deadline(&play);
	release(n, &f);
	/* Chi-square of 3 degrees: 63 is exceeded with chance 1e-12. */
	for (unsigned y = 0; y < 4; y++)
		square += ((double)f.counts[y] - (double)n / 4) * ((double)f.counts[y] - (double)n / 4) /
			  ((double)n / 4);
	assert_true(square < 63);
	/* Places of n dummies among DEVICES + n: hypergeometric, 7.5 standard errors. */
	double all = (double)n + DEVICES, share = (double)n / all;
	assert_true(fabs((double)f.early - (double)n / 2) < 7.5 * sqrt(all / 4 * share * (1 - share)) + 1);
}

static void a_void_or_cancelled_round_gets_none(void **state)
{
	(void)state;
	open_round(3 * SH_BLANKET_SLICE);
	sh_play_work(&play);
	sh_core_collecting(play.core)->d.min_reports = DEVICES + 1;
	assert_int_equal(sh_blanket_next(sh_core_collecting(play.core)), 0);
	sh_core_collecting(play.core)->d.min_reports = DEVICES;
	assert_int_equal(sh_blanket_next(sh_core_collecting(play.core)), SH_BLANKET_SLICE);
	steps_void();
	assert_int_equal(sh_blanket_next(sh_core_collecting(play.core)), 0);
	sh_play_deadline(&play);
	assert_false(steps_file_exists("rounds", ".db") || steps_file_exists("keys", ".key"));
}

/* In a child: go on towards the seal; die after `steps` tasks, or between the last one's commit and its
 * end. */
static void die_after(unsigned steps, bool uncounted)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		sh_play_start(&play);
		play.now_ms = play.d.deadline_ms;
		for (unsigned i = 0; i < steps; i++) {
			struct sh_round *r = sh_core_collecting(play.core);

			if (sh_route_next(r) && sh_route_step(r, &play.work_rng, &play.err) != CM_OK)
				_exit(1);
			uint32_t n = sh_blanket_next(r);
			if (sh_core_task_next(play.core, SH_PACE_FLUSH, play.now_ms) != SH_TASK_BLANKET ||
				sh_blanket_commit(r, n, &play.work_rng, &play.err) != CM_OK)
				_exit(1);
			if (!uncounted || i + 1 < steps)
				sh_blanket_committed(r, n);
		}
		(void)kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void none_is_missing_or_doubled_after_a_crash_at_any_step(void **state)
{
	const uint64_t n = SH_BLANKET_SLICE + 7;

	(void)state;
	for (unsigned steps = 0; steps <= 2; steps++)
		for (unsigned uncounted = 0; uncounted <= (steps > 0); uncounted++) {
			struct found f;
			uint64_t done = (uint64_t)steps * SH_BLANKET_SLICE;

			open_round(n);
			sh_play_work(&play);
			sh_play_stop(&play);
			die_after(steps, uncounted);
			sh_play_start(&play);
			assert_int_equal(sh_core_collecting(play.core)->dummies, done < n ? done : n);
			assert_int_equal(sh_core_collecting(play.core)->intake.participants, DEVICES);
			sh_play_deadline(&play);
			release(n, &f);
			/* The round is sealed: a restart adds nothing. */
			steps_restart();
			sh_play_manifest(&play);
			assert_int_equal(play.manifest.dummies, n);
		}
}

static void none_is_missing_or_doubled_by_kill_9_at_any_moment(void **state)
{
	const uint64_t n = 2 * SH_BLANKET_SLICE;
	struct found f;

	(void)state;
	open_round(n);
	sh_play_work(&play);
	sh_play_stop(&play);
	for (unsigned kills = 0; kills < 10; kills++)
		sh_play_killed(&play, sh_play_deadline, 120000000);
	sh_play_start(&play);
	sh_play_deadline(&play);
	release(n, &f);
}

static void noise_is_drawn_once_whatever_crashes(void **state)
{
	uint64_t total = 0, before[4] = { 0 };

	(void)state;
	play.policy.shared.max_epsilon0 = INFINITY;
	for (unsigned steps = 0; steps <= 2; steps++)
		for (unsigned uncounted = 0; uncounted <= (steps > 0); uncounted++) {
			uint64_t noise[4];
			struct found f;

			open_round_as((struct sh_wish){ .noise_epsilon = 0.006 });
			sh_play_work(&play);
			struct sh_round *r = sh_core_collecting(play.core);
			assert_int_equal(sh_noise_draw(r, &play.err), CM_OK);
			for (unsigned b = 0; b < 4; b++)
				noise[b] = r->noise[b] - (b > 0 ? r->noise[b - 1] : 0);
			total = r->noise[3];
			/* About 16,700 of these are expected, give or take 1,300: more than one slice. */
			assert_true(total > SH_BLANKET_SLICE);
			/* Another round draws anew: four numbers of about 35 are not all the same. */
			assert_memory_not_equal(noise, before, sizeof noise);
			memcpy(before, noise, sizeof before);
			sh_play_stop(&play);
			die_after(steps, uncounted);
			sh_play_start(&play);
			sh_play_deadline(&play);
			release(total, &f);
			assert_memory_equal(f.counts, noise, sizeof noise);
		}
}

static void noise_is_uncertain_as_stated(void **state)
{
	double sum = 0, square = 0;

	(void)state;
	play.policy.shared.max_epsilon0 = INFINITY;
	sh_play_round(&play, &(struct sh_wish){ .noise_epsilon = 1 });
	struct sh_round *r = sh_core_collecting(play.core);
	double mean = r->d.randomizer.shuffler.noise_mean,
	       variance = es_noise_variance(&(struct es_noise){
		       r->d.randomizer.shuffler.noise_decay, r->d.randomizer.shuffler.noise_mean });
	for (unsigned i = 0; i < 2000; i++) {
		play.rng.fill(play.rng.ctx, r->vault.order.bytes, sizeof r->vault.order.bytes);
		assert_int_equal(sh_noise_draw(r, &play.err), CM_OK);
		for (unsigned b = 0; b < 4; b++) {
			double x = (double)(r->noise[b] - (b > 0 ? r->noise[b - 1] : 0)) - mean;
			sum += x;
			square += x * x;
		}
		for (uint64_t made = 0; made < r->noise[3]; made++) {
			uint32_t b = sh_noise_bin(r, made);
			assert_true(made < r->noise[b] && (b == 0 || made >= r->noise[b - 1]));
		}
		sh_noise_forget(r);
	}
	/* 7.5 standard deviations; of the square, of kurtosis 6 and deviation sqrt(5 / 8000), ten. */
	assert_true(fabs(sum) < 7.5 * sqrt(8000 * variance));
	assert_true(fabs(square / 8000 / variance - 1) < 0.25);
}

static void a_key_that_nothing_can_be_sealed_to_is_refused_at_once(void **state)
{
	static const uint8_t low_order[CR_HPKE_PUBLIC_LEN] = { 0 };

	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ .shuffler_dummies = 10, .hpke_key = low_order });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(BAD_MESSAGE));
	assert_null(sh_core_collecting(play.core));
}

static void more_than_the_policy_allows_are_refused(void **state)
{
	(void)state;
	play.policy.max_shuffler_dummies = 9;
	sh_play_describe(&play, &(struct sh_wish){ .shuffler_dummies = 10 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(POLICY_REFUSED));
	/* The pin stays as it was; another plan is judged anew. */
	play.policy.max_shuffler_dummies = 10;
	steps_refused(sh_play_announce(&play), ERROR(POLICY_REFUSED));
	sh_play_round(&play, &(struct sh_wish){ .shuffler_dummies = 10 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(as_many_as_prescribed_are_added_uniform_and_anywhere),
		STEPS_TEST(a_void_or_cancelled_round_gets_none),
		STEPS_TEST(none_is_missing_or_doubled_after_a_crash_at_any_step),
		STEPS_TEST(none_is_missing_or_doubled_by_kill_9_at_any_moment),
		STEPS_TEST(noise_is_drawn_once_whatever_crashes),
		STEPS_TEST(noise_is_uncertain_as_stated),
		STEPS_TEST(a_key_that_nothing_can_be_sealed_to_is_refused_at_once),
		STEPS_TEST(more_than_the_policy_allows_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
