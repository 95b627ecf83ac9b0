/* link_world.c - the two sides of a link on one loop, and a peer that writes bytes of its own. */
#include "link_world.h"

#include <stdio.h>
#include <string.h>

struct certs certs;

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

static void raw_open(struct nt_conn *c, void *user)
{
	struct world *w = user;

	(void)c;
	w->raw_opens++;
}

static void raw_data(struct nt_conn *c, void *user, const uint8_t *data, size_t n)
{
	struct world *w = user;

	(void)c;
	assert_int_equal(cm_buf_put(&w->raw_got, data, n), CM_OK);
}

static void raw_close(struct nt_conn *c, void *user, const struct cm_err *why)
{
	struct world *w = user;

	(void)c, (void)why;
	w->raw = NULL;
	w->raw_closes++;
}

static void init(struct world *w, uint32_t handshake_ms, uint32_t of_one)
{
	struct nt_tls_conf sc = {
		.server = true,
		.cert_file = certs_path(&certs, "shuffler", "crt"),
		.key_file = certs_path(&certs, "shuffler", "key"),
		.trust = { { CR_ROLE_CLIENT, certs_path(&certs, "clients", "crt"), NULL } },
	};
	struct nt_tls_conf cc = {
		.cert_file = certs_path(&certs, "edge", "crt"),
		.key_file = certs_path(&certs, "edge", "key"),
		.trust = { { CR_ROLE_SHUFFLER, certs_path(&certs, "services", "crt"), NULL } },
	};
	struct lk_server_conf conf = { .address = "127.0.0.1:0", .handler = handler, .user = &w->s };
	struct cm_err err;

	memset(w, 0, sizeof *w);
	conf.handler.counts = &w->s.counts;
	w->s.w = w->c.w = w;
	w->s.in_order = w->c.in_order = true;
	turning_start(&w->loop, &w->guard);
	if (nt_tls_ctx_new(&sc, &w->server_ctx, &err) != CM_OK ||
		nt_tls_ctx_new(&cc, &w->client_ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	nt_conn_limits_default(&w->limits);
	w->limits.handshake_ms = handshake_ms;
	conf.tls = w->server_ctx;
	conf.limits = w->limits;
	conf.of_one = of_one;
	if (lk_server_new(&w->loop, &conf, &w->server, &err) != CM_OK)
		fail_msg("%s", err.msg);
	(void)snprintf(w->address, sizeof w->address, "127.0.0.1:%d", lk_server_port(w->server));
	cm_buf_init(&w->raw_got, 1u << 20);
}

void world_init_within(struct world *w, uint32_t handshake_ms)
{
	init(w, handshake_ms, 0);
}

void world_init_of_one(struct world *w, uint32_t links)
{
	init(w, 10000, links);
}

void world_init(struct world *w)
{
	world_init_within(w, 10000);
}

void world_fini(struct world *w)
{
	if (w->c.link)
		lk_close(w->c.link, NULL);
	if (w->raw)
		nt_conn_close(w->raw, NULL);
	lk_server_close(w->server, true);
	turning_end(&w->loop, &w->guard);
	assert_true(w->s.closes == w->s.readies);
	nt_tls_ctx_free(w->server_ctx);
	nt_tls_ctx_free(w->client_ctx);
	cm_buf_fini(&w->raw_got);
}

void dial(struct world *w)
{
	struct lk_handler counting = handler;
	struct cm_err err;

	counting.counts = &w->c.counts;
	if (lk_dial(&w->loop, w->address, w->client_ctx, &w->limits, &counting, &w->c, &w->c.link, &err) !=
		CM_OK)
		fail_msg("%s", err.msg);
}

void connect_both(struct world *w)
{
	dial(w);
	RUN_UNTIL(w, w->c.readies == 1 && w->s.readies == 1);
}

void dial_raw(struct world *w)
{
	static const struct nt_conn_handler raw_handler = { raw_open, raw_data, NULL, raw_close };
	struct cm_err err;

	if (nt_conn_dial(&w->loop, w->address, w->client_ctx, NULL, &raw_handler, w, &w->raw, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

void raw_send(struct world *w, const void *bytes, size_t n)
{
	struct cm_err err;

	assert_int_equal(nt_conn_send(w->raw, bytes, n, &err), CM_OK);
}

/* Hello{major, minor} by hand: field 1 of Frame, then two varints (protobuf encoding). */
void raw_hello(struct world *w, uint8_t major)
{
	const uint8_t hello[] = { 0, 0, 0, 6, 0x0a, 4, 0x08, major, 0x10, 0 };

	raw_send(w, hello, sizeof hello);
}

enum cm_rc send_counter(struct lk_link *l, uint64_t i, struct cm_err *err)
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

bool raw_was_told(const struct world *w, const char *text)
{
	return w->raw_got.len >= strlen(text) && memmem(w->raw_got.data, w->raw_got.len, text, strlen(text));
}

void assert_refused(const struct lk_counts *c, enum lk_refused reason, uint64_t n)
{
	for (size_t i = 0; i < LK_REFUSED_REASONS; i++)
		assert_int_equal(c->refused[i], i == reason ? n : 0);
}

int world_certs_make(void **state)
{
	static const struct certs_leaf leaf[] = {
		{ .cn = "edge", .ca = "clients", .uri = { "tombola:role:client" } },
		{ .cn = "shuffler", .ca = "services", .uri = { "tombola:role:shuffler" }, .ip = "127.0.0.1" },
	};

	(void)state;
	certs_make(&certs, leaf, sizeof leaf / sizeof leaf[0]);
	return 0;
}

int world_certs_drop(void **state)
{
	(void)state;
	certs_fini(&certs);
	return 0;
}
