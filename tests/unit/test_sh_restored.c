/* test_sh_restored.c - a shuffler, or its analyzer, that was restored from an older copy. */
#include "sh_marks.h"
#include "sh_told.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cm_file.h"

/* Every client states at every connection: what is known here is not even verified. */
static void a_head_of_a_round_that_was_served_here_is_not_kept(void **state)
{
	uint8_t forged[CR_SIGN_LEN] = { 1 };

	(void)state;
	assert_int_equal(told_announce(0, false), CM_OK);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(told_state_head(0, 1000, 0), SH_STATED_NOTHING);
		assert_int_equal(told_state_bytes(1, 1,
					 (struct cr_span){ told.descriptor[0].data, told.descriptor[0].len },
					 (struct cr_span){ forged, CR_SIGN_LEN }),
			SH_STATED_NOTHING);
		assert_int_equal(sh_core_hearing(play.core).certificates, 0);
		if (i == 1) { /* nor the statement about a round that is over */
			sh_play_deadline(&play);
			assert_null(sh_core_collecting(play.core));
		}
		steps_restart();
	}
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	assert_non_null(sh_core_collecting(play.core));
}

/* An older copy of the state: the newest ledger mends it. */
static void a_restored_state_announces_nothing_before_its_ledger_is_whole(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 3), CM_OK);
	assert_int_equal(told_state_head(0, 1, 1), SH_STATED_LACKING);
	const struct sh_head_row *lacking = sh_core_lacks(play.core);
	assert_non_null(lacking);
	assert_int_equal(lacking->seq, 4);
	assert_memory_equal(lacking->before, told.after[2].chain.head, PR_HASH_LEN);
	assert_int_equal(told_state_head(1, 1, 2), SH_STATED_LACKING);
	assert_int_equal(told_state_head(2, 1, 1), SH_STATED_LACKING);
	for (int i = 0; i < 2; i++) {
		steps_refused(told_announce(0, false), ERROR(LEDGER));
		assert_non_null(strstr(play.no.text, "record 5, known here are 3"));
		assert_int_equal(sh_core_lacks(play.core)->seq, 5);
		steps_restart();
	}
	assert_int_equal(told_show(4, 4), CM_OK);
	steps_refused(told_announce(0, false), ERROR(LEDGER));
	assert_int_equal(told_show(5, 5), CM_OK);
	assert_null(sh_core_lacks(play.core));
	assert_int_equal(told_announce(0, false), CM_OK);
	steps_restart();
	assert_null(sh_core_lacks(play.core));
}

/* State and ledger are older copies, and went on together. */
static void on_a_fork_nothing_goes_on(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 3), CM_OK);
	told_back_to(3);
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = 2 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	steps_accepted(1, 0, 20);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	sh_play_charge(&play);
	/* The record of that number is another one. */
	assert_int_equal(told_state_head(0, 1, 1), SH_STATED_LACKING);
	for (int i = 0; i < 2; i++) {
		steps_refused(sh_play_release(&play), ERROR(LEDGER));
		assert_non_null(strstr(play.no.text, "record 4 is another"));
		sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = 3 });
		steps_refused(sh_play_reserve(&play), ERROR(LEDGER));
		assert_int_equal(sh_core_lacks(play.core)->seq, 4);
		/* A longer ledger does not take its place. */
		assert_int_equal(told_state_head(2, 1, 2), i == 0 ? SH_STATED_LACKING : SH_STATED_NOTHING);
		steps_restart();
	}
}

/* The certificate that showed it states a longer one of the other branch, not served here either. */
static void a_fork_is_not_forgotten(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 3), CM_OK);
	told_back_to(3);
	for (uint32_t entry = 2; entry <= 3; entry++) {
		sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = entry });
		assert_int_equal(sh_play_reserve(&play), CM_OK);
	}
	assert_int_equal(told_state_head(0, 1, 1), SH_STATED_LACKING);
	assert_int_equal(told_state_bytes(0, 1, (struct cr_span){ play.descriptor.data, play.descriptor.len },
				 (struct cr_span){ play.signature, CR_SIGN_LEN }),
		SH_STATED_NOTHING);
	steps_refused(told_announce(0, false), ERROR(LEDGER));
	assert_non_null(strstr(play.no.text, "record 4 is another"));
}

