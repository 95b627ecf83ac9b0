/* test_link.c - a link over real loopback sockets: Hello, frames, and peers that break the rules. */
#include <stdlib.h>
#include <string.h>

#include <malloc.h>

#include "cm_log.h"
#include "link_world.h"
#include "pr_arena.h"

static bool no_memory; /* for a frame that comes */

struct pr_arena *__real_pr_arena_new(size_t size);
struct pr_arena *__wrap_pr_arena_new(size_t size);

struct pr_arena *__wrap_pr_arena_new(size_t size)
{
	return no_memory ? NULL : __real_pr_arena_new(size);
}

/* ---- it works ---- */

static void both_sides_say_hello_and_are_ready(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	connect_both(&w);
	assert_int_equal(lk_peer(w.s.link)->role, CR_ROLE_CLIENT);
	assert_int_equal(lk_peer(w.c.link)->role, CR_ROLE_SHUFFLER);
	assert_int_equal(w.s.frames + w.c.frames, 0); /* Hello is not for the owner */
	lk_close(w.c.link, NULL);
	RUN_UNTIL(&w, w.c.closes == 1 && w.s.closes == 1);
	assert_int_equal(w.c.why.code, CM_OK);
	assert_int_equal(w.s.why.code, CM_OK);
	world_fini(&w);
}

