/* test_pki_roles.c - certificates of parties: exactly one known role is an identity, and what names none is
 * nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cr_pki.h"
#include "cr_pki_cert.h"
#include "pki_deployment.h"

/* An unsigned certificate with these URIs (each may hold NUL bytes). */
struct uri {
	const char *text;
	int len;
};

static X509 *craft(const struct uri *uris)
{
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();

	assert_true(names && key && cert);
	for (; uris->text; uris++) {
		GENERAL_NAME *name = GENERAL_NAME_new();
		ASN1_IA5STRING *value = ASN1_IA5STRING_new();

		assert_true(name && value);
		assert_int_equal(ASN1_STRING_set(value, uris->text, uris->len), 1);
		GENERAL_NAME_set0_value(name, GEN_URI, value);
		assert_true(sk_GENERAL_NAME_push(names, name) > 0);
	}
	assert_int_equal(X509_set_pubkey(cert, key), 1);
	if (sk_GENERAL_NAME_num(names) > 0)
		assert_int_equal(
			X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT), 1);
	GENERAL_NAMES_free(names);
	EVP_PKEY_free(key);
	return cert;
}

#define URI(s)                   \
	{                        \
		s, sizeof(s) - 1 \
	}
#define CLIENT URI("tombola:role:client")

static void only_exactly_one_known_role_is_an_identity(void **state)
{
	static const struct uri bad[][4] = {
		{ { NULL, 0 } },
		{ URI("https://example.org"), { NULL, 0 } },
		{ URI("tombola:role:"), { NULL, 0 } },
		{ URI("tombola:role:admin"), { NULL, 0 } },
		{ URI("tombola:role:none"), { NULL, 0 } },
		{ URI("tombola:role:Client"), { NULL, 0 } },
		{ URI("tombola:role:clien"), { NULL, 0 } },
		{ URI("tombola:role:client "), { NULL, 0 } },
		{ URI("tombola:role:client\0"), { NULL, 0 } },
		{ URI("tombola:role:client\0x"), { NULL, 0 } },
		{ URI("xtombola:role:client"), { NULL, 0 } },
		{ URI("TOMBOLA:role:client"), { NULL, 0 } },
		{ CLIENT, CLIENT, { NULL, 0 } },
		{ CLIENT, URI("tombola:role:analyzer"), { NULL, 0 } },
		{ CLIENT, URI("tombola:role:admin"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:0"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:-1"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:+1"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:01"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:1x"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:1\0"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:10000001"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:4294967297"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:18446744073709551617"), { NULL, 0 } },
		{ CLIENT, URI("tombola:devices:2"), URI("tombola:devices:2"), { NULL, 0 } },
		{ URI("tombola:role:analyzer"), URI("tombola:devices:2"), { NULL, 0 } },
		{ URI("tombola:role:shuffler"), URI("tombola:devices:1"), { NULL, 0 } },
		{ URI("tombola:devices:2"), { NULL, 0 } },
	};
	struct cr_identity id;
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		X509 *cert = craft(bad[i]);

		if (cr_identity_from_cert(cert, &id, &err) != CM_EPERM)
			fail_msg("case %zu passed", i);
		X509_free(cert);
	}
}

static void other_names_beside_the_role_are_ignored(void **state)
{
	static const struct uri good[] = { URI("https://example.org"), CLIENT,
		URI("tombola:devices:10000000"), { NULL, 0 } };
	X509 *cert = craft(good);
	struct cr_identity id;
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_identity_from_cert(cert, &id, &err), CM_OK);
	assert_int_equal(id.role, CR_ROLE_CLIENT);
	assert_int_equal(id.devices, CR_PKI_MAX_DEVICES);
	assert_string_equal(id.name, "");
	X509_free(cert);
}

static void two_extensions_of_names_are_refused(void **state)
{
	static const struct uri one[] = { CLIENT, { NULL, 0 } };
	X509 *cert = craft(one);
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	struct cr_identity id;
	struct cm_err err;

	(void)state;
	assert_non_null(names);
	assert_int_equal(X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, X509V3_ADD_APPEND), 1);
	assert_int_equal(cr_identity_from_cert(cert, &id, &err), CM_EPERM);
	GENERAL_NAMES_free(names);
	X509_free(cert);
}

static void a_name_cannot_break_a_log_line(void **state)
{
	static const struct uri one[] = { CLIENT, { NULL, 0 } };
	static const uint8_t name[] = "a\nb\"c\\d\x7f\x1b\xff";
	X509 *cert = craft(one);
	struct cr_identity id;
	struct cm_err err;

	(void)state;
	assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", V_ASN1_T61STRING, name,
				 (int)sizeof name - 1, -1, 0),
		1);
	assert_int_equal(cr_identity_from_cert(cert, &id, &err), CM_OK);
	assert_string_equal(id.name, "a?b?c?d???");
	X509_free(cert);
}

static void roles_have_names_and_back(void **state)
{
	(void)state;
	for (enum cr_role r = CR_ROLE_CLIENT; r <= CR_ROLE_ANALYZER; r++)
		assert_int_equal(cr_role_parse(cr_role_name(r)), r);
	assert_int_equal(cr_role_parse("none"), CR_ROLE_NONE);
	assert_int_equal(cr_role_parse(""), CR_ROLE_NONE);
	assert_int_equal(cr_role_parse("CLIENT"), CR_ROLE_NONE);
	assert_string_equal(cr_role_name((enum cr_role)77), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_have_names_and_back),
		cmocka_unit_test(only_exactly_one_known_role_is_an_identity),
		cmocka_unit_test(other_names_beside_the_role_are_ignored),
		cmocka_unit_test(two_extensions_of_names_are_refused),
		cmocka_unit_test(a_name_cannot_break_a_log_line),
	};

	return cmocka_run_group_tests(tests, pki_deployment_make, pki_deployment_drop);
}
