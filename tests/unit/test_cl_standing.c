/* test_cl_standing.c - a ledger that does not know what the shuffler has was restored, cloned or lost. */
#include "cl_followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_budget.h"
#include "cl_standing.h"

static const uint8_t key_hash[PR_HASH_LEN] = { 9, 8, 7 };
static const struct cr_key secret = { { 4, 5, 6 } };

/* Make the shuffler state that the last report was in this round (NULL: in none). */
static struct cl_standing standing_of(const struct cl_offer *o, const uint8_t *key)
{
	struct cl_standing s = { .sequence = o ? o->d.sequence : 0 };
	uint8_t said[RD_STANDING_LEN];

	if (o) {
		memcpy(s.descriptor_hash, o->d.hash, PR_HASH_LEN);
		cl_standing_mac(&secret, "test", s.sequence, s.descriptor_hash, s.mac);
	}
	rd_standing_bytes(key, s.sequence, s.descriptor_hash, said);
	assert_int_equal(
		cr_sign(world.shuffler.signer, RD_PURPOSE_STANDING, said, sizeof said, s.signature, &err),
		CM_OK);
	return s;
}

static enum cm_rc take(const struct cl_standing *s, bool *news)
{
	const struct cl_stander who = { world.shuffler.verifier, &secret, "test", key_hash };

	return cl_standing_take(world.db, &who, s, CL_WORLD_NOW, news, &err);
}

static struct cl_loss loss(void)
{
	struct cl_loss l;

	assert_int_equal(cl_loss_read(world.db, &l, &err), CM_OK);
	return l;
}

static void a_ledger_that_knows_the_shufflers_last_round_is_whole(void **state)
{
	struct cl_standing s = standing_of(NULL, key_hash);
	bool news = true;

	(void)state;
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news);
	take_part(&first);
	s = standing_of(&first, key_hash);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news);
	/* A report was never accepted, or its receipt was lost: the ledger knows more than the shuffler. */
	take_part(&second);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news || loss().lost);
}

static void a_round_that_it_does_not_know_means_that_every_slice_counts_as_spent(void **state)
{
	struct cl_standing s;
	struct cl_budget usage;
	bool news = false;

	(void)state;
	take_part(&first);
	s = standing_of(&second, key_hash);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_true(news);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news); /* said once */
	assert_true(loss().lost);
	assert_int_equal(judge(&second), CM_EBUDGET);
	assert_non_null(
		strstr(err.msg, "the shuffler has a report of round 2 that this ledger does not know"));
	assert_non_null(strstr(err.msg, "accept-loss"));
	cl_world_restart(&world);
	assert_int_equal(judge(&second), CM_EBUDGET);
	/* The loss stays when the shuffler states another round later. */
	s = standing_of(NULL, key_hash);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_int_equal(judge(&second), CM_EBUDGET);
	assert_int_equal(cl_budget_read(world.db, &world.policy, &usage, &err), CM_OK);
	assert_true(usage.figure.ratio == 1 && rd_figure_pinned(&usage.figure) == 1);
	assert_true(rd_figure_full(&usage.figure));
}

static void another_descriptor_of_the_same_number_is_not_the_round(void **state)
{
	struct cl_standing s;
	bool news = false;

	(void)state;
	take_part(&first);
	first.d.hash[0] ^= 1;
	s = standing_of(&first, key_hash);
	first.d.hash[0] ^= 1;
	assert_int_equal(take(&s, &news), CM_OK);
	assert_true(news && loss().lost);
}

static void without_the_check_a_restored_ledger_goes_on(void **state)
{
	struct cl_standing s;
	bool news = true;

	(void)state;
#ifdef TOMBOLA_MUTANTS
	take_part(&first);
	s = standing_of(&second, key_hash);
	cl_world_mutant("client.standing");
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news);
	assert_int_equal(judge(&second), CM_OK);
#else
	(void)s;
	(void)news;
	skip();
#endif
}

static void only_the_shuffler_says_it_and_for_this_certificate(void **state)
{
	static const uint8_t other[PR_HASH_LEN] = { 1 };
	struct cl_standing s = standing_of(&second, other);
	uint8_t said[RD_STANDING_LEN];
	bool news = true;

	(void)state;
	assert_int_equal(take(&s, &news), CM_EPROTO);
	s = standing_of(&second, key_hash);
	s.sequence++;
	assert_int_equal(take(&s, &news), CM_EPROTO);
	s.sequence--;
	s.descriptor_hash[3] ^= 1;
	assert_int_equal(take(&s, &news), CM_EPROTO);
	rd_standing_bytes(key_hash, 0, (const uint8_t[PR_HASH_LEN]){ 0 }, said);
	s = (struct cl_standing){ .sequence = 0 };
	assert_int_equal(
		cr_sign(world.analyzer.signer, RD_PURPOSE_STANDING, said, sizeof said, s.signature, &err),
		CM_OK);
	assert_int_equal(take(&s, &news), CM_EPROTO);
	assert_false(news || loss().lost);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.standing.signature");
	assert_int_equal(take(&s, &news), CM_OK);
#endif
}

