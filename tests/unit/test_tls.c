/* test_tls.c - TLS sessions against each other and against plain OpenSSL, in memory: the handshake and the
 * bytes. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tls_ends.h"

/* Counts what libcrypto takes from the kernel: this program's function comes before libc's. */
static unsigned taken;

int getentropy(void *out, size_t n)
{
	taken++;
	return getrandom(out, n, 0) == (ssize_t)n ? 0 : -1;
}

/* Otherwise a cloned virtual machine would make handshakes with the random numbers of the other. */
static void both_sides_of_every_handshake_begin_with_entropy_of_the_kernel(void **state)
{
	struct end c, s;

	(void)state;
	for (int i = 0; i < 3; i++) {
		unsigned before = taken;

		good_pair(&c, &s, "edge");
		shake(&c, &s, 1u << 20);
		assert_true(nt_tls_ready(c.tls) && nt_tls_ready(s.tls));
		assert_true(taken >= before + 2);
		end_fini(&c);
		end_fini(&s);
	}
}

/* ---- sessions that work ---- */

static void roundtrip(size_t chunk)
{
	struct end c, s;
	const uint8_t *ping = (const uint8_t *)"ping", *pong = (const uint8_t *)"pong";

	good_pair(&c, &s, "edge");
	assert_false(nt_tls_ready(s.tls));
	shake(&c, &s, chunk);
	assert_true(nt_tls_ready(c.tls) && nt_tls_ready(s.tls));
	assert_int_equal(nt_tls_peer(s.tls)->role, CR_ROLE_CLIENT);
	assert_string_equal(nt_tls_peer(s.tls)->name, "edge");
	assert_int_equal(nt_tls_peer(c.tls)->role, CR_ROLE_SHUFFLER);
	assert_int_equal(nt_tls_send(c.tls, ping, 4, &c.wire, &c.err), CM_OK);
	assert_int_equal(nt_tls_send(s.tls, pong, 4, &s.wire, &s.err), CM_OK);
	converse(&c, &s, chunk);
	assert_int_equal(s.plain.len, 4);
	assert_memory_equal(s.plain.data, "ping", 4);
	assert_int_equal(c.plain.len, 4);
	assert_memory_equal(c.plain.data, "pong", 4);
	assert_false(nt_tls_closed(s.tls));
	nt_tls_shutdown(c.tls, &c.wire);
	converse(&c, &s, chunk);
	assert_true(nt_tls_closed(s.tls));
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
	assert_int_equal(nt_tls_send(c.tls, data, n, &c.wire, &c.err), CM_OK);
	converse(&c, &s, 7777);
	assert_int_equal(s.plain.len, n);
	assert_memory_equal(s.plain.data, data, n);
	free(data);
	end_fini(&c);
	end_fini(&s);
}

