/* test_an_round.c - the round dialogue against a shuffler made of memory, honest and not. */
#include "an_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "an_kept.h"
#include "an_keys.h"
#include "cm_file.h"

#define FOREVER 100000u

static struct fake honest(void)
{
	return (struct fake){ .participants = 30, .buckets = 3, .segment = 4 };
}

/* How many records of a kind the ledger on disk holds for a plan round's id. */
static unsigned records(const struct world *w, enum rd_record_kind kind)
{
	uint64_t last = an_ledger_chain(w->files.ledger)->seq;
	unsigned n = 0;

	for (uint64_t seq = 1; seq <= last; seq++) {
		struct an_entry e = an_ledger_entry(w->files.ledger, seq);
		struct cm_err err = { 0 };
		struct rd_record r;

		assert_int_equal(rd_record_decode(e.bytes, e.len, &r, &err), CM_OK);
		n += r.kind == kind;
		rd_record_fini(&r);
	}
	return n;
}

static void drive_ok(struct world *w, struct fake *f, uint32_t number)
{
	struct cm_err err = { 0 };

	if (world_drive(w, f, number, FOREVER, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

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

static void a_round_that_the_shuffler_lost_is_void_and_says_why(void **state)
{
	struct world w;
	struct fake f = honest();

	(void)state;
	world_make(&w, world_plan, 4);
	f.participants = 0;
	f.fault = FAKE_LOST;
	drive_ok(&w, &f, 1);
	assert_int_equal(w.files.state.round[0].stage, AN_WAITING);
	assert_int_equal(w.files.state.round[0].tries, 1);
	assert_non_null(strstr(w.files.state.round[0].reason, "restored from a copy older than the round"));
	assert_int_equal(records(&w, RD_CHARGE), 0);
	fake_free(&f);
	world_free(&w);
}

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

/* The process dies after every number of actions.  What was charged stays charged once, the key lives until
 * the round is settled, and the result is the one of a run that never died, byte for byte. */
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

/* The result of round 1, as text. */
static char *result(const struct world *w)
{
	size_t n;
	char *text = (char *)world_file(w, "results/round-0001.json", &n);

	text[n - 1] = '\0'; /* its last newline */
	return text;
}

/* Every way a shuffler can change a batch: nothing of it is used, the charge stays, the round ends and says
 * why, and the plan goes on. */
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
		/* A restart does not take the batch up again. */
		world_restart(&w);
		assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
		f.fault = FAKE_HONEST;
		drive_ok(&w, &f, 2);
		assert_int_equal(w.files.state.round[1].stage, AN_SETTLED);
		fake_free(&f);
		world_free(&w);
	}
}

/* Clients are shown proofs from the tree: one over other messages than those that came is a lie to them. */
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

/* A third person can check it with the shuffler's public key. */
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
	/* What was kept is lost: the ledger has the first one's hash. */
	remove_kept(&w);
	assert_int_equal(world_drive(&w, &f, 1, FOREVER, &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "another manifest"));
	assert_int_equal(f.released, 0);
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
	/* Never in service: nothing was spent. */
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

/* A client's word is the analyzer's own signature: its ledger was longer, or another. */
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

/* No shuffler makes the ledger grow by what it says of its clock: a round that is in time by ours waits. */
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
		cmocka_unit_test(a_round_runs_from_reservation_to_erasure),
		cmocka_unit_test(the_second_descriptor_follows_the_first),
		cmocka_unit_test(a_round_over_the_budget_is_refused_and_reserves_nothing),
		cmocka_unit_test(too_few_reports_make_the_try_void_and_the_entry_waits),
		cmocka_unit_test(a_round_that_the_shuffler_lost_is_void_and_says_why),
		cmocka_unit_test(a_missing_key_is_found_before_the_charge),
		cmocka_unit_test(a_busy_shuffler_is_asked_again),
		cmocka_unit_test(a_changed_batch_is_detected_and_never_used),
		cmocka_unit_test(a_tree_over_other_messages_is_detected_and_the_batch_never_used),
		cmocka_unit_test(lying_manifests_are_not_charged),
		cmocka_unit_test(a_second_manifest_of_a_charged_round_is_refused),
		cmocka_unit_test(a_kept_manifest_that_is_damaged_is_named),
		cmocka_unit_test(a_restored_older_ledger_is_told_apart_by_the_witness),
		cmocka_unit_test(a_ledger_that_is_lost_is_not_begun_anew),
		cmocka_unit_test(a_witness_of_another_ledger_stops_the_round),
		cmocka_unit_test(a_ledger_without_what_a_client_has_seen_stops_the_round),
		cmocka_unit_test(answers_out_of_place_are_protocol_faults),
		cmocka_unit_test(an_error_of_the_shuffler_is_reported_with_the_step),
		cmocka_unit_test(a_shuffler_that_refuses_the_budget_makes_the_round_void),
		cmocka_unit_test(a_round_refused_by_the_shufflers_clock_waits_until_the_clocks_agree),
		cmocka_unit_test(unreadable_and_repeated_messages_are_counted_apart),
		cmocka_unit_test(buckets_may_be_empty),
		/* The longest, last: test_mutants.py waits for the first that fails. */
		cmocka_unit_test(a_crash_after_any_step_loses_nothing_and_charges_nothing_twice),
		cmocka_unit_test(a_crash_after_any_step_of_a_void_round_voids_it_once),
		cmocka_unit_test(a_crash_after_any_step_of_a_changed_batch_charges_and_ends_it_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
