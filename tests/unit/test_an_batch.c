/* test_an_batch.c - what the analyzer makes of a shuffler that changes a batch or its manifest. */
#include "an_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "an_dialogue.h"
#include "an_kept.h"
#include "an_keys.h"
#include "cm_file.h"

/* Try every way in which a shuffler can change a batch: nothing of the batch is used, the charge stays, the
 * round ends and says why, and the plan goes on. */
static void a_changed_batch_is_detected_and_never_used(void **state)
{
	static const enum fake_fault faults[] = { FAKE_INJECT, FAKE_DROP, FAKE_DOUBLE, FAKE_ALTER, FAKE_EXTRA,
		FAKE_OTHER_BUCKET };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof faults / sizeof *faults; i++) {
		struct world w;
		struct fake f = honest();
		char *text;

		world_make(&w, world_plan, 8);
		f.fault = faults[i / 2];
		f.slow = i % 2 == 1; /* the bucket before is still being opened when the fault is found */
		drive_ok(&w, &f, 1);
		text = result(&w);
		if (!strstr(text, "\"fault\": \"round 1: bucket ") || !strstr(text, "\"items\": []") ||
			!strstr(text, "\"counts\": []"))
			fail_msg("fault %d went unnoticed: %s", (int)f.fault, text);
		free(text);
		assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
		assert_true(an_round_counts(&w.files.state.round[0]));
		assert_int_equal(records(&w, RD_CHARGE), 1);
		assert_true(f.settled);
		assert_false(an_key_exists(w.dir, w.files.state.round[0].descriptor.round_id));
		/* A restart does not open the batch again. */
		world_restart(&w);
		assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
		f.fault = FAKE_HONEST;
		drive_ok(&w, &f, 2);
		assert_int_equal(w.files.state.round[1].stage, AN_SETTLED);
		fake_free(&f);
		world_free(&w);
	}
}

/* Clients get proofs from the tree: one over other messages than those that came would be a lie. */
static void a_tree_over_other_messages_is_detected_and_the_batch_never_used(void **state)
{
	(void)state;
	for (int slow = 0; slow < 2; slow++) {
		struct world w;
		struct fake f = honest();
		char *text;

		world_make(&w, world_plan, 8);
		f.fault = FAKE_TREE;
		f.slow = slow;
		drive_ok(&w, &f, 1);
		text = result(&w);
		if (!strstr(text, "\"fault\": \"round 1: the tree ") || !strstr(text, "\"items\": []"))
			fail_msg("%s", text);
		free(text);
		assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
		assert_int_equal(records(&w, RD_CHARGE), 1);
		fake_free(&f);
		world_free(&w);
	}
}

static void a_crash_after_any_step_of_a_changed_batch_charges_and_ends_it_once(void **state)
{
	(void)state;
	for (unsigned actions = 0;; actions++) {
		struct world w;
		struct fake f = honest();
		struct cm_err err = { 0 };
		enum cm_rc rc;
		char *text;

		world_make(&w, world_plan, 8);
		f.fault = FAKE_ALTER;
		rc = world_drive(&w, &f, 1, actions, &err);
		drive_ok(&w, &f, 1);
		assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
		assert_int_equal(records(&w, RD_CHARGE), 1);
		assert_int_equal(records(&w, RD_SETTLE), 1);
		text = result(&w);
		assert_non_null(strstr(text, "\"fault\""));
		free(text);
		fake_free(&f);
		world_free(&w);
		if (rc == CM_OK)
			break;
	}
}

static void lying_manifests_are_not_charged(void **state)
{
	static const enum fake_fault faults[] = { FAKE_UNSIGNED, FAKE_DUMMIES };

	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct world w;
		struct fake f = honest();
		struct cm_err err = { 0 };

		world_make(&w, world_plan, 9);
		f.fault = faults[i];
		assert_int_not_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_OK);
		assert_int_equal(w.files.state.round[0].stage, AN_RESERVED);
		assert_int_equal(records(&w, RD_CHARGE), 0);
		fake_free(&f);
		world_free(&w);
	}
}

/* A third person can check the evidence with the shuffler's public key. */
static void check_evidence(const struct world *w, const char *path)
{
	struct cm_err err = { 0 };
	struct rd_evidence e;
	struct cm_buf bytes;

	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	assert_int_equal(cm_file_read(path, PR_EVIDENCE_MAX, &bytes, &err), CM_OK);
	assert_int_equal(rd_evidence_verify(bytes.data, bytes.len, w->shuffler.verifier, &e, &err), CM_OK);
	assert_int_equal(e.fact, RD_FACT_TWO);
	assert_memory_equal(e.round_id, w->files.state.round[0].descriptor.round_id, PR_ROUND_ID_LEN);
	assert_memory_equal(e.manifest[0], w->files.state.round[0].manifest_hash, PR_HASH_LEN);
	cm_buf_fini(&bytes);
	assert_int_equal(unlink(path), 0);
}

