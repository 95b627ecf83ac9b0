/* test_cl_tries.c - an entry is answered once, and tried again only after a try that is known to be void. */
#include "cl_followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_db_check.h"
#include "cl_tries.h"
#include "cm_file.h"
#include "rd_evidence.h"

static struct cm_buf manifest;
static uint8_t signature[CR_SIGN_LEN];

/* `second` is the next try of `first`, naming the VOID manifest in `manifest`. */
static void try_again(uint32_t attempt)
{
	cl_offer_follow(&second, &first);
	second.d.entry = first.d.entry;
	second.d.attempt = attempt;
	cr_sha256(manifest.data, manifest.len, second.d.void_manifest);
	cl_offer_sign(&world, &second);
}

static void make_manifest(const struct cl_offer *of, bool is_void, const struct cr_signer *signer)
{
	struct rd_bucket bucket = { .messages = 1000 };
	struct rd_manifest m = { .participants = is_void ? 3 : 1000,
		.messages = is_void ? 0 : 1000,
		.is_void = is_void,
		.bucket = is_void ? NULL : &bucket,
		.buckets = is_void ? 0 : 1 };

	memcpy(m.round_id, of->d.round_id, sizeof m.round_id);
	memcpy(m.descriptor_hash, of->d.hash, sizeof m.descriptor_hash);
	manifest.len = 0;
	assert_int_equal(rd_manifest_encode(&m, &manifest, &err), CM_OK);
	assert_int_equal(
		cr_sign(signer, RD_PURPOSE_MANIFEST, manifest.data, manifest.len, signature, &err), CM_OK);
}

static int tries_set_up(void **state)
{
	(void)set_up(state);
	cm_buf_init(&manifest, PR_MANIFEST_MAX);
	make_manifest(&first, true, world.shuffler.signer);
	try_again(2);
	return 0;
}

static int tries_tear_down(void **state)
{
	cm_buf_fini(&manifest);
	return tear_down(state);
}

/* Judge the round although the document that it needs cannot be had. */
static enum cm_rc judge_without(const struct cl_offer *o)
{
	struct cl_judge_job job = { .db = world.db,
		.policy = &world.policy,
		.analyzer = world.analyzer.verifier,
		.descriptor = o->bytes.data,
		.descriptor_len = o->bytes.len,
		.signature = o->signature,
		.signature_len = sizeof o->signature,
		.now_ms = CL_WORLD_NOW,
		.absent = "not found" };
	enum cm_rc rc = cl_judge(&job, &judged, &err);

	rd_descriptor_fini(&judged.d);
	return rc;
}

static enum cm_rc learn(void)
{
	err.msg[0] = '\0';
	return cl_manifest_learn(world.db, world.dir, world.shuffler.verifier, first.d.round_id,
		manifest.data, manifest.len, signature, CL_WORLD_NOW, &err);
}

static void a_void_try_is_followed_by_the_next_once_its_manifest_is_there(void **state)
{
	(void)state;
	take_part(&first);
	assert_int_equal(judge(&second), CM_EMORE);
	assert_int_equal(judged.need.kind, CD_NEED_MANIFEST);
	assert_memory_equal(judged.need.round_id, first.d.round_id, PR_ROUND_ID_LEN);
	assert_int_equal(learn(), CM_OK);
	cl_world_restart(&world);
	assert_int_equal(judge(&second), CM_OK);
	/* It costs no slice more. */
	assert_int_equal(count("SELECT count(*) FROM pin"), 1);
	assert_true(judged.charge.epsilon_total == 100);
}

/* A client that was away, or whose policy refused the round, has said nothing. */
static void who_took_no_part_in_a_try_needs_no_manifest_of_it(void **state)
{
	(void)state;
	world.policy.shared.min_batch = 5000;
	assert_int_equal(judge(&first), CM_EPERM);
	world.policy.shared.min_batch = 1;
	assert_int_equal(judge(&second), CM_OK);
}

