/* test_sh_heads.c - after a loss the shuffler asks its clients how long the ledger was. */
#include "sh_told.h"

#include <sqlite3.h>
#include <string.h>

static void a_lost_state_waits_for_more_devices_than_collude(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .waits = true });
	for (unsigned i = 0; i < 10; i++) {
		steps_refused(told_show(1, TOLD_RECORDS), ERROR(BUSY));
		steps_refused(told_announce(0, false), ERROR(BUSY));
		/* A client may state the same ledger record as often as it likes. */
		assert_int_equal(told_state_head(i, 1, 0), SH_STATED_COUNTED);
		assert_int_equal(told_state_head(i, 1, 0), SH_STATED_NOTHING);
		if (i % 3 == 0)
			steps_restart();
		assert_int_equal(sh_core_hearing(play.core).devices, i + 1);
		assert_true(sh_core_hearing(play.core).waits);
	}
	assert_non_null(strstr(play.no.text, "more than 10"));
	/* A device that stated an older head has seen more meanwhile; it still is one device. */
	assert_int_equal(told_state_head(3, 1, 1), SH_STATED_COUNTED);
	assert_int_equal(told_state_head(3, 1, 0), SH_STATED_NOTHING);
	assert_int_equal(told_state_head(10, 1, 0), SH_STATED_ENOUGH);
	assert_false(sh_core_hearing(play.core).waits);
	assert_int_equal(sh_core_hearing(play.core).closed_to, 4);
	steps_restart();
	assert_false(sh_core_hearing(play.core).waits);
	/* The plan is closed, its slice spent; what is left is for later plans. */
	assert_int_equal(told_show(1, TOLD_RECORDS), CM_OK);
	assert_int_equal(sh_core_plan_at(play.core, 0)->state, SH_PIN_CLOSED);
	steps_refused(told_announce(2, false), ERROR(BUDGET_EXHAUSTED));
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .slice = 30.5 });
	assert_int_equal(sh_core_plan_at(play.core, 1)->state, SH_PIN_SLICE);
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .slice = 30 });
	assert_int_equal(sh_core_plan_at(play.core, 2)->state, SH_PIN_TAKEN);
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	assert_int_equal(sh_play_announce(&play), CM_OK);
}

static void one_certificate_alone_unlocks_only_if_its_devices_cannot_all_collude(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .waits = true });
	assert_int_equal(told_state_head(0, 10, 2), SH_STATED_COUNTED);
	assert_int_equal(told_state_head(0, 10, 1), SH_STATED_NOTHING);
	/* A renewed certificate for other devices: no sum of the two. */
	assert_int_equal(told_state_head(0, 3, 0), SH_STATED_COUNTED);
	assert_int_equal(sh_core_hearing(play.core).devices, 3);
	assert_int_equal(told_state_head(0, 11, 0), SH_STATED_ENOUGH);
	assert_int_equal(sh_core_hearing(play.core).closed_to, 5);
}

static void who_speaks_for_no_device_shows_heads_and_unlocks_nothing(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .waits = true });
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(told_state_head(i, 0, i % 3), SH_STATED_COUNTED);
	assert_int_equal(sh_core_hearing(play.core).devices, 0);
	steps_restart();
	assert_true(sh_core_hearing(play.core).waits);
	assert_int_equal(told_state_head(30, 11, 0), SH_STATED_ENOUGH);
	assert_int_equal(sh_core_hearing(play.core).closed_to, 5);
}

static void what_contradicts_the_ledger_stays_whatever_is_longer(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .waits = true });
	assert_int_equal(told_state_head(1, 11, 0), SH_STATED_ENOUGH);
	assert_int_equal(told_show(1, 3), CM_OK);
	/* The ledger goes on otherwise, so the record that descriptor 1 follows is another one. */
	told_back_to(3);
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = 2 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	assert_int_equal(told_state_head(0, 0, 2), SH_STATED_LACKING);
	assert_int_equal(sh_core_lacks(play.core)->seq, 5);
	assert_int_equal(told_state_head(0, 0, 1), SH_STATED_LACKING);
	assert_int_equal(sh_core_lacks(play.core)->seq, 4);
	assert_int_equal(told_state_head(0, 0, 2), SH_STATED_NOTHING);
	steps_restart();
	assert_int_equal(sh_core_lacks(play.core)->seq, 4);
}

