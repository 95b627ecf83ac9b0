/* test_tls.c - TLS sessions against each other and against plain OpenSSL, in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "certs.h"
#include "cm_tls.h"

#define DAY_S 86400L
#define SHUF  "tombola:role:shuffler"

static struct certs certs;

/* ---- two ends and the wire between them ---- */

struct end {
	struct cm_tls_ctx *ctx;
	struct cm_tls *tls;
	SSL_CTX *raw_ctx; /* a peer that is plain OpenSSL instead */
	SSL *raw;
	struct cm_buf plain, wire;
	enum cm_rc rc;
	struct cm_err err;
};

static const char *file(const char *name, const char *suffix)
{
	return name == NULL ? NULL : certs_path(&certs, name, suffix);
}

static struct cm_tls_conf server_conf(const char *name)
{
	struct cm_tls_conf conf = {
		.server = true,
		.cert_file = file(name, "crt"),
		.key_file = file(name, "key"),
		.trust = { { CM_ROLE_CLIENT, file("clients", "crt"), NULL },
			{ CM_ROLE_ANALYZER, file("services", "crt"), NULL } },
	};
	return conf;
}

static struct cm_tls_conf client_conf(const char *name)
{
	struct cm_tls_conf conf = {
		.cert_file = file(name, "crt"),
		.key_file = file(name, "key"),
		.trust = { { CM_ROLE_SHUFFLER, file("services", "crt"), NULL } },
	};
	return conf;
}