/* Where the longest head was believed, a shorter one may still show that the analyzer signed two ledgers. */
static void a_fork_is_found_when_the_ledger_comes(void **state)
{
	(void)state;
	told_back_to(4);
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 4), CM_OK);
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = 3 });
	assert_int_equal(told_state_bytes(3, 1, (struct cr_span){ play.descriptor.data, play.descriptor.len },
				 (struct cr_span){ play.signature, CR_SIGN_LEN }),
		SH_STATED_LACKING);
	steps_refused(told_show(5, 5), ERROR(LEDGER));
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	assert_int_equal(sh_play_announce(&play), CM_OK);
	assert_int_equal(told_state_head(0, 1, 2), SH_STATED_LACKING);
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = 1 });
	steps_refused(sh_play_reserve(&play), ERROR(LEDGER));
}

/* The manifests of the lost state contradict nothing that this one signs, and the entry is not asked again:
 * neither by its next try, nor by another first one. */
static void is_over_without_a_manifest(void)
{
	const uint8_t guessed[PR_HASH_LEN] = { 1 };
	struct sh_signed manifest;

	assert_null(sh_core_collecting(play.core));
	steps_refused(sh_core_manifest(
			      play.core, told_made.round_id, PR_ROUND_ID_LEN, &manifest, &play.no, &play.err),
		ERROR(ROUND_CLOSED));
	for (uint32_t attempt = 1; attempt <= 2; attempt++) {
		told_back_to(5);
		sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10,
						.entry = 1,
						.attempt = attempt,
						.void_manifest = attempt == 2 ? guessed : NULL });
		assert_int_equal(sh_play_reserve(&play), CM_OK);
		steps_refused(sh_play_announce(&play), ERROR(CONFLICT));
		assert_non_null(strstr(play.no.text, "entry 1 is answered"));
		told_lose((struct sh_loss){ .closed_to = 1 });
		assert_int_equal(told_show(1, 5), CM_OK);
		assert_int_equal(told_announce(0, true), CM_OK);
	}
}

/* The copy is older than the round that was open: what it acknowledged is lost, and said. */
static void a_round_that_a_restored_state_forgot_has_no_manifest(void **state)
{
	(void)state;
	/* The shuffler has the round: nothing is lost, however often it is announced. */
	assert_int_equal(told_announce(0, false), CM_OK);
	assert_int_equal(told_announce(0, true), CM_OK);
	assert_false(told_made.lost);
	assert_non_null(sh_core_collecting(play.core));
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 5), CM_OK);
	play.now_ms += 3600000; /* past its deadline */
	assert_int_equal(told_announce(0, true), CM_OK);
	assert_true(told_made.lost);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(told_announce(0, true), CM_OK);
		assert_false(told_made.lost);
		assert_null(sh_core_collecting(play.core));
		steps_restart();
	}
	is_over_without_a_manifest();
}

/* The analyzer does not say that it announces again, but a client has seen the round. */
static void a_round_that_a_client_has_seen_is_not_begun_anew(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 3), CM_OK);
	assert_int_equal(told_state_head(0, 1, 1), SH_STATED_LACKING);
	assert_int_equal(told_show(4, 5), CM_OK);
	steps_restart();
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(told_announce(i, false), CM_OK);
		assert_int_equal(told_made.lost, i < 2);
		assert_int_equal(!sh_core_collecting(play.core), i < 2);
	}
}

/* The same, when the analyzer came first: the ledger has the record already, and the round is not known. */
static void a_round_that_a_client_states_after_the_ledger_came_is_not_begun_anew(void **state)
{
	uint8_t forged[CR_SIGN_LEN] = { 1 };

	(void)state;
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 5), CM_OK);
	/* The analyzer did not sign that it asked the third. */
	assert_int_equal(
		told_state_bytes(7, 1, (struct cr_span){ told.descriptor[2].data, told.descriptor[2].len },
			(struct cr_span){ forged, CR_SIGN_LEN }),
		SH_STATED_NOTHING);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(told_state_head(i, 1, i < 2 ? i : 1 - i % 2), SH_STATED_NOTHING);
		assert_null(sh_core_lacks(play.core));
	}
	/* One of the clients that stated the longest ledger is enough. */
	assert_int_equal(sh_core_hearing(play.core).certificates, 2);
	steps_restart();
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(told_announce(i, false), CM_OK);
		assert_int_equal(told_made.lost, i < 2);
		assert_int_equal(!sh_core_collecting(play.core), i < 2);
	}
}

static enum cm_rc announce_try(uint32_t attempt, bool again)
{
	static const uint8_t unknown[PR_HASH_LEN] = { 1 };

	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10,
					.entry = 1,
					.attempt = attempt,
					.void_manifest = attempt > 1 ? unknown : NULL });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	const struct sh_announce a = { .descriptor = { play.descriptor.data, play.descriptor.len },
		.signature = { play.signature, CR_SIGN_LEN },
		.again = again };
	return sh_core_announce(play.core, &a, play.now_ms, &play.rng, &told_made, &play.no, &play.err);
}

