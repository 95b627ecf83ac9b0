/* test_an_put.c - a round's payload is put to the shuffler before the round is announced: in parts from what
 * is held, again where it was lost, and never for ever. */
#include "an_world.h"

#include <stdio.h>
#include <string.h>

#include "an_budget.h"
#include "co_compute.h"
#include "lk_link.h"

#define SIZE (PR_PAYLOAD_PART + 1000u)

static const char plan[] =
	"name = \"test\"\npopulation = \"testers\"\nbudget = { epsilon = 8.0, delta = 1e-6 }\n"
	"rounds = ( { query = \"w\", type = \"vector\", protocol = \"words\", epsilon0 = 1.0, "
	"min_reports = 20, dimension = 4, range = [-1.0, 1.0], payload = \"later\", "
	"compute = { map = \"program\"; features = \"x\"; feature_count = 2; seconds = 1.0; program = "
	"\"sha256:61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a\"; } } )\n";

static struct world w;
static uint8_t bytes[SIZE];
static struct an_round_state *r;
static struct an_round *dialogue;
static struct an_action a;
static struct cm_err err;

static enum cm_rc keep(void *user, const struct rd_signed *manifest, struct cm_err *e)
{
	(void)user, (void)manifest;
	return cm_fail(e, CM_EINTERNAL, "no manifest comes");
}

static int64_t now(void)
{
	return WORLD_NOW;
}

static void next(enum an_act act)
{
	an_round_next(dialogue, &a);
	assert_int_equal(a.act, act);
}

static void sends(Tombola__V1__Frame__KindCase kind)
{
	next(AN_ACT_SEND);
	if (a.frame->kind_case != kind)
		fail_msg("%s", pr_kind_name(a.frame));
}

static enum cm_rc answer_error(Tombola__V1__ErrorCode code)
{
	static char text[] = "words";
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Error e = TOMBOLA__V1__ERROR__INIT;

	e.code = code;
	e.text = text;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_ERROR;
	frame.error = &e;
	return an_round_frame(dialogue, &frame, &err);
}

static enum cm_rc answer_witness(void)
{
	const struct rd_chain *chain = an_ledger_chain(w.files.ledger);
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Witness m = TOMBOLA__V1__WITNESS__INIT;

	m.ledger_seq = chain->seq;
	m.ledger_head = (ProtobufCBinaryData){ PR_HASH_LEN, (uint8_t *)(uintptr_t)chain->head };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_WITNESS;
	frame.witness = &m;
	return an_round_frame(dialogue, &frame, &err);
}

static enum cm_rc answer_held(uint64_t held, uint8_t first)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__PayloadHeld m = TOMBOLA__V1__PAYLOAD_HELD__INIT;
	uint8_t hash[PR_HASH_LEN];

	memcpy(hash, r->descriptor.payload_hash, sizeof hash);
	hash[0] ^= first;
	m.hash = (ProtobufCBinaryData){ sizeof hash, hash };
	m.held = held;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_PAYLOAD_HELD;
	frame.payload_held = &m;
	return an_round_frame(dialogue, &frame, &err);
}

/* A reserved round whose payload has these bytes here, up to where it is put or announced. */
static void begin(size_t here, bool announced)
{
	const struct an_round_conf conf = { .ledger = w.files.ledger,
		.round = r,
		.signer = w.analyzer.signer,
		.shuffler = w.shuffler.verifier,
		.population = "testers",
		.payload = { bytes, here },
		.announced = announced,
		.wait_ms = 1000,
		.keep = keep,
		.wall_ms = now,
		.peer_error = pr_error };

	assert_int_equal(an_round_new(&conf, &dialogue, &err), CM_OK);
	assert_int_equal(an_round_connected(dialogue, &err), CM_OK);
	sends(TOMBOLA__V1__FRAME__KIND_GET_WITNESS);
	assert_int_equal(answer_witness(), CM_OK);
}