/* ---- A receipt says CONFLICT ---- */

static void after_a_conflict_nothing_is_answered_until_an_operator_decides(void **state)
{
	struct cl_standing s;
	bool news = false;

	(void)state;
	take_part(&first);
	assert_int_equal(cl_loss_conflict(world.db, &first.d, CL_WORLD_NOW, &err), CM_OK);
	cl_world_restart(&world);
	assert_true(loss().lost && loss().conflict && !loss().accepted);
	assert_int_equal(judge(&second), CM_EBUDGET);
	assert_non_null(
		strstr(err.msg, "the shuffler holds other reports of this client's devices for round 1"));
	/* Both copies have the same standing, which proves nothing. */
	s = standing_of(&first, key_hash);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news);
	assert_int_equal(judge(&second), CM_EBUDGET);
	/* A false statement of the shuffler costs no plan. */
	assert_int_equal(cl_loss_deny(world.db, CL_WORLD_NOW, &err), CM_OK);
	assert_false(loss().lost || loss().accepted || loss().closed_plans);
	assert_int_equal(judge(&second), CM_OK);
	/* The next is another. */
	assert_int_equal(cl_loss_conflict(world.db, &first.d, CL_WORLD_NOW, &err), CM_OK);
	assert_int_equal(judge(&second), CM_EBUDGET);
	assert_int_equal(cl_loss_accept(world.db, 1, CL_WORLD_NOW, &err), CM_OK);
	assert_true(!loss().lost && loss().accepted && loss().closed_plans == 1);
	assert_int_equal(judge(&second), CM_EPERM);
}

static void a_round_that_is_missing_is_no_conflict_whatever_came_before_or_after(void **state)
{
	struct cl_standing s;
	bool news = false;

	(void)state;
	take_part(&first);
	assert_int_equal(cl_loss_conflict(world.db, &first.d, CL_WORLD_NOW, &err), CM_OK);
	s = standing_of(&second, key_hash);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_true(news && loss().lost && !loss().conflict);
	assert_int_equal(cl_loss_conflict(world.db, &first.d, CL_WORLD_NOW, &err), CM_OK);
	assert_true(loss().lost && !loss().conflict);
}

/* Whoever writes to the shuffler's database, and the shuffler, can state a round; only this client can
 * confirm it. */
static void a_round_that_this_client_did_not_confirm_is_no_loss(void **state)
{
	static const struct cr_key others = { { 4, 5, 7 } };
	struct cl_standing s;
	bool news = true;

	(void)state;
	take_part(&first);
	s = standing_of(&second, key_hash);
	for (int i = 0; i < 4; i++) {
		memset(s.mac, 0, sizeof s.mac);
		if (i == 1)
			cl_standing_mac(&others, "test", s.sequence, s.descriptor_hash, s.mac);
		else if (i == 2) /* the MAC for another population whose client has the same secret */
			cl_standing_mac(&secret, "tesu", s.sequence, s.descriptor_hash, s.mac);
		else if (i == 3) /* the MAC of the round before, which this client sent */
			cl_standing_mac(&secret, "test", first.d.sequence, first.d.hash, s.mac);
		assert_int_equal(take(&s, &news), CM_EPERM);
		assert_non_null(strstr(err.msg, "neither this ledger nor gateway.key confirms round 2"));
		assert_non_null(strstr(err.msg, "states what is false"));
		assert_false(news || loss().lost);
	}
	/* A round that the ledger knows needs no MAC: an earlier version stored it without one. */
	s = standing_of(&first, key_hash);
	memset(s.mac, 0, sizeof s.mac);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news || loss().lost);
#ifdef TOMBOLA_MUTANTS
	s = standing_of(&second, key_hash);
	memset(s.mac, 0, sizeof s.mac);
	cl_world_mutant("client.standing.mac");
	assert_int_equal(take(&s, &news), CM_OK);
	assert_true(news && loss().lost);
#endif
}