/* The copy is older than the end of the try before, too: that is not known here, or ended here by another
 * manifest. */
static void a_forgotten_second_try_spends_its_entry(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		told_lose((struct sh_loss){ .closed_to = 1 });
		assert_int_equal(told_show(1, 2), CM_OK);
		told_back_to(2);
		if (known) {
			assert_int_equal(announce_try(1, false), CM_OK);
			sh_play_deadline(&play);
		} else {
			sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = 1 });
			assert_int_equal(sh_play_reserve(&play), CM_OK);
		}
		steps_void();
		steps_refused(announce_try(2, false), ERROR(CONFLICT));
		steps_refused(announce_try(4, true), ERROR(POLICY_REFUSED));
		assert_int_equal(announce_try(2, true), CM_OK);
		assert_true(told_made.lost);
		for (int i = 0; i < 2; i++) {
			for (uint32_t attempt = 1; attempt <= 2; attempt++) {
				steps_refused(announce_try(attempt, true), ERROR(CONFLICT));
				assert_non_null(strstr(play.no.text, "entry 1 is answered"));
			}
			steps_refused(announce_try(3, false), ERROR(CONFLICT));
			assert_non_null(strstr(play.no.text, "entry 1 is answered"));
			steps_restart();
		}
	}
}

/* A round that the ledger has charged may have been released: it is not ended as lost. */
static void a_forgotten_round_that_was_charged_is_refused(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 3), CM_OK);
	told_back_to(3);
	struct rd_record charge = { .kind = RD_CHARGE,
		.epsilon_round = 1,
		.epsilon_total = 1,
		.manifest_hash = { 1 },
		.participants = 10 };
	struct rd_descriptor d;
	assert_int_equal(
		rd_descriptor_decode(told.descriptor[0].data, told.descriptor[0].len, &d, &play.err), CM_OK);
	memcpy(charge.round_id, d.round_id, PR_ROUND_ID_LEN);
	rd_descriptor_fini(&d);
	assert_int_equal(sh_play_record(&play, &charge), CM_OK);
	steps_refused(told_announce(0, true), ERROR(LEDGER));
	assert_non_null(strstr(play.no.text, "charged"));
}

/* Put a row back as it was. */
struct old {
	struct sh_row row;
	struct cm_buf descriptor, signature;
};

static enum cm_rc keep(void *user, const struct sh_row *row, struct cm_err *err)
{
	struct old *old = user;

	(void)err;
	old->row = *row;
	cm_buf_init(&old->descriptor, SIZE_MAX / 4);
	cm_buf_init(&old->signature, SIZE_MAX / 4);
	assert_int_equal(cm_buf_put(&old->descriptor, row->descriptor.data, row->descriptor.len), CM_OK);
	assert_int_equal(cm_buf_put(&old->signature, row->signature.data, row->signature.len), CM_OK);
	old->row.descriptor = (struct cr_span){ old->descriptor.data, old->descriptor.len };
	old->row.signature = (struct cr_span){ old->signature.data, old->signature.len };
	return CM_OK;
}

/* A core on the open store, as far as its start goes. */
static enum cm_rc start_core(struct sh_core **out)
{
	const struct sh_core_conf conf = { .env = { .store = &play.store,
						   .key_dir = play.key_dir,
						   .signer = play.shuffler.signer,
						   .max_bytes = 32u << 20 },
		.policy = &play.policy,
		.analyzer = play.analyzer.verifier };

	return sh_core_new(&conf, out, &play.err);
}

/* The store lost the seal, as a copy or a standby that lagged, and the keys are newer: a second release would
 * tell by what it lacks.  killed: the seal was, before its mark. */