static void what_the_analyzer_did_not_sign_is_nothing(void **state)
{
	struct cm_buf other;
	uint8_t forged[CR_SIGN_LEN] = { 1 }, stolen[CR_SIGN_LEN];
	const struct cr_span good = { told.descriptor[2].data, told.descriptor[2].len },
			     signature = { told.signature[2], CR_SIGN_LEN };

	(void)state;
	told_lose((struct sh_loss){ .waits = true });
	assert_int_equal(
		cr_sign(play.shuffler.signer, RD_PURPOSE_DESCRIPTOR, good.data, good.len, stolen, &play.err),
		CM_OK);
	told_keep(&other, &told.descriptor[2]);
	other.data[other.len - 1] ^= 1;
	const struct {
		struct cr_span descriptor, signature;
	} bad[] = {
		{ { NULL, 0 }, { NULL, 0 } },
		{ good, { NULL, 0 } },
		{ good, { forged, CR_SIGN_LEN } },
		{ good, { stolen, CR_SIGN_LEN } },
		{ good, { told.signature[1], CR_SIGN_LEN } },
		{ good, { told.signature[2], CR_SIGN_LEN - 1 } },
		{ { other.data, other.len }, signature },
		{ { good.data, good.len - 1 }, signature },
		{ { (const uint8_t *)"x", 1 }, signature },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(
			told_state_bytes(1, 1000, bad[i].descriptor, bad[i].signature), SH_STATED_NOTHING);
		assert_int_equal(sh_core_hearing(play.core).devices, 0);
	}
	/* Signed, but of another population. */
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = 1, .population = "another" });
	assert_int_equal(
		told_state_bytes(1, 1000, (struct cr_span){ play.descriptor.data, play.descriptor.len },
			(struct cr_span){ play.signature, CR_SIGN_LEN }),
		SH_STATED_NOTHING);
	cm_buf_fini(&other);
}

static void the_ledger_must_lead_to_the_longest_head(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .waits = true });
	assert_int_equal(told_state_head(0, 10, 0), SH_STATED_COUNTED);
	assert_int_equal(told_state_head(1, 1, 2), SH_STATED_ENOUGH);
	/* The ledger ends before that record; nothing is announced. */
	assert_int_equal(told_show(1, 4), CM_OK);
	steps_refused(told_announce(1, false), ERROR(LEDGER));
	assert_non_null(strstr(play.no.text, "record 5, known here are 4"));
	/* It goes on otherwise. */
	told_back_to(4);
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entry = 3 });
	steps_refused(sh_play_reserve(&play), ERROR(LEDGER));
	assert_non_null(strstr(play.no.text, "record 5 is not the one"));
	steps_restart();
	steps_refused(sh_play_reserve(&play), ERROR(LEDGER));
	assert_int_equal(told_show(4, 5), CM_OK);
	assert_null(sh_core_lacks(play.core));
	steps_refused(told_announce(2, false), ERROR(BUDGET_EXHAUSTED));
}

static void an_operator_closes_more_than_clients_know_and_never_less(void **state)
{
	const uint64_t said[] = { 2, 5, 90, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		told_lose((struct sh_loss){ .closed_to = said[i], .waits = true });
		assert_int_equal(told_state_head(0, 11, 1), SH_STATED_ENOUGH);
		assert_int_equal(sh_core_hearing(play.core).closed_to, said[i] > 4 ? said[i] : 4);
	}
}

static void fewer_colluders_in_the_policy_are_heeded_at_the_next_start(void **state)
{
	(void)state;
	told_lose((struct sh_loss){ .waits = true });
	assert_int_equal(told_state_head(0, 7, 2), SH_STATED_COUNTED);
	play.policy.shared.colluders = 6;
	steps_restart();
	assert_false(sh_core_hearing(play.core).waits);
	assert_int_equal(sh_core_hearing(play.core).closed_to, 5);
}

static void a_damaged_head_refuses(void **state)
{
	char sql[160], path[256];

	(void)state;
	told_lose((struct sh_loss){ .waits = true });
	assert_int_equal(told_state_head(0, 1, 2), SH_STATED_COUNTED);
	sh_play_stop(&play);
	(void)snprintf(path, sizeof path, "%s/state.db", play.dir);
	(void)snprintf(sql, sizeof sql, "UPDATE head SET devices = devices + 1000");
	sqlite3 *db;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(sh_sqlite_open(play.dir, &play.store, &play.err), CM_OK);
	const struct sh_core_conf conf = { .env = { .store = &play.store,
						   .signer = play.shuffler.signer,
						   .key_dir = play.key_dir,
						   .leaves = { play.leaves_dir, 1000 } },
		.policy = &play.policy,
		.analyzer = play.analyzer.verifier };
	struct sh_core *core = NULL;
	assert_int_equal(sh_core_new(&conf, &core, &play.err), CM_EDATA);
	assert_non_null(strstr(play.err.msg, "damaged"));
	play.store.close(play.store.ctx);
	play.store.close = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD_TEST(a_lost_state_waits_for_more_devices_than_collude),
		TOLD_TEST(one_certificate_alone_unlocks_only_if_its_devices_cannot_all_collude),
		TOLD_TEST(who_speaks_for_no_device_shows_heads_and_unlocks_nothing),
		TOLD_TEST(what_contradicts_the_ledger_stays_whatever_is_longer),
		TOLD_TEST(what_the_analyzer_did_not_sign_is_nothing),
		TOLD_TEST(the_ledger_must_lead_to_the_longest_head),
		TOLD_TEST(an_operator_closes_more_than_clients_know_and_never_less),
		TOLD_TEST(fewer_colluders_in_the_policy_are_heeded_at_the_next_start),
		TOLD_TEST(a_damaged_head_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