static void what_one_sends_the_other_counts(void **state)
{
	const struct lk_counts *s, *c;
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	s = &w.s.counts;
	c = &w.c.counts;
	connect_both(&w);
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(send_counter(w.c.link, i, &err), CM_OK);
	assert_int_equal(send_counter(w.s.link, 1, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 3 && w.c.frames == 1);
	assert_int_equal(s->links, 1);
	assert_int_equal(c->links, 1);
	/* A Hello each, too. */
	assert_int_equal(c->frames_out, 4);
	assert_int_equal(s->frames_out, 2);
	assert_int_equal(s->frames_in, c->frames_out);
	assert_int_equal(c->frames_in, s->frames_out);
	assert_int_equal(s->bytes_in, c->bytes_out);
	assert_int_equal(c->bytes_in, s->bytes_out);
	assert_true(c->bytes_out > s->bytes_out && s->bytes_out > 0);
	assert_refused(s, LK_REFUSED_OTHER, 0);
	assert_refused(c, LK_REFUSED_OTHER, 0);
	world_fini(&w);
}

static void ten_thousand_frames_arrive_in_order(void **state)
{
	struct world w;
	struct cm_err err;

	(void)state;
	world_init(&w);
	connect_both(&w);
	for (uint64_t i = 1; i <= 10000; i++)
		assert_int_equal(send_counter(w.c.link, i, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 10000);
	assert_true(w.s.in_order);
	assert_int_equal(w.s.last, 10000);
	RUN_UNTIL(&w, w.c.drains > 0);
	world_fini(&w);
}

static void a_frame_of_nearly_a_megabyte_arrives(void **state)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Submit submit = TOMBOLA__V1__SUBMIT__INIT;
	uint8_t id[16] = { 1 }, *pseudonyms = calloc(249, 32), *sealed = calloc(249, 4144);
	struct world w;
	struct cm_err err;

	(void)state;
	assert_true(pseudonyms && sealed);
	world_init(&w);
	connect_both(&w);
	submit.round_id = (ProtobufCBinaryData){ sizeof id, id };
	submit.pseudonyms = (ProtobufCBinaryData){ 249 * 32, pseudonyms };
	submit.salts = submit.pseudonyms;
	submit.sealed = (ProtobufCBinaryData){ 249 * 4144, sealed };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_SUBMIT;
	frame.submit = &submit;
	if (lk_send(w.c.link, &frame, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(send_counter(w.c.link, 1, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 2 || w.s.closes == 1);
	assert_int_equal(w.s.sealed_len, 249 * 4144);
	assert_int_equal(w.s.last, 1);
	free(pseudonyms);
	free(sealed);
	world_fini(&w);
}

static void an_error_arrives_with_all_it_says(void **state)
{
	static const uint8_t id[PR_ROUND_ID_LEN] = { 7 };
	char longer[400];
	struct world w;

	(void)state;
	world_init(&w);
	connect_both(&w);
	lk_send_error(w.s.link, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, "come again", 250, id);
	RUN_UNTIL(&w, w.c.errors == 1);
	assert_int_equal(w.c.error, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY);
	assert_string_equal(w.c.error_text, "come again");
	assert_int_equal(w.c.retry, 250);
	assert_int_equal(w.c.round_id_len, 16);
	/* A text beyond the maximum is cut by us, and not refused by the other end. */
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	lk_send_error(w.s.link, TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE, longer, 0, NULL);
	RUN_UNTIL(&w, w.c.errors == 2);
	assert_int_equal(strlen(w.c.error_text), PR_TEXT_MAX);
	assert_int_equal(w.c.round_id_len, 0);
	world_fini(&w);
}

static void frames_cut_into_single_bytes_are_put_together(void **state)
{
	static const uint8_t get[] = { 0, 0, 0, 4, 0x1a, 2, 0x10, 1 }; /* GetRound{after: 1} */
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	RUN_UNTIL(&w, w.s.readies == 1);
	for (size_t i = 0; i < sizeof get; i++) {
		raw_send(&w, get + i, 1);
		for (int k = 0; k < 4; k++)
			(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	RUN_UNTIL(&w, w.s.frames == 1 || w.s.closes == 1);
	assert_int_equal(w.s.last, 1);
	world_fini(&w);
}

/* ---- back-pressure ---- */

static void a_paused_link_hands_over_nothing_until_resumed_and_loses_nothing(void **state)
{
	struct world w;
	struct cm_err err;

	(void)state;
	world_init(&w);
	connect_both(&w);
	w.s.pause_each = true; /* every frame pauses */
	for (uint64_t i = 1; i <= 50; i++)
		assert_int_equal(send_counter(w.c.link, i, &err), CM_OK);
	for (uint64_t i = 1; i <= 50; i++) {
		RUN_UNTIL(&w, w.s.frames == i);
		for (int k = 0; k < 3; k++)
			(void)uv_run(&w.loop, UV_RUN_NOWAIT);
		assert_int_equal(w.s.frames, i);
		lk_resume(w.s.link);
		assert_int_equal(w.s.frames, i); /* never from within lk_resume */
	}
	assert_true(w.s.in_order);
	world_fini(&w);
}

static void a_peer_that_floods_a_paused_link_is_held_back_by_its_own_limit(void **state)
{
	struct world w;
	struct cm_err err = { .code = CM_OK };
	uint64_t sent = 0;

	(void)state;
	world_init(&w);
	w.limits.max_pending = 1u << 20;
	connect_both(&w);
	lk_pause(w.s.link);
	while (send_counter(w.c.link, sent + 1, &err) == CM_OK) {
		sent++;
		if (sent % 1000 == 0)
			(void)uv_run(&w.loop, UV_RUN_NOWAIT);
		assert_true(sent < 10u << 20);
	}
	assert_int_equal(err.code, CM_EUNAVAIL);
	assert_int_equal(w.s.frames, 0);
	RUN_UNTIL(&w, w.c.closes == 1);
	world_fini(&w);
}

/* ---- peers that break the rules ---- */

static void another_major_version_is_answered_and_closed(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 2);
	RUN_UNTIL(&w, w.raw_closes == 1);
	assert_true(raw_was_told(&w, "the peer speaks version 2.0, we speak 1.1"));
	assert_int_equal(w.s.readies, 0);
	assert_int_equal(w.s.closes, 0); /* the owner never knew it */
	world_fini(&w);
}

static void a_frame_before_hello_is_answered_and_closed(void **state)
{
	static const uint8_t get[] = { 0, 0, 0, 4, 0x1a, 2, 0x10, 1 };
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_send(&w, get, sizeof get);
	RUN_UNTIL(&w, w.raw_closes == 1);
	assert_true(raw_was_told(&w, "instead of hello"));
	assert_int_equal(w.s.readies, 0);
	world_fini(&w);
}

static void a_second_hello_is_answered_and_closed(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	raw_hello(&w, 1);
	RUN_UNTIL(&w, w.raw_closes == 1 && w.s.closes == 1);
	assert_true(raw_was_told(&w, "a second hello"));
	assert_int_equal(w.s.why.code, CM_EPROTO);
	world_fini(&w);
}

static void a_length_of_all_ones_is_refused_from_four_bytes_without_growth(void **state)
{
	static const uint8_t length[] = { 0xff, 0xff, 0xff, 0xff };
	struct mallinfo2 before, after;
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	RUN_UNTIL(&w, w.s.readies == 1);
	before = mallinfo2();
	raw_send(&w, length, sizeof length);
	RUN_UNTIL(&w, w.s.closes == 1);
	after = mallinfo2();
	assert_int_equal(w.s.why.code, CM_EPROTO);
	assert_non_null(strstr(w.s.why.msg, "frame of 4294967295 bytes"));
	assert_true(after.uordblks + after.hblkhd < before.uordblks + before.hblkhd + 65536);
	RUN_UNTIL(&w, w.raw_closes == 1);
	assert_true(raw_was_told(&w, "frame of 4294967295 bytes"));
	world_fini(&w);
}

static void a_frame_that_is_no_protobuf_is_answered_and_closed(void **state)
{
	static const uint8_t bad[] = { 0, 0, 0, 3, 0xff, 0xff, 0xff };
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	raw_send(&w, bad, sizeof bad);
	RUN_UNTIL(&w, w.raw_closes == 1 && w.s.closes == 1);
	assert_int_equal(w.s.why.code, CM_EPROTO);
	assert_int_equal(w.s.frames, 0);
	world_fini(&w);
}

static void a_frame_there_is_no_memory_for_is_not_called_bad(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	RUN_UNTIL(&w, w.s.readies == 1);
	no_memory = true;
	raw_hello(&w, 1);
	RUN_UNTIL(&w, w.raw_closes == 1 && w.s.closes == 1);
	no_memory = false;
	assert_int_equal(w.s.why.code, CM_EINTERNAL);
	assert_false(raw_was_told(&w, "memory"));
	world_fini(&w);
}

static void frames_behind_a_bad_one_are_not_looked_at(void **state)
{
	static const uint8_t bytes[] = { 0, 0, 0, 1, 0xff, 0, 0, 0, 4, 0x1a, 2, 0x10, 1 };
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	raw_send(&w, bytes, sizeof bytes);
	RUN_UNTIL(&w, w.s.closes == 1);
	assert_int_equal(w.s.frames, 0);
	world_fini(&w);
}

static void an_unknown_kind_is_answered_and_the_link_lives_on(void **state)
{
	/* Field 500 of Frame, then GetRound{after: 1}. */
	static const uint8_t bytes[] = { 0, 0, 0, 3, 0xa2, 0x1f, 0, 0, 0, 0, 4, 0x1a, 2, 0x10, 1 };
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	raw_send(&w, bytes, sizeof bytes);
	RUN_UNTIL(&w, w.s.frames == 1 || w.s.closes == 1);
	assert_int_equal(w.s.last, 1);
	assert_int_equal(w.s.closes, 0);
	RUN_UNTIL(&w, raw_was_told(&w, "not known here"));
	assert_int_equal(w.raw_closes, 0);
	world_fini(&w);
}

static void a_cut_connection_ends_the_link_with_the_reason(void **state)
{
	static const uint8_t half[] = { 0, 0, 1, 0, 1, 2, 3 };
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	raw_send(&w, half, sizeof half);
	RUN_UNTIL(&w, w.s.readies == 1);
	(void)cm_fail(&err, CM_EOTHER, "the raw peer goes");
	nt_conn_close(w.raw, &err);
	RUN_UNTIL(&w, w.s.closes == 1);
	assert_int_equal(w.s.frames, 0);
	world_fini(&w);
}

static void an_error_text_is_cut_between_characters(void **state)
{
	struct world w;
	char text[260];

	(void)state;
	world_init(&w);
	connect_both(&w);
	/* 199 bytes, then a character of two: 200 are allowed. */
	memset(text, 'a', 199);
	memcpy(text + 199, "\xc3\xa9 and so on", 13);
	text[212] = '\0';
	lk_send_error(w.s.link, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, text, 0, NULL);
	lk_send_error(w.s.link, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, "caf\xe9\n", 0, NULL);
	RUN_UNTIL(&w, w.c.errors == 2 || w.c.closes == 1);
	assert_int_equal(w.c.errors, 2);
	assert_string_equal(w.c.error_text, "caf??");
	lk_send_error(w.s.link, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, text, 0, NULL);
	RUN_UNTIL(&w, w.c.errors == 3 || w.c.closes == 1);
	text[199] = '\0';
	assert_string_equal(w.c.error_text, text);
	world_fini(&w);
}

/* ---- time ---- */

/* Keeps the loop turning. */
static void on_tick(uv_timer_t *t)
{
	struct world *w = t->data;

	assert_true(w->c.closes + w->s.closes == 0);
}

/* A server that waits so long for a Hello that the machine can connect meanwhile: 300 ms, or what a busy one
 * needs. */
static void init_in_time(struct world *w)
{
	for (uint32_t ms = 300;; ms *= 2) {
		world_init_within(w, ms);
		dial(w);
		RUN_UNTIL(w, (w->c.readies == 1 && w->s.readies == 1) || w->c.closes == 1);
		if (w->c.closes == 0)
			return;
		world_fini(w);
	}
}

/* A peer that says no more than this of its Hello. */
static void assert_closed_after(const char *said, size_t n)
{
	struct world w;

	for (uint32_t ms = 300;; ms *= 2) {
		world_init_within(&w, ms);
		dial_raw(&w);
		RUN_UNTIL(&w, w.raw_opens == 1 || w.raw_closes == 1);
		if (w.raw_closes == 0)
			break;
		world_fini(&w); /* a busy machine was not connected by then */
	}
	if (n != 0)
		raw_send(&w, said, n);
	RUN_UNTIL(&w, w.raw_closes == 1);
	assert_int_equal(w.s.readies, 0);
	world_fini(&w);
}

static void a_peer_that_never_says_hello_is_closed_at_the_deadline(void **state)
{
	(void)state;
	assert_closed_after("", 0);
	assert_closed_after("\0\0\0\6\12", 5);
}

static void a_link_that_said_hello_outlives_that_deadline(void **state)
{
	uint64_t start, past;
	struct world w;

	(void)state;
	init_in_time(&w);
	past = 2 * w.limits.handshake_ms + 100;
	start = uv_now(&w.loop);
	w.guard.data = &w;
	assert_int_equal(uv_timer_start(&w.guard, on_tick, 50, 50), 0);
	RUN_UNTIL(&w, uv_now(&w.loop) - start > past);
	assert_int_equal(w.c.closes + w.s.closes, 0);
	world_fini(&w);
}

static void every_error_code_has_its_result_and_no_control_characters(void **state)
{
	static const struct {
		Tombola__V1__ErrorCode code;
		enum cm_rc rc;
	} want[] = { /* the exit codes: 3 budget, 75 later, 76 protocol or role, 77 policy or signature */
		{ TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, CM_EBUDGET },
		{ TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, CM_ELATER },
		{ TOMBOLA__V1__ERROR_CODE__ERROR_BATCH_TOO_SMALL, CM_ELATER },
		{ TOMBOLA__V1__ERROR_CODE__ERROR_BAD_ROLE, CM_EPROTO },
		{ TOMBOLA__V1__ERROR_CODE__ERROR_VERSION, CM_EPROTO },
		{ TOMBOLA__V1__ERROR_CODE__ERROR_POLICY_REFUSED, CM_EPERM },
		{ TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE, CM_EPERM },
		{ TOMBOLA__V1__ERROR_CODE__ERROR_CLOCK, CM_ELATER }, { (Tombola__V1__ErrorCode)99, CM_EOTHER }
	};
	Tombola__V1__Error e = TOMBOLA__V1__ERROR__INIT;
	char text[] = "red\x1b[31m\n";
	struct cm_err err;

	(void)state;
	e.text = text;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		e.code = want[i].code;
		assert_int_equal(pr_error(&e, &err), want[i].rc);
		assert_int_equal(err.code, want[i].rc);
		assert_non_null(strstr(err.msg, "red?[31m?"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_say_hello_and_are_ready),
		cmocka_unit_test(what_one_sends_the_other_counts),
		cmocka_unit_test(ten_thousand_frames_arrive_in_order),
		cmocka_unit_test(a_frame_of_nearly_a_megabyte_arrives),
		cmocka_unit_test(an_error_arrives_with_all_it_says),
		cmocka_unit_test(frames_cut_into_single_bytes_are_put_together),
		cmocka_unit_test(a_paused_link_hands_over_nothing_until_resumed_and_loses_nothing),
		cmocka_unit_test(a_peer_that_floods_a_paused_link_is_held_back_by_its_own_limit),
		cmocka_unit_test(another_major_version_is_answered_and_closed),
		cmocka_unit_test(a_frame_before_hello_is_answered_and_closed),
		cmocka_unit_test(a_second_hello_is_answered_and_closed),
		cmocka_unit_test(a_length_of_all_ones_is_refused_from_four_bytes_without_growth),
		cmocka_unit_test(a_frame_that_is_no_protobuf_is_answered_and_closed),
		cmocka_unit_test(a_frame_there_is_no_memory_for_is_not_called_bad),
		cmocka_unit_test(frames_behind_a_bad_one_are_not_looked_at),
		cmocka_unit_test(an_unknown_kind_is_answered_and_the_link_lives_on),
		cmocka_unit_test(a_cut_connection_ends_the_link_with_the_reason),
		cmocka_unit_test(every_error_code_has_its_result_and_no_control_characters),
		cmocka_unit_test(an_error_text_is_cut_between_characters),
		cmocka_unit_test(a_peer_that_never_says_hello_is_closed_at_the_deadline),
		cmocka_unit_test(a_link_that_said_hello_outlives_that_deadline),
	};

	cm_log_init("test", CM_LOG_ERROR, CM_LOG_TEXT);
	return cmocka_run_group_tests(tests, world_certs_make, world_certs_drop);
}