static void lose_seal(bool killed)
{
	struct sh_core *core = NULL;
	struct old old = { 0 };

	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_accepted(1, 0, 40);
	sh_play_work(&play);
	assert_int_equal(play.store.row_get(play.store.ctx, play.d.round_id, keep, &old, &play.err), CM_OK);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	if (killed) {
		assert_int_equal(sh_marks_forget(play.key_dir, play.d.round_id, &play.err), CM_OK);
		steps_restart();
	}
	assert_true(steps_file_exists("keys", ".sealed"));
	sh_core_free(play.core);
	assert_int_equal(play.store.row_put(play.store.ctx, &old.row, &play.err), CM_OK);
	assert_int_equal(start_core(&core), CM_EDATA);
	assert_non_null(strstr(play.err.msg, "it was sealed"));
	/* The operator gives it up. */
	assert_int_equal(sh_vault_destroy(&play.store, play.key_dir, play.d.round_id, &play.err), CM_OK);
	assert_false(steps_file_exists("keys", ".sealed"));
	old.row.state = SH_ERASED;
	assert_int_equal(play.store.row_put(play.store.ctx, &old.row, &play.err), CM_OK);
	assert_int_equal(start_core(&play.core), CM_OK);
	cm_buf_fini(&old.descriptor);
	cm_buf_fini(&old.signature);
}

static void a_round_that_was_sealed_is_not_sealed_again_from_an_older_store(void **state)
{
	(void)state;
	lose_seal(false);
}

static void a_seal_that_was_killed_before_its_mark_gets_it(void **state)
{
	(void)state;
	lose_seal(true);
}

/* ---- What was acknowledged is not in the store ---- */

/* The round's file, and what SQLite keeps beside it; the shuffler is stopped. */
static void copy_round(struct cm_buf copy[2])
{
	char path[256];

	for (int i = 0; i < 2; i++) {
		cm_buf_init(&copy[i], SIZE_MAX / 4);
		enum cm_rc rc = cm_file_read(steps_place(path, "rounds", i ? ".db-wal" : ".db"), SIZE_MAX / 4,
			&copy[i], &play.err);
		assert_true(rc == CM_OK || (i == 1 && rc == CM_ENOINPUT));
	}
}

static void restore_round(const struct cm_buf copy[2])
{
	char path[256];

	for (int i = 0; i < 2; i++) {
		(void)unlink(steps_place(path, "rounds", i ? ".db-wal" : ".db"));
		if (copy[i].len > 0)
			assert_int_equal(
				cm_file_write(path, copy[i].data, copy[i].len, 0600, &play.err), CM_OK);
	}
	(void)unlink(steps_place(path, "rounds", ".db-shm"));
}

enum until { OPEN, SEALED, RELEASED };

static void go_on(enum until until)
{
	if (until >= SEALED) {
		sh_play_deadline(&play);
		sh_play_manifest(&play);
	}
	if (until == RELEASED) {
		sh_play_charge(&play);
		assert_int_equal(sh_play_release(&play), CM_OK);
	}
}

/* The round's messages are those of when it had `had` of 40 devices, in each state of the round. */
static void lose_reports(uint64_t had, enum until until)
{
	struct sh_core *core = NULL;
	struct cm_buf copy[2];
	char says[100];

	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	if (had > 0)
		steps_accepted(1, 0, had);
	sh_play_work(&play);
	sh_play_stop(&play);
	copy_round(copy);
	sh_play_start(&play);
	steps_accepted(2, had, 40 - had);
	sh_play_work(&play);
	go_on(until);
	sh_play_stop(&play);
	restore_round(copy);
	assert_int_equal(sh_play_store_open(&play), CM_OK);
	assert_int_equal(start_core(&core), CM_EDATA);
	(void)snprintf(says, sizeof says,
		"reports of 40 devices were acknowledged, and the store has %u of them", (unsigned)had);
	assert_non_null(strstr(play.err.msg, says));
	assert_non_null(strstr(play.err.msg, "round give-up 1"));
	sh_play_stop(&play);
	/* Given up, it goes. */
	assert_int_equal(sh_play_store_open(&play), CM_OK);
	assert_int_equal(sh_vault_destroy(&play.store, play.key_dir, play.d.round_id, &play.err), CM_OK);
	assert_false(steps_file_exists("keys", ".stored"));
	sh_play_stop(&play);
	for (int i = 0; i < 2; i++)
		cm_buf_fini(&copy[i]);
}

static void no_round_goes_on_with_fewer_devices_than_have_receipts(void **state)
{
	for (uint64_t had = 0; had <= 39; had += 13)
		for (enum until until = OPEN; until <= RELEASED; until++) {
			if (had > 0 || until > OPEN) {
				(void)steps_tear_down(state);
				(void)steps_set_up(state);
			}
			if (play.database[0])
				skip(); /* test_restored_store.py has copies of a database */
			lose_reports(had, until);
		}
}

