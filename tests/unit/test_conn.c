/* test_conn.c - connections over real loopback sockets on one loop. */
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "certs.h"
#include "cm_conn.h"

#define DAY_S    86400L
#define GUARD_MS 20000u /* a test that hangs fails instead */
#define MANY     64

static struct certs certs;
static bool no_memory; /* for what our own objects make with calloc */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

/* ---- a loop, a server that notes what happens, and clients that do ---- */

struct peer {
	struct world *w;
	struct cm_conn *conn; /* NULL once closed */
	bool server;
	int opens, drains, closes;
	struct cm_buf got;
	struct cm_err why;
	size_t data_calls, empty_calls;
};

struct world {
	uv_loop_t loop;
	uv_timer_t guard;
	struct cm_tls_ctx *server_ctx, *client_ctx;
	struct cm_listener *listener;
	struct cm_conn_limits limits;
	char address[64];
	struct peer server[MANY];
	int n_server, n_refused;
	struct cm_err refused;
	bool echo;
	int closes_awaited; /* stop the loop after so many on_close */
	void (*on_data)(struct peer *p);
	void (*on_open)(struct peer *p);
};

static void on_open(struct cm_conn *c, void *user)
{
	struct peer *p = user;

	p->opens++;
	p->conn = c;
	if (p->w->on_open != NULL)
		p->w->on_open(p);
}

static void on_server_open(struct cm_conn *c, void *user)
{
	struct world *w = user;
	struct peer *p = &w->server[w->n_server++];

	assert_true(w->n_server <= MANY);
	p->w = w;
	p->server = true;
	cm_buf_init(&p->got, 16u << 20);
	cm_conn_set_user(c, p);
	on_open(c, p);
}

static void on_data(struct cm_conn *c, void *user, const uint8_t *data, size_t n)
{
	struct peer *p = user;
	struct cm_err err;

	p->data_calls++;
	p->empty_calls += n == 0;
	assert_int_equal(cm_buf_put(&p->got, data, n), CM_OK);
	if (p->server && p->w->echo && n > 0)
		assert_int_equal(cm_conn_send(c, data, n, &err), CM_OK);
	if (p->w->on_data != NULL)
		p->w->on_data(p);
}

static void on_drain(struct cm_conn *c, void *user)
{
	struct peer *p = user;

	assert_int_equal(cm_conn_pending(c), 0);
	p->drains++;
}

static void on_close(struct cm_conn *c, void *user, const struct cm_err *why)
{
	struct peer *p = user;

	(void)c;
	p->closes++;
	p->conn = NULL;
	p->why = *why;
	if (--p->w->closes_awaited == 0)
		uv_stop(&p->w->loop);
}

static void on_refused(void *user, const char *address, const struct cm_err *why)
{
	struct world *w = user;

	assert_non_null(address);
	w->n_refused++;
	w->refused = *why;
	if (--w->closes_awaited == 0)
		uv_stop(&w->loop);
}

static void on_guard(uv_timer_t *t)
{
	(void)t;
	fail_msg("%s", "nothing happened for too long");
}

static struct cm_tls_ctx *server_ctx(const char *clients_ca, const char *crl)
{
	struct cm_tls_conf conf = {
		.server = true,
		.cert_file = certs_path(&certs, "shuffler", "crt"),
		.key_file = certs_path(&certs, "shuffler", "key"),
		.trust = { { CM_ROLE_CLIENT, certs_path(&certs, clients_ca, "crt"),
			crl != NULL ? certs_path(&certs, crl, "crl") : NULL } },
	};
	struct cm_tls_ctx *ctx;
	struct cm_err err;