/* The MAC by another implementation: Python's hmac. */
static void the_mac_is_the_documented_one(void **state)
{
	static const uint8_t known[PR_MAC_LEN] = { 0x29, 0xe2, 0xf3, 0xc5, 0xae, 0x89, 0x7b, 0x99, 0x9d, 0xa4,
		0x3c, 0x22, 0xfb, 0xa1, 0xc5, 0xd2, 0x79, 0xc6, 0xa1, 0x6c, 0x21, 0xfe, 0x5b, 0x96, 0xa5,
		0x06, 0x87, 0xd5, 0x05, 0xac, 0xf1, 0xee };
	uint8_t hash[PR_HASH_LEN], mac[PR_MAC_LEN];

	(void)state;
	memset(hash, 0x5a, sizeof hash);
	cl_standing_mac(&secret, "test", 0x0102030405060708, hash, mac);
	assert_memory_equal(mac, known, sizeof mac);
}

/* ---- An operator accepts it ---- */

/* `o` is the round after `before`, of this plan after that of `first`. */
static void later_plan(struct cl_offer *o, const struct cl_offer *before, uint64_t number, double epsilon,
	const uint8_t *previous)
{
	struct rd_plan p = { .number = number, .epsilon = epsilon, .delta = 2e-7 };

	memcpy(p.previous, previous, sizeof p.previous);
	cl_offer_plan(&world, &p, o);
	cl_offer_after(o, before);
	cl_offer_sign(&world, o);
}

static void after_an_accepted_loss_older_plans_are_closed_and_their_slices_count(void **state)
{
	struct cl_offer third, fourth;
	struct cl_standing s;
	struct rd_slices sum;
	bool news = false;

	(void)state;
	cl_offer_make(&world, "grr", 1.0, &third);
	cl_offer_make(&world, "grr", 1.0, &fourth);
	later_plan(&first, &first, 1, 10, first.d.previous);
	take_part(&first);
	s = standing_of(&second, key_hash);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_int_equal(cl_loss_accept(world.db, 2, CL_WORLD_NOW, &err), CM_OK);
	assert_false(loss().lost);
	assert_true(loss().accepted);
	assert_int_equal(loss().closed_plans, 2);
	/* The same standing again is not a new loss. */
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news || loss().lost);
	/* Plan 1, that this ledger knows, and plan 2, that it has forgotten. */
	later_plan(&second, &first, 2, 20, first.d.plan_hash);
	later_plan(&third, &second, 3, 30, second.d.plan_hash);
	assert_int_equal(judge(&second), CM_EPERM);
	assert_string_equal(
		err.msg, "plan 'plan' (2) is closed: a loss of this client's ledger was accepted");
	assert_int_equal(judge(&third), CM_OK);
	assert_int_equal(cl_pin_slices(world.db, &sum, &err), CM_OK);
	assert_true(sum.epsilon == 60);
	cl_offer_follow(&fourth, &third);
	memcpy(fourth.d.plan_hash, first.d.plan_hash, PR_HASH_LEN);
	fourth.d.entry = 2;
	cl_offer_sign(&world, &fourth);
	assert_int_equal(judge(&fourth), CM_EPERM);
	cl_offer_free(&third);
	cl_offer_free(&fourth);
}

static void after_a_loss_the_chain_of_plans_must_be_known(void **state)
{
	struct cl_offer third;
	struct cl_standing s = standing_of(&second, key_hash);
	bool news = false;

	(void)state;
	cl_offer_make(&world, "grr", 1.0, &third);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_int_equal(cl_loss_accept(world.db, 1, CL_WORLD_NOW, &err), CM_OK);
	/* Nobody has the plan before it. */
	later_plan(&third, &second, 2, 30, key_hash);
	assert_int_equal(judge(&third), CM_EPERM);
	assert_non_null(strstr(err.msg, "plan is not to be had"));
	/* No number may be skipped either: the closed plan would not be counted. */
	later_plan(&third, &third, 3, 30, first.d.plan_hash);
	assert_int_equal(judge(&third), CM_EPERM);
	assert_int_equal(db_run(world.db->sql, "SELECT 1", &err), CM_OK);
	cl_offer_free(&third);
}

static void slices_of_closed_plans_may_leave_nothing(void **state)
{
	struct cl_standing s = standing_of(&second, key_hash);
	bool news = false;

	(void)state;
	take_part(&first); /* its plan took the whole budget */
	assert_int_equal(take(&s, &news), CM_OK);
	assert_int_equal(cl_loss_accept(world.db, 1, CL_WORLD_NOW, &err), CM_OK);
	later_plan(&second, &first, 2, 1, first.d.plan_hash);
	assert_int_equal(judge(&second), CM_EBUDGET);
}