static void without_its_void_manifest_a_try_counts_as_released(void **state)
{
	(void)state;
	take_part(&first);
	assert_int_equal(judge_without(&second), CM_EPERM);
	assert_string_equal(err.msg,
		"try 1 of entry 1 counts as released, because its VOID manifest cannot be had: not found");
	assert_int_equal(count("SELECT count(*) FROM ledger WHERE kind = 'refused'"), 1);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.try.void");
	assert_int_equal(judge_without(&second), CM_OK);
#endif
}

/* Released or not. */
static void a_sealed_try_answers_the_entry(void **state)
{
	(void)state;
	take_part(&first);
	make_manifest(&first, false, world.shuffler.signer);
	try_again(2);
	assert_int_equal(learn(), CM_OK);
	assert_int_equal(judge(&second), CM_EPERM);
	assert_string_equal(err.msg, "entry 1 is answered: its try 1 was sealed");
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.try.void");
	assert_int_equal(judge(&second), CM_OK);
#endif
}

static void the_next_try_names_the_manifest_that_the_shuffler_gave(void **state)
{
	(void)state;
	take_part(&first);
	assert_int_equal(learn(), CM_OK);
	second.d.void_manifest[5] ^= 1;
	cl_offer_sign(&world, &second);
	assert_int_equal(judge(&second), CM_EPERM);
	assert_string_equal(
		err.msg, "try 2 of entry 1 names another VOID manifest than the shuffler gave for try 1");
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.try.named");
	assert_int_equal(judge(&second), CM_OK);
	cl_world_mutant("");
#endif
	/* The client has no manifest of a try that it missed. */
	second.d.sequence += 2;
	second.d.ledger_seq++;
	second.d.attempt = 3;
	cl_offer_sign(&world, &second);
	assert_int_equal(judge(&second), CM_OK);
}

/* The manifest is VOID, with 3 participants. */
static void a_void_manifest_of_fewer_devices_than_have_receipts_is_refused(void **state)
{
	char path[256];

	(void)state;
	for (size_t accepted = 3; accepted <= MOST; accepted++) {
		if (accepted > 3) {
			(void)tries_tear_down(state);
			(void)tries_set_up(state);
		}
		(void)snprintf(path, sizeof path, "%s/evidence-%llu-void", world.dir,
			(unsigned long long)first.d.sequence);
		take_part_with(&first, accepted);
		assert_int_equal(learn(), accepted > 3 ? CM_EPROTO : CM_OK);
		assert_int_equal(access(path, F_OK), accepted > 3 ? 0 : -1);
		assert_int_equal(judge_without(&second), accepted > 3 ? CM_EPERM : CM_OK);
	}
}

static void a_second_descriptor_for_a_try_is_refused(void **state)
{
	(void)state;
	take_part(&first);
	assert_int_equal(learn(), CM_OK);
	second.d.attempt = 1;
	memset(second.d.void_manifest, 0, PR_HASH_LEN);
	cl_offer_sign(&world, &second);
	assert_int_equal(judge(&second), CM_EPERM);
	assert_string_equal(err.msg, "try 1 of entry 1 is offered after this client took part in try 1");
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.try.later");
	assert_int_equal(judge(&second), CM_OK);
#endif
}

/* Whether there is evidence against the shuffler about the first round; removes it. */
static bool convicts(void)
{
	char path[256];
	struct rd_evidence e = { .fact = RD_FACT_NONE };
	struct cm_buf bytes;
	struct cm_err why;

	(void)snprintf(path, sizeof path, "%s/evidence-%llu-manifests", world.dir,
		(unsigned long long)first.d.sequence);
	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	bool is = cm_file_read(path, PR_EVIDENCE_MAX, &bytes, &why) == CM_OK &&
		  rd_evidence_verify(bytes.data, bytes.len, world.shuffler.verifier, &e, &why) == CM_OK &&
		  e.fact == RD_FACT_TWO && memcmp(e.round_id, first.d.round_id, PR_ROUND_ID_LEN) == 0;
	cm_buf_fini(&bytes);
	(void)unlink(path);
	return is;
}

