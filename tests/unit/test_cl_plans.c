/* test_cl_plans.c - what a running client asks for beside rounds, and what becomes of each answer. */
#include "cl_world.h"

#include <string.h>

#include "cl_ledger.h"
#include "cl_plans.h"
#include "cl_standing.h"

static struct cm_err err;
static struct cl_world world;
static struct cl_offer offer;
static struct cl_setup setup;
static struct cl_plans plans;
static bool lost;

static const struct cr_key secret = { { 8 } };

static int set_up(void **state)
{
	static char population[] = "test";

	(void)state;
	cl_world_make(&world);
	cl_offer_make(&world, "grr", 1.0, &offer);
	setup = (struct cl_setup){ .analyzer = world.analyzer.verifier, .shuffler = world.shuffler.verifier };
	setup.conf.population = population;
	plans = (struct cl_plans){ .setup = &setup, .db = world.db, .key_hash = { 3 }, .secret = &secret };
	cm_buf_init(&plans.fetched, PR_PLAN_MAX);
	cm_buf_init(&plans.newest, PR_DESCRIPTOR_MAX);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_plans_fini(&plans);
	cl_offer_free(&offer);
	cl_world_free(&world);
	return 0;
}

static enum cm_rc answer(enum cl_ask ask, Tombola__V1__Frame *frame)
{
	err.msg[0] = '\0';
	return cl_plans_answer(&plans, ask, frame, CL_WORLD_NOW, &lost, &err);
}

static enum cm_rc answer_error(enum cl_ask ask, Tombola__V1__ErrorCode code)
{
	static char text[] = "words";
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Error e = TOMBOLA__V1__ERROR__INIT;

	e.code = code;
	e.text = text;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_ERROR;
	frame.error = &e;
	return answer(ask, &frame);
}

/* ours: with the MAC of this client. */
static enum cm_rc answer_standing_of(uint64_t sequence, const struct cr_signer *signer, bool ours)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Standing s = TOMBOLA__V1__STANDING__INIT;
	uint8_t said[RD_STANDING_LEN], signature[CR_SIGN_LEN], hash[PR_HASH_LEN] = { 0 }, mac[PR_MAC_LEN];

	memset(hash, sequence > 0 ? 5 : 0, sizeof hash);
	rd_standing_bytes(plans.key_hash, sequence, hash, said);
	assert_int_equal(cr_sign(signer, RD_PURPOSE_STANDING, said, sizeof said, signature, &err), CM_OK);
	s.sequence = sequence;
	s.descriptor_hash = (ProtobufCBinaryData){ sequence > 0 ? sizeof hash : 0, hash };
	s.signature = (ProtobufCBinaryData){ sizeof signature, signature };
	cl_standing_mac(&secret, "test", sequence, hash, mac);
	s.mac = (ProtobufCBinaryData){ ours && sequence > 0 ? sizeof mac : 0, mac };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_STANDING;
	frame.standing = &s;
	return answer(CL_ASK_STANDING, &frame);
}

static enum cm_rc answer_standing(uint64_t sequence, const struct cr_signer *signer)
{
	return answer_standing_of(sequence, signer, true);
}

static enum cm_rc answer_plan(const struct cl_world_plan *p, uint8_t *signature)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__SignedPlan s = TOMBOLA__V1__SIGNED_PLAN__INIT;

	s.plan = (ProtobufCBinaryData){ p->bytes.len, p->bytes.data };
	s.signature = (ProtobufCBinaryData){ CR_SIGN_LEN, signature };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_PLAN;
	frame.plan = &s;
	return answer(CL_ASK_PLAN, &frame);
}

static void need_plan(void)
{
	cl_plans_begin(&plans);
	plans.need.kind = CD_NEED_PLAN;
	memcpy(plans.need.plan_hash, offer.d.plan_hash, PR_HASH_LEN);
}

static void stated(const struct cl_offer *o)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	union cl_plans_wire wire;

	assert_int_equal(cl_plans_frame(&plans, CL_ASK_STANDING, &frame, &wire, &err), CM_OK);
	assert_int_equal(frame.get_standing->descriptor.len, o ? o->bytes.len : 0);
	assert_int_equal(frame.get_standing->signature.len, o ? CR_SIGN_LEN : 0);
	if (!o)
		return;
	assert_memory_equal(frame.get_standing->descriptor.data, o->bytes.data, o->bytes.len);
	assert_memory_equal(frame.get_standing->signature.data, o->signature, CR_SIGN_LEN);
}

/* The client states the newest descriptor that it has seen and verified, whether or not it took part. */
static void with_the_standing_goes_the_newest_descriptor(void **state)
{
	struct cl_offer later;

	(void)state;
	stated(NULL);
	assert_int_equal(
		cl_ledger_keep(world.db, &offer.d, offer.bytes.data, offer.bytes.len, offer.signature, &err),
		CM_OK);
	stated(&offer);
	cl_offer_make(&world, "grr", 1.0, &later);
	later.d.sequence = offer.d.sequence + 9;
	assert_int_equal(
		cl_ledger_keep(world.db, &later.d, later.bytes.data, later.bytes.len, later.signature, &err),
		CM_OK);
	stated(&later);
	cl_offer_free(&later);
}