static void plans_that_the_ledger_knows_are_closed_whatever_number_is_said(void **state)
{
	struct cl_standing s = standing_of(&second, key_hash);
	bool news = false;

	(void)state;
	later_plan(&first, &first, 5, 10, key_hash);
	take_part(&first);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_int_equal(cl_loss_accept(world.db, 0, CL_WORLD_NOW, &err), CM_EUSAGE);
	assert_int_equal(cl_loss_accept(world.db, 1, CL_WORLD_NOW, &err), CM_OK);
	assert_int_equal(loss().closed_plans, 5);
}

/* A ledger begun anew in place of a lost one: the first round that the shuffler names is of the lost one. */
static void a_ledger_begun_anew_takes_one_standing_as_the_lost_ones(void **state)
{
	struct cl_standing s = standing_of(&second, key_hash);
	char path[96];
	bool news = true, anew = false;

	(void)state;
	take_part(&first);
	cl_db_close(world.db);
	world.db = NULL;
	(void)snprintf(path, sizeof path, "%s/gateway.key", world.dir);
	fclose(fopen(path, "w"));
	(void)snprintf(path, sizeof path, "%s/client.db", world.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cl_db_open(world.dir, "test", &world.db, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "ledger is missing or empty"));
	assert_non_null(strstr(err.msg, "accept-loss"));
	assert_int_equal(
		cl_db_open_after_loss(world.dir, "test", 3, CL_WORLD_NOW, &anew, &world.db, &err), CM_OK);
	assert_true(anew);
	assert_int_equal(loss().closed_plans, 3);
	/* The secret may be lost as well. */
	memset(s.mac, 1, sizeof s.mac);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_false(news || loss().lost);
	assert_int_equal(loss().closed_plans, 3);
	s = standing_of(&first, key_hash);
	memset(s.mac, 1, sizeof s.mac);
	assert_int_equal(take(&s, &news), CM_EPERM);
	s = standing_of(&first, key_hash);
	assert_int_equal(take(&s, &news), CM_OK);
	assert_true(news && loss().lost);
	/* A ledger that exists is not begun anew. */
	cl_db_close(world.db);
	assert_int_equal(
		cl_db_open_after_loss(world.dir, "test", 9, CL_WORLD_NOW, &anew, &world.db, &err), CM_OK);
	assert_false(anew);
	assert_int_equal(loss().closed_plans, 3);
}

/* Once it has answered a round it is a ledger like others: what it does not know is a loss, if this client
 * confirms it, and false if not.  A round that it refused is no answer. */
static void a_ledger_begun_anew_that_has_answered_is_like_others(void **state)
{
	struct cl_standing s;
	struct cl_offer third;
	bool news = false;

	(void)state;
	for (int answers = 0; answers < 2; answers++) {
		if (answers > 0) {
			(void)tear_down(state);
			(void)set_up(state);
		}
		cl_offer_make(&world, "grr", 1.0, &third);
		assert_int_equal(cl_loss_accept(world.db, 1, CL_WORLD_NOW, &err), CM_OK);
		later_plan(&first, &first, 1, 10, first.d.previous);
		later_plan(&third, &first, 2, 20, first.d.plan_hash);
		if (answers > 0)
			take_part(&third);
		else
			assert_int_equal(
				cl_ledger_refuse(world.db, &third.d, CL_WORLD_NOW, "by hand", &err), CM_OK);
		s = standing_of(&second, key_hash);
		memset(s.mac, 1, sizeof s.mac);
		assert_int_equal(take(&s, &news), answers > 0 ? CM_EPERM : CM_OK);
		assert_false(news || loss().lost);
		cl_offer_free(&third);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(after_a_conflict_nothing_is_answered_until_an_operator_decides),
		TEST(a_round_that_is_missing_is_no_conflict_whatever_came_before_or_after),
		TEST(a_ledger_that_knows_the_shufflers_last_round_is_whole),
		TEST(a_round_that_it_does_not_know_means_that_every_slice_counts_as_spent),
		TEST(another_descriptor_of_the_same_number_is_not_the_round),
		TEST(without_the_check_a_restored_ledger_goes_on),
		TEST(only_the_shuffler_says_it_and_for_this_certificate),
		TEST(a_round_that_this_client_did_not_confirm_is_no_loss),
		TEST(the_mac_is_the_documented_one),
		TEST(after_an_accepted_loss_older_plans_are_closed_and_their_slices_count),
		TEST(after_a_loss_the_chain_of_plans_must_be_known),
		TEST(slices_of_closed_plans_may_leave_nothing),
		TEST(plans_that_the_ledger_knows_are_closed_whatever_number_is_said),
		TEST(a_ledger_begun_anew_takes_one_standing_as_the_lost_ones),
		TEST(a_ledger_begun_anew_that_has_answered_is_like_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