static void the_manifest_of_a_try_is_held_against_the_one_that_messages_are_proved_by(void **state)
{
	sqlite3_stmt *st = NULL;

	(void)state;
	take_part(&first);
	make_manifest(&first, false, world.shuffler.signer);
	assert_int_equal(db_prepare(world.db->sql,
				 "INSERT INTO proof(sequence, round_id, until_ms, manifest, signature) "
				 "VALUES(1, ?, 1, ?, ?)",
				 &st, &err),
		CM_OK);
	(void)sqlite3_bind_blob(st, 1, first.d.round_id, PR_ROUND_ID_LEN, SQLITE_STATIC);
	(void)sqlite3_bind_blob(st, 2, manifest.data, (int)manifest.len, SQLITE_STATIC);
	(void)sqlite3_bind_blob(st, 3, signature, CR_SIGN_LEN, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_finalize(st);
	assert_int_equal(learn(), CM_OK); /* the same */
	assert_false(convicts());
	make_manifest(&first, true, world.shuffler.signer);
	assert_int_equal(learn(), CM_EPROTO);
	assert_true(convicts());
}

static void a_manifest_that_is_not_the_shufflers_of_this_round_is_not_kept(void **state)
{
	(void)state;
	take_part(&first);
	make_manifest(&first, true, world.analyzer.signer);
	assert_int_equal(learn(), CM_EPERM);
	make_manifest(&second, true, world.shuffler.signer);
	assert_int_equal(learn(), CM_EPROTO);
	make_manifest(&first, true, world.shuffler.signer);
	for (size_t i = 0; i < manifest.len; i++) {
		manifest.data[i] ^= 0x10;
		assert_int_equal(learn(), CM_EPERM);
		manifest.data[i] ^= 0x10;
	}
	assert_int_equal(count("SELECT count(*) FROM manifest"), 0);
	assert_int_equal(learn(), CM_OK);
	assert_int_equal(learn(), CM_OK);
	/* A second manifest of the same round convicts whoever signed it. */
	make_manifest(&first, false, world.shuffler.signer);
	assert_int_equal(learn(), CM_EPROTO);
	assert_non_null(strstr(err.msg, "the shuffler signed two manifests for one round; both are kept: "));
	assert_true(convicts());
	assert_int_equal(count("SELECT count(*) FROM manifest"), 1);
	/* The manifest of a round without a charge is not requested. */
	assert_int_equal(cl_manifest_learn(world.db, world.dir, world.shuffler.verifier, second.d.round_id,
				 manifest.data, manifest.len, signature, 1, &err),
		CM_ENOINPUT);
}

static void the_last_try_is_the_one_that_counts(void **state)
{
	struct cl_try last;
	size_t n = 0;
	uint32_t highest = 0;

	(void)state;
	take_part(&first);
	assert_int_equal(learn(), CM_OK);
	take_part(&second);
	assert_int_equal(cl_try_last(world.db, first.d.plan_hash, 1, &last, &err), CM_OK);
	assert_int_equal(last.attempt, 2);
	assert_memory_equal(last.round_id, second.d.round_id, PR_ROUND_ID_LEN);
	assert_int_equal(cl_try_last(world.db, first.d.plan_hash, 2, &last, &err), CM_OK);
	assert_int_equal(last.attempt, 0);
	assert_int_equal(cl_try_entries(world.db, first.d.plan_hash, &n, &highest, &err), CM_OK);
	assert_true(n == 1 && highest == 1);
	/* The manifest of this round is requested next. */
	cl_offer_free(&first);
	cl_offer_make(&world, "grr", 1.0, &first);
	cl_offer_follow(&first, &second);
	first.d.entry = 1;
	first.d.attempt = 3;
	cl_offer_sign(&world, &first);
	assert_int_equal(judge(&first), CM_EMORE);
	assert_memory_equal(judged.need.round_id, second.d.round_id, PR_ROUND_ID_LEN);
}

static void damage_to_a_charge_a_manifest_or_a_descriptor_is_noticed(void **state)
{
	static const char *const change[] = { "UPDATE ledger SET plan_entry = 2 WHERE kind = 'charged'",
		"UPDATE ledger SET attempt = 0 WHERE kind = 'charged'",
		"UPDATE ledger SET plan_hash = zeroblob(32) WHERE kind = 'charged'",
		"UPDATE ledger SET round_id = zeroblob(16) WHERE kind = 'charged'",
		"UPDATE ledger SET descriptor_hash = zeroblob(32) WHERE kind = 'charged'",
		"UPDATE ledger SET seal = x'01' WHERE kind = 'charged'",
		"UPDATE manifest SET bytes = substr(bytes, 2)", "UPDATE manifest SET hash = zeroblob(32)" };
	static const char *const kept[] = { "UPDATE plan SET bytes = substr(bytes, 2)",
		"UPDATE descriptor SET bytes = substr(bytes, 2)",
		"UPDATE descriptor SET hash = x'01' WHERE sequence = 1", "UPDATE pin SET slice_epsilon = 1" };

	(void)state;
	take_part(&first);
	assert_int_equal(learn(), CM_OK);
	assert_int_equal(db_run(world.db->sql,
				 "DROP TRIGGER ledger_update; DROP TRIGGER manifest_update;"
				 "DROP TRIGGER descriptor_update; DROP TRIGGER manifest_delete",
				 &err),
		CM_OK);
	for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
		assert_int_equal(db_run(world.db->sql, "BEGIN", &err), CM_OK);
		assert_int_equal(db_run(world.db->sql, change[i], &err), CM_OK);
		assert_int_equal(judge(&second), CM_EDATA);
		assert_non_null(strstr(err.msg, "is damaged"));
		db_rollback(world.db->sql);
	}
	assert_int_equal(judge(&second), CM_OK);
	assert_int_equal(cl_db_check(world.db, &err), CM_OK);
	assert_int_equal(
		db_run(world.db->sql, "DROP TRIGGER plan_update; DROP TRIGGER pin_update", &err), CM_OK);
	for (size_t i = 0; i < sizeof change / sizeof *change + sizeof kept / sizeof *kept; i++) {
		size_t n = sizeof change / sizeof *change;

		assert_int_equal(db_run(world.db->sql, "BEGIN", &err), CM_OK);
		assert_int_equal(db_run(world.db->sql, i < n ? change[i] : kept[i - n], &err), CM_OK);
		assert_int_equal(cl_db_check(world.db, &err), CM_EDATA);
		assert_non_null(strstr(err.msg, "is damaged"));
		db_rollback(world.db->sql);
	}
	assert_int_equal(
		db_run(world.db->sql, "DELETE FROM manifest; UPDATE descriptor SET bytes = x'01'", &err),
		CM_OK);
	assert_int_equal(learn(), CM_EDATA);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tries_set_up, tries_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_void_try_is_followed_by_the_next_once_its_manifest_is_there),
		TEST(who_took_no_part_in_a_try_needs_no_manifest_of_it),
		TEST(without_its_void_manifest_a_try_counts_as_released),
		TEST(a_sealed_try_answers_the_entry),
		TEST(the_next_try_names_the_manifest_that_the_shuffler_gave),
		TEST(a_void_manifest_of_fewer_devices_than_have_receipts_is_refused),
		TEST(a_second_descriptor_for_a_try_is_refused),
		TEST(the_manifest_of_a_try_is_held_against_the_one_that_messages_are_proved_by),
		TEST(a_manifest_that_is_not_the_shufflers_of_this_round_is_not_kept),
		TEST(the_last_try_is_the_one_that_counts),
		TEST(damage_to_a_charge_a_manifest_or_a_descriptor_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
