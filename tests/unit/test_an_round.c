/* test_an_round.c - the round dialogue against an honest shuffler: states, refusals, and crashes after any
 * step. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_dialogue.h"
#include "an_keys.h"

static void a_round_runs_from_reservation_to_erasure(void **state)
{
	struct world w;
	struct fake f = honest();
	const struct an_round_state *r;

	(void)state;
	world_make(&w, world_plan, 1);
	drive_ok(&w, &f, 1);
	r = &w.files.state.round[0];
	assert_int_equal(r->stage, AN_SETTLED);
	assert_int_equal(r->participants, 30);
	assert_true(f.settled);
	assert_false(an_key_exists(w.dir, r->descriptor.round_id));
	assert_int_equal(records(&w, RD_RESERVE), 1);
	assert_int_equal(records(&w, RD_CHARGE), 1);
	assert_int_equal(records(&w, RD_SETTLE), 1);
	/* The shuffler has witnessed all of it. */
	assert_int_equal(f.witness.seq, an_ledger_chain(w.files.ledger)->seq);
	fake_free(&f);
	world_free(&w);
}

static void the_second_descriptor_follows_the_first(void **state)
{
	struct world w;
	struct fake f = honest();
	const struct an_round_state *r;

	(void)state;
	world_make(&w, world_plan, 2);
	drive_ok(&w, &f, 1);
	drive_ok(&w, &f, 2);
	r = w.files.state.round;
	assert_int_equal(r[0].descriptor.sequence, 1);
	assert_int_equal(r[1].descriptor.sequence, 2);
	assert_memory_equal(r[1].descriptor.previous, r[0].descriptor.hash, PR_HASH_LEN);
	assert_true(r[1].descriptor.ledger_seq > r[0].descriptor.ledger_seq);
	assert_memory_equal(r[1].descriptor.ledger_head,
		an_ledger_entry(w.files.ledger, r[1].descriptor.ledger_seq).head, PR_HASH_LEN);
	assert_memory_not_equal(r[0].descriptor.hpke_key, r[1].descriptor.hpke_key, CR_HPKE_PUBLIC_LEN);
	fake_free(&f);
	world_free(&w);
}

static void a_round_over_the_budget_is_refused_and_reserves_nothing(void **state)
{
	struct world w;
	struct fake f = honest();
	struct cm_err err = { 0 };

	(void)state;
	world_make(&w, world_plan, 3);
	drive_ok(&w, &f, 1);
	assert_int_equal(world_drive(&w, &f, 3, FOREVER, &err), CM_EBUDGET);
	assert_int_equal(w.files.state.round[2].stage, AN_REFUSED);
	assert_int_equal(records(&w, RD_REFUSE), 0); /* the signed plan says it */
	assert_int_equal(records(&w, RD_RESERVE), 1);
	assert_false(f.announced);
	world_restart(&w);
	assert_int_equal(w.files.state.round[2].stage, AN_REFUSED);
	drive_ok(&w, &f, 2); /* the plan goes on */
	fake_free(&f);
	world_free(&w);
}

static void too_few_reports_make_the_try_void_and_the_entry_waits(void **state)
{
	struct world w;
	struct fake f = honest();

	(void)state;
	world_make(&w, world_plan, 4);
	f.participants = 19;
	drive_ok(&w, &f, 1);
	assert_int_equal(w.files.state.round[0].stage, AN_WAITING);
	assert_int_equal(w.files.state.round[0].tries, 1);
	assert_int_equal(w.files.state.round[0].participants, 19);
	assert_true(an_round_holds(&w.files.state.round[0]));
	assert_int_equal(records(&w, RD_CHARGE), 0);
	assert_int_equal(records(&w, RD_VOID), 1);
	assert_int_equal(f.released, 0);
	assert_false(an_key_exists(w.dir, w.files.state.round[0].descriptor.round_id));
	fake_free(&f);
	world_free(&w);
}

static void a_round_that_the_shuffler_lost_is_over_and_says_why(void **state)
{
	struct world w;
	struct fake f = honest();

	(void)state;
	world_make(&w, world_plan, 4);
	f.fault = FAKE_LOST;
	drive_ok(&w, &f, 1);
	/* Without a manifest there is no further try. */
	assert_int_equal(w.files.state.round[0].stage, AN_VOID);
	assert_int_equal(w.files.state.round[0].tries, 0);
	assert_non_null(strstr(w.files.state.round[0].reason, "restored from a copy older than the round"));
	assert_int_equal(records(&w, RD_CHARGE), 0);
	fake_free(&f);
	world_free(&w);
}