static void a_session_outlives_the_certificates_it_began_with(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	nt_tls_ctx_free(c.ctx);
	nt_tls_ctx_free(s.ctx);
	c.ctx = s.ctx = NULL;
	shake(&c, &s, 4096);
	assert_true(nt_tls_ready(c.tls) && nt_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void no_ticket_and_no_early_data_are_ever_offered(void **state)
{
	struct nt_tls_conf sc = server_conf("shuffler");
	struct end c, s;

	(void)state;
	end_init(&s, &sc, NULL);
	raw_init(&c, false, "edge");
	assert_int_equal(SSL_CTX_set_alpn_protos(c.raw_ctx, (const unsigned char *)"\x09tombola/1", 10), 0);
	raw_start(&c, false);
	shake(&c, &s, 4096);
	assert_true(nt_tls_ready(s.tls));
	/* Tickets arrive with the first bytes after the handshake. */
	assert_int_equal(nt_tls_send(s.tls, (const uint8_t *)"x", 1, &s.wire, &s.err), CM_OK);
	converse(&c, &s, 4096);
	assert_int_equal(c.plain.len, 1);
	assert_int_equal(SSL_SESSION_has_ticket(SSL_get0_session(c.raw)), 0);
	assert_int_equal(SSL_SESSION_get_max_early_data(SSL_get0_session(c.raw)), 0);
	end_fini(&c);
	end_fini(&s);
}

/* ---- peers that speak otherwise ---- */

static void raw_client(const char *name, const unsigned char *alpn, unsigned alpn_len, int max_version,
	enum cm_rc rc, const char *why, const char *told)
{
	struct nt_tls_conf sc = server_conf("shuffler");
	struct end c, s;

	end_init(&s, &sc, NULL);
	raw_init(&c, false, name);
	assert_int_equal(SSL_CTX_set_max_proto_version(c.raw_ctx, max_version), 1);
	if (alpn)
		assert_int_equal(SSL_CTX_set_alpn_protos(c.raw_ctx, alpn, alpn_len), 0);
	raw_start(&c, false);
	shake(&c, &s, 4096);
	assert_says(&s, rc, why);
	assert_false(nt_tls_ready(s.tls));
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
	struct nt_tls_conf cc = client_conf("edge");
	struct end c, s;

	(void)state;
	raw_init(&s, true, "shuffler");
	raw_start(&s, true);
	end_init(&c, &cc, "localhost");
	shake(&c, &s, 4096);
	assert_says(&c, CM_EPROTO, "does not speak tombola/1");
	assert_false(nt_tls_ready(c.tls));
	end_fini(&c);
	end_fini(&s);
}

static void a_server_of_tls_1_2_is_refused(void **state)
{
	struct nt_tls_conf cc = client_conf("edge");
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
	struct nt_tls_conf sc = server_conf("shuffler");

	(void)state;
	for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
		struct end s;
		size_t n = i == 2 ? 20 : i == 3 ? 10 : strlen(garbage[i]);

		end_init(&s, &sc, NULL);
		feed(&s, (const uint8_t *)garbage[i], n);
		assert_says(&s, CM_EPROTO, "TLS");
		assert_false(nt_tls_ready(s.tls));
		end_fini(&s);
	}
}

static void a_flipped_bit_after_the_handshake_kills_the_session(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	shake(&c, &s, 4096);
	assert_int_equal(nt_tls_send(c.tls, (const uint8_t *)"report", 6, &c.wire, &c.err), CM_OK);
	c.wire.data[c.wire.len - 1] ^= 1;
	converse(&c, &s, 4096);
	assert_says(&s, CM_EPROTO, "TLS failed");
	assert_int_equal(s.plain.len, 0);
	assert_says(&c, CM_EPROTO, "shuffler ended TLS");
	assert_int_equal(nt_tls_send(s.tls, (const uint8_t *)"x", 1, &s.wire, &s.err), CM_EINTERNAL);
	end_fini(&c);
	end_fini(&s);
}

static void an_end_without_close_notify_is_not_closed(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	shake(&c, &s, 4096);
	assert_int_equal(nt_tls_send(c.tls, (const uint8_t *)"half", 4, &c.wire, &c.err), CM_OK);
	converse(&c, &s, 4096);
	assert_false(nt_tls_closed(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void nothing_can_be_sent_before_the_peer_is_known(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "edge");
	assert_int_equal(nt_tls_send(s.tls, (const uint8_t *)"x", 1, &s.wire, &s.err), CM_EINTERNAL);
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
	assert_int_equal(nt_tls_send(c.tls, data, sizeof data, &c.wire, &c.err), CM_OK);
	converse(&c, &s, 4096);
	assert_says(&s, CM_EDATA, "no room");
	end_fini(&c);
	end_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_of_every_handshake_begin_with_entropy_of_the_kernel),
		cmocka_unit_test(all_bytes_at_once_make_a_session),
		cmocka_unit_test(one_byte_at_a_time_makes_the_same_session),
		cmocka_unit_test(a_megabyte_arrives_whole_in_odd_pieces),
		cmocka_unit_test(a_session_outlives_the_certificates_it_began_with),
		cmocka_unit_test(no_ticket_and_no_early_data_are_ever_offered),
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
	};

	return cmocka_run_group_tests(tests, ends_certs_make, ends_certs_drop);
}
