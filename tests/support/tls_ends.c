/* tls_ends.c - two ends of TLS in memory, and their certificates. */
#include "tls_ends.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>

#define CLIENT   "tombola:role:client"
#define ANALYZER "tombola:role:analyzer"
#define SHUFFLER "tombola:role:shuffler"

struct certs certs;

const char *file(const char *name, const char *suffix)
{
	return !name ? NULL : certs_path(&certs, name, suffix);
}

struct nt_tls_conf server_conf(const char *name)
{
	struct nt_tls_conf conf = {
		.server = true,
		.cert_file = file(name, "crt"),
		.key_file = file(name, "key"),
		.trust = { { CR_ROLE_CLIENT, file("clients", "crt"), NULL },
			{ CR_ROLE_ANALYZER, file("services", "crt"), NULL } },
	};
	return conf;
}

struct nt_tls_conf client_conf(const char *name)
{
	struct nt_tls_conf conf = {
		.cert_file = file(name, "crt"),
		.key_file = file(name, "key"),
		.trust = { { CR_ROLE_SHUFFLER, file("services", "crt"), NULL } },
	};
	return conf;
}

void end_init(struct end *e, const struct nt_tls_conf *conf, const char *host)
{
	struct cm_err err = { .code = CM_OK };

	memset(e, 0, sizeof *e);
	cm_buf_init(&e->plain, 4u << 20);
	cm_buf_init(&e->wire, 8u << 20);
	if (!conf)
		return;
	if (nt_tls_ctx_new(conf, &e->ctx, &err) != CM_OK || nt_tls_new(e->ctx, host, &e->tls, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

void raw_init(struct end *e, bool server, const char *name)
{
	end_init(e, NULL, NULL);
	e->raw_ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	assert_non_null(e->raw_ctx);
	if (name) {
		assert_int_equal(SSL_CTX_use_certificate_chain_file(e->raw_ctx, file(name, "crt")), 1);
		assert_int_equal(
			SSL_CTX_use_PrivateKey_file(e->raw_ctx, file(name, "key"), SSL_FILETYPE_PEM), 1);
	}
}

void raw_start(struct end *e, bool server)
{
	e->raw = SSL_new(e->raw_ctx);
	assert_non_null(e->raw);
	SSL_set_bio(e->raw, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	if (server)
		SSL_set_accept_state(e->raw);
	else
		SSL_set_connect_state(e->raw);
}

void end_fini(struct end *e)
{
	nt_tls_free(e->tls);
	nt_tls_ctx_free(e->ctx);
	SSL_free(e->raw);
	SSL_CTX_free(e->raw_ctx);
	cm_buf_fini(&e->plain);
	cm_buf_fini(&e->wire);
}

static void raw_feed(struct end *e, const uint8_t *data, size_t n)
{
	char buf[4096];
	int got;

	ERR_clear_error();
	if (n > 0)
		assert_int_equal(BIO_write(SSL_get_rbio(e->raw), data, (int)n), (int)n);
	while ((got = SSL_read(e->raw, buf, sizeof buf)) > 0)
		assert_int_equal(cm_buf_put(&e->plain, buf, (size_t)got), CM_OK);
	if (SSL_get_error(e->raw, got) == SSL_ERROR_SSL && e->rc == CM_OK) {
		const char *text = ERR_reason_error_string(ERR_peek_error());

		e->rc = cm_fail(&e->err, CM_EPROTO, "%s", text ? text : "?");
	}
	while ((got = BIO_read(SSL_get_wbio(e->raw), buf, sizeof buf)) > 0)
		assert_int_equal(cm_buf_put(&e->wire, buf, (size_t)got), CM_OK);
}

void feed(struct end *e, const uint8_t *data, size_t n)
{
	if (e->raw)
		raw_feed(e, data, n);
	else if (e->rc == CM_OK)
		e->rc = nt_tls_feed(e->tls, data, n, &e->plain, &e->wire, &e->err);
}

void converse(struct end *a, struct end *b, size_t chunk)
{
	while (a->wire.len > 0 || b->wire.len > 0) {
		struct end *from = a->wire.len > 0 ? a : b, *to = from == a ? b : a;
		size_t n = from->wire.len < chunk ? from->wire.len : chunk;
		uint8_t *copy = malloc(n);

		assert_non_null(copy);
		memcpy(copy, from->wire.data, n);
		cm_buf_drop(&from->wire, n);
		feed(to, copy, n);
		free(copy);
	}
}

static void start(struct end *client)
{
	if (client->raw)
		raw_feed(client, NULL, 0);
	else
		assert_int_equal(nt_tls_start(client->tls, &client->wire, &client->err), CM_OK);
}

void shake(struct end *client, struct end *server, size_t chunk)
{
	start(client);
	converse(client, server, chunk);
}

void assert_says(const struct end *e, enum cm_rc rc, const char *text)
{
	if (e->rc != rc || !strstr(e->err.msg, text))
		fail_msg("wanted %d '%s', got %d '%s'", (int)rc, text, (int)e->rc,
			e->rc == CM_OK ? "" : e->err.msg);
}

void good_pair(struct end *client, struct end *server, const char *client_name)
{
	struct nt_tls_conf sc = server_conf("shuffler"), cc = client_conf(client_name);

	end_init(server, &sc, NULL);
	end_init(client, &cc, "localhost");
}

int ends_certs_make(void **state)
{
	static const struct certs_leaf leaf[] = {
		{ .cn = "edge", .ca = "clients", .uri = { CLIENT }, .client_eku = true },
		{ .cn = "revoked", .ca = "clients", .uri = { CLIENT }, .client_eku = true },
		{ .cn = "expired", .ca = "clients", .uri = { CLIENT }, .from_s = -2 * DAY_S, .to_s = -DAY_S },
		{ .cn = "future", .ca = "clients", .uri = { CLIENT }, .from_s = DAY_S, .to_s = 2 * DAY_S },
		{ .cn = "self", .uri = { CLIENT } },
		{ .cn = "rogue-client", .ca = "rogue", .uri = { CLIENT } },
		{ .cn = "fake-analyzer", .ca = "clients", .uri = { ANALYZER } },
		{ .cn = "fake-client", .ca = "services", .uri = { CLIENT } },
		{ .cn = "roleless", .ca = "clients" },
		{ .cn = "two-roles", .ca = "clients", .uri = { CLIENT, ANALYZER } },
		{ .cn = "server-eku", .ca = "clients", .uri = { CLIENT }, .server_eku = true },
		{ .cn = "large", .ca = "clients", .uri = { CLIENT }, .padding = 20000 },
		{ .cn = "analyzer", .ca = "services", .uri = { ANALYZER }, .client_eku = true },
		{ .cn = "analyzer-host", .ca = "services", .uri = { ANALYZER }, .dns = "localhost" },
		{ .cn = "shuffler",
			.ca = "services",
			.uri = { SHUFFLER },
			.dns = "localhost",
			.ip = "127.0.0.1",
			.server_eku = true },
		{ .cn = "other-shuffler", .ca = "services", .uri = { SHUFFLER } },
		{ .cn = "rogue-shuffler", .ca = "rogue", .uri = { SHUFFLER }, .dns = "localhost" },
	};

	(void)state;
	certs_make(&certs, leaf, sizeof leaf / sizeof leaf[0]);
	return 0;
}

int ends_certs_drop(void **state)
{
	(void)state;
	certs_fini(&certs);
	return 0;
}