static int set_up(void **state)
{
	struct rd_verdict verdict;
	struct an_decision decision = { .verdict = &verdict, .take = true, .payload = { bytes, SIZE } };

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 13 + i / 255);
	world_make(&w, plan, 1);
	r = &w.files.state.round[0];
	if (an_budget_decide(&w.files.state, r, &verdict, &err) != CM_OK ||
		an_ledger_files_decide(&w.files, r, &decision, &w.rng, WORLD_NOW, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(r->stage, AN_RESERVED);
	assert_int_equal(r->descriptor.payload_size, SIZE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	an_round_free(dialogue);
	dialogue = NULL;
	world_free(&w);
	return 0;
}
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void is_part(uint64_t offset, size_t n)
{
	const Tombola__V1__PutPayload *m;

	sends(TOMBOLA__V1__FRAME__KIND_PUT_PAYLOAD);
	m = a.frame->put_payload;
	assert_int_equal(m->size, SIZE);
	assert_int_equal(m->offset, offset);
	assert_int_equal(m->data.len, n);
	assert_memory_equal(m->hash.data, r->descriptor.payload_hash, PR_HASH_LEN);
	if (n > 0)
		assert_memory_equal(m->data.data, bytes + offset, n);
}

static void it_is_put_in_parts_from_what_is_held(void **state)
{
	(void)state;
	begin(SIZE, false);
	is_part(0, 0);
	assert_int_equal(answer_held(7, 0), CM_OK);
	is_part(7, PR_PAYLOAD_PART);
	assert_int_equal(answer_held(PR_PAYLOAD_PART + 7, 0), CM_OK);
	is_part(PR_PAYLOAD_PART + 7, 993);
	/* After the link broke, the dialogue begins with the question again. */
	assert_int_equal(an_round_connected(dialogue, &err), CM_OK);
	sends(TOMBOLA__V1__FRAME__KIND_GET_WITNESS);
	assert_int_equal(answer_witness(), CM_OK);
	is_part(0, 0);
	assert_int_equal(answer_error(TOMBOLA__V1__ERROR_CODE__ERROR_BUSY), CM_OK);
	next(AN_ACT_PAUSE);
	assert_int_equal(an_round_resume(dialogue, &err), CM_OK);
	is_part(0, PR_PAYLOAD_PART);
	assert_int_equal(answer_held(SIZE, 0), CM_OK);
	sends(TOMBOLA__V1__FRAME__KIND_ANNOUNCE);
}

static void a_round_that_was_announced_is_announced_without(void **state)
{
	(void)state;
	begin(SIZE, true);
	sends(TOMBOLA__V1__FRAME__KIND_ANNOUNCE);
}

static void answers_that_lead_nowhere_are_faults(void **state)
{
	static const uint64_t bad[] = { 7, 6, 0, SIZE + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		begin(SIZE, false);
		is_part(0, 0);
		assert_int_equal(answer_held(7, 0), CM_OK);
		is_part(7, PR_PAYLOAD_PART);
		assert_int_equal(answer_held(bad[i], 0), CM_EPROTO);
		an_round_free(dialogue);
	}
	begin(SIZE, false);
	is_part(0, 0);
	assert_int_equal(answer_held(7, 1), CM_EPROTO);
}

static void voided(const char *reason)
{
	next(AN_ACT_APPEND);
	assert_int_equal(a.record->kind, RD_VOID);
	assert_string_equal(a.record->reason, reason);
}

static void a_shuffler_that_loses_it_gets_it_again_three_times(void **state)
{
	(void)state;
	begin(SIZE, false);
	for (int i = 0; i < 4; i++) {
		is_part(0, 0);
		assert_int_equal(answer_held(SIZE, 0), CM_OK);
		sends(TOMBOLA__V1__FRAME__KIND_ANNOUNCE);
		assert_int_equal(answer_error(TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND), CM_OK);
	}
	voided(AN_NOT_TAKEN " (payload): it does not keep the payload");
}

static void one_that_is_lost_here_may_be_there(void **state)
{
	(void)state;
	begin(0, false);
	sends(TOMBOLA__V1__FRAME__KIND_ANNOUNCE);
	assert_int_equal(answer_error(TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND), CM_OK);
	voided(AN_NOT_TAKEN " (payload): the payload is lost here");
}

static void a_policy_that_refuses_it_makes_the_try_void_before_anybody_was_asked(void **state)
{
	(void)state;
	begin(SIZE, false);
	is_part(0, 0);
	assert_int_equal(answer_error(TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED), CM_OK);
	voided(AN_NOT_TAKEN " (policy): words");
	an_round_free(dialogue);
	begin(SIZE, false);
	is_part(0, 0);
	assert_int_equal(answer_error(TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE), CM_EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_put_in_parts_from_what_is_held),
		TEST(a_round_that_was_announced_is_announced_without),
		TEST(answers_that_lead_nowhere_are_faults),
		TEST(a_shuffler_that_loses_it_gets_it_again_three_times),
		TEST(one_that_is_lost_here_may_be_there),
		TEST(a_policy_that_refuses_it_makes_the_try_void_before_anybody_was_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