static void a_busy_shuffler_is_asked_again(void **state)
{
	struct world w;
	struct fake f = honest();

	(void)state;
	world_make(&w, world_plan, 5);
	f.busy = 7;
	drive_ok(&w, &f, 1);
	assert_int_equal(f.busy, 0);
	assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
	fake_free(&f);
	world_free(&w);
}

/* The process is ended after every number of actions.  What was charged stays charged once, the key lives
 * until the round is settled, and the result is that of an undisturbed run, byte for byte. */
static void a_crash_after_any_step_loses_nothing_and_charges_nothing_twice(void **state)
{
	size_t n, m, deaths = 0;
	uint8_t *want;
	struct world w;
	struct fake f = honest();

	(void)state;
	world_make(&w, world_plan, 6);
	drive_ok(&w, &f, 1);
	want = world_file(&w, "results/round-0001.json", &n);
	fake_free(&f);
	world_free(&w);
	for (unsigned actions = 0;; actions++) {
		struct cm_err err = { 0 };
		enum cm_rc rc;
		uint8_t *got;

		f = honest();
		world_make(&w, world_plan, 6);
		rc = world_drive(&w, &f, 1, actions, &err);
		if (rc == CM_EMORE && w.files.state.round[0].stage != AN_SETTLED) {
			assert_true(an_key_exists(w.dir, w.files.state.round[0].descriptor.round_id));
			if (f.released > 0)
				assert_int_equal(w.files.state.round[0].stage, AN_CHARGED);
		}
		deaths += rc == CM_EMORE;
		drive_ok(&w, &f, 1);
		assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
		assert_int_equal(records(&w, RD_RESERVE), 1);
		assert_int_equal(records(&w, RD_CHARGE), 1);
		assert_int_equal(records(&w, RD_SETTLE), 1);
		assert_false(an_key_exists(w.dir, w.files.state.round[0].descriptor.round_id));
		got = world_file(&w, "results/round-0001.json", &m);
		assert_int_equal(n, m);
		assert_memory_equal(want, got, n);
		free(got);
		fake_free(&f);
		world_free(&w);
		if (rc == CM_OK)
			break;
	}
	free(want);
	assert_true(deaths > 12);
}

static void a_crash_after_any_step_of_a_void_round_voids_it_once(void **state)
{
	(void)state;
	for (unsigned actions = 0;; actions++) {
		struct world w;
		struct fake f = honest();
		struct cm_err err = { 0 };
		enum cm_rc rc;

		world_make(&w, world_plan, 7);
		f.participants = 3;
		rc = world_drive(&w, &f, 1, actions, &err);
		drive_ok(&w, &f, 1);
		assert_int_equal(w.files.state.round[0].stage, AN_WAITING);
		assert_int_equal(records(&w, RD_VOID), 1);
		assert_int_equal(records(&w, RD_CHARGE), 0);
		fake_free(&f);
		world_free(&w);
		if (rc == CM_OK)
			break;
	}
}

static void answers_out_of_place_are_protocol_faults(void **state)
{
	static const enum fake_fault faults[] = { FAKE_WITNESS_STUCK, FAKE_SILENT_KIND, FAKE_OTHER_ROUND };

	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct world w;
		struct fake f = honest();
		struct cm_err err = { 0 };

		world_make(&w, world_plan, 13);
		f.fault = faults[i];
		assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EPROTO);
		fake_free(&f);
		world_free(&w);
	}
}

static void an_error_of_the_shuffler_is_reported_with_the_step(void **state)
{
	struct world w;
	struct fake f = honest();
	struct cm_err err = { 0 };

	(void)state;
	world_make(&w, world_plan, 14);
	f.fault = FAKE_STORAGE;
	assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EUNAVAIL);
	assert_non_null(strstr(err.msg, "round 1: witness: the shuffler says"));
	fake_free(&f);
	world_free(&w);
}

static void a_shuffler_that_refuses_the_budget_makes_the_round_void(void **state)
{
	static const enum fake_fault faults[] = { FAKE_NO_BUDGET, FAKE_NO_BUDGET_RAW };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world w;
		struct fake f = honest();
		const struct an_round_state *r;

		world_make(&w, world_plan, 15);
		f.fault = faults[i];
		drive_ok(&w, &f, 1);
		r = &w.files.state.round[0];
		assert_int_equal(r->stage, AN_WAITING);
		assert_int_equal(r->tries, 0); /* nobody was asked */
		assert_memory_equal(r->reason, AN_REFUSED_BUDGET, strlen(AN_REFUSED_BUDGET));
		assert_null(strchr(r->reason, '\x1b'));
		assert_int_equal(f.manifests, 0);
		fake_free(&f);
		world_free(&w);
	}
}

