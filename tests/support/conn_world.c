/* conn_world.c - the two ends of a connection on one loop, and their certificates. */
#include "conn_world.h"

#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>

struct certs certs;

static void on_open(struct nt_conn *c, void *user)
{
	struct peer *p = user;

	p->opens++;
	p->conn = c;
	if (p->w->on_open)
		p->w->on_open(p);
}

static void on_server_open(struct nt_conn *c, void *user)
{
	struct world *w = user;
	struct peer *p = &w->server[w->n_server++];

	assert_true(w->n_server <= MANY);
	p->w = w;
	p->server = true;
	cm_buf_init(&p->got, 16u << 20);
	nt_conn_set_user(c, p);
	on_open(c, p);
}

static void on_data(struct nt_conn *c, void *user, const uint8_t *data, size_t n)
{
	struct peer *p = user;
	struct cm_err err;

	p->data_calls++;
	p->empty_calls += n == 0;
	assert_int_equal(cm_buf_put(&p->got, data, n), CM_OK);
	if (p->server && p->w->echo && n > 0)
		assert_int_equal(nt_conn_send(c, data, n, &err), CM_OK);
	if (p->w->on_data)
		p->w->on_data(p);
}

static void on_drain(struct nt_conn *c, void *user)
{
	struct peer *p = user;

	assert_int_equal(nt_conn_pending(c), 0);
	p->drains++;
}

static void on_close(struct nt_conn *c, void *user, const struct cm_err *why)
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

struct nt_tls_ctx *server_ctx(const char *clients_ca, const char *crl)
{
	struct nt_tls_conf conf = {
		.server = true,
		.cert_file = certs_path(&certs, "shuffler", "crt"),
		.key_file = certs_path(&certs, "shuffler", "key"),
		.trust = { { CR_ROLE_CLIENT, certs_path(&certs, clients_ca, "crt"),
			crl ? certs_path(&certs, crl, "crl") : NULL } },
	};
	struct nt_tls_ctx *ctx;
	struct cm_err err;

	if (nt_tls_ctx_new(&conf, &ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return ctx;
}

struct nt_tls_ctx *client_ctx(const char *name)
{
	struct nt_tls_conf conf = {
		.cert_file = certs_path(&certs, name, "crt"),
		.key_file = certs_path(&certs, name, "key"),
		.trust = { { CR_ROLE_SHUFFLER, certs_path(&certs, "services", "crt"), NULL } },
	};
	struct nt_tls_ctx *ctx;
	struct cm_err err;

	if (nt_tls_ctx_new(&conf, &ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return ctx;
}

const struct nt_conn_handler client_handler = { on_open, on_data, on_drain, on_close };

void world_init(struct world *w)
{
	memset(w, 0, sizeof *w);
	turning_start(&w->loop, &w->guard);
	uv_unref((uv_handle_t *)&w->guard);
	nt_conn_limits_default(&w->limits);
	w->server_ctx = server_ctx("clients", NULL);
	w->client_ctx = client_ctx("edge");
}

void world_listen(struct world *w)
{
	struct nt_listener_conf conf = {
		.address = "127.0.0.1:0",
		.tls = w->server_ctx,
		.limits = w->limits,
		.handler = { on_server_open, on_data, on_drain, on_close },
		.user = w,
		.on_refused = on_refused,
	};
	struct cm_err err;

	if (nt_listener_new(&w->loop, &conf, &w->listener, &err) != CM_OK)
		fail_msg("%s", err.msg);
	(void)snprintf(w->address, sizeof w->address, "127.0.0.1:%d", nt_listener_port(w->listener));
}

void peer_init(struct world *w, struct peer *p)
{
	memset(p, 0, sizeof *p);
	p->w = w;
	cm_buf_init(&p->got, 16u << 20);
}

void dial_at(struct world *w, struct peer *p, const char *address)
{
	struct cm_err err;

	peer_init(w, p);
	if (nt_conn_dial(&w->loop, address, w->client_ctx, &w->limits, &client_handler, p, &p->conn, &err) !=
		CM_OK)
		fail_msg("%s", err.msg);
}

void dial(struct world *w, struct peer *p)
{
	dial_at(w, p, w->address);
}

void run_until_closed(struct world *w, int closes)
{
	w->closes_awaited = closes;
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
}

void world_fini(struct world *w)
{
	if (w->listener)
		nt_listener_close(w->listener);
	for (int i = 0; i < w->n_server; i++) {
		if (w->server[i].conn)
			nt_conn_close(w->server[i].conn, NULL);
	}
	w->closes_awaited = 0;
	turning_end(&w->loop, &w->guard);
	for (int i = 0; i < w->n_server; i++) {
		assert_int_equal(w->server[i].opens, 1);
		assert_int_equal(w->server[i].closes, 1);
		cm_buf_fini(&w->server[i].got);
	}
	nt_tls_ctx_free(w->server_ctx);
	nt_tls_ctx_free(w->client_ctx);
}

void world_dial(struct world *w, struct peer *p)
{
	world_init(w);
	world_listen(w);
	dial(w, p);
}

void world_end(struct world *w, struct peer *p)
{
	cm_buf_fini(&p->got);
	world_fini(w);
}

void assert_ended(const struct peer *p, enum cm_rc rc, const char *text)
{
	assert_int_equal(p->closes, 1);
	if (p->why.code != rc || !strstr(p->why.msg, text))
		fail_msg("wanted %d '%s', got %d '%s'", (int)rc, text, (int)p->why.code, p->why.msg);
}

void send_text(struct peer *p, const char *text)
{
	struct cm_err err;

	assert_int_equal(nt_conn_send(p->conn, (const uint8_t *)text, strlen(text), &err), CM_OK);
}

int plain_socket_from(const struct world *w, uint32_t source)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	in.sin_addr.s_addr = htonl(source);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)nt_listener_port(w->listener));
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
	return fd;
}

int plain_socket(const struct world *w)
{
	return plain_socket_from(w, INADDR_LOOPBACK);
}

int world_certs_make(void **state)
{
	static const struct certs_leaf leaf[] = {
		{ .cn = "edge", .ca = "clients", .uri = { "tombola:role:client" } },
		{ .cn = "revoked", .ca = "clients", .uri = { "tombola:role:client" } },
		{ .cn = "rogue-client", .ca = "rogue", .uri = { "tombola:role:client" } },
		{ .cn = "expired",
			.ca = "clients",
			.uri = { "tombola:role:client" },
			.from_s = -2 * DAY_S,
			.to_s = -DAY_S },
		{ .cn = "odd", .ca = "clients", .uri = { "tombola:role:shuffler" } },
		{ .cn = "shuffler",
			.ca = "services",
			.uri = { "tombola:role:shuffler" },
			.dns = "localhost",
			.ip = "127.0.0.1" },
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

void pause_server(struct peer *p)
{
	if (p->server)
		nt_conn_pause(p->conn);
}

int mute_listener(char address[64])
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof in;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	(void)snprintf(address, 64, "127.0.0.1:%d", ntohs(in.sin_port));
	return fd;
}