	if (cm_tls_ctx_new(&conf, &ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return ctx;
}

static struct cm_tls_ctx *client_ctx(const char *name)
{
	struct cm_tls_conf conf = {
		.cert_file = certs_path(&certs, name, "crt"),
		.key_file = certs_path(&certs, name, "key"),
		.trust = { { CM_ROLE_SHUFFLER, certs_path(&certs, "services", "crt"), NULL } },
	};
	struct cm_tls_ctx *ctx;
	struct cm_err err;

	if (cm_tls_ctx_new(&conf, &ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return ctx;
}

static const struct cm_conn_handler client_handler = { on_open, on_data, on_drain, on_close };

static void world_init(struct world *w)
{
	memset(w, 0, sizeof *w);
	assert_int_equal(uv_loop_init(&w->loop), 0);
	assert_int_equal(uv_timer_init(&w->loop, &w->guard), 0);
	assert_int_equal(uv_timer_start(&w->guard, on_guard, GUARD_MS, 0), 0);
	uv_unref((uv_handle_t *)&w->guard);
	cm_conn_limits_default(&w->limits);
	w->server_ctx = server_ctx("clients", NULL);
	w->client_ctx = client_ctx("edge");
}

static void world_listen(struct world *w)
{
	struct cm_listener_conf conf = {
		.address = "127.0.0.1:0",
		.tls = w->server_ctx,
		.limits = w->limits,
		.handler = { on_server_open, on_data, on_drain, on_close },
		.user = w,
		.on_refused = on_refused,
	};
	struct cm_err err;

	if (cm_listener_new(&w->loop, &conf, &w->listener, &err) != CM_OK)
		fail_msg("%s", err.msg);
	(void)snprintf(w->address, sizeof w->address, "127.0.0.1:%d", cm_listener_port(w->listener));
}

static void peer_init(struct world *w, struct peer *p)
{
	memset(p, 0, sizeof *p);
	p->w = w;
	cm_buf_init(&p->got, 16u << 20);
}

static void dial_at(struct world *w, struct peer *p, const char *address)
{
	struct cm_err err;

	peer_init(w, p);
	if (cm_conn_dial(&w->loop, address, w->client_ctx, &w->limits, &client_handler, p, &p->conn, &err) !=
		CM_OK)
		fail_msg("%s", err.msg);
}

static void dial(struct world *w, struct peer *p)
{
	dial_at(w, p, w->address);
}

static void run_until_closed(struct world *w, int closes)
{
	w->closes_awaited = closes;
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
}

/* One loop iteration at a time until the condition holds; the guard ends it otherwise. */
#define RUN_UNTIL(w, condition) \
	while (!(condition))    \
	(void)uv_run(&(w)->loop, UV_RUN_ONCE)

/* The end of every test: nothing is left on the loop. */
static void world_fini(struct world *w)
{
	if (w->listener != NULL)
		cm_listener_close(w->listener);
	for (int i = 0; i < w->n_server; i++) {
		if (w->server[i].conn != NULL)
			cm_conn_close(w->server[i].conn, NULL);
	}
	w->closes_awaited = 0;
	uv_ref((uv_handle_t *)&w->guard);
	uv_close((uv_handle_t *)&w->guard, NULL);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	for (int i = 0; i < w->n_server; i++) {
		assert_int_equal(w->server[i].opens, 1);
		assert_int_equal(w->server[i].closes, 1);
		cm_buf_fini(&w->server[i].got);
	}
	cm_tls_ctx_free(w->server_ctx);
	cm_tls_ctx_free(w->client_ctx);
}

static void assert_ended(const struct peer *p, enum cm_rc rc, const char *text)
{
	assert_int_equal(p->closes, 1);
	if (p->why.code != rc || strstr(p->why.msg, text) == NULL)
		fail_msg("wanted %d '%s', got %d '%s'", (int)rc, text, (int)p->why.code, p->why.msg);
}

static void send_text(struct peer *p, const char *text)
{
	struct cm_err err;

	assert_int_equal(cm_conn_send(p->conn, (const uint8_t *)text, strlen(text), &err), CM_OK);
}

/* A TCP connection from this address that says nothing of TLS. */
static int plain_socket_from(const struct world *w, uint32_t source)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	in.sin_addr.s_addr = htonl(source);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)cm_listener_port(w->listener));
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
	return fd;
}

static int plain_socket(const struct world *w)
{
	return plain_socket_from(w, INADDR_LOOPBACK);
}

/* ---- it works ---- */

static void close_after_four(struct peer *p)
{
	if (!p->server && p->got.len == 4)
		cm_conn_close(p->conn, NULL);
}

static void what_is_sent_comes_back_and_both_ends_close_in_order(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	w.echo = true;
	w.on_data = close_after_four;
	world_listen(&w);
	dial(&w, &c);
	send_text(&c, "echo"); /* queued until TLS is up */
	run_until_closed(&w, 2);
	assert_int_equal(c.opens, 1);
	assert_memory_equal(c.got.data, "echo", 4);
	assert_ended(&c, CM_OK, "");
	assert_ended(&w.server[0], CM_OK, "");
	assert_int_equal(c.drains, 1);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void the_server_knows_the_role_and_the_address(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1);
	assert_int_equal(cm_conn_peer(w.server[0].conn)->role, CM_ROLE_CLIENT);
	assert_memory_equal(cm_conn_address(w.server[0].conn), "127.0.0.1:", 10);
	RUN_UNTIL(&w, c.opens == 1);
	assert_int_equal(cm_conn_peer(c.conn)->role, CM_ROLE_SHUFFLER);
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void a_megabyte_goes_both_ways(void **state)
{
	size_t n = 1u << 20;
	uint8_t *data = malloc(n);
	struct world w;
	struct peer c;
	struct cm_err err;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(i * 131 + (i >> 9));
	world_init(&w);
	w.echo = true;
	world_listen(&w);
	dial(&w, &c);
	assert_int_equal(cm_conn_send(c.conn, data, n, &err), CM_OK);
	RUN_UNTIL(&w, c.got.len >= n);
	assert_int_equal(c.got.len, n);
	assert_memory_equal(c.got.data, data, n);
	assert_int_equal(cm_conn_pending(c.conn), 0);
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	free(data);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void what_is_queued_before_a_close_still_arrives(void **state)
{
	static uint8_t data[300000];
	struct world w;
	struct peer c;
	struct cm_err err;

	(void)state;
	world_init(&w);
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, c.opens == 1);
	assert_int_equal(cm_conn_send(c.conn, data, sizeof data, &err), CM_OK);
	cm_conn_close(c.conn, NULL);
	cm_conn_close(c.conn, NULL);
	assert_int_equal(cm_conn_send(c.conn, data, 1, &err), CM_EIO);
	run_until_closed(&w, 2);
	assert_int_equal(w.server[0].got.len, sizeof data);
	assert_ended(&w.server[0], CM_OK, "");
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void frames_of_one_iteration_share_a_write(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, c.opens == 1 && w.n_server == 1);
	for (int i = 0; i < 100; i++)
		send_text(&c, "a frame of some twenty bytes");
	RUN_UNTIL(&w, w.server[0].got.len == 2800);
	assert_int_equal(w.server[0].data_calls, 1);
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void a_name_with_two_addresses_reaches_the_one_that_listens(void **state)
{
	struct addrinfo *found = NULL;
	struct world w;
	struct peer c;
	char address[64];

	(void)state;
	if (getaddrinfo("localhost", NULL, NULL, &found) != 0) {
		print_message("skipped: this machine has no hosts file that knows localhost\n");
		skip();
	}
	freeaddrinfo(found);
	world_init(&w);
	world_listen(&w); /* on 127.0.0.1 only; localhost may be ::1 first */
	(void)snprintf(address, sizeof address, "localhost:%d", cm_listener_port(w.listener));
	dial_at(&w, &c, address);
	RUN_UNTIL(&w, c.opens == 1 || c.closes == 1);
	assert_int_equal(c.opens, 1);
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

/* ---- certificates, over the wire ---- */

static void refused_over_the_wire(const char *client, const char *why, const char *told, bool talkative)
{
	struct world w;
	struct peer c;

	world_init(&w);
	cm_tls_ctx_free(w.client_ctx);
	w.client_ctx = client_ctx(client);
	world_listen(&w);
	dial(&w, &c);
	/* Bytes that the server leaves unread must not destroy its alert on the way. */
	if (talkative)
		send_text(&c, "hello, here is what I have to say before I am refused");
	run_until_closed(&w, 2);
	assert_int_equal(w.n_server, 0);
	assert_int_equal(w.n_refused, 1);
	assert_int_equal(w.refused.code, CM_EPERM);
	assert_non_null(strstr(w.refused.msg, why));
	assert_ended(&c, CM_EPERM, told);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void a_refused_client_hears_why(void **state)
{
	(void)state;
	refused_over_the_wire(
		"rogue-client", "unknown CA", "shuffler refused our certificate: unknown CA", false);
	refused_over_the_wire("expired", "expired at", "shuffler refused our certificate: expired", false);
	refused_over_the_wire("odd", "its role is shuffler, wanted client",
		"shuffler refused our certificate: its role is not accepted there", false);
}

static void a_refused_client_hears_why_even_while_it_talks(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		refused_over_the_wire(
			"rogue-client", "unknown CA", "shuffler refused our certificate: unknown CA", true);
}

static void a_server_of_another_host_is_not_talked_to(void **state)
{
	struct world w;
	struct peer c;
	char address[64];

	(void)state;
	world_init(&w);
	world_listen(&w);
	(void)snprintf(address, sizeof address, "127.1:%d", cm_listener_port(w.listener));
	dial_at(&w, &c, address);
	run_until_closed(&w, 2);
	assert_int_equal(c.opens, 0);
	assert_ended(&c, CM_EPERM, "it is not for host \"127.1\"");
	assert_int_equal(w.n_refused, 1);
	assert_non_null(strstr(w.refused.msg, "refused our certificate"));
	cm_buf_fini(&c.got);
	world_fini(&w);
}

/* ---- time ---- */

static void a_stranger_that_says_nothing_is_dropped_after_the_handshake_limit(void **state)
{
	struct world w;
	uint64_t began;
	int fd;

	(void)state;
	world_init(&w);
	w.limits.handshake_ms = 150;
	w.limits.idle_ms = 0; /* the handshake has its own limit */
	world_listen(&w);
	fd = plain_socket(&w);
	began = uv_now(&w.loop);
	run_until_closed(&w, 1);
	assert_int_equal(w.n_refused, 1);
	assert_int_equal(w.refused.code, CM_EUNAVAIL);
	assert_non_null(strstr(w.refused.msg, "no TLS handshake within 150 ms"));
	assert_true(uv_now(&w.loop) - began >= 150);
	(void)close(fd);
	world_fini(&w);
}

static void a_byte_now_and_then_does_not_prolong_the_handshake(void **state)
{
	struct world w;
	int fd, sent = 0;

	(void)state;
	world_init(&w);
	w.limits.handshake_ms = 200;
	world_listen(&w);
	fd = plain_socket(&w);
	w.closes_awaited = 1;
	while (w.n_refused == 0 && sent < 100) {
		/* A ClientHello that never ends: record header, then a byte each 20 ms. */
		static const uint8_t hello[] = { 0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3 };
		uint8_t byte = sent < (int)sizeof hello ? hello[sent] : 0;

		(void)send(fd, &byte, 1, MSG_NOSIGNAL);
		sent++;
		(void)usleep(20000);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	assert_true(sent < 50);
	assert_int_equal(w.n_refused, 1);
	assert_non_null(strstr(w.refused.msg, "no TLS handshake within"));
	(void)close(fd);
	world_fini(&w);
}

static void a_dialled_stranger_that_says_nothing_is_given_up(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof in;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char address[64];
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	(void)snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(in.sin_port));
	w.limits.handshake_ms = 150;
	dial_at(&w, &c, address);
	run_until_closed(&w, 1);
	assert_ended(&c, CM_EUNAVAIL, "no TLS handshake within 150 ms");
	assert_int_equal(c.opens, 0);
	(void)close(fd);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void a_silent_peer_is_closed_after_the_idle_limit(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	w.limits.idle_ms = 150;
	world_listen(&w);
	w.limits.idle_ms = 0; /* the client waits for ever */
	dial(&w, &c);
	run_until_closed(&w, 2);
	assert_ended(&w.server[0], CM_EUNAVAIL, "the peer was silent for 150 ms");
	assert_ended(&c, CM_OK, ""); /* it was told in order */
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void expect_silence_on(struct peer *p)
{
	if (p->server)
		cm_conn_expect_silence(p->conn, true);
}

static void a_peer_in_a_long_poll_may_be_silent(void **state)
{
	struct world w;
	struct peer c;
	uint64_t began;

	(void)state;
	world_init(&w);
	w.limits.idle_ms = 80;
	w.on_open = expect_silence_on;
	world_listen(&w);
	w.limits.idle_ms = 0;
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1);
	began = uv_now(&w.loop);
	RUN_UNTIL(&w, uv_now(&w.loop) - began > 300);
	assert_int_equal(w.server[0].closes, 0);
	cm_conn_expect_silence(w.server[0].conn, false);
	run_until_closed(&w, 2);
	assert_ended(&w.server[0], CM_EUNAVAIL, "silent");
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void nobody_listening_is_said_at_once(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	world_listen(&w);
	cm_listener_close(w.listener);
	w.listener = NULL;
	(void)uv_run(&w.loop, UV_RUN_DEFAULT);
	dial(&w, &c);
	run_until_closed(&w, 1);
	assert_ended(&c, CM_EUNAVAIL, "connection refused");
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void a_host_that_does_not_exist_is_said(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	dial_at(&w, &c, "no-such-host.invalid:7000");
	run_until_closed(&w, 1);
	assert_ended(&c, CM_EUNAVAIL, "cannot look up the host");
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void a_dial_closed_before_it_connects_ends_once(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	world_listen(&w);
	dial(&w, &c);
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 1);
	assert_ended(&c, CM_OK, "");
	assert_int_equal(c.opens, 0);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void a_text_that_is_no_address_is_refused(void **state)
{
	static const char *const bad[] = { "", "localhost", "localhost:", "localhost:x", "localhost:70000",
		":7000", "a:b:1", "[::1]", "[::1:1", "[]:1", "localhost:0" };
	struct world w;
	struct peer c;
	struct cm_err err;

	(void)state;
	world_init(&w);
	peer_init(&w, &c);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(
			cm_conn_dial(&w.loop, bad[i], w.client_ctx, NULL, &client_handler, &c, &c.conn, &err),
			CM_ECONFIG);
	assert_int_equal(c.closes, 0);
	world_fini(&w);
}

static void an_address_in_use_is_said(void **state)
{
	struct cm_listener_conf conf;
	struct cm_listener *second;
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	world_listen(&w);
	conf = (struct cm_listener_conf){ .address = w.address, .tls = w.server_ctx, .limits = w.limits };
	assert_int_equal(cm_listener_new(&w.loop, &conf, &second, &err), CM_EUNAVAIL);
	assert_non_null(strstr(err.msg, w.address));
	assert_non_null(strstr(err.msg, "address already in use"));
	world_fini(&w);
}

/* ---- floods ---- */

static void half_open_connections_beyond_the_limit_are_refused(void **state)
{
	int fd[20];
	struct world w;

	(void)state;
	world_init(&w);
	w.limits.max_handshaking = 5;
	world_listen(&w);
	for (size_t i = 0; i < 20; i++)
		fd[i] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 15);
	assert_int_equal(w.refused.code, CM_ELATER);
	assert_non_null(strstr(w.refused.msg, "too many handshakes"));
	for (size_t i = 0; i < 20; i++)
		(void)close(fd[i]);
	RUN_UNTIL(&w, w.n_refused == 20);
	world_fini(&w);
}

static void a_good_peer_displaces_an_overdue_stranger(void **state)
{
	uint64_t began;
	struct world w;
	struct peer c;
	int fd[2];

	(void)state;
	world_init(&w);
	w.limits.max_handshaking = 2;
	world_listen(&w);
	fd[0] = plain_socket(&w);
	fd[1] = plain_socket(&w);
	(void)uv_run(&w.loop, UV_RUN_ONCE);
	began = uv_now(&w.loop);
	while (uv_now(&w.loop) - began < 1100) {
		(void)usleep(50000);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	assert_int_equal(w.n_refused, 0);
	dial(&w, &c);
	RUN_UNTIL(&w, c.opens == 1 || c.closes == 1);
	RUN_UNTIL(&w, w.n_server == 1 && w.n_refused == 1);
	assert_int_equal(c.opens, 1);
	assert_non_null(strstr(w.refused.msg, "slow in the TLS handshake"));
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	(void)close(fd[0]);
	(void)close(fd[1]);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

/* A peer whose own handshake is slow keeps its place while it is one, and they are many. */
static void a_crowd_does_not_displace_an_overdue_peer_of_another_address(void **state)
{
	uint64_t began;
	struct world w;
	int fd[5];
	char byte;

	(void)state;
	world_init(&w);
	w.limits.max_handshaking = 3;
	world_listen(&w);
	fd[0] = plain_socket(&w);
	fd[1] = plain_socket_from(&w, INADDR_LOOPBACK + 1);
	fd[2] = plain_socket_from(&w, INADDR_LOOPBACK + 1);
	(void)uv_run(&w.loop, UV_RUN_ONCE);
	began = uv_now(&w.loop);
	while (uv_now(&w.loop) - began < 1100) {
		(void)usleep(50000);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	for (int i = 3; i < 5; i++) {
		fd[i] = plain_socket_from(&w, INADDR_LOOPBACK + 1);
		RUN_UNTIL(&w, w.n_refused == i - 2);
		assert_non_null(strstr(w.refused.msg, "slow in the TLS handshake"));
		assert_int_equal(recv(fd[0], &byte, 1, MSG_DONTWAIT), -1);
		assert_int_equal(recv(fd[i - 2], &byte, 1, 0), 0);
	}
	for (size_t i = 0; i < 5; i++)
		(void)close(fd[i]);
	RUN_UNTIL(&w, w.n_refused == 5);
	world_fini(&w);
}

/* The latest of the address that has most; one with as many as the newcomer's keeps all. */
static void a_crowd_from_one_address_makes_room_for_others(void **state)
{
	struct world w;
	int fd[8];

	(void)state;
	world_init(&w);
	w.limits.max_handshaking = 4;
	world_listen(&w);
	for (size_t i = 0; i < 5; i++)
		fd[i] = plain_socket_from(&w, INADDR_LOOPBACK + 1);
	RUN_UNTIL(&w, w.n_refused == 1);
	assert_non_null(strstr(w.refused.msg, "too many handshakes"));
	fd[5] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 2);
	assert_non_null(strstr(w.refused.msg, "one of many TLS handshakes from its address"));
	fd[6] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 3);
	assert_non_null(strstr(w.refused.msg, "one of many"));
	fd[7] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 4);
	assert_non_null(strstr(w.refused.msg, "too many handshakes"));
	for (size_t i = 0; i < 8; i++)
		(void)close(fd[i]);
	RUN_UNTIL(&w, w.n_refused == 8);
	world_fini(&w);
}

/* However many wait: those that are connected have their turn in between. */
static void few_are_accepted_in_one_turn_of_the_loop(void **state)
{
	struct world w;
	int fd[200], turns = 0;

	(void)state;
	world_init(&w);
	w.limits.max_connections = 0;
	world_listen(&w);
	for (size_t i = 0; i < 200; i++)
		fd[i] = plain_socket(&w);
	while (w.n_refused < 200) {
		int before = w.n_refused;

		(void)uv_run(&w.loop, UV_RUN_ONCE);
		assert_true(w.n_refused - before <= 64);
		turns++;
	}
	assert_true(turns >= 4);
	for (size_t i = 0; i < 200; i++)
		(void)close(fd[i]);
	/* One that waits for its turn while the listener closes. */
	for (size_t i = 0; i < 70; i++)
		fd[i] = plain_socket(&w);
	for (int before = w.n_refused; w.n_refused == before;)
		(void)uv_run(&w.loop, UV_RUN_ONCE);
	world_fini(&w);
	for (size_t i = 0; i < 70; i++)
		(void)close(fd[i]);
}

static void who_comes_when_there_is_no_memory_does_not_keep_later_ones_out(void **state)
{
	struct world w;
	struct peer late;
	int fd[70];

	(void)state;
	world_init(&w);
	world_listen(&w);
	no_memory = true;
	for (size_t i = 0; i < 70; i++)
		fd[i] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 70);
	assert_string_equal(w.refused.msg, "out of memory");
	no_memory = false;
	dial(&w, &late);
	RUN_UNTIL(&w, w.n_server == 1);
	cm_conn_close(late.conn, NULL);
	run_until_closed(&w, 2);
	cm_buf_fini(&late.got);
	/* One is being turned away while the listener closes. */
	no_memory = true;
	for (size_t i = 0; i < 2; i++) {
		(void)close(fd[i]);
		fd[i] = plain_socket(&w);
	}
	for (int before = w.n_refused; w.n_refused == before;)
		(void)uv_run(&w.loop, UV_RUN_ONCE);
	no_memory = false;
	world_fini(&w);
	for (size_t i = 0; i < 70; i++)
		(void)close(fd[i]);
}

static void connections_beyond_the_limit_are_refused_and_room_comes_back(void **state)
{
	struct world w;
	struct peer c[3], late;

	(void)state;
	world_init(&w);
	w.limits.max_connections = 3;
	world_listen(&w);
	for (size_t i = 0; i < 3; i++)
		dial(&w, &c[i]);
	RUN_UNTIL(&w, w.n_server == 3);
	dial(&w, &late);
	RUN_UNTIL(&w, late.closes == 1);
	assert_int_equal(late.why.code, CM_EUNAVAIL);
	assert_non_null(strstr(w.refused.msg, "too many connections"));
	cm_buf_fini(&late.got);
	cm_conn_close(c[0].conn, NULL);
	RUN_UNTIL(&w, w.server[0].closes + w.server[1].closes + w.server[2].closes == 1 && c[0].closes == 1);
	dial(&w, &late);
	RUN_UNTIL(&w, w.n_server == 4);
	cm_conn_close(late.conn, NULL);
	cm_conn_close(c[1].conn, NULL);
	cm_conn_close(c[2].conn, NULL);
	run_until_closed(&w, 6);
	for (size_t i = 0; i < 3; i++)
		cm_buf_fini(&c[i].got);
	cm_buf_fini(&late.got);
	world_fini(&w);
}

/* ---- back-pressure ---- */

static void pause_at_once(struct peer *p)
{
	if (p->server)
		cm_conn_pause(p->conn);
}

static void a_paused_connection_reads_nothing_until_it_is_resumed(void **state)
{
	static uint8_t data[200000];
	struct world w;
	struct peer c;
	struct cm_err err;
	uint64_t began;

	(void)state;
	world_init(&w);
	w.on_open = pause_at_once;
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	assert_int_equal(cm_conn_send(c.conn, data, sizeof data, &err), CM_OK);
	began = uv_now(&w.loop);
	while (uv_now(&w.loop) - began < 100) {
		(void)usleep(5000);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	/* What came with the last bytes of the handshake may have been read already. */
	assert_true(w.server[0].got.len < sizeof data);
	cm_conn_resume(w.server[0].conn);
	RUN_UNTIL(&w, w.server[0].got.len == sizeof data);
	assert_int_equal(w.server[0].empty_calls, 1);
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void a_peer_that_does_not_read_is_cut_off_at_the_pending_limit(void **state)
{
	static uint8_t data[100000];
	struct world w;
	struct peer c;
	struct cm_err err = { .code = CM_OK };
	size_t sent = 0;

	(void)state;
	world_init(&w);
	w.limits.max_pending = 1u << 20;
	w.on_open = pause_at_once;
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	/* The kernel's buffers take some megabytes; then it piles up here. */
	while (cm_conn_send(c.conn, data, sizeof data, &err) == CM_OK) {
		sent += sizeof data;
		assert_true(cm_conn_pending(c.conn) <= w.limits.max_pending + 64 * 1024);
		assert_true(sent < 100u << 20);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	assert_int_equal(err.code, CM_EUNAVAIL);
	assert_int_equal(cm_conn_send(c.conn, data, 1, &err), CM_EIO);
	RUN_UNTIL(&w, c.closes == 1);
	assert_ended(&c, CM_EUNAVAIL, "the peer does not read");
	cm_conn_resume(w.server[0].conn);
	RUN_UNTIL(&w, w.server[0].closes == 1);
	assert_int_equal(w.server[0].why.code, CM_EUNAVAIL);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

/* ---- ends that are not in order ---- */

static void an_end_without_close_notify_is_told_from_an_orderly_one(void **state)
{
	struct world w;
	struct peer c;
	uv_os_fd_t fd;

	(void)state;
	world_init(&w);
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	/* The first member of a connection's handle is not ours to know, so cut it below libuv. */
	fd = -1;
	for (int i = 3; i < 64 && fd < 0; i++) {
		struct sockaddr_in in;
		socklen_t len = sizeof in;

		if (getpeername(i, (struct sockaddr *)&in, &len) == 0 && in.sin_family == AF_INET &&
			ntohs(in.sin_port) == cm_listener_port(w.listener))
			fd = i;
	}
	assert_true(fd >= 0);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	RUN_UNTIL(&w, w.server[0].closes == 1);
	assert_ended(&w.server[0], CM_EUNAVAIL, "without close_notify");
	RUN_UNTIL(&w, c.closes == 1);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void an_end_during_the_handshake_is_a_refusal(void **state)
{
	struct world w;
	int fd;

	(void)state;
	world_init(&w);
	world_listen(&w);
	fd = plain_socket(&w);
	(void)close(fd);
	run_until_closed(&w, 1);
	assert_int_equal(w.n_refused, 1);
	assert_non_null(strstr(w.refused.msg, "ended during the TLS handshake"));
	world_fini(&w);
}

static void bytes_that_are_not_tls_end_that_connection_only(void **state)
{
	struct world w;
	struct peer c;
	int fd;

	(void)state;
	world_init(&w);
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1);
	fd = plain_socket(&w);
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
	RUN_UNTIL(&w, w.n_refused == 1);
	assert_int_equal(w.refused.code, CM_EPROTO);
	assert_int_equal(w.server[0].closes, 0);
	(void)close(fd);
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

/* ---- reload ---- */

static void a_reload_closes_the_revoked_and_refuses_it_from_then_on(void **state)
{
	static const char *const revoked[] = { "revoked", NULL };
	struct cm_tls_ctx *old, *bad_ctx = client_ctx("revoked"), *good_ctx;
	struct world w;
	struct peer good, bad, again;

	(void)state;
	certs_crl(&certs, "clients", revoked, -60, DAY_S);
	world_init(&w);
	world_listen(&w);
	good_ctx = w.client_ctx;
	dial(&w, &good);
	w.client_ctx = bad_ctx;
	dial(&w, &bad);
	RUN_UNTIL(&w, w.n_server == 2 && good.opens == 1 && bad.opens == 1);
	old = w.server_ctx;
	w.server_ctx = server_ctx("clients", "clients");
	cm_listener_reload(w.listener, w.server_ctx);
	cm_tls_ctx_free(old);
	RUN_UNTIL(&w, bad.closes == 1);
	RUN_UNTIL(&w, w.server[0].closes + w.server[1].closes == 1);
	assert_int_equal(good.closes, 0);
	assert_non_null(strstr(
		w.server[0].closes ? w.server[0].why.msg : w.server[1].why.msg, "revoked by \"clients\""));
	dial(&w, &again);
	RUN_UNTIL(&w, again.closes == 1);
	assert_ended(&again, CM_EPERM, "shuffler refused our certificate: revoked");
	cm_buf_fini(&again.got);
	w.client_ctx = good_ctx;
	dial(&w, &again);
	RUN_UNTIL(&w, w.n_server == 3);
	cm_conn_close(again.conn, NULL);
	cm_conn_close(good.conn, NULL);
	run_until_closed(&w, 4);
	cm_tls_ctx_free(bad_ctx);
	cm_buf_fini(&good.got);
	cm_buf_fini(&bad.got);
	cm_buf_fini(&again.got);
	world_fini(&w);
}

static void a_reload_makes_the_old_ca_useless_at_once(void **state)
{
	struct cm_tls_ctx *old, *old_client, *new_client = client_ctx("rogue-client");
	struct world w;
	struct peer c, again;

	(void)state;
	world_init(&w);
	world_listen(&w);
	old_client = w.client_ctx;
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	old = w.server_ctx;
	w.server_ctx = server_ctx("rogue", NULL);
	cm_listener_reload(w.listener, w.server_ctx);
	cm_tls_ctx_free(old);
	RUN_UNTIL(&w, c.closes == 1 && w.server[0].closes == 1);
	assert_ended(&w.server[0], CM_EPERM, "unknown CA");
	dial(&w, &again);
	RUN_UNTIL(&w, again.closes == 1);
	assert_ended(&again, CM_EPERM, "unknown CA");
	cm_buf_fini(&again.got);
	w.client_ctx = new_client;
	dial(&w, &again);
	RUN_UNTIL(&w, w.n_server == 2);
	cm_conn_close(again.conn, NULL);
	run_until_closed(&w, 2);
	cm_tls_ctx_free(old_client);
	cm_buf_fini(&c.got);
	cm_buf_fini(&again.got);
	world_fini(&w);
}

static void a_handshake_under_way_is_judged_by_the_new_certificates(void **state)
{
	struct cm_tls_ctx *old;
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	world_listen(&w);
	dial(&w, &c);
	/* Until the client believes that it is in; the server has yet to read its certificate. */
	RUN_UNTIL(&w, c.opens == 1);
	if (w.n_server == 0) {
		old = w.server_ctx;
		w.server_ctx = server_ctx("rogue", NULL);
		cm_listener_reload(w.listener, w.server_ctx);
		cm_tls_ctx_free(old);
		RUN_UNTIL(&w, w.n_refused == 1);
		assert_int_equal(w.n_server, 0);
		assert_non_null(strstr(w.refused.msg, "unknown CA"));
		RUN_UNTIL(&w, c.closes == 1);
	} else {
		fail_msg("%s", "the server was in before the client: the test proves nothing");
	}
	cm_buf_fini(&c.got);
	world_fini(&w);
}

static void connections_outlive_their_listener(void **state)
{
	struct world w;
	struct peer c;
	int fd;

	(void)state;
	world_init(&w);
	w.echo = true;
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	fd = plain_socket(&w);
	(void)uv_run(&w.loop, UV_RUN_ONCE);
	cm_listener_close(w.listener);
	w.listener = NULL;
	for (int i = 0; i < 5; i++)
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	send_text(&c, "still here");
	RUN_UNTIL(&w, c.got.len == 10);
	assert_int_equal(w.n_refused, 0);
	cm_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	(void)close(fd);
	cm_buf_fini(&c.got);
	world_fini(&w);
}

/* ---- main ---- */

static int make_certificates(void **state)
{
	(void)state;
	certs_init(&certs);
	certs_ca(&certs, "clients");
	certs_ca(&certs, "services");
	certs_ca(&certs, "rogue");
#define ISSUE(...) \
	certs_issue(&certs, (struct certs_leaf){ __VA_ARGS__ }.cn, &(struct certs_leaf){ __VA_ARGS__ })
	ISSUE(.cn = "edge", .ca = "clients", .uri = { "tombola:role:client" });
	ISSUE(.cn = "revoked", .ca = "clients", .uri = { "tombola:role:client" });
	ISSUE(.cn = "rogue-client", .ca = "rogue", .uri = { "tombola:role:client" });
	ISSUE(.cn = "expired", .ca = "clients", .uri = { "tombola:role:client" }, .from_s = -2 * DAY_S,
		.to_s = -DAY_S);
	ISSUE(.cn = "odd", .ca = "clients", .uri = { "tombola:role:shuffler" });
	ISSUE(.cn = "shuffler", .ca = "services", .uri = { "tombola:role:shuffler" }, .dns = "localhost",
		.ip = "127.0.0.1");
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
		cmocka_unit_test(what_is_sent_comes_back_and_both_ends_close_in_order),
		cmocka_unit_test(the_server_knows_the_role_and_the_address),
		cmocka_unit_test(a_megabyte_goes_both_ways),
		cmocka_unit_test(what_is_queued_before_a_close_still_arrives),
		cmocka_unit_test(frames_of_one_iteration_share_a_write),
		cmocka_unit_test(a_name_with_two_addresses_reaches_the_one_that_listens),
		cmocka_unit_test(a_refused_client_hears_why),
		cmocka_unit_test(a_refused_client_hears_why_even_while_it_talks),
		cmocka_unit_test(a_server_of_another_host_is_not_talked_to),
		cmocka_unit_test(a_stranger_that_says_nothing_is_dropped_after_the_handshake_limit),
		cmocka_unit_test(a_byte_now_and_then_does_not_prolong_the_handshake),
		cmocka_unit_test(a_dialled_stranger_that_says_nothing_is_given_up),
		cmocka_unit_test(a_silent_peer_is_closed_after_the_idle_limit),
		cmocka_unit_test(a_peer_in_a_long_poll_may_be_silent),
		cmocka_unit_test(nobody_listening_is_said_at_once),
		cmocka_unit_test(a_host_that_does_not_exist_is_said),
		cmocka_unit_test(a_dial_closed_before_it_connects_ends_once),
		cmocka_unit_test(a_text_that_is_no_address_is_refused),
		cmocka_unit_test(an_address_in_use_is_said),
		cmocka_unit_test(half_open_connections_beyond_the_limit_are_refused),
		cmocka_unit_test(a_good_peer_displaces_an_overdue_stranger),
		cmocka_unit_test(a_crowd_does_not_displace_an_overdue_peer_of_another_address),
		cmocka_unit_test(a_crowd_from_one_address_makes_room_for_others),
		cmocka_unit_test(few_are_accepted_in_one_turn_of_the_loop),
		cmocka_unit_test(who_comes_when_there_is_no_memory_does_not_keep_later_ones_out),
		cmocka_unit_test(connections_beyond_the_limit_are_refused_and_room_comes_back),
		cmocka_unit_test(a_paused_connection_reads_nothing_until_it_is_resumed),
		cmocka_unit_test(a_peer_that_does_not_read_is_cut_off_at_the_pending_limit),
		cmocka_unit_test(an_end_without_close_notify_is_told_from_an_orderly_one),
		cmocka_unit_test(an_end_during_the_handshake_is_a_refusal),
		cmocka_unit_test(bytes_that_are_not_tls_end_that_connection_only),
		cmocka_unit_test(a_reload_closes_the_revoked_and_refuses_it_from_then_on),
		cmocka_unit_test(a_reload_makes_the_old_ca_useless_at_once),
		cmocka_unit_test(a_handshake_under_way_is_judged_by_the_new_certificates),
		cmocka_unit_test(connections_outlive_their_listener),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
