/* test_link.c - links over real loopback sockets: Hello, frames, and peers that break the rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <malloc.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs.h"
#include "cm_log.h"
#include "lk_link.h"
#include "pr_arena.h"

#define GUARD_MS 20000u

static struct certs certs;

struct world;
struct side {
	struct world *w;
	struct lk_link *link; /* NULL once closed, and before ready at the server */
	int readies, closes, drains;
	uint64_t frames, errors;
	uint64_t last; /* of the rounds' `after`, which the tests use as a counter */
	bool in_order, pause_each;
	Tombola__V1__ErrorCode error;
	char error_text[256];
	uint32_t retry;
	size_t round_id_len, sealed_len;
	struct cm_err why;
	struct lk_counts counts;
};

static bool no_memory; /* for a frame that comes */

struct pr_arena *__real_pr_arena_new(size_t size);
struct pr_arena *__wrap_pr_arena_new(size_t size);

struct pr_arena *__wrap_pr_arena_new(size_t size)
{
	return no_memory ? NULL : __real_pr_arena_new(size);
}

struct world {
	uv_loop_t loop;
	uv_timer_t guard;
	struct cm_tls_ctx *server_ctx, *client_ctx;
	struct lk_server *server;
	struct cm_conn_limits limits;
	char address[64];
	struct side s, c;
	/* A peer that writes bytes of its own. */
	struct cm_conn *raw;
	struct cm_buf raw_got;
	int raw_opens, raw_closes;
};

static void on_guard(uv_timer_t *t)
{
	(void)t;
	fail_msg("%s", "nothing happened for too long");
}

/* Keeps the loop turning. */
static void on_tick(uv_timer_t *t)
{
	struct world *w = t->data;

	assert_true(w->c.closes + w->s.closes == 0);
}

static void on_ready(struct lk_link *l, void *user)
{
	struct side *s = user;

	s->link = l;
	s->readies++;
}

static void on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct side *s = user;

	s->frames++;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_GET_ROUND) {
		s->in_order = s->in_order && frame->get_round->after == s->last + 1;
		s->last = frame->get_round->after;
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_SUBMIT) {
		s->sealed_len = frame->submit->sealed.len;
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		s->errors++;
		s->error = frame->error->code;
		s->retry = frame->error->retry_after_ms;
		s->round_id_len = frame->error->round_id.len;
		(void)snprintf(s->error_text, sizeof s->error_text, "%s", frame->error->text);
	}
	if (s->pause_each)
		lk_pause(l);
}

static void on_drain(struct lk_link *l, void *user)
{
	struct side *s = user;

	assert_int_equal(lk_pending(l), 0);
	s->drains++;
}

static void on_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct side *s = user;

	assert_non_null(lk_address(l));
	s->closes++;
	s->link = NULL;
	s->why = *why;
}

static const struct lk_handler handler = {
	.on_ready = on_ready, .on_frame = on_frame, .on_drain = on_drain, .on_close = on_close
};

static void raw_open(struct cm_conn *c, void *user)
{
	struct world *w = user;

	(void)c;
	w->raw_opens++;
}

static void raw_data(struct cm_conn *c, void *user, const uint8_t *data, size_t n)
{
	struct world *w = user;

	(void)c;
	assert_int_equal(cm_buf_put(&w->raw_got, data, n), CM_OK);
}

static void raw_close(struct cm_conn *c, void *user, const struct cm_err *why)
{
	struct world *w = user;

	(void)c, (void)why;
	w->raw = NULL;
	w->raw_closes++;
}