/* Messages that a killed process had not written yet are no loss, and no written one is forgotten. */
static void a_mark_that_a_kill_left_behind_follows_the_store(void **state)
{
	struct sh_mark *mark;
	char path[256];
	uint64_t devices;
	bool there;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	assert_int_equal(sh_mark_read(play.key_dir, play.d.round_id, &there, &devices, &play.err), CM_OK);
	assert_true(there && devices == 0);
	steps_accepted(1, 0, 20);
	sh_play_work(&play);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			sh_mark_read(play.key_dir, play.d.round_id, &there, &devices, &play.err), CM_OK);
		assert_true(there && devices == 20);
		/* Killed after the commit and before its mark; or of a version that had none. */
		if (i == 0)
			assert_int_equal(sh_mark_begin(play.key_dir, play.d.round_id, 7, &play.err), CM_OK);
		else if (i == 1)
			assert_int_equal(unlink(steps_place(path, "keys", ".stored")), 0);
		steps_restart();
	}
	/* The number is raised, and never lowered. */
	assert_int_equal(sh_mark_open(play.key_dir, play.d.round_id, &mark, &play.err), CM_OK);
	assert_int_equal(sh_mark_raise(mark, 3, &play.err), CM_OK);
	assert_int_equal(sh_mark_read(play.key_dir, play.d.round_id, &there, &devices, &play.err), CM_OK);
	assert_int_equal(devices, 20);
	assert_int_equal(
		cm_file_write(steps_place(path, "keys", ".stored"), "0123456789abcdef", 16, 0600, &play.err),
		CM_OK);
	assert_int_equal(sh_mark_read(play.key_dir, play.d.round_id, &there, &devices, &play.err), CM_EDATA);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sh_mark_raise(mark, 21, &play.err), CM_ENOINPUT);
	sh_mark_free(mark);
	assert_int_equal(sh_mark_open(play.key_dir, play.d.round_id, &mark, &play.err), CM_ENOINPUT);
}

/* Strangers hold every descriptor: reports are stored and marked all the same. */
static void a_commit_needs_no_descriptor(void **state)
{
	struct rlimit before, none;
	uint64_t devices;
	bool there;
	int next;

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	for (uint64_t i = 0; i < 2; i++) {
		if (i == 1)
			steps_restart();
		steps_accepted(1, 20 * i, 10);
		sh_play_work(&play);
		steps_accepted(1, 20 * i + 10, 10);
		assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
		/* The lowest that is free is the limit: no other can be had, and poll() works as before. */
		next = dup(STDERR_FILENO);
		assert_true(next >= 0);
		close(next);
		none = (struct rlimit){ .rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		sh_play_work(&play);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_int_equal(
			sh_mark_read(play.key_dir, play.d.round_id, &there, &devices, &play.err), CM_OK);
		assert_int_equal(devices, 20 * (i + 1));
	}
}

/* The store lost the round whole and its key is here: nobody else needs to say so. */
static void a_round_whose_mark_is_here_is_not_begun_anew(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .closed_to = 1 });
	assert_int_equal(told_show(1, 5), CM_OK);
	sh_play_compose(&play);
	assert_int_equal(sh_mark_begin(play.key_dir, play.d.round_id, 0, &play.err), CM_OK);
	assert_int_equal(told_announce(2, false), CM_OK);
	assert_true(told_made.lost);
	assert_null(sh_core_collecting(play.core));
	assert_false(steps_file_exists("keys", ".stored"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD_TEST(a_head_of_a_round_that_was_served_here_is_not_kept),
		TOLD_TEST(a_restored_state_announces_nothing_before_its_ledger_is_whole),
		TOLD_TEST(on_a_fork_nothing_goes_on),
		TOLD_TEST(a_fork_is_not_forgotten),
		TOLD_TEST(a_fork_is_found_when_the_ledger_comes),
		TOLD_TEST(a_round_that_a_restored_state_forgot_has_no_manifest),
		TOLD_TEST(a_round_that_a_client_has_seen_is_not_begun_anew),
		TOLD_TEST(a_round_that_a_client_states_after_the_ledger_came_is_not_begun_anew),
		TOLD_TEST(a_forgotten_second_try_spends_its_entry),
		TOLD_TEST(a_forgotten_round_that_was_charged_is_refused),
		STEPS_TEST(a_round_that_was_sealed_is_not_sealed_again_from_an_older_store),
		STEPS_TEST(a_seal_that_was_killed_before_its_mark_gets_it),
		STEPS_TEST(no_round_goes_on_with_fewer_devices_than_have_receipts),
		STEPS_TEST(a_mark_that_a_kill_left_behind_follows_the_store),
		STEPS_TEST(a_commit_needs_no_descriptor),
		TOLD_TEST(a_round_whose_mark_is_here_is_not_begun_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