static void end_init(struct end *e, const struct cm_tls_conf *conf, const char *host)
{
	struct cm_err err = { .code = CM_OK };

	memset(e, 0, sizeof *e);
	cm_buf_init(&e->plain, 4u << 20);
	cm_buf_init(&e->wire, 8u << 20);
	if (conf == NULL)
		return;
	if (cm_tls_ctx_new(conf, &e->ctx, &err) != CM_OK || cm_tls_new(e->ctx, host, &e->tls, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

/* Plain OpenSSL with our certificates, for what cm_tls would never do. */
static void raw_init(struct end *e, bool server, const char *name)
{
	end_init(e, NULL, NULL);
	e->raw_ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	assert_non_null(e->raw_ctx);
	if (name != NULL) {
		assert_int_equal(SSL_CTX_use_certificate_chain_file(e->raw_ctx, file(name, "crt")), 1);
		assert_int_equal(
			SSL_CTX_use_PrivateKey_file(e->raw_ctx, file(name, "key"), SSL_FILETYPE_PEM), 1);
	}
}

static void raw_start(struct end *e, bool server)
{
	e->raw = SSL_new(e->raw_ctx);
	assert_non_null(e->raw);
	SSL_set_bio(e->raw, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	if (server)
		SSL_set_accept_state(e->raw);
	else
		SSL_set_connect_state(e->raw);
}

static void end_fini(struct end *e)
{
	cm_tls_free(e->tls);
	cm_tls_ctx_free(e->ctx);
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

		e->rc = cm_fail(&e->err, CM_EPROTO, "%s", text != NULL ? text : "?");
	}
	while ((got = BIO_read(SSL_get_wbio(e->raw), buf, sizeof buf)) > 0)
		assert_int_equal(cm_buf_put(&e->wire, buf, (size_t)got), CM_OK);
}

static void feed(struct end *e, const uint8_t *data, size_t n)
{
	if (e->raw != NULL)
		raw_feed(e, data, n);
	else if (e->rc == CM_OK)
		e->rc = cm_tls_feed(e->tls, data, n, &e->plain, &e->wire, &e->err);
}

/* Carry bytes both ways, at most `chunk` at a time, until nothing moves. */
static void converse(struct end *a, struct end *b, size_t chunk)
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
	if (client->raw != NULL)
		raw_feed(client, NULL, 0);
	else
		assert_int_equal(cm_tls_start(client->tls, &client->wire, &client->err), CM_OK);
}

static void shake(struct end *client, struct end *server, size_t chunk)
{
	start(client);
	converse(client, server, chunk);
}

static void assert_says(const struct end *e, enum cm_rc rc, const char *text)
{
	if (e->rc != rc || strstr(e->err.msg, text) == NULL)
		fail_msg("wanted %d '%s', got %d '%s'", (int)rc, text, (int)e->rc,
			e->rc == CM_OK ? "" : e->err.msg);
}

/* ---- sessions that work ---- */

static void good_pair(struct end *client, struct end *server, const char *client_name)
{
	struct cm_tls_conf sc = server_conf("shuffler"), cc = client_conf(client_name);

	end_init(server, &sc, NULL);
	end_init(client, &cc, "localhost");
}

static void roundtrip(size_t chunk)
{
	struct end c, s;
	const uint8_t *ping = (const uint8_t *)"ping", *pong = (const uint8_t *)"pong";

	good_pair(&c, &s, "edge");
	assert_false(cm_tls_ready(s.tls));
	shake(&c, &s, chunk);
	assert_true(cm_tls_ready(c.tls) && cm_tls_ready(s.tls));
	assert_int_equal(cm_tls_peer(s.tls)->role, CM_ROLE_CLIENT);
	assert_string_equal(cm_tls_peer(s.tls)->name, "edge");
	assert_int_equal(cm_tls_peer(c.tls)->role, CM_ROLE_SHUFFLER);
	assert_int_equal(cm_tls_send(c.tls, ping, 4, &c.wire, &c.err), CM_OK);
	assert_int_equal(cm_tls_send(s.tls, pong, 4, &s.wire, &s.err), CM_OK);
	converse(&c, &s, chunk);
	assert_int_equal(s.plain.len, 4);
	assert_memory_equal(s.plain.data, "ping", 4);
	assert_int_equal(c.plain.len, 4);
	assert_memory_equal(c.plain.data, "pong", 4);
	assert_false(cm_tls_closed(s.tls));
	cm_tls_shutdown(c.tls, &c.wire);
	converse(&c, &s, chunk);
	assert_true(cm_tls_closed(s.tls));
	assert_int_equal(s.rc, CM_OK);
	end_fini(&c);
	end_fini(&s);
}

static void all_bytes_at_once_make_a_session(void **state)
{
	(void)state;
	roundtrip(1u << 20);
}

static void one_byte_at_a_time_makes_the_same_session(void **state)
{
	(void)state;
	roundtrip(1);
}

static void a_megabyte_arrives_whole_in_odd_pieces(void **state)
{
	size_t n = 1u << 20;
	uint8_t *data = malloc(n);
	struct end c, s;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(i * 31 + (i >> 8));
	good_pair(&c, &s, "edge");
	shake(&c, &s, 1000);
	assert_int_equal(cm_tls_send(c.tls, data, n, &c.wire, &c.err), CM_OK);
	converse(&c, &s, 7777);
	assert_int_equal(s.plain.len, n);
	assert_memory_equal(s.plain.data, data, n);
	free(data);
	end_fini(&c);
	end_fini(&s);
}

static void the_analyzer_of_the_services_ca_is_let_in(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "analyzer");
	shake(&c, &s, 4096);
	assert_int_equal(cm_tls_peer(s.tls)->role, CM_ROLE_ANALYZER);
	end_fini(&c);
	end_fini(&s);
}

static void an_address_in_the_certificate_is_a_host_too(void **state)
{
	struct cm_tls_conf sc = server_conf("shuffler"), cc = client_conf("edge");
	struct end c, s;

	(void)state;
	end_init(&s, &sc, NULL);
	end_init(&c, &cc, "127.0.0.1");
	shake(&c, &s, 4096);
	assert_true(cm_tls_ready(c.tls) && cm_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void a_session_outlives_the_certificates_it_began_with(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	cm_tls_ctx_free(c.ctx);
	cm_tls_ctx_free(s.ctx);
	c.ctx = s.ctx = NULL;
	shake(&c, &s, 4096);
	assert_true(cm_tls_ready(c.tls) && cm_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void no_ticket_and_no_early_data_are_ever_offered(void **state)
{
	struct cm_tls_conf sc = server_conf("shuffler");
	struct end c, s;

	(void)state;
	end_init(&s, &sc, NULL);
	raw_init(&c, false, "edge");
	assert_int_equal(SSL_CTX_set_alpn_protos(c.raw_ctx, (const unsigned char *)"\x09tombola/1", 10), 0);
	raw_start(&c, false);
	shake(&c, &s, 4096);
	assert_true(cm_tls_ready(s.tls));
	/* Tickets arrive with the first bytes after the handshake. */
	assert_int_equal(cm_tls_send(s.tls, (const uint8_t *)"x", 1, &s.wire, &s.err), CM_OK);
	converse(&c, &s, 4096);
	assert_int_equal(c.plain.len, 1);
	assert_int_equal(SSL_SESSION_has_ticket(SSL_get0_session(c.raw)), 0);
	assert_int_equal(SSL_SESSION_get_max_early_data(SSL_get0_session(c.raw)), 0);
	end_fini(&c);
	end_fini(&s);
}

/* ---- certificates that are refused: the refuser says why, the refused is told ---- */

static void server_refuses(const char *client, const char *why, const char *told)
{
	struct cm_tls_conf sc = server_conf("shuffler"), cc = client_conf(client);

	for (size_t chunk = 1; chunk <= 4096; chunk += 4095) {
		struct end c, s;

		end_init(&s, &sc, NULL);
		end_init(&c, &cc, "localhost");
		shake(&c, &s, chunk);
		assert_says(&s, CM_EPERM, why);
		assert_false(cm_tls_ready(s.tls));
		assert_says(&c, CM_EPERM, told);
		/* Dead is dead: the same reason again. */
		s.rc = CM_OK;
		feed(&s, (const uint8_t *)"x", 1);
		assert_says(&s, CM_EPERM, why);
		end_fini(&c);
		end_fini(&s);
	}
}

static void a_client_of_an_unknown_ca_is_refused_and_told(void **state)
{
	(void)state;
	server_refuses("rogue-client", "certificate \"rogue-client\" refused: unknown CA \"rogue\"",
		"shuffler refused our certificate: unknown CA");
}

static void an_expired_client_is_refused_and_told(void **state)
{
	(void)state;
	server_refuses("expired", "certificate \"expired\" refused: it expired at 2",
		"shuffler refused our certificate: expired");
}

static void a_client_from_the_future_is_refused_and_told(void **state)
{
	(void)state;
	server_refuses("future", "certificate \"future\" refused: it is not yet valid, only from 2",
		"shuffler refused our certificate: not yet valid");
}

static void a_self_signed_client_is_refused_and_told(void **state)
{
	(void)state;
	server_refuses("self", "certificate \"self\" refused: it is self-signed",
		"shuffler refused our certificate: unknown CA");
}

static void a_shuffler_may_not_come_in_as_a_peer(void **state)
{
	(void)state;
	server_refuses("other-shuffler",
		"certificate \"other-shuffler\" refused: its role is shuffler, wanted client or analyzer",
		"shuffler refused our certificate: its role is not accepted there");
}

static void the_clients_ca_cannot_make_an_analyzer(void **state)
{
	(void)state;
	server_refuses("fake-analyzer",
		"certificate \"fake-analyzer\" refused: CA \"clients\" may not vouch for role analyzer",
		"shuffler refused our certificate: unknown CA, or not the CA for its role");
}

static void the_services_ca_cannot_make_a_client(void **state)
{
	(void)state;
	server_refuses("fake-client", "refused: CA \"services\" may not vouch for role client",
		"not the CA for its role");
}

static void a_certificate_without_a_role_is_refused(void **state)
{
	(void)state;
	server_refuses(
		"roleless", "role", "shuffler refused our certificate: its role is not accepted there");
}

static void a_certificate_with_two_roles_is_refused(void **state)
{
	(void)state;
	server_refuses(
		"two-roles", "role", "shuffler refused our certificate: its role is not accepted there");
}

static void a_certificate_for_servers_only_is_refused_from_a_client(void **state)
{
	(void)state;
	server_refuses("server-eku", "certificate \"server-eku\" refused:",
		"shuffler refused our certificate: its role is not accepted there");
}

static void an_oversized_certificate_is_refused(void **state)
{
	struct cm_tls_conf sc = server_conf("shuffler"), cc = client_conf("large");
	struct end c, s;

	(void)state;
	end_init(&s, &sc, NULL);
	end_init(&c, &cc, "localhost");
	shake(&c, &s, 4096);
	assert_says(&s, CM_EPROTO, "excessive message size");
	assert_false(cm_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void a_revoked_client_is_refused_and_others_are_not(void **state)
{
	static const char *const revoked[] = { "revoked", NULL };
	struct cm_tls_conf sc = server_conf("shuffler");

	(void)state;
	certs_crl(&certs, "clients", revoked, -60, DAY_S);
	sc.trust[0].crl_file = file("clients", "crl");
	for (int good = 0; good < 2; good++) {
		struct cm_tls_conf cc = client_conf(good ? "edge" : "revoked");
		struct end c, s;

		end_init(&s, &sc, NULL);
		end_init(&c, &cc, "localhost");
		shake(&c, &s, 4096);
		if (good) {
			assert_true(cm_tls_ready(s.tls));
		} else {
			assert_says(&s, CM_EPERM,
				"certificate \"revoked\" refused: it was revoked by \"clients\"");
			assert_says(&c, CM_EPERM, "shuffler refused our certificate: revoked");
		}
		end_fini(&c);
		end_fini(&s);
	}
}

static void a_list_for_one_ca_does_not_shut_out_the_other(void **state)
{
	static const char *const none[] = { NULL };
	struct cm_tls_conf sc = server_conf("shuffler"), cc = client_conf("analyzer");
	struct end c, s;

	(void)state;
	certs_crl(&certs, "clients", none, -60, DAY_S);
	sc.trust[0].crl_file = file("clients", "crl");
	end_init(&s, &sc, NULL);
	end_init(&c, &cc, "localhost");
	shake(&c, &s, 4096);
	assert_true(cm_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void a_lapsed_revocation_list_refuses_everybody(void **state)
{
	static const char *const none[] = { NULL };
	struct cm_tls_conf sc = server_conf("shuffler"), cc = client_conf("edge");
	struct end c, s;

	(void)state;
	certs_crl(&certs, "clients", none, -2 * DAY_S, -DAY_S);
	sc.trust[0].crl_file = file("clients", "crl");
	end_init(&s, &sc, NULL);
	end_init(&c, &cc, "localhost");
	shake(&c, &s, 4096);
	assert_says(&s, CM_EPERM, "the revocation list of \"clients\" has expired");
	end_fini(&c);
	end_fini(&s);
}

static void client_refuses(const char *server, const char *host, enum cm_rc rc, const char *why)
{
	struct cm_tls_conf sc = server_conf(server), cc = client_conf("edge");
	struct end c, s;

	end_init(&s, &sc, NULL);
	end_init(&c, &cc, host);
	shake(&c, &s, 4096);
	assert_says(&c, rc, why);
	assert_false(cm_tls_ready(c.tls));
	assert_says(&s, CM_EPERM, "the peer refused our certificate");
	assert_false(cm_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void a_server_for_another_host_is_refused(void **state)
{
	(void)state;
	client_refuses("shuffler", "elsewhere.example", CM_EPERM,
		"certificate \"shuffler\" refused: it is not for host \"elsewhere.example\"");
}

static void a_server_for_another_address_is_refused(void **state)
{
	(void)state;
	client_refuses("shuffler", "127.0.0.2", CM_EPERM, "it is not for host \"127.0.0.2\"");
}

static void a_common_name_is_not_a_host_name(void **state)
{
	(void)state;
	client_refuses("shuffler", "shuffler", CM_EPERM, "it is not for host \"shuffler\"");
}

static void a_client_does_not_talk_to_an_analyzer(void **state)
{
	(void)state;
	client_refuses("analyzer-host", "localhost", CM_EPERM,
		"certificate \"analyzer-host\" refused: its role is analyzer, wanted shuffler");
}

static void a_server_of_an_unknown_ca_is_refused(void **state)
{
	(void)state;
	client_refuses("rogue-shuffler", "localhost", CM_EPERM,
		"certificate \"rogue-shuffler\" refused: unknown CA \"rogue\"");
}

/* ---- peers that speak otherwise ---- */

static void raw_client(const char *name, const unsigned char *alpn, unsigned alpn_len, int max_version,
	enum cm_rc rc, const char *why, const char *told)
{
	struct cm_tls_conf sc = server_conf("shuffler");
	struct end c, s;

	end_init(&s, &sc, NULL);
	raw_init(&c, false, name);
	assert_int_equal(SSL_CTX_set_max_proto_version(c.raw_ctx, max_version), 1);
	if (alpn != NULL)
		assert_int_equal(SSL_CTX_set_alpn_protos(c.raw_ctx, alpn, alpn_len), 0);
	raw_start(&c, false);
	shake(&c, &s, 4096);
	assert_says(&s, rc, why);
	assert_false(cm_tls_ready(s.tls));
	assert_says(&c, CM_EPROTO, told);
	end_fini(&c);
	end_fini(&s);
}

static void a_client_without_a_certificate_is_refused(void **state)
{
	(void)state;
	raw_client(NULL, (const unsigned char *)"\x09tombola/1", 10, TLS1_3_VERSION, CM_EPERM,
		"the peer sent no certificate", "certificate required");
}

static void a_client_of_tls_1_2_is_refused(void **state)
{
	(void)state;
	raw_client("edge", (const unsigned char *)"\x09tombola/1", 10, TLS1_2_VERSION, CM_EPROTO,
		"the peer does not speak TLS 1.3", "protocol version");
}

static void a_client_with_another_alpn_is_refused(void **state)
{
	(void)state;
	raw_client("edge", (const unsigned char *)"\x02h2\x09tombola/2", 13, TLS1_3_VERSION, CM_EPROTO,
		"does not speak tombola/1", "no application protocol");
}

static void a_client_without_alpn_is_refused(void **state)
{
	(void)state;
	raw_client("edge", NULL, 0, TLS1_3_VERSION, CM_EPROTO, "does not speak tombola/1",
		"no application protocol");
}

static void a_server_without_alpn_is_refused(void **state)
{
	struct cm_tls_conf cc = client_conf("edge");
	struct end c, s;

	(void)state;
	raw_init(&s, true, "shuffler");
	raw_start(&s, true);
	end_init(&c, &cc, "localhost");
	shake(&c, &s, 4096);
	assert_says(&c, CM_EPROTO, "does not speak tombola/1");
	assert_false(cm_tls_ready(c.tls));
	end_fini(&c);
	end_fini(&s);
}

static void a_server_of_tls_1_2_is_refused(void **state)
{
	struct cm_tls_conf cc = client_conf("edge");
	struct end c, s;

	(void)state;
	raw_init(&s, true, "shuffler");
	assert_int_equal(SSL_CTX_set_max_proto_version(s.raw_ctx, TLS1_2_VERSION), 1);
	raw_start(&s, true);
	end_init(&c, &cc, "localhost");
	shake(&c, &s, 4096);
	assert_says(&c, CM_EPROTO, "protocol version");
	end_fini(&c);
	end_fini(&s);
}

static void bytes_that_are_not_tls_are_a_protocol_fault(void **state)
{
	static const char *const garbage[] = { "GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x16\x03\x01\xff\xff garbage garbage", "\x17\x03\x03\x00\x05hello" };
	struct cm_tls_conf sc = server_conf("shuffler");

	(void)state;
	for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
		struct end s;
		size_t n = i == 2 ? 20 : i == 3 ? 10 : strlen(garbage[i]);

		end_init(&s, &sc, NULL);
		feed(&s, (const uint8_t *)garbage[i], n);
		assert_says(&s, CM_EPROTO, "TLS");
		assert_false(cm_tls_ready(s.tls));
		end_fini(&s);
	}
}

static void a_flipped_bit_after_the_handshake_kills_the_session(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	shake(&c, &s, 4096);
	assert_int_equal(cm_tls_send(c.tls, (const uint8_t *)"report", 6, &c.wire, &c.err), CM_OK);
	c.wire.data[c.wire.len - 1] ^= 1;
	converse(&c, &s, 4096);
	assert_says(&s, CM_EPROTO, "not good TLS");
	assert_int_equal(s.plain.len, 0);
	assert_says(&c, CM_EPROTO, "shuffler ended TLS");
	assert_int_equal(cm_tls_send(s.tls, (const uint8_t *)"x", 1, &s.wire, &s.err), CM_EINTERNAL);
	end_fini(&c);
	end_fini(&s);
}

static void an_end_without_close_notify_is_not_closed(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	shake(&c, &s, 4096);
	assert_int_equal(cm_tls_send(c.tls, (const uint8_t *)"half", 4, &c.wire, &c.err), CM_OK);
	converse(&c, &s, 4096);
	assert_false(cm_tls_closed(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void nothing_can_be_sent_before_the_peer_is_known(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	assert_int_equal(cm_tls_send(s.tls, (const uint8_t *)"x", 1, &s.wire, &s.err), CM_EINTERNAL);
	assert_int_equal(s.wire.len, 0);
	end_fini(&c);
	end_fini(&s);
}

static void plaintext_beyond_its_maximum_kills_the_session(void **state)
{
	uint8_t data[100] = { 0 };
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	s.plain.max = 99;
	shake(&c, &s, 4096);
	assert_int_equal(cm_tls_send(c.tls, data, sizeof data, &c.wire, &c.err), CM_OK);
	converse(&c, &s, 4096);
	assert_says(&s, CM_EDATA, "no room");
	end_fini(&c);
	end_fini(&s);
}

/* ---- a second look after a reload ---- */

static void a_second_look_finds_the_revoked_and_the_old_ca(void **state)
{
	static const char *const revoked[] = { "revoked", NULL };
	struct cm_tls_conf same = server_conf("shuffler"), with_crl = same, other_ca = same;
	struct cm_tls_conf *conf[] = { &same, &with_crl, &other_ca };
	static const char *const want[] = { NULL, "revoked by", "unknown CA" };
	struct end c, s;

	(void)state;
	certs_crl(&certs, "clients", revoked, -60, DAY_S);
	with_crl.trust[0].crl_file = file("clients", "crl");
	other_ca.trust[0].ca_file = file("rogue", "crt");
	good_pair(&c, &s, "revoked");
	shake(&c, &s, 4096);
	assert_true(cm_tls_ready(s.tls));
	for (size_t i = 0; i < 3; i++) {
		struct cm_tls_ctx *ctx;
		struct cm_err err = { .code = CM_OK };

		assert_int_equal(cm_tls_ctx_new(conf[i], &ctx, &err), CM_OK);
		assert_int_equal(cm_tls_recheck(s.tls, ctx, &err), want[i] == NULL ? CM_OK : CM_EPERM);
		if (want[i] != NULL)
			assert_non_null(strstr(err.msg, want[i]));
		cm_tls_ctx_free(ctx);
	}
	end_fini(&c);
	end_fini(&s);
}

static void both_the_old_and_the_new_ca_work_while_one_file_holds_both(void **state)
{
	static const char *const name[] = { "edge", "rogue-client" };
	struct cm_tls_conf sc = server_conf("shuffler");

	(void)state;
	certs_join(&certs, "both", "crt", file("clients", "crt"), file("rogue", "crt"));
	sc.trust[0].ca_file = file("both", "crt");
	for (size_t i = 0; i < 2; i++) {
		struct cm_tls_conf cc = client_conf(name[i]);
		struct end c, s;

		end_init(&s, &sc, NULL);
		end_init(&c, &cc, "localhost");
		shake(&c, &s, 4096);
		assert_true(cm_tls_ready(s.tls));
		end_fini(&c);
		end_fini(&s);
	}
}

/* ---- files ---- */

static void ctx_fails(const struct cm_tls_conf *conf, enum cm_rc rc, const char *path, const char *why)
{
	struct cm_tls_ctx *ctx;
	struct cm_err err = { .code = CM_OK };

	assert_int_equal(cm_tls_ctx_new(conf, &ctx, &err), rc);
	assert_null(ctx);
	if (strstr(err.msg, path) == NULL || strstr(err.msg, why) == NULL || strchr(err.msg, '\n') != NULL)
		fail_msg("wanted '%s' and '%s' in one line, got '%s'", path, why, err.msg);
}

static void a_missing_file_is_named(void **state)
{
	struct cm_tls_conf conf;

	(void)state;
	conf = server_conf("shuffler");
	conf.cert_file = file("nowhere", "crt");
	ctx_fails(&conf, CM_ENOINPUT, conf.cert_file, "No such file");
	conf = server_conf("shuffler");
	conf.key_file = file("nowhere", "key");
	ctx_fails(&conf, CM_ENOINPUT, conf.key_file, "no such file");
	conf = server_conf("shuffler");
	conf.trust[1].ca_file = file("nowhere", "ca");
	ctx_fails(&conf, CM_ENOINPUT, conf.trust[1].ca_file, "No such file");
	conf = server_conf("shuffler");
	conf.trust[0].crl_file = file("nowhere", "crl");
	ctx_fails(&conf, CM_ENOINPUT, conf.trust[0].crl_file, "No such file");
}

static void a_file_of_garbage_is_named(void **state)
{
	struct cm_tls_conf conf;

	(void)state;
	certs_text(&certs, "garbage", "pem",
		"-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n");
	assert_int_equal(chmod(file("garbage", "pem"), 0600), 0);
	conf = server_conf("shuffler");
	conf.cert_file = file("garbage", "pem");
	ctx_fails(&conf, CM_EPERM, conf.cert_file, "not a PEM certificate");
	conf = server_conf("shuffler");
	conf.key_file = file("garbage", "pem");
	ctx_fails(&conf, CM_EPERM, conf.key_file, "not a PEM private key");
	conf = server_conf("shuffler");
	conf.trust[0].ca_file = file("garbage", "pem");
	ctx_fails(&conf, CM_EPERM, conf.trust[0].ca_file, "not a file of PEM CA certificates");
	conf = server_conf("shuffler");
	conf.trust[0].crl_file = file("garbage", "pem");
	ctx_fails(&conf, CM_EPERM, conf.trust[0].crl_file, "not a file of PEM revocation lists");
	/* A good certificate followed by a damaged one is not a good file. */
	certs_join(&certs, "half", "crt", file("clients", "crt"), file("garbage", "pem"));
	conf = server_conf("shuffler");
	conf.trust[0].ca_file = file("half", "crt");
	ctx_fails(&conf, CM_EPERM, conf.trust[0].ca_file, "not a file of PEM CA certificates");
}

static void a_key_that_others_may_read_is_refused(void **state)
{
	static const mode_t mode[] = { 0604, 0640, 0644, 0602, 0666 };
	struct cm_tls_conf conf = server_conf("shuffler");

	(void)state;
	for (size_t i = 0; i < sizeof mode / sizeof mode[0]; i++) {
		assert_int_equal(chmod(conf.key_file, mode[i]), 0);
		ctx_fails(&conf, CM_EPERM, conf.key_file, "others may use");
	}
	assert_int_equal(chmod(conf.key_file, 0600), 0);
}

static void a_passed_credential_may_be_read_through_an_access_list_and_no_further(void **state)
{
	struct cm_tls_conf conf = server_conf("shuffler");
	struct cm_tls_ctx *ctx;
	char folder[300];
	struct cm_err err;

	(void)state;
	(void)snprintf(folder, sizeof folder, "%s", conf.key_file);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", folder, 1), 0);
	assert_int_equal(chmod(conf.key_file, 0440), 0);
	if (cm_tls_ctx_new(&conf, &ctx, &err) != CM_OK)
		fail_msg("%s", err.msg);
	cm_tls_ctx_free(ctx);
	assert_int_equal(chmod(conf.key_file, 0444), 0);
	ctx_fails(&conf, CM_EPERM, conf.key_file, "others may use");
	assert_int_equal(chmod(conf.key_file, 0460), 0);
	ctx_fails(&conf, CM_EPERM, conf.key_file, "others may use");
	/* Only what lies in that folder. */
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/run/credentials", 1), 0);
	assert_int_equal(chmod(conf.key_file, 0440), 0);
	ctx_fails(&conf, CM_EPERM, conf.key_file, "others may use");
	assert_int_equal(chmod(conf.key_file, 0600), 0);
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

static void a_key_of_another_certificate_is_refused(void **state)
{
	struct cm_tls_conf conf = server_conf("shuffler");

	(void)state;
	conf.key_file = file("edge", "key");
	ctx_fails(&conf, CM_EPERM, conf.key_file, "does not belong to");
}

/* ---- the PKI that operators use ---- */

static void remove_tree(const char *dir)
{
	char command[256];

	(void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

static void the_files_of_pki_init_work_together(void **state)
{
	char dir[] = "/tmp/tombola-pki-XXXXXX", pki[64], path[6][128];
	static const char *const name[] = { "shuffler/shuffler.crt", "shuffler/shuffler.key",
		"shuffler/clients-ca.crt", "shuffler/services-ca.crt", NULL, NULL };
	static const char *const party[] = { "client", "analyzer" };
	struct cm_err err = { .code = CM_OK };
	struct cm_tls_conf sc, cc;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(pki, sizeof pki, "%s/pki", dir);
	if (cm_pki_init(pki, "localhost", 1, &err) != CM_OK)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < 4; i++)
		(void)snprintf(path[i], sizeof path[i], "%s/%s", pki, name[i]);
	sc = (struct cm_tls_conf){ .server = true,
		.cert_file = path[0],
		.key_file = path[1],
		.trust = { { CM_ROLE_CLIENT, path[2], NULL }, { CM_ROLE_ANALYZER, path[3], NULL } } };
	for (size_t i = 0; i < 2; i++) {
		struct end c, s;

		(void)snprintf(path[4], sizeof path[4], "%s/%s/%s.crt", pki, party[i], party[i]);
		(void)snprintf(path[5], sizeof path[5], "%s/%s/%s.key", pki, party[i], party[i]);
		cc = (struct cm_tls_conf){ .cert_file = path[4],
			.key_file = path[5],
			.trust = { { CM_ROLE_SHUFFLER, path[3], NULL } } };
		end_init(&s, &sc, NULL);
		end_init(&c, &cc, "localhost");
		shake(&c, &s, 4096);
		if (s.rc != CM_OK || c.rc != CM_OK)
			fail_msg("%s: %s / %s", party[i], s.err.msg, c.err.msg);
		assert_string_equal(cm_role_name(cm_tls_peer(s.tls)->role), party[i]);
		end_fini(&c);
		end_fini(&s);
	}
	remove_tree(dir);
}

static int make_certificates(void **state)
{
	static const char *const client[] = { "edge", "revoked" };
	struct certs_leaf leaf = { .ca = "clients", .uri = { "tombola:role:client" }, .client_eku = true };

	(void)state;
	certs_init(&certs);
	certs_ca(&certs, "clients");
	certs_ca(&certs, "services");
	certs_ca(&certs, "rogue");
	for (size_t i = 0; i < 2; i++) {
		leaf.cn = client[i];
		certs_issue(&certs, client[i], &leaf);
	}
#define ISSUE(...) \
	certs_issue(&certs, (struct certs_leaf){ __VA_ARGS__ }.cn, &(struct certs_leaf){ __VA_ARGS__ })
	ISSUE(.cn = "expired", .ca = "clients", .uri = { "tombola:role:client" }, .from_s = -2 * DAY_S,
		.to_s = -DAY_S);
	ISSUE(.cn = "future", .ca = "clients", .uri = { "tombola:role:client" }, .from_s = DAY_S,
		.to_s = 2 * DAY_S);
	ISSUE(.cn = "self", .uri = { "tombola:role:client" });
	ISSUE(.cn = "rogue-client", .ca = "rogue", .uri = { "tombola:role:client" });
	ISSUE(.cn = "fake-analyzer", .ca = "clients", .uri = { "tombola:role:analyzer" });
	ISSUE(.cn = "fake-client", .ca = "services", .uri = { "tombola:role:client" });
	ISSUE(.cn = "roleless", .ca = "clients");
	ISSUE(.cn = "two-roles", .ca = "clients", .uri = { "tombola:role:client", "tombola:role:analyzer" });
	ISSUE(.cn = "server-eku", .ca = "clients", .uri = { "tombola:role:client" }, .server_eku = true);
	ISSUE(.cn = "large", .ca = "clients", .uri = { "tombola:role:client" }, .padding = 20000);
	ISSUE(.cn = "analyzer", .ca = "services", .uri = { "tombola:role:analyzer" }, .client_eku = true);
	ISSUE(.cn = "analyzer-host", .ca = "services", .uri = { "tombola:role:analyzer" },
		.dns = "localhost");
	ISSUE(.cn = "shuffler", .ca = "services", .uri = { SHUF }, .dns = "localhost", .ip = "127.0.0.1",
		.server_eku = true);
	ISSUE(.cn = "other-shuffler", .ca = "services", .uri = { SHUF });
	ISSUE(.cn = "rogue-shuffler", .ca = "rogue", .uri = { SHUF }, .dns = "localhost");
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
		cmocka_unit_test(all_bytes_at_once_make_a_session),
		cmocka_unit_test(one_byte_at_a_time_makes_the_same_session),
		cmocka_unit_test(a_megabyte_arrives_whole_in_odd_pieces),
		cmocka_unit_test(the_analyzer_of_the_services_ca_is_let_in),
		cmocka_unit_test(an_address_in_the_certificate_is_a_host_too),
		cmocka_unit_test(a_session_outlives_the_certificates_it_began_with),
		cmocka_unit_test(no_ticket_and_no_early_data_are_ever_offered),
		cmocka_unit_test(a_client_of_an_unknown_ca_is_refused_and_told),
		cmocka_unit_test(an_expired_client_is_refused_and_told),
		cmocka_unit_test(a_client_from_the_future_is_refused_and_told),
		cmocka_unit_test(a_self_signed_client_is_refused_and_told),
		cmocka_unit_test(a_shuffler_may_not_come_in_as_a_peer),
		cmocka_unit_test(the_clients_ca_cannot_make_an_analyzer),
		cmocka_unit_test(the_services_ca_cannot_make_a_client),
		cmocka_unit_test(a_certificate_without_a_role_is_refused),
		cmocka_unit_test(a_certificate_with_two_roles_is_refused),
		cmocka_unit_test(a_certificate_for_servers_only_is_refused_from_a_client),
		cmocka_unit_test(an_oversized_certificate_is_refused),
		cmocka_unit_test(a_revoked_client_is_refused_and_others_are_not),
		cmocka_unit_test(a_list_for_one_ca_does_not_shut_out_the_other),
		cmocka_unit_test(a_lapsed_revocation_list_refuses_everybody),
		cmocka_unit_test(a_server_for_another_host_is_refused),
		cmocka_unit_test(a_server_for_another_address_is_refused),
		cmocka_unit_test(a_common_name_is_not_a_host_name),
		cmocka_unit_test(a_client_does_not_talk_to_an_analyzer),
		cmocka_unit_test(a_server_of_an_unknown_ca_is_refused),
		cmocka_unit_test(a_client_without_a_certificate_is_refused),
		cmocka_unit_test(a_client_of_tls_1_2_is_refused),
		cmocka_unit_test(a_client_with_another_alpn_is_refused),
		cmocka_unit_test(a_client_without_alpn_is_refused),
		cmocka_unit_test(a_server_without_alpn_is_refused),
		cmocka_unit_test(a_server_of_tls_1_2_is_refused),
		cmocka_unit_test(bytes_that_are_not_tls_are_a_protocol_fault),
		cmocka_unit_test(a_flipped_bit_after_the_handshake_kills_the_session),
		cmocka_unit_test(an_end_without_close_notify_is_not_closed),
		cmocka_unit_test(nothing_can_be_sent_before_the_peer_is_known),
		cmocka_unit_test(plaintext_beyond_its_maximum_kills_the_session),
		cmocka_unit_test(a_second_look_finds_the_revoked_and_the_old_ca),
		cmocka_unit_test(both_the_old_and_the_new_ca_work_while_one_file_holds_both),
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(a_file_of_garbage_is_named),
		cmocka_unit_test(a_key_that_others_may_read_is_refused),
		cmocka_unit_test(a_passed_credential_may_be_read_through_an_access_list_and_no_further),
		cmocka_unit_test(a_key_of_another_certificate_is_refused),
		cmocka_unit_test(the_files_of_pki_init_work_together),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