/* A world with a server that waits so long for a handshake, and for a hello. */
static void world_init_within(struct world *w, uint32_t handshake_ms)
{
	struct cm_tls_conf sc = {
		.server = true,
		.cert_file = certs_path(&certs, "shuffler", "crt"),
		.key_file = certs_path(&certs, "shuffler", "key"),
		.trust = { { CM_ROLE_CLIENT, certs_path(&certs, "clients", "crt"), NULL } },
	};
	struct cm_tls_conf cc = {
		.cert_file = certs_path(&certs, "edge", "crt"),
		.key_file = certs_path(&certs, "edge", "key"),
		.trust = { { CM_ROLE_SHUFFLER, certs_path(&certs, "services", "crt"), NULL } },
	};
	struct lk_server_conf conf = { .address = "127.0.0.1:0", .handler = handler, .user = &w->s };
	struct cm_err err;

	memset(w, 0, sizeof *w);
	conf.handler.counts = &w->s.counts;
	w->s.w = w->c.w = w;
	w->s.in_order = w->c.in_order = true;
	assert_int_equal(uv_loop_init(&w->loop), 0);
	assert_int_equal(uv_timer_init(&w->loop, &w->guard), 0);
	assert_int_equal(uv_timer_start(&w->guard, on_guard, GUARD_MS, 0), 0);
	if (cm_tls_ctx_new(&sc, &w->server_ctx, &err) != CM_OK ||
		cm_tls_ctx_new(&cc, &w->client_ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	cm_conn_limits_default(&w->limits);
	w->limits.handshake_ms = handshake_ms;
	conf.tls = w->server_ctx;
	conf.limits = w->limits;
	if (lk_server_new(&w->loop, &conf, &w->server, &err) != CM_OK)
		fail_msg("%s", err.msg);
	(void)snprintf(w->address, sizeof w->address, "127.0.0.1:%d", lk_server_port(w->server));
	cm_buf_init(&w->raw_got, 1u << 20);
}

static void world_init(struct world *w)
{
	world_init_within(w, 10000);
}

/* What the loop's clock says to whom asks; 0: the truth. */
static uint64_t clock_ms;
uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
	return clock_ms > 0 ? clock_ms : __real_uv_now(loop);
}

#define RUN_UNTIL(w, condition) \
	while (!(condition))    \
	(void)uv_run(&(w)->loop, UV_RUN_ONCE)

static void world_fini(struct world *w)
{
	if (w->c.link != NULL)
		lk_close(w->c.link, NULL);
	if (w->raw != NULL)
		cm_conn_close(w->raw, NULL);
	lk_server_close(w->server, true);
	uv_close((uv_handle_t *)&w->guard, NULL);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	assert_true(w->s.closes == w->s.readies);
	cm_tls_ctx_free(w->server_ctx);
	cm_tls_ctx_free(w->client_ctx);
	cm_buf_fini(&w->raw_got);
}

static void dial(struct world *w)
{
	struct lk_handler counting = handler;
	struct cm_err err;

	counting.counts = &w->c.counts;
	if (lk_dial(&w->loop, w->address, w->client_ctx, &w->limits, &counting, &w->c, &w->c.link, &err) !=
		CM_OK)
		fail_msg("%s", err.msg);
}

static void connect_both(struct world *w)
{
	dial(w);
	RUN_UNTIL(w, w->c.readies == 1 && w->s.readies == 1);
}

static void dial_raw(struct world *w)
{
	static const struct cm_conn_handler raw_handler = { raw_open, raw_data, NULL, raw_close };
	struct cm_err err;

	if (cm_conn_dial(&w->loop, w->address, w->client_ctx, NULL, &raw_handler, w, &w->raw, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void raw_send(struct world *w, const void *bytes, size_t n)
{
	struct cm_err err;

	assert_int_equal(cm_conn_send(w->raw, bytes, n, &err), CM_OK);
}

/* Hello{major, minor} by hand: field 1 of Frame, then two varints (protobuf encoding). */
static void raw_hello(struct world *w, uint8_t major)
{
	const uint8_t hello[] = { 0, 0, 0, 6, 0x0a, 4, 0x08, major, 0x10, 0 };

	raw_send(w, hello, sizeof hello);
}

static enum cm_rc send_counter(struct lk_link *l, uint64_t i, struct cm_err *err)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__GetRound get = TOMBOLA__V1__GET_ROUND__INIT;
	char population[] = "meters";

	get.population = population;
	get.after = i;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_GET_ROUND;
	frame.get_round = &get;
	return lk_send(l, &frame, err);
}

/* Does what the raw peer got hold this text? */
static bool raw_was_told(const struct world *w, const char *text)
{
	return w->raw_got.len >= strlen(text) &&
	       memmem(w->raw_got.data, w->raw_got.len, text, strlen(text)) != NULL;
}

/* ---- it works ---- */

static void both_sides_say_hello_and_are_ready(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	connect_both(&w);
	assert_int_equal(lk_peer(w.s.link)->role, CM_ROLE_CLIENT);
	assert_int_equal(lk_peer(w.c.link)->role, CM_ROLE_SHUFFLER);
	assert_int_equal(w.s.frames + w.c.frames, 0); /* Hello is not for the owner */
	lk_close(w.c.link, NULL);
	RUN_UNTIL(&w, w.c.closes == 1 && w.s.closes == 1);
	assert_int_equal(w.c.why.code, CM_OK);
	assert_int_equal(w.s.why.code, CM_OK);
	world_fini(&w);
}

static void assert_refused(const struct lk_counts *c, enum lk_refused reason, uint64_t n)
{
	for (size_t i = 0; i < LK_REFUSED_REASONS; i++)
		assert_int_equal(c->refused[i], i == reason ? n : 0);
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

static void a_connection_that_never_was_a_link_is_counted_by_why(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 2);
	RUN_UNTIL(&w, w.raw_closes == 1 && w.s.counts.refused[LK_REFUSED_PROTOCOL] == 1);
	assert_refused(&w.s.counts, LK_REFUSED_PROTOCOL, 1);
	assert_int_equal(w.s.counts.links, 0);
	(void)snprintf(w.address, sizeof w.address, "127.0.0.1:1"); /* nobody there */
	dial(&w);
	RUN_UNTIL(&w, w.c.closes == 1);
	assert_refused(&w.c.counts, LK_REFUSED_NETWORK, 1);
	world_fini(&w);
}

static void a_refused_certificate_is_counted_on_both_sides(void **state)
{
	struct cm_tls_conf cc = {
		.cert_file = certs_path(&certs, "edge", "crt"),
		.key_file = certs_path(&certs, "edge", "key"),
		.trust = { { CM_ROLE_ANALYZER, certs_path(&certs, "services", "crt"), NULL } },
	};
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	cm_tls_ctx_free(w.client_ctx);
	assert_int_equal(cm_tls_ctx_new(&cc, &w.client_ctx, &err), CM_OK);
	dial(&w);
	RUN_UNTIL(&w, w.c.closes == 1 && w.s.counts.refused[LK_REFUSED_CERTIFICATE] == 1);
	assert_refused(&w.s.counts, LK_REFUSED_CERTIFICATE, 1);
	assert_refused(&w.c.counts, LK_REFUSED_CERTIFICATE, 1);
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
	uint8_t id[16] = { 1 }, *pseudonyms = calloc(250, 32), *sealed = calloc(250, 4144);
	struct world w;
	struct cm_err err;

	(void)state;
	assert_true(pseudonyms != NULL && sealed != NULL);
	world_init(&w);
	connect_both(&w);
	submit.round_id = (ProtobufCBinaryData){ sizeof id, id };
	submit.pseudonyms = (ProtobufCBinaryData){ 250 * 32, pseudonyms };
	submit.sealed = (ProtobufCBinaryData){ 250 * 4144, sealed };
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_SUBMIT;
	frame.submit = &submit;
	if (lk_send(w.c.link, &frame, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(send_counter(w.c.link, 1, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 2 || w.s.closes == 1);
	assert_int_equal(w.s.sealed_len, 250 * 4144);
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
	/* A text beyond the maximum is cut, not refused by the other end. */
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
	assert_true(raw_was_told(&w, "the peer speaks version 2.0, we speak 1.0"));
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

static void a_bad_peer_does_not_disturb_a_good_one(void **state)
{
	static const uint8_t length[] = { 0xff, 0xff, 0xff, 0xff };
	struct world w;
	struct cm_err err;

	(void)state;
	world_init(&w);
	connect_both(&w);
	dial_raw(&w);
	raw_send(&w, length, sizeof length);
	RUN_UNTIL(&w, w.raw_closes == 1);
	assert_int_equal(w.c.closes + w.s.closes, 0);
	assert_int_equal(send_counter(w.c.link, 1, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 1);
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
	cm_conn_close(w.raw, &err);
	RUN_UNTIL(&w, w.s.closes == 1);
	assert_int_equal(w.s.frames, 0);
	world_fini(&w);
}

static void closing_the_server_with_its_links_ends_them_in_order(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	connect_both(&w);
	lk_server_close(w.server, true);
	w.server = NULL;
	RUN_UNTIL(&w, w.c.closes == 1 && w.s.closes == 1);
	assert_int_equal(w.c.why.code, CM_OK);
	world_fini(&w);
}

static void closing_the_server_alone_leaves_its_links(void **state)
{
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	connect_both(&w);
	lk_server_close(w.server, false);
	w.server = NULL;
	assert_int_equal(send_counter(w.c.link, 1, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 1);
	lk_close(w.s.link, NULL);
	RUN_UNTIL(&w, w.c.closes == 1 && w.s.closes == 1);
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

static void a_peer_that_never_says_hello_is_closed_at_the_deadline(void **state)
{
	struct world w;

	(void)state;
	world_init_within(&w, 300);
	dial_raw(&w);
	RUN_UNTIL(&w, w.raw_closes == 1);
	assert_int_equal(w.raw_opens, 1);
	assert_int_equal(w.s.readies, 0);
	/* One that says it a byte at a time is late as well. */
	w.raw_opens = w.raw_closes = 0;
	dial_raw(&w);
	RUN_UNTIL(&w, w.raw_opens == 1);
	raw_send(&w, "\0\0\0\6\12", 5);
	RUN_UNTIL(&w, w.raw_closes == 1);
	assert_int_equal(w.s.readies, 0);
	world_fini(&w);
}

static void a_link_that_said_hello_outlives_that_deadline(void **state)
{
	uint64_t start;
	struct world w;

	(void)state;
	world_init_within(&w, 300);
	connect_both(&w);
	start = uv_now(&w.loop);
	w.guard.data = &w;
	assert_int_equal(uv_timer_start(&w.guard, on_tick, 50, 50), 0);
	RUN_UNTIL(&w, uv_now(&w.loop) - start > 700);
	assert_int_equal(w.c.closes + w.s.closes, 0);
	world_fini(&w);
}

static void on_stranger_shut(uv_handle_t *h)
{
	(void)h;
}

static void on_stranger_up(uv_connect_t *r, int status)
{
	assert_int_equal(status, 0);
	uv_close((uv_handle_t *)r->handle, on_stranger_shut);
}

/* Lines of the log while `n` strangers connect and go away again. */
static unsigned lines_of_strangers(struct world *w, unsigned n, char *text, size_t max)
{
	static uv_tcp_t tcp[40];
	static uv_connect_t up[40];
	FILE *to = tmpfile();
	struct sockaddr_in sa;
	int kept = dup(STDERR_FILENO);
	unsigned lines = 0;
	size_t len;

	assert_non_null(to);
	assert_true(kept >= 0 && dup2(fileno(to), STDERR_FILENO) >= 0);
	assert_int_equal(uv_ip4_addr("127.0.0.1", lk_server_port(w->server), &sa), 0);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(uv_tcp_init(&w->loop, &tcp[i]), 0);
		assert_int_equal(uv_tcp_connect(&up[i], &tcp[i], (struct sockaddr *)&sa, on_stranger_up), 0);
	}
	/* A good peer behind them in the queue: when it is ready, they have been seen to. */
	connect_both(w);
	lk_server_close(w->server, true);
	RUN_UNTIL(w, w->c.closes == 1 && w->s.closes == 1);
	cm_log_flush();
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	assert_int_equal(close(kept), 0);
	rewind(to);
	len = fread(text, 1, max - 1, to);
	text[len] = '\0';
	assert_int_equal(fclose(to), 0);
	for (const char *c = text; (c = strchr(c, '\n')) != NULL; c++)
		lines++;
	return lines;
}

static void a_flood_of_strangers_is_counted_not_told_one_by_one(void **state)
{
	char text[16384];
	struct world w;

	(void)state;
	world_init(&w);
	cm_log_init("shuffler", CM_LOG_WARN, CM_LOG_TEXT);
	assert_in_range(lines_of_strangers(&w, 40, text, sizeof text), 2, 30);
	assert_non_null(strstr(text, "more connections refused"));
	w.server = NULL;
	world_fini(&w);
}

/* How often the log has this. */
static unsigned said(FILE *log, const char *what)
{
	static char text[65536];
	unsigned n = 0;

	cm_log_flush();
	rewind(log);
	text[fread(text, 1, sizeof text - 1, log)] = '\0';
	for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

static uint64_t refused_so_far(const struct world *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof w->s.counts.refused / sizeof w->s.counts.refused[0]; i++)
		n += w->s.counts.refused[i];
	return n;
}

static void a_flood_that_goes_on_is_told_of_ever_more_seldom(void **state)
{
	/* Windows of 1, 2 and 4 s: the third flood falls into the second window, the fifth into the third. */
	static const unsigned told[] = { 10, 20, 20, 30, 30 };
	static uv_tcp_t tcp[20];
	static uv_connect_t up[20];
	struct sockaddr_in sa;
	struct world w;
	FILE *log = tmpfile();
	int kept = dup(STDERR_FILENO);

	(void)state;
	clock_ms = 1000000;
	world_init(&w);
	cm_log_init("shuffler", CM_LOG_WARN, CM_LOG_TEXT);
	assert_non_null(log);
	assert_true(kept >= 0 && dup2(fileno(log), STDERR_FILENO) >= 0);
	assert_int_equal(uv_ip4_addr("127.0.0.1", lk_server_port(w.server), &sa), 0);
	for (size_t flood = 0; flood < sizeof told / sizeof told[0]; flood++, clock_ms += 1100) {
		for (unsigned i = 0; i < 20; i++) {
			assert_int_equal(uv_tcp_init(&w.loop, &tcp[i]), 0);
			assert_int_equal(
				uv_tcp_connect(&up[i], &tcp[i], (struct sockaddr *)&sa, on_stranger_up), 0);
		}
		RUN_UNTIL(&w, refused_so_far(&w) == 20 * (flood + 1));
		assert_int_equal(said(log, " from="), told[flood]);
	}
	assert_int_equal(said(log, "more connections refused"), 2);
	cm_log_flush();
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	assert_int_equal(close(kept) | fclose(log), 0);
	world_fini(&w);
	clock_ms = 0;
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
		{ (Tombola__V1__ErrorCode)99, CM_EOTHER }
	};
	Tombola__V1__Error e = TOMBOLA__V1__ERROR__INIT;
	char text[] = "red\x1b[31m\n";
	struct cm_err err;

	(void)state;
	e.text = text;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		e.code = want[i].code;
		assert_int_equal(lk_error(&e, &err), want[i].rc);
		assert_int_equal(err.code, want[i].rc);
		assert_non_null(strstr(err.msg, "red?[31m?"));
	}
}

static int make_certificates(void **state)
{
	(void)state;
	certs_init(&certs);
	certs_ca(&certs, "clients");
	certs_ca(&certs, "services");
#define ISSUE(...) \
	certs_issue(&certs, (struct certs_leaf){ __VA_ARGS__ }.cn, &(struct certs_leaf){ __VA_ARGS__ })
	ISSUE(.cn = "edge", .ca = "clients", .uri = { "tombola:role:client" });
	ISSUE(.cn = "shuffler", .ca = "services", .uri = { "tombola:role:shuffler" }, .ip = "127.0.0.1");
	return 0;
}

static int remove_certificates(void **state)
{
	(void)state;
	certs_fini(&certs);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_say_hello_and_are_ready),
		cmocka_unit_test(what_one_sends_the_other_counts),
		cmocka_unit_test(a_connection_that_never_was_a_link_is_counted_by_why),
		cmocka_unit_test(a_refused_certificate_is_counted_on_both_sides),
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
		cmocka_unit_test(a_bad_peer_does_not_disturb_a_good_one),
		cmocka_unit_test(a_cut_connection_ends_the_link_with_the_reason),
		cmocka_unit_test(closing_the_server_with_its_links_ends_them_in_order),
		cmocka_unit_test(closing_the_server_alone_leaves_its_links),
		cmocka_unit_test(every_error_code_has_its_result_and_no_control_characters),
		cmocka_unit_test(an_error_text_is_cut_between_characters),
		cmocka_unit_test(a_peer_that_never_says_hello_is_closed_at_the_deadline),
		cmocka_unit_test(a_link_that_said_hello_outlives_that_deadline),
		cmocka_unit_test(a_flood_of_strangers_is_counted_not_told_one_by_one),
		cmocka_unit_test(a_flood_that_goes_on_is_told_of_ever_more_seldom),
	};

	cm_log_init("test", CM_LOG_ERROR, CM_LOG_TEXT);
	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
