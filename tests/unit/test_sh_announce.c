/* test_sh_announce.c - descriptors that are taken, and those that are refused. */
#include "sh_steps.h"

#include <string.h>

static void the_same_descriptor_again_is_announced_again(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_announce(&play), CM_OK);
	steps_restart();
	assert_int_equal(sh_play_announce(&play), CM_OK);
	sh_play_deadline(&play);
	assert_int_equal(sh_play_announce(&play), CM_OK); /* even when it is over */
}

static void a_second_descriptor_for_a_sequence_number_is_refused(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	sh_play_deadline(&play);
	sh_play_describe(&play, &(struct sh_wish){ .sequence = 1 });
	steps_refused(sh_play_announce(&play), ERROR(CONFLICT));
	struct rd_chain before = play.chain;
	steps_refused(sh_play_reserve(&play), ERROR(LEDGER));
	play.chain = before;
	steps_restart();
	steps_refused(sh_play_announce(&play), ERROR(CONFLICT));
}

/* It is refused before it is stored: the next number stays, and the population goes on. */
static void a_reservation_out_of_turn_is_refused_and_ends_nothing(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 3, 4096, INT64_MAX, UINT64_MAX };

	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	sh_play_deadline(&play);
	for (size_t i = 1; i < sizeof numbers / sizeof numbers[0]; i++) {
		sh_play_describe(&play, &(struct sh_wish){ .sequence = numbers[i] });
		struct rd_chain before = play.chain;
		steps_refused(sh_play_reserve(&play), ERROR(LEDGER));
		play.chain = before;
	}
	play.previous[0] ^= 1;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	struct rd_chain before = play.chain;
	steps_refused(sh_play_reserve(&play), ERROR(LEDGER));
	play.chain = before;
	play.previous[0] ^= 1;
	steps_restart();
	sh_play_round(&play, &(struct sh_wish){ 0 });
	assert_int_equal(play.sequence, 2);
}

static void a_round_after_one_that_was_refused_or_never_shown_is_taken(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	sh_play_deadline(&play);
	sh_play_describe(&play, &(struct sh_wish){ .epsilon0 = 9 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(POLICY_REFUSED));
	steps_void();
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_void();
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_restart();
	assert_int_equal(sh_play_announce(&play), CM_OK);
	assert_int_equal(sh_core_offer(play.core, 1, play.now_ms)->d.sequence, 4);
}

static void every_flipped_bit_of_a_descriptor_breaks_its_signature(void **state)
{
	(void)state;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	for (size_t i = 0; i < play.descriptor.len; i++) {
		play.descriptor.data[i] ^= 1;
		steps_refused(sh_play_announce(&play), ERROR(SIGNATURE));
		play.descriptor.data[i] ^= 1;
	}
	for (size_t i = 0; i < CR_SIGN_LEN; i++) {
		play.signature[i] ^= 1;
		steps_refused(sh_play_announce(&play), ERROR(SIGNATURE));
		play.signature[i] ^= 1;
	}
	assert_int_equal(sh_play_announce(&play), CM_OK);
}

static void one_round_is_open_at_a_time(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(BUSY));
}

static void the_policy_refuses_at_the_announcement(void **state)
{
	(void)state;
	play.policy.shared.min_batch = 1001;
	sh_play_describe(&play, &(struct sh_wish){ 0 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(BATCH_TOO_SMALL));
	assert_null(sh_core_collecting(play.core));
	assert_false(steps_file_exists("rounds", ".db") || steps_file_exists("keys", ".key"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(the_same_descriptor_again_is_announced_again),
		STEPS_TEST(a_second_descriptor_for_a_sequence_number_is_refused),
		STEPS_TEST(a_reservation_out_of_turn_is_refused_and_ends_nothing),
		STEPS_TEST(a_round_after_one_that_was_refused_or_never_shown_is_taken),
		STEPS_TEST(every_flipped_bit_of_a_descriptor_breaks_its_signature),
		STEPS_TEST(one_round_is_open_at_a_time),
		STEPS_TEST(the_policy_refuses_at_the_announcement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