static void on_every_connection_the_standing_comes_first(void **state)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	union cl_plans_wire wire;

	(void)state;
	for (int connection = 0; connection < 2; connection++) {
		need_plan();
		assert_int_equal(cl_plans_next(&plans), CL_ASK_STANDING);
		assert_int_equal(cl_plans_frame(&plans, CL_ASK_STANDING, &frame, &wire, &err), CM_OK);
		assert_int_equal(frame.kind_case, TOMBOLA__V1__FRAME__KIND_GET_STANDING);
		assert_int_equal(answer_standing(0, world.shuffler.signer), CM_OK);
		assert_int_equal(cl_plans_next(&plans), CL_ASK_PLAN);
		assert_int_equal(cl_plans_frame(&plans, CL_ASK_PLAN, &frame, &wire, &err), CM_OK);
		assert_int_equal(frame.kind_case, TOMBOLA__V1__FRAME__KIND_GET_PLAN);
		assert_memory_equal(frame.get_plan->plan_hash.data, offer.d.plan_hash, PR_HASH_LEN);
		plans.need.kind = CD_NEED_MANIFEST;
		assert_int_equal(cl_plans_next(&plans), CL_ASK_MANIFEST);
		assert_int_equal(cl_plans_frame(&plans, CL_ASK_MANIFEST, &frame, &wire, &err), CM_OK);
		assert_int_equal(frame.kind_case, TOMBOLA__V1__FRAME__KIND_GET_MANIFEST);
		assert_int_equal(frame.get_manifest->round_id.len, PR_ROUND_ID_LEN);
		cl_plans_begin(&plans);
		assert_int_equal(cl_plans_next(&plans), CL_ASK_ROUND);
		cl_plans_down(&plans);
	}
}

/* No round is requested without a standing. */
static void a_standing_that_is_not_the_shufflers_is_not_taken(void **state)
{
	(void)state;
	assert_int_equal(answer_standing(0, world.analyzer.signer), CM_EPROTO);
	assert_int_equal(cl_plans_next(&plans), CL_ASK_STANDING);
	assert_int_equal(answer_error(CL_ASK_STANDING, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND), CM_EPROTO);
	assert_int_equal(
		answer_error(CL_ASK_STANDING, TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND), CM_EPROTO);
	assert_int_equal(answer_error(CL_ASK_STANDING, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY), CM_ELATER);
	assert_int_equal(cl_plans_next(&plans), CL_ASK_STANDING);
	/* The answer is not one to the request. */
	need_plan();
	assert_int_equal(answer_plan(&world.plan[0], world.plan[0].signature), CM_OK);
	plans.standing = true;
	/* A standing that this client did not make ends the request, and nothing else. */
	assert_int_equal(answer_standing_of(4, world.shuffler.signer, false), CM_EPERM);
	assert_false(lost);
	assert_int_equal(cl_plans_next(&plans), CL_ASK_STANDING);
	assert_non_null(strstr(plans.foreign, "confirms round 4"));
	assert_int_equal(answer_standing(0, world.shuffler.signer), CM_OK);
	assert_string_equal(plans.foreign, "");
	assert_int_equal(answer_standing(4, world.shuffler.signer), CM_OK);
	assert_true(lost);
	assert_non_null(strstr(err.msg, "a report of round 4"));
	assert_int_equal(answer_standing(4, world.shuffler.signer), CM_OK);
	assert_false(lost);
}

static void a_plan_is_learnt_or_absent(void **state)
{
	struct rd_plan p;

	(void)state;
	need_plan();
	assert_int_equal(answer_error(CL_ASK_PLAN, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND), CM_OK);
	assert_int_equal(plans.need.kind, CD_NEED_NOTHING);
	assert_non_null(strstr(plans.absent, "words"));
	need_plan();
	assert_string_equal(plans.absent, "");
	assert_int_equal(answer_error(CL_ASK_PLAN, TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE), CM_ELATER);
	assert_string_equal(plans.absent, "");
	/* A plan that was not requested, and one that is not signed. */
	need_plan();
	plans.need.plan_hash[0] ^= 1;
	assert_int_equal(answer_plan(&world.plan[0], world.plan[0].signature), CM_OK);
	assert_non_null(strstr(plans.absent, "is not the one that was asked for"));
	need_plan();
	assert_int_equal(answer_plan(&world.plan[0], offer.signature), CM_OK);
	assert_string_equal(plans.absent, "the plan is not signed by the analyzer");
	assert_int_equal(cl_plan_find(world.db, offer.d.plan_hash, &p, &err), CM_ENOINPUT);
	need_plan();
	assert_int_equal(answer_plan(&world.plan[0], world.plan[0].signature), CM_OK);
	assert_string_equal(plans.absent, "");
	assert_int_equal(cl_plan_find(world.db, offer.d.plan_hash, &p, &err), CM_OK);
	rd_plan_fini(&p);
	/* A frame of another kind costs the connection. */
	need_plan();
	assert_int_equal(answer_standing(0, world.shuffler.signer), CM_OK);
	{
		Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
		Tombola__V1__Standing s = TOMBOLA__V1__STANDING__INIT;

		frame.kind_case = TOMBOLA__V1__FRAME__KIND_STANDING;
		frame.standing = &s;
		assert_int_equal(answer(CL_ASK_PLAN, &frame), CM_EPROTO);
	}
}

static void without_a_database_a_plan_is_only_fetched(void **state)
{
	(void)state;
	plans.db = NULL;
	need_plan();
	assert_int_equal(cl_plans_next(&plans), CL_ASK_PLAN);
	assert_int_equal(answer_plan(&world.plan[0], world.plan[0].signature), CM_OK);
	assert_int_equal(plans.fetched.len, world.plan[0].bytes.len);
	assert_memory_equal(plans.fetched.data, world.plan[0].bytes.data, plans.fetched.len);
	assert_memory_equal(plans.fetched_signature, world.plan[0].signature, CR_SIGN_LEN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(with_the_standing_goes_the_newest_descriptor),
		TEST(on_every_connection_the_standing_comes_first),
		TEST(a_standing_that_is_not_the_shufflers_is_not_taken),
		TEST(a_plan_is_learnt_or_absent),
		TEST(without_a_database_a_plan_is_only_fetched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
