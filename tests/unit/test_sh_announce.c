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

static void a_second_descriptor_for_a_sequence_number_is_a_conflict(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	sh_play_deadline(&play);
	sh_play_describe(&play, &(struct sh_wish){ .sequence = 1 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(CONFLICT));
	steps_restart();
	steps_refused(sh_play_announce(&play), ERROR(CONFLICT));
}

static void a_gap_in_the_sequence_or_another_predecessor_is_a_conflict(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ 0 });
	sh_play_deadline(&play);
	sh_play_describe(&play, &(struct sh_wish){ .sequence = 3 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(CONFLICT));
	memcpy(play.previous, play.d.hash, PR_HASH_LEN);
	play.previous[0] ^= 1;
	sh_play_describe(&play, &(struct sh_wish){ .sequence = 4 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(CONFLICT));
}

static void a_round_after_one_that_was_refused_or_never_shown_is_taken(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_batch = 10 });
	sh_play_deadline(&play);
	sh_play_describe(&play, &(struct sh_wish){ .epsilon0 = 9 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(POLICY_REFUSED));
	steps_void();
	memcpy(play.previous, play.d.hash, PR_HASH_LEN);
	sh_play_describe(&play, &(struct sh_wish){ .sequence = 3 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_void();
	memcpy(play.previous, play.d.hash, PR_HASH_LEN);
	sh_play_describe(&play, &(struct sh_wish){ .sequence = 4 });
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
	for (size_t i = 0; i < CM_SIGN_LEN; i++) {
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
	play.policy.min_batch = 1001;
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
		STEPS_TEST(a_second_descriptor_for_a_sequence_number_is_a_conflict),
		STEPS_TEST(a_gap_in_the_sequence_or_another_predecessor_is_a_conflict),
		STEPS_TEST(a_round_after_one_that_was_refused_or_never_shown_is_taken),
		STEPS_TEST(every_flipped_bit_of_a_descriptor_breaks_its_signature),
		STEPS_TEST(one_round_is_open_at_a_time),
		STEPS_TEST(the_policy_refuses_at_the_announcement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
