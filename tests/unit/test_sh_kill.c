/* test_sh_kill.c - what is acknowledged survives kill -9 at any moment. */
#include "sh_steps.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child: submit without end from `from`, and after each commit write how far it is durable. */
static _Noreturn void submit_for_ever(uint64_t from, int say)
{
	sh_play_start(&play);
	for (uint64_t at = from;; at += 37) {
		steps_accepted(1, at, 34); /* a run, with 16 buckets */
		sh_play_work(&play);
		steps_accepted(1, at + 34, 3); /* none */
		sh_play_work(&play);
		uint64_t durable = at + 37;
		if (write(say, &durable, sizeof durable) != sizeof durable)
			_exit(1);
	}
}

/* Wait for at least one word of the child, let it run on for a random while, kill it; the last word said. */
static uint64_t kill_after_words(pid_t child, int said, uint64_t last)
{
	struct pollfd fd = { .fd = said, .events = POLLIN };
	uint64_t word;
	int status;

	assert_int_equal(poll(&fd, 1, 120000), 1);
	struct timespec some = { .tv_nsec = (long)cr_rng_below(&play.rng, 20000000) };
	(void)nanosleep(&some, NULL);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	while (read(said, &word, sizeof word) == sizeof word)
		last = word;
	return last;
}

static void settle(struct sh_play *p)
{
	(void)!sh_play_settle(p);
}

static void no_acknowledged_submission_is_lost_or_doubled_by_kill_9(void **state)
{
	uint64_t durable = 0;
	char path[256];
	struct stat st;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10, .target = 100000 });
	sh_play_stop(&play);
	for (unsigned kills = 0; kills < 25; kills++) {
		int ends[2];
		assert_int_equal(pipe(ends), 0);
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0)
			submit_for_ever(durable, ends[1]);
		(void)close(ends[1]);
		durable = kill_after_words(child, ends[0], durable);
		(void)close(ends[0]);
	}
	bool files = !play.database[0];
	if (files) {
		assert_int_equal(stat(steps_place(path, "rounds", ".db-wal"), &st), 0);
		assert_true(st.st_size > 0);
	}
	sh_play_start(&play);
	/* The writes of the killed process, synced or not, are made durable before anything is done with
	 * them. */
	if (files) {
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, 0);
	}
	const struct sh_intake *in = &sh_core_collecting(play.core)->intake;
	/* The last two commits may be durable though the word of them was not said. */
	uint64_t more = in->participants - durable, all = in->participants + 37 - (more > 0 ? more : 37);
	assert_true(more == 0 || more == 34 || more == 37);
	assert_int_equal(sh_core_collecting(play.core)->vault.buckets, 16);
	for (uint64_t at = 0; at < all; at += 37)
		steps_accepted(1, at, 37); /* retries: the same bytes */
	assert_int_equal(in->participants, all);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	assert_int_equal(play.manifest.participants, all);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	steps_pull_each_once(all);
}

/* Kill a child at a random moment of the seal, the release's row or the erasure; then do it again. */
static void sealing_and_erasing_can_be_killed_at_any_moment(void **state)
{
	char path[256];
	struct stat st;

	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		bool is_void = i % 3 == 0;
		sh_play_round(&play, &(struct sh_wish){ .min_reports = is_void ? 200 : 10 });
		steps_accepted(1, 0, 100);
		sh_play_work(&play);
		sh_play_stop(&play);
		for (unsigned step = 0; step < 2; step++) {
			sh_play_killed(&play, step == 0 ? sh_play_deadline : settle, 8000000);
			sh_play_start(&play);
			if (step == 1)
				break;
			sh_play_deadline(&play);
			sh_play_manifest(&play);
			assert_int_equal(play.manifest.participants, 100);
			assert_int_equal(play.manifest.is_void, is_void);
			if (is_void)
				break;
			sh_play_charge(&play);
			assert_int_equal(sh_play_release(&play), CM_OK);
			steps_pull_each_once(100);
			sh_play_stop(&play);
		}
		assert_int_equal(sh_play_settle(&play), CM_OK);
		assert_false(steps_file_exists("rounds", ".db"));
		assert_int_not_equal(stat(steps_place(path, "keys", ".key"), &st), 0);
	}
}

static void what_a_crash_left_of_an_announcement_is_removed_at_the_start(void **state)
{
	struct sh_vault v;
	char path[256];
	struct stat st;

	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(
		sh_vault_create(&v, &play.store, play.key_dir, play.d.round_id, 4, 64, &play.rng, &play.err),
		CM_OK);
	sh_vault_close(&v);
	assert_int_equal(stat(steps_place(path, "keys", ".key"), &st), 0);
	sh_play_stop(&play);
	sh_play_start(&play);
	assert_false(steps_file_exists("rounds", ".db"));
	assert_int_not_equal(stat(steps_place(path, "keys", ".key"), &st), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(no_acknowledged_submission_is_lost_or_doubled_by_kill_9),
		STEPS_TEST(sealing_and_erasing_can_be_killed_at_any_moment),
		STEPS_TEST(what_a_crash_left_of_an_announcement_is_removed_at_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