static void remove_kept(const struct world *w)
{
	char id[2 * PR_ROUND_ID_LEN + 1], path[256];

	cm_hex(w->files.state.round[0].descriptor.round_id, PR_ROUND_ID_LEN, id);
	(void)snprintf(path, sizeof path, "%s/manifests/%s", w->dir, id);
	assert_int_equal(unlink(path), 0);
}

static void a_kept_manifest_that_is_damaged_is_named(void **state)
{
	struct world w;
	struct fake f = honest();
	struct cm_err err = { 0 };
	unsigned actions = 0;
	char id[2 * PR_ROUND_ID_LEN + 1], path[256];

	(void)state;
	world_make(&w, world_plan, 10);
	while (w.files.state.round[0].stage != AN_CHARGED)
		assert_int_equal(world_drive(&w, &f, 1, ++actions, &err), CM_EMORE);
	cm_hex(w.files.state.round[0].descriptor.round_id, PR_ROUND_ID_LEN, id);
	(void)snprintf(path, sizeof path, "%s/manifests/%s", w.dir, id);
	assert_int_equal(cm_file_write(path, "\x08\x01", 2, 0600, &err), CM_OK);
	assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, id));
	assert_non_null(strstr(err.msg, "damaged"));
	assert_int_equal(unlink(path), 0);
	drive_ok(&w, &f, 1);
	fake_free(&f);
	world_free(&w);
}

static void a_second_manifest_of_a_charged_round_is_refused(void **state)
{
	struct world w;
	struct fake f = honest();
	struct cm_err err = { 0 };
	unsigned actions = 0;

	(void)state;
	world_make(&w, world_plan, 10);
	while (w.files.state.round[0].stage != AN_CHARGED)
		assert_int_equal(world_drive(&w, &f, 1, ++actions, &err), CM_EMORE);
	f.fault = FAKE_OTHER_MANIFEST;
	assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EPROTO);
	assert_non_null(
		strstr(err.msg, "round 1: the shuffler signed two manifests for one round; both are kept: "));
	assert_int_equal(f.released, 0);
	check_evidence(&w, strstr(err.msg, "kept: ") + 6);
	/* The stored manifest is lost, but the ledger has its hash. */
	remove_kept(&w);
	assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "another manifest"));
	assert_int_equal(f.released, 0);
	fake_free(&f);
	world_free(&w);
}

static void unreadable_and_repeated_messages_are_counted_apart(void **state)
{
	struct world w;
	struct fake f = honest();
	uint8_t *result;
	size_t n;

	(void)state;
	world_make(&w, world_plan, 16);
	f.bad = 2;
	f.repeated = 3;
	drive_ok(&w, &f, 1);
	result = world_file(&w, "results/round-0001.json", &n);
	result[n - 1] = '\0';
	assert_non_null(strstr((char *)result, "\"bad\": 2"));
	assert_non_null(strstr((char *)result, "\"duplicates\": 3"));
	assert_non_null(strstr((char *)result, "\"reports\": 25"));
	free(result);
	fake_free(&f);
	world_free(&w);
}

static void buckets_may_be_empty(void **state)
{
	struct world w;
	struct fake f = honest();

	(void)state;
	world_make(&w, world_plan, 17);
	f.buckets = 100; /* the last one holds all of them */
	drive_ok(&w, &f, 1);
	assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
	fake_free(&f);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_batch_is_detected_and_never_used),
		cmocka_unit_test(a_tree_over_other_messages_is_detected_and_the_batch_never_used),
		cmocka_unit_test(lying_manifests_are_not_charged),
		cmocka_unit_test(a_second_manifest_of_a_charged_round_is_refused),
		cmocka_unit_test(a_kept_manifest_that_is_damaged_is_named),
		cmocka_unit_test(unreadable_and_repeated_messages_are_counted_apart),
		cmocka_unit_test(buckets_may_be_empty),
		/* This is last because it takes longest: test_mutants.py waits for the first that fails. */
		cmocka_unit_test(a_crash_after_any_step_of_a_changed_batch_charges_and_ends_it_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
