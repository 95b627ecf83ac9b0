/* test_an_lost.c - an analyzer whose ledger or key was lost or restored is told by others, before it charges
 * anything. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_dialogue.h"
#include "an_keys.h"

static void a_missing_key_is_found_before_the_charge(void **state)
{
	struct world w;
	struct fake f = honest();
	struct cm_err err = { 0 };

	(void)state;
	world_make(&w, world_plan, 4);
	assert_int_equal(world_drive(&w, &f, 1, 0, &err), CM_EMORE);
	const struct rd_descriptor *d = &w.files.state.round[0].descriptor;
	assert_int_equal(an_key_check(w.dir, d, 1, &err), CM_OK);
	assert_int_equal(an_key_erase(w.dir, d->round_id, &err), CM_OK);
	assert_int_equal(an_key_check(w.dir, d, 1, &err), CM_ENOINPUT);
	assert_non_null(strstr(err.msg, "is not charged"));
	assert_non_null(strstr(err.msg, "`tombola-analyzer round give-up 1`"));
	fake_free(&f);
	world_free(&w);
}

static void a_restored_older_ledger_is_told_apart_by_the_witness(void **state)
{
	struct world w;
	struct fake f = honest();
	struct cm_err err = { 0 };
	uint8_t *old;
	size_t n;

	(void)state;
	world_make(&w, world_plan, 11);
	assert_int_equal(world_drive(&w, &f, 1, 0, &err), CM_EMORE);
	old = world_file(&w, "ledger", &n);
	drive_ok(&w, &f, 1);
	world_write(&w, "ledger", old, n);
	free(old);
	world_restart(&w);
	assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EPERM);
	assert_string_equal(err.msg,
		"the shuffler has seen ledger record 5, this ledger ends at 3: restored from "
		"an older copy");
	fake_free(&f);
	world_free(&w);
}

static void a_ledger_that_is_lost_is_not_begun_anew(void **state)
{
	struct an_ledger_files files;
	struct world w;
	struct fake f = honest();
	struct cm_err err = { 0 };

	(void)state;
	world_make(&w, world_plan, 12);
	drive_ok(&w, &f, 1);
	for (int how = 0; how < 2; how++) {
		if (how == 0)
			world_write(&w, "ledger", (const uint8_t *)AN_LEDGER_MAGIC, AN_LEDGER_MAGIC_LEN);
		else
			assert_int_equal(world_remove(&w, "ledger"), 0);
		assert_int_equal(an_ledger_files_open(&w.conf, false, &files, &err), CM_EDATA);
		assert_non_null(strstr(err.msg, "what was spent is not known"));
		an_ledger_files_close(&files);
	}
	/* The ledger was never in service, so nothing was spent. */
	assert_int_equal(world_remove(&w, "in-service"), 0);
	assert_int_equal(an_ledger_files_open(&w.conf, false, &files, &err), CM_OK);
	an_ledger_files_close(&files);
	fake_free(&f);
	world_free(&w);
}

static void a_witness_of_another_ledger_stops_the_round(void **state)
{
	static const enum fake_fault faults[] = { FAKE_WITNESS_AHEAD, FAKE_WITNESS_OTHER };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct world w;
		struct fake f = honest();
		struct cm_err err = { 0 };

		world_make(&w, world_plan, 12);
		f.fault = faults[i];
		assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EPERM);
		assert_false(f.announced);
		fake_free(&f);
		world_free(&w);
	}
}

/* What a client states has the analyzer's own signature: the ledger was longer, or was another. */
static void a_ledger_without_what_a_client_has_seen_stops_the_round(void **state)
{
	static const struct {
		enum fake_fault fault;
		const char *words;
	} faults[] = { { FAKE_STATED_LATER, "this ledger ends at 3: restored from an older copy" },
		{ FAKE_STATED_OTHER, "another descriptor after ledger record 1 than" },
		{ FAKE_STATED_ELSE, "another descriptor after ledger record 2 than" } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct world w;
		struct fake f = honest();
		struct cm_err err = { 0 };

		world_make(&w, world_plan, 15);
		f.fault = faults[i].fault;
		assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EPERM);
		assert_non_null(strstr(err.msg, faults[i].words));
		assert_int_equal(f.witness.seq, 0);
		fake_free(&f);
		world_free(&w);
	}
	struct world w;
	struct fake f = honest();

	world_make(&w, world_plan, 15);
	f.fault = FAKE_STATED_OURS;
	drive_ok(&w, &f, 1);
	fake_free(&f);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_key_is_found_before_the_charge),
		cmocka_unit_test(a_restored_older_ledger_is_told_apart_by_the_witness),
		cmocka_unit_test(a_ledger_that_is_lost_is_not_begun_anew),
		cmocka_unit_test(a_witness_of_another_ledger_stops_the_round),
		cmocka_unit_test(a_ledger_without_what_a_client_has_seen_stops_the_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