/* The shuffler took the round before, and lost it since: devices may have answered, so the entry is not asked
 * again. */
static void a_round_that_is_refused_after_it_was_taken_is_over(void **state)
{
	static const enum fake_fault faults[] = { FAKE_NO_BUDGET, FAKE_NO_BUDGET_RAW, FAKE_CLOCK };
	static const int64_t day = 86400000;

	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		struct world w;
		struct fake f = honest();
		struct cm_err err = { 0 };

		world_make(&w, world_plan, 15);
		for (unsigned actions = 0; !f.announced; actions++)
			assert_int_equal(world_drive(&w, &f, 1, actions, &err), CM_EMORE);
		assert_int_equal(w.files.state.round[0].stage, AN_RESERVED);
		f.fault = faults[i];
		f.clock_ms = f.our_clock_ms = WORLD_NOW + day;
		drive_ok(&w, &f, 1);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(w.files.state.round[0].stage, AN_VOID);
			assert_false(an_round_not_taken(&w.files.state.round[0]));
			assert_non_null(strstr(w.files.state.round[0].reason, "taken before"));
			world_restart(&w);
		}
		assert_int_equal(records(&w, RD_CHARGE), 0);
		fake_free(&f);
		world_free(&w);
	}
}

/* A shuffler cannot make the ledger grow by what it says about its clock: a round that is in time by our
 * clock waits. */
static void a_round_refused_by_the_shufflers_clock_waits_until_the_clocks_agree(void **state)
{
	static const int64_t day = 86400000;
	static const struct {
		int64_t theirs, ours;
		bool ends;
	} rows[] = { { day, 0, false }, { -day, 0, false }, { 0, 0, false }, { 0, day, false },
		{ 2 * day, day, false }, { day, day, true }, { 0, -day, false }, { -day, -day, true } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct world w;
		struct fake f = honest();
		const struct an_round_state *r;
		struct cm_err err = { 0 };

		world_make(&w, world_plan, 15);
		f.fault = FAKE_CLOCK;
		f.clock_ms = WORLD_NOW + rows[i].theirs;
		f.our_clock_ms = WORLD_NOW + rows[i].ours;
		assert_int_equal(world_drive(&w, &f, 1, rows[i].ends ? FOREVER : 500, &err),
			rows[i].ends ? CM_OK : CM_EMORE);
		r = &w.files.state.round[0];
		assert_int_equal(r->stage, rows[i].ends ? AN_WAITING : AN_RESERVED);
		assert_int_equal(r->tries, 0);
		assert_int_equal(an_round_refused_by_clock(r), rows[i].ends);
		/* The clocks agree again: the same round goes on. */
		f.fault = FAKE_HONEST;
		f.our_clock_ms = 0;
		if (!rows[i].ends)
			drive_ok(&w, &f, 1);
		assert_int_equal(w.files.state.round[0].stage, rows[i].ends ? AN_WAITING : AN_SETTLED);
		fake_free(&f);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_runs_from_reservation_to_erasure),
		cmocka_unit_test(the_second_descriptor_follows_the_first),
		cmocka_unit_test(a_round_over_the_budget_is_refused_and_reserves_nothing),
		cmocka_unit_test(too_few_reports_make_the_try_void_and_the_entry_waits),
		cmocka_unit_test(a_round_that_the_shuffler_lost_is_over_and_says_why),
		cmocka_unit_test(a_busy_shuffler_is_asked_again),
		cmocka_unit_test(answers_out_of_place_are_protocol_faults),
		cmocka_unit_test(an_error_of_the_shuffler_is_reported_with_the_step),
		cmocka_unit_test(a_shuffler_that_refuses_the_budget_makes_the_round_void),
		cmocka_unit_test(a_round_that_is_refused_after_it_was_taken_is_over),
		cmocka_unit_test(a_round_refused_by_the_shufflers_clock_waits_until_the_clocks_agree),
		/* This is last because it takes longest: test_mutants.py waits for the first that fails. */
		cmocka_unit_test(a_crash_after_any_step_loses_nothing_and_charges_nothing_twice),
		cmocka_unit_test(a_crash_after_any_step_of_a_void_round_voids_it_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
