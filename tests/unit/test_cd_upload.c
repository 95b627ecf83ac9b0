/* test_cd_upload.c - frames to connections and receipts to frames, with a shuffler that answers as it
 * likes. */
#include "cl_world.h"

#include <stdlib.h>
#include <string.h>

#include "cd_upload.h"

#define DEVICE_LEN 80u
#define WINDOW     2u
#define DEVICES    8u /* most devices of a frame */
#define FRAMES     4u

static struct cm_err err;
static struct cl_world world;
static struct cd_upload *upload; /* the memory's beginning */
static const uint8_t round_id[PR_ROUND_ID_LEN] = { 1, 2, 3 };

static int set_up(void **state)
{
	struct cd_upload_conf conf = {
		.shape = { 2, DEVICE_LEN / 2, 0 }, .window = WINDOW, .devices = DEVICES, .frames = FRAMES
	};
	void *memory;

	(void)state;
	cl_world_make(&world);
	memcpy(conf.round_id, round_id, sizeof round_id);
	conf.shuffler = world.shuffler.verifier;
	memory = malloc(cd_upload_len(&conf));
	assert_non_null(memory);
	/* What was in the memory does not matter. */
	memset(memory, 0xa5, cd_upload_len(&conf));
	upload = cd_upload_begin(&conf, memory);
	assert_ptr_equal(upload, memory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_world_mutant("");
	free(upload);
	cl_world_free(&world);
	return 0;
}

/* Give a frame of n devices whose bytes are all `tag`; its slots are tag*100 and up. */
static void give(uint8_t tag, size_t n)
{
	struct cd_frame_room room;

	assert_true(cd_upload_room(upload, &room));
	for (size_t i = 0; i < n; i++)
		room.slot[i] = tag * 100 + (int64_t)i;
	memset(room.pseudonyms, tag, n * PR_PSEUDONYM_LEN);
	memset(room.salts, tag ^ 0x55, n * RD_SALT_LEN);
	memset(room.sealed, tag, n * DEVICE_LEN);
	cd_upload_give(upload, n);
}

/* The tag of the next frame on a connection, 0 for none; its bytes are checked. */
static uint8_t next(unsigned connection)
{
	Tombola__V1__Submit s;

	if (cd_upload_next(upload, connection, &s) != CM_OK)
		return 0;
	assert_int_equal(s.round_id.len, PR_ROUND_ID_LEN);
	assert_memory_equal(s.round_id.data, round_id, PR_ROUND_ID_LEN);
	assert_int_equal(s.sealed.len / DEVICE_LEN, s.pseudonyms.len / PR_PSEUDONYM_LEN);
	for (size_t i = 0; i < s.sealed.len; i++)
		assert_int_equal(s.sealed.data[i], s.sealed.data[0]);
	for (size_t i = 0; i < s.pseudonyms.len; i++)
		assert_int_equal(s.pseudonyms.data[i], s.sealed.data[0]);
	return s.sealed.data[0];
}

struct receipt {
	Tombola__V1__Receipt r;
	uint8_t id[PR_ROUND_ID_LEN], outcome[8], signature[CR_SIGN_LEN];
};

/* SHA-256 of spans one after the other. */
static void sum(const struct cr_span *spans, size_t n, uint8_t out[32])
{
	cr_sha256_spans(spans, n, out);
}

/* The device's leaf by doc/wire.md: two messages of DEVICE_LEN / 2 bytes, all `tag`. */
static void leaf_of(uint8_t tag, uint8_t outcome, uint8_t out[32])
{
	uint8_t salt[32], name[32], message[DEVICE_LEN / 2], blind[32], hash[32], leaf[2][32], root[32];

	memset(salt, tag ^ 0x55, sizeof salt);
	memset(name, tag, sizeof name);
	memset(message, tag, sizeof message);
	cr_sha256(message, sizeof message, hash);
	for (uint8_t k = 0; k < 2; k++) {
		const uint8_t number[4] = { k };

		sum((struct cr_span[]){ { "\2", 1 }, { salt, 32 }, { number, 4 } }, 3, blind);
		sum((struct cr_span[]){ { "\0", 1 }, { blind, 32 }, { hash, 32 } }, 3, leaf[k]);
	}
	sum((struct cr_span[]){ { "\1", 1 }, { leaf, 64 } }, 2, root);
	sum((struct cr_span[]){ { "\2", 1 }, { salt, 32 }, { "\377\377\377\377", 4 }, { name, 32 } }, 4,
		blind);
	sum((struct cr_span[]){ { "\0", 1 }, { blind, 32 }, { root, 32 }, { &outcome, 1 } }, 4, out);
}

/* The root over the leaves first..first+n-1, by the definition of RFC 6962. */
static void root_of(uint8_t (*leaf)[32], size_t n, uint8_t out[32])
{
	uint8_t left[32], right[32];
	size_t k = 1;

	if (n == 1) {
		memcpy(out, leaf[0], 32);
		return;
	}
	while (2 * k < n)
		k *= 2;
	root_of(leaf, k, left);
	root_of(leaf + k, n - k, right);
	sum((struct cr_span[]){ { "\1", 1 }, { left, 32 }, { right, 32 } }, 3, out);
}

/* The answer of an honest shuffler to give(tag, n), by doc/wire.md: a signature over round id, root, n. */
static struct receipt *answer(uint8_t tag, size_t n, uint8_t outcome, const struct cr_signer *signer)
{
	static struct receipt receipts[8];
	static unsigned used;
	struct receipt *a = &receipts[used++ % 8];
	uint8_t bytes[PR_ROUND_ID_LEN + 32 + 8] = { 0 }, leaf[8][32];

	tombola__v1__receipt__init(&a->r);
	memcpy(a->id, round_id, sizeof a->id);
	memset(a->outcome, outcome, sizeof a->outcome);
	for (size_t i = 0; i < n; i++)
		leaf_of(tag, outcome, leaf[i]);
	memcpy(bytes, round_id, PR_ROUND_ID_LEN);
	root_of(leaf, n, bytes + PR_ROUND_ID_LEN);
	bytes[PR_ROUND_ID_LEN + 32] = (uint8_t)n;
	assert_int_equal(cr_sign(signer, "tombola receipt", bytes, sizeof bytes, a->signature, &err), CM_OK);
	a->r.round_id = (ProtobufCBinaryData){ sizeof a->id, a->id };
	a->r.outcomes = (ProtobufCBinaryData){ n, a->outcome };
	a->r.signature = (ProtobufCBinaryData){ sizeof a->signature, a->signature };
	return a;
}

static enum cm_rc take(unsigned connection, const struct receipt *a, struct cd_answer *out)
{
	err.msg[0] = '\0';
	return cd_upload_receipt(upload, connection, &a->r, out, &err);
}

static void frames_go_out_in_order_up_to_the_window_and_are_answered(void **state)
{
	struct cd_answer a;

	(void)state;
	for (uint8_t t = 1; t <= 4; t++)
		give(t, t);
	assert_int_equal(next(0), 1);
	assert_int_equal(next(0), 2);
	assert_int_equal(next(0), 0);
	assert_int_equal(next(1), 3);
	assert_int_equal(cd_upload_waiting(upload), 1);
	assert_int_equal(take(0, answer(1, 1, 1, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.slot[0], 100);
	assert_int_equal(a.outcome[0], 1);
	assert_int_equal(next(0), 4);
	assert_int_equal(take(1, answer(3, 3, 2, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(a.slot[2], 302);
	assert_int_equal(a.outcome[2], 2);
	assert_int_equal(take(0, answer(2, 2, 3, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(take(0, answer(4, 4, 4, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(cd_upload_unanswered(upload), 0);
}

static void every_message_of_a_frame_can_be_opened_and_verifies(void **state)
{
	struct rd_opening o;
	struct cd_answer a;

	(void)state;
	for (uint8_t n = 1; n <= 8; n++) {
		give(n, n);
		assert_int_equal(next(0), n);
		assert_int_equal(take(0, answer(n, n, 1, world.shuffler.signer), &a), CM_OK);
		for (size_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < 2; k++) {
				cd_upload_opening(upload, i, k, &o);
				assert_int_equal(
					rd_opening_verify(&o, round_id, 2, world.shuffler.verifier, &err),
					CM_OK);
			}
	}
	/* A device that was not accepted is not shown as accepted. */
	give(9, 3);
	assert_int_equal(next(0), 9);
	assert_int_equal(take(0, answer(9, 3, 3, world.shuffler.signer), &a), CM_OK);
	cd_upload_opening(upload, 1, 1, &o);
	assert_int_equal(rd_opening_verify(&o, round_id, 2, world.shuffler.verifier, &err), CM_EPERM);
}

static void receipts_out_of_order_find_their_frames(void **state)
{
	struct cd_answer a;

	(void)state;
	give(1, 2);
	give(2, 2);
	assert_int_equal(next(0), 1);
	assert_int_equal(next(0), 2);
	assert_int_equal(take(0, answer(2, 2, 1, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(a.slot[0], 200);
	assert_int_equal(take(0, answer(1, 2, 1, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(a.slot[0], 100);
}

static void a_receipt_signed_by_another_key_answers_nothing_unless_the_check_is_removed(void **state)
{
	struct cd_answer a;

	(void)state;
	give(1, 2);
	assert_int_equal(next(0), 1);
	assert_int_equal(take(0, answer(1, 2, 1, world.analyzer.signer), &a), CM_EPERM);
	assert_string_equal(err.msg, "receipt: not signed by the shuffler over what was sent");
	assert_int_equal(cd_upload_unanswered(upload), 1);
#ifdef TOMBOLA_MUTANTS
	cl_world_mutant("client.receipt");
	assert_int_equal(take(0, answer(1, 2, 1, world.analyzer.signer), &a), CM_OK);
#endif
}

static void a_receipt_for_other_bytes_answers_nothing(void **state)
{
	struct cd_answer a;

	(void)state;
	give(1, 2);
	assert_int_equal(next(0), 1);
	assert_int_equal(take(0, answer(9, 2, 1, world.shuffler.signer), &a), CM_EPERM);
}

static void an_outcome_changed_after_signing_answers_nothing(void **state)
{
	struct receipt *r;
	struct cd_answer a;

	(void)state;
	give(1, 2);
	assert_int_equal(next(0), 1);
	r = answer(1, 2, 2, world.shuffler.signer);
	r->outcome[1] = 1;
	assert_int_equal(take(0, r, &a), CM_EPERM);
}

static void wrong_counts_rounds_outcomes_and_lengths_are_protocol_faults(void **state)
{
	struct receipt *r;
	struct cd_answer a;

	(void)state;
	give(1, 2);
	assert_int_equal(next(0), 1);
	assert_int_equal(take(0, answer(1, 3, 1, world.shuffler.signer), &a), CM_EPROTO);
	assert_int_equal(take(0, answer(1, 1, 1, world.shuffler.signer), &a), CM_EPROTO);
	r = answer(1, 2, 1, world.shuffler.signer);
	r->r.outcomes.len = 0;
	assert_int_equal(take(0, r, &a), CM_EPROTO);
	r = answer(1, 2, 1, world.shuffler.signer);
	r->id[0] ^= 1;
	assert_int_equal(take(0, r, &a), CM_EPROTO);
	r = answer(1, 2, 1, world.shuffler.signer);
	r->r.round_id.len = 0;
	assert_int_equal(take(0, r, &a), CM_EPROTO);
	assert_int_equal(take(0, answer(1, 2, 0, world.shuffler.signer), &a), CM_EPROTO);
	assert_int_equal(take(0, answer(1, 2, 5, world.shuffler.signer), &a), CM_EPROTO);
	r = answer(1, 2, 1, world.shuffler.signer);
	r->r.signature.len = 63;
	assert_int_equal(take(0, r, &a), CM_EPERM);
	assert_int_equal(cd_upload_unanswered(upload), 1);
	assert_int_equal(take(0, answer(1, 2, 1, world.shuffler.signer), &a), CM_OK);
}

static void a_receipt_on_a_connection_that_sent_nothing_is_a_fault(void **state)
{
	struct cd_answer a;

	(void)state;
	give(1, 1);
	assert_int_equal(next(0), 1);
	assert_int_equal(take(1, answer(1, 1, 1, world.shuffler.signer), &a), CM_EPROTO);
	assert_int_equal(take(0, answer(1, 1, 1, world.shuffler.signer), &a), CM_OK);
	/* A receipt counts once. */
	assert_int_equal(take(0, answer(1, 1, 1, world.shuffler.signer), &a), CM_EPROTO);
}

static void a_lost_connections_frames_go_out_again_unchanged_and_first(void **state)
{
	struct cd_answer a;

	(void)state;
	for (uint8_t t = 1; t <= 4; t++)
		give(t, 2);
	assert_int_equal(next(0), 1);
	assert_int_equal(next(1), 2);
	assert_int_equal(next(0), 3);
	cd_upload_lost(upload, 0);
	assert_int_equal(cd_upload_waiting(upload), 3);
	assert_int_equal(next(1), 1);
	assert_int_equal(next(0), 3);
	assert_int_equal(next(0), 4);
	assert_int_equal(take(1, answer(1, 2, 1, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(take(1, answer(2, 2, 1, world.shuffler.signer), &a), CM_OK);
	cd_upload_lost(upload, 1);
	assert_int_equal(cd_upload_waiting(upload), 0);
	assert_int_equal(cd_upload_unanswered(upload), 2);
}

static void an_answered_frame_at_the_end_leaves_room_for_more(void **state)
{
	struct cd_answer a;

	(void)state;
	give(1, 1);
	give(2, 1);
	assert_int_equal(next(0), 1);
	assert_int_equal(next(0), 2);
	assert_int_equal(take(0, answer(2, 1, 1, world.shuffler.signer), &a), CM_OK);
	give(3, 1);
	assert_int_equal(next(0), 3);
	assert_int_equal(take(0, answer(1, 1, 1, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(take(0, answer(3, 1, 1, world.shuffler.signer), &a), CM_OK);
	give(4, 1);
	assert_int_equal(next(0), 4);
}

static void no_more_frames_are_held_than_the_memory_has(void **state)
{
	struct cd_frame_room room;
	struct cd_answer a;

	(void)state;
	for (uint8_t t = 1; t <= FRAMES; t++)
		give(t, DEVICES);
	assert_false(cd_upload_room(upload, &room));
	assert_int_equal(next(0), 1);
	assert_int_equal(next(1), 2);
	assert_false(cd_upload_room(upload, &room));
	cd_upload_lost(upload, 1);
	assert_false(cd_upload_room(upload, &room));
	assert_int_equal(take(0, answer(1, DEVICES, 1, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(a.slot[DEVICES - 1], 100 + DEVICES - 1);
	/* The answered frame's memory takes the next, which waits behind the others. */
	give(5, DEVICES);
	assert_false(cd_upload_room(upload, &room));
	assert_int_equal(cd_upload_waiting(upload), 4);
	assert_int_equal(next(0), 2);
	assert_int_equal(next(0), 3);
	assert_int_equal(next(1), 4);
	assert_int_equal(next(1), 5);
	for (uint8_t t = 2; t <= 5; t++)
		assert_int_equal(
			take(t < 4 ? 0 : 1, answer(t, DEVICES, 1, world.shuffler.signer), &a), CM_OK);
	assert_int_equal(cd_upload_unanswered(upload), 0);
}

static void a_frame_holds_as_many_devices_as_fit(void **state)
{
	(void)state;
	assert_int_equal(cd_upload_frame_devices(80, 300), 300);
	assert_int_equal(cd_upload_frame_devices(80, 100000), PR_SUBMISSIONS_MAX);
	assert_int_equal(cd_upload_frame_devices(1 << 19, 300), 1);
	assert_int_equal(cd_upload_frame_devices(100000, 300), 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(frames_go_out_in_order_up_to_the_window_and_are_answered),
		TEST(every_message_of_a_frame_can_be_opened_and_verifies),
		TEST(receipts_out_of_order_find_their_frames),
		TEST(a_receipt_signed_by_another_key_answers_nothing_unless_the_check_is_removed),
		TEST(a_receipt_for_other_bytes_answers_nothing),
		TEST(an_outcome_changed_after_signing_answers_nothing),
		TEST(wrong_counts_rounds_outcomes_and_lengths_are_protocol_faults),
		TEST(a_receipt_on_a_connection_that_sent_nothing_is_a_fault),
		TEST(a_lost_connections_frames_go_out_again_unchanged_and_first),
		TEST(an_answered_frame_at_the_end_leaves_room_for_more),
		TEST(no_more_frames_are_held_than_the_memory_has),
		TEST(a_frame_holds_as_many_devices_as_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
