/* test_sh_classes.c - classes of tags: a round in which one is too small is void, a device is of one, and
 * other tags are refused. */
#include "sh_steps.h"

#include <string.h>

#include "pt_record.h"
#include "sh_blanket.h"
#include "sh_tagged.h"

/* ---- Classes ---- */

static void classes(uint32_t first, uint32_t second)
{
	use_row(false);
	play.tag = uneven;
	sh_play_round(&play,
		&(struct sh_wish){
			.min_reports = 20, .row = &tagged, .tags = 3, .tag_least = { first, second, 10 } });
	steps_accepted(1, 0, DEVICES);
	sh_play_deadline(&play);
}

static void a_round_is_void_when_a_class_has_too_few(void **state)
{
	(void)state;
	classes(30, 21);
	sh_play_manifest(&play);
	assert_true(play.manifest.is_void);
	assert_int_equal(play.manifest.participants, DEVICES);
	assert_int_equal(play.manifest.lacking, 2);
	assert_false(steps_file_exists("rounds", ".db") || steps_file_exists("keys", ".key"));
	classes(30, 20);
	steps_release_all(DEVICES);
	assert_int_equal(play.manifest.lacking, 0);
}

static void too_few_in_all_is_said_as_such(void **state)
{
	(void)state;
	use_row(false);
	sh_play_round(&play, &(struct sh_wish){ .row = &tagged, .tags = 3, .tag_least = { 1, 1, 1 } });
	steps_accepted(1, 0, 30);
	sh_play_deadline(&play);
	sh_play_manifest(&play);
	assert_true(play.manifest.is_void);
	assert_int_equal(play.manifest.lacking, 0);
}

/* ---- What clients and the analyzer may ask for ---- */

static uint32_t third(uint64_t device)
{
	return device == 7 ? 3 : 0;
}

static void a_tag_of_none_of_the_rounds_is_refused_with_all_of_its_submit(void **state)
{
	(void)state;
	use_row(false);
	sh_play_round(&play, &(struct sh_wish){ .row = &tagged, .tags = 3 });
	play.tag = third;
	steps_refused(sh_play_submit(&play, 1, 100, 0, 10, &receipt), ERROR(BAD_MESSAGE));
	assert_int_equal(sh_core_collecting(play.core)->intake.participants, 0);
	assert_int_equal(sh_intake_bytes(&sh_core_collecting(play.core)->intake), 0);
	play.tag = NULL;
	steps_accepted(1, 0, 10);
}

static void a_devices_messages_are_of_one_class(void **state)
{
	struct sh_intake in;
	struct sh_vault vault = { .tag = { { 1 } } };
	struct rd_descriptor d = { .messages_per_client = 2,
		.record_len = 16,
		.target = 10,
		.deadline_ms = 100,
		.randomizer = { .shuffler = { .tags = 2, .tag_least = { 1, 1 } } } };
	uint8_t pseudonyms[2 * PR_PSEUDONYM_LEN] = { 1 }, sealed[4 * 66] = { 0 },
			       outcomes[PR_SUBMISSIONS_MAX];
	struct cr_identity who = { .role = CR_ROLE_CLIENT, .devices = 9 };
	struct sh_submit s = { &who, pseudonyms, sizeof pseudonyms, sealed, sizeof sealed, pseudonyms,
		sizeof pseudonyms, NULL, NULL };
	size_t n;

	(void)state;
	assert_int_equal(
		sh_intake_init(&in, &vault, &d, (struct sh_limits){ PR_FRAME_MAX, UINT64_MAX }, &play.err),
		CM_OK);
	sealed[2 * 66] = sealed[3 * 66] = 1; /* device 0 of class 0, device 1 of class 1 */
	assert_int_equal(sh_intake_submit(&in, &s, 1, outcomes, &n, &play.no, &play.err), CM_OK);
	pseudonyms[0] = pseudonyms[PR_PSEUDONYM_LEN] = 2;
	sealed[3 * 66] = 0;
	steps_refused(sh_intake_submit(&in, &s, 1, outcomes, &n, &play.no, &play.err), ERROR(BAD_MESSAGE));
	d.randomizer.shuffler.tag_least[0] = d.randomizer.shuffler.tag_least[1] = 0;
	sh_intake_fini(&in);
	assert_int_equal(
		sh_intake_init(&in, &vault, &d, (struct sh_limits){ PR_FRAME_MAX, UINT64_MAX }, &play.err),
		CM_OK);
	assert_int_equal(sh_intake_submit(&in, &s, 1, outcomes, &n, &play.no, &play.err), CM_OK);
	sh_intake_fini(&in);
}

static void more_than_the_policy_allows_are_refused(void **state)
{
	(void)state;
	use_row(false);
	play.policy.max_shuffler_dummies = TAGS * CAP - 1;
	sh_play_describe(&play, &(struct sh_wish){ .row = &tagged, .tags = TAGS, .tag_messages = CAP });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(POLICY_REFUSED));
	/* The pin stays as it was; another plan is judged anew. */
	play.policy.max_shuffler_dummies++;
	steps_refused(sh_play_announce(&play), ERROR(POLICY_REFUSED));
	sh_play_round(&play, &(struct sh_wish){ .row = &tagged, .tags = TAGS, .tag_messages = CAP });
}

static void a_key_that_nothing_can_be_sealed_to_is_refused_at_once(void **state)
{
	static const uint8_t low_order[CR_HPKE_PUBLIC_LEN] = { 0 };

	(void)state;
	use_row(false);
	sh_play_describe(
		&play, &(struct sh_wish){
			       .hpke_key = low_order, .row = &tagged, .tags = TAGS, .tag_messages = CAP });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(BAD_MESSAGE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(a_round_is_void_when_a_class_has_too_few),
		STEPS_TEST(too_few_in_all_is_said_as_such),
		STEPS_TEST(a_tag_of_none_of_the_rounds_is_refused_with_all_of_its_submit),
		STEPS_TEST(a_devices_messages_are_of_one_class),
		STEPS_TEST(more_than_the_policy_allows_are_refused),
		STEPS_TEST(a_key_that_nothing_can_be_sealed_to_is_refused_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
