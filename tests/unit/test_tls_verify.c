/* test_tls_verify.c - whose certificate is believed: CAs, dates, roles, hosts, revocation. */
#include <string.h>

#include "tls_ends.h"

/* ---- certificates that are let in ---- */

static void the_analyzer_of_the_services_ca_is_let_in(void **state)
{
	struct end c, s;

	(void)state;
	good_pair(&c, &s, "analyzer");
	shake(&c, &s, 4096);
	assert_int_equal(nt_tls_peer(s.tls)->role, CR_ROLE_ANALYZER);
	end_fini(&c);
	end_fini(&s);
}

static void an_address_in_the_certificate_is_a_host_too(void **state)
{
	struct nt_tls_conf sc = server_conf("shuffler"), cc = client_conf("edge");
	struct end c, s;

	(void)state;
	end_init(&s, &sc, NULL);
	end_init(&c, &cc, "127.0.0.1");
	shake(&c, &s, 4096);
	assert_true(nt_tls_ready(c.tls) && nt_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

/* ---- certificates that are refused: the refuser says why, the refused is told ---- */

static void server_refuses(const char *client, const char *why, const char *told)
{
	struct nt_tls_conf sc = server_conf("shuffler"), cc = client_conf(client);

	for (size_t chunk = 1; chunk <= 4096; chunk += 4095) {
		struct end c, s;

		end_init(&s, &sc, NULL);
		end_init(&c, &cc, "localhost");
		shake(&c, &s, chunk);
		assert_says(&s, CM_EPERM, why);
		assert_false(nt_tls_ready(s.tls));
		assert_says(&c, CM_EPERM, told);
		/* A connection that failed stays failed, for the same reason. */
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
	struct nt_tls_conf sc = server_conf("shuffler"), cc = client_conf("large");
	struct end c, s;

	(void)state;
	end_init(&s, &sc, NULL);
	end_init(&c, &cc, "localhost");
	shake(&c, &s, 4096);
	assert_says(&s, CM_EPROTO, "excessive message size");
	assert_false(nt_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void a_revoked_client_is_refused_and_others_are_not(void **state)
{
	static const char *const revoked[] = { "revoked", NULL };
	struct nt_tls_conf sc = server_conf("shuffler");

	(void)state;
	certs_crl(&certs, "clients", revoked, -60, DAY_S);
	sc.trust[0].crl_file = file("clients", "crl");
	for (int good = 0; good < 2; good++) {
		struct nt_tls_conf cc = client_conf(good ? "edge" : "revoked");
		struct end c, s;

		end_init(&s, &sc, NULL);
		end_init(&c, &cc, "localhost");
		shake(&c, &s, 4096);
		if (good) {
			assert_true(nt_tls_ready(s.tls));
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
	struct nt_tls_conf sc = server_conf("shuffler"), cc = client_conf("analyzer");
	struct end c, s;

	(void)state;
	certs_crl(&certs, "clients", none, -60, DAY_S);
	sc.trust[0].crl_file = file("clients", "crl");
	end_init(&s, &sc, NULL);
	end_init(&c, &cc, "localhost");
	shake(&c, &s, 4096);
	assert_true(nt_tls_ready(s.tls));
	end_fini(&c);
	end_fini(&s);
}

static void a_lapsed_revocation_list_refuses_everybody(void **state)
{
	static const char *const none[] = { NULL };
	struct nt_tls_conf sc = server_conf("shuffler"), cc = client_conf("edge");
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
	struct nt_tls_conf sc = server_conf(server), cc = client_conf("edge");
	struct end c, s;

	end_init(&s, &sc, NULL);
	end_init(&c, &cc, host);
	shake(&c, &s, 4096);
	assert_says(&c, rc, why);
	assert_false(nt_tls_ready(c.tls));
	assert_says(&s, CM_EPERM, "the peer refused our certificate");
	assert_false(nt_tls_ready(s.tls));
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

/* ---- a second look after a reload ---- */

static void a_second_look_finds_the_revoked_and_the_old_ca(void **state)
{
	static const char *const revoked[] = { "revoked", NULL };
	struct nt_tls_conf same = server_conf("shuffler"), with_crl = same, other_ca = same;
	struct nt_tls_conf *conf[] = { &same, &with_crl, &other_ca };
	static const char *const want[] = { NULL, "revoked by", "unknown CA" };
	struct end c, s;

	(void)state;
	certs_crl(&certs, "clients", revoked, -60, DAY_S);
	with_crl.trust[0].crl_file = file("clients", "crl");
	other_ca.trust[0].ca_file = file("rogue", "crt");
	good_pair(&c, &s, "revoked");
	shake(&c, &s, 4096);
	assert_true(nt_tls_ready(s.tls));
	for (size_t i = 0; i < 3; i++) {
		struct nt_tls_ctx *ctx;
		struct cm_err err = { .code = CM_OK };

		assert_int_equal(nt_tls_ctx_new(conf[i], &ctx, &err), CM_OK);
		assert_int_equal(nt_tls_recheck(s.tls, ctx, &err), !want[i] ? CM_OK : CM_EPERM);
		if (want[i])
			assert_non_null(strstr(err.msg, want[i]));
		nt_tls_ctx_free(ctx);
	}
	end_fini(&c);
	end_fini(&s);
}

static void both_the_old_and_the_new_ca_work_while_one_file_holds_both(void **state)
{
	static const char *const name[] = { "edge", "rogue-client" };
	struct nt_tls_conf sc = server_conf("shuffler");

	(void)state;
	certs_join(&certs, "both", "crt", file("clients", "crt"), file("rogue", "crt"));
	sc.trust[0].ca_file = file("both", "crt");
	for (size_t i = 0; i < 2; i++) {
		struct nt_tls_conf cc = client_conf(name[i]);
		struct end c, s;

		end_init(&s, &sc, NULL);
		end_init(&c, &cc, "localhost");
		shake(&c, &s, 4096);
		assert_true(nt_tls_ready(s.tls));
		end_fini(&c);
		end_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_analyzer_of_the_services_ca_is_let_in),
		cmocka_unit_test(an_address_in_the_certificate_is_a_host_too),
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
		cmocka_unit_test(a_second_look_finds_the_revoked_and_the_old_ca),
		cmocka_unit_test(both_the_old_and_the_new_ca_work_while_one_file_holds_both),
	};

	return cmocka_run_group_tests(tests, ends_certs_make, ends_certs_drop);
}
