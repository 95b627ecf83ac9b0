/* test_pki.c - the private PKI: what is issued verifies for its purpose only, and nothing is overwritten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cr_files.h"
#include "cr_pki.h"
#include "cr_pki_cert.h"
#include "cr_sign.h"
#include "pki_deployment.h"

static void init_makes_these_files_and_no_others(void **state)
{
	static const struct {
		const char *path;
		mode_t mode;
	} files[] = {
		{ "d/ca-clients/ca.crt", 0644 },
		{ "d/ca-clients/ca.key", 0600 },
		{ "d/ca-clients/ca.crl", 0644 },
		{ "d/ca-services/ca.crt", 0644 },
		{ "d/ca-services/ca.key", 0600 },
		{ "d/ca-services/ca.crl", 0644 },
		{ "d/ca-services/analyzer-sign.pub", 0644 },
		{ "d/ca-services/shuffler-sign.pub", 0644 },
		{ "d/client/client.crt", 0644 },
		{ "d/client/client.key", 0600 },
		{ "d/client/services-ca.crt", 0644 },
		{ "d/client/services-ca.crl", 0644 },
		{ "d/client/analyzer-sign.pub", 0644 },
		{ "d/client/shuffler-sign.pub", 0644 },
		{ "d/shuffler/shuffler.crt", 0644 },
		{ "d/shuffler/shuffler.key", 0600 },
		{ "d/shuffler/services-ca.crt", 0644 },
		{ "d/shuffler/clients-ca.crt", 0644 },
		{ "d/shuffler/services-ca.crl", 0644 },
		{ "d/shuffler/clients-ca.crl", 0644 },
		{ "d/shuffler/shuffler-sign.key", 0600 },
		{ "d/shuffler/analyzer-sign.pub", 0644 },
		{ "d/analyzer/analyzer.crt", 0644 },
		{ "d/analyzer/analyzer.key", 0600 },
		{ "d/analyzer/services-ca.crt", 0644 },
		{ "d/analyzer/services-ca.crl", 0644 },
		{ "d/analyzer/analyzer-sign.key", 0600 },
		{ "d/analyzer/shuffler-sign.pub", 0644 },
	};
	static const char *const dirs[] = { "d", "d/ca-clients", "d/ca-clients/issued", "d/ca-services",
		"d/ca-services/issued", "d/client", "d/shuffler", "d/analyzer" };
	const size_t copies = 3; /* of what was issued, named by their serials */
	size_t entries = 0;
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		assert_int_equal(stat(at(files[i].path), &st), 0);
		assert_int_equal(st.st_mode & 07777, files[i].mode);
	}
	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		DIR *d = opendir(at(dirs[i]));

		assert_non_null(d);
		assert_int_equal(fstat(dirfd(d), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
		for (struct dirent *e; (e = readdir(d));)
			entries += e->d_name[0] != '.';
		assert_int_equal(closedir(d), 0);
	}
	assert_int_equal(entries, sizeof files / sizeof files[0] + sizeof dirs / sizeof dirs[0] - 1 + copies);
}

static void the_signing_keys_of_the_parties_fit_what_the_others_pin(void **state)
{
	static const char *const pins[][2] = {
		{ "d/analyzer/analyzer-sign.key", "d/client/analyzer-sign.pub" },
		{ "d/analyzer/analyzer-sign.key", "d/shuffler/analyzer-sign.pub" },
		{ "d/shuffler/shuffler-sign.key", "d/client/shuffler-sign.pub" },
		{ "d/shuffler/shuffler-sign.key", "d/analyzer/shuffler-sign.pub" },
	};
	uint8_t sig[CR_SIGN_LEN];
	struct cr_verifier *v;
	struct cr_signer *s;
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
		assert_int_equal(cr_signer_load(at(pins[i][0]), &s, &err), CM_OK);
		assert_int_equal(cr_verifier_load(at(pins[i][1]), &v, &err), CM_OK);
		assert_int_equal(cr_sign(s, "p", "x", 1, sig, &err), CM_OK);
		assert_int_equal(cr_verify(v, "p", "x", 1, sig, &err), CM_OK);
		cr_signer_free(s);
		cr_verifier_free(v);
	}
}

static void a_second_init_touches_nothing(void **state)
{
	struct cm_err err;
	X509 *before = load("d/ca-clients/ca.crt"), *after;

	(void)state;
	assert_int_equal(cr_pki_init(at("d"), HOSTS, 1, &err), CM_ECREATE);
	after = load("d/ca-clients/ca.crt");
	assert_int_equal(X509_cmp(before, after), 0);
	X509_free(before);
	X509_free(after);
	/* Even one leftover is enough. */
	assert_int_equal(mkdir(at("e"), 0700), 0);
	assert_int_equal(mkdir(at("e/analyzer"), 0700), 0);
	assert_int_equal(cr_pki_init(at("e"), HOSTS, 1, &err), CM_ECREATE);
	assert_int_equal(access(at("e/ca-clients"), F_OK), -1);
}

static void init_with_bad_arguments_leaves_nothing_behind(void **state)
{
	static const char *const hosts[] = { ",", "a,", ",a", "a,,b", "a b", "-a", "a..b", "a;b", "*.example",
		"[::1]", "a/b", ".a" };
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
		assert_int_equal(cr_pki_init(at("f"), hosts[i], 1, &err), CM_EUSAGE);
	assert_int_equal(cr_pki_init(at("f"), NULL, 0, &err), CM_EUSAGE);
	assert_int_equal(cr_pki_init(at("f"), NULL, CR_PKI_MAX_DEVICES + 1, &err), CM_EUSAGE);
	assert_int_equal(access(at("f"), F_OK), -1);
	assert_int_equal(cr_pki_init(at("no/such"), NULL, 1, &err), CM_ECREATE);
}

static void each_certificate_verifies_for_its_purpose_and_ca_only(void **state)
{
	static const struct {
		const char *cert, *ca, *other_ca;
		int purpose, other_purpose;
	} cases[] = {
		{ "d/client/client.crt", "d/ca-clients/ca.crt", "d/ca-services/ca.crt",
			X509_PURPOSE_SSL_CLIENT, X509_PURPOSE_SSL_SERVER },
		{ "d/shuffler/shuffler.crt", "d/ca-services/ca.crt", "d/ca-clients/ca.crt",
			X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT },
		{ "d/analyzer/analyzer.crt", "d/ca-services/ca.crt", "d/ca-clients/ca.crt",
			X509_PURPOSE_SSL_CLIENT, X509_PURPOSE_SSL_SERVER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(verify(cases[i].ca, cases[i].cert, cases[i].purpose, NULL), X509_V_OK);
		assert_int_equal(verify(cases[i].ca, cases[i].cert, cases[i].other_purpose, NULL),
			X509_V_ERR_INVALID_PURPOSE);
		assert_int_not_equal(
			verify(cases[i].other_ca, cases[i].cert, cases[i].purpose, NULL), X509_V_OK);
	}
}

static void a_party_cannot_act_as_a_ca(void **state)
{
	struct cm_err err;

	(void)state;
	/* Put a party's key pair in the place of a CA, and issue with it. */
	assert_int_equal(mkdir(at("evil"), 0700), 0);
	assert_int_equal(mkdir(at("evil/ca-clients"), 0700), 0);
	assert_int_equal(link(at("d/client/client.crt"), at("evil/ca-clients/ca.crt")), 0);
	assert_int_equal(link(at("d/client/client.key"), at("evil/ca-clients/ca.key")), 0);
	assert_int_equal(
		cr_pki_issue(at("evil"), at("evil"), "mallory", CR_ROLE_CLIENT, NULL, 1, 10, &err), CM_OK);
	assert_int_not_equal(
		verify("d/client/client.crt", "evil/mallory.crt", X509_PURPOSE_SSL_CLIENT, NULL), X509_V_OK);
	assert_int_not_equal(
		verify("d/ca-clients/ca.crt", "evil/mallory.crt", X509_PURPOSE_SSL_CLIENT, NULL), X509_V_OK);
}

static void identities_are_as_issued(void **state)
{
	static const struct {
		const char *cert, *name;
		enum cr_role role;
		uint32_t devices;
	} cases[] = {
		{ "d/client/client.crt", "client", CR_ROLE_CLIENT, 100 },
		{ "d/shuffler/shuffler.crt", "shuffler", CR_ROLE_SHUFFLER, 1 },
		{ "d/analyzer/analyzer.crt", "analyzer", CR_ROLE_ANALYZER, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		X509 *cert = load(cases[i].cert);
		struct cr_identity id;
		struct cm_err err;
		uint8_t *der = NULL, digest[32];
		int len = i2d_PUBKEY(X509_get0_pubkey(cert), &der);

		assert_true(len > 0);
		assert_int_equal(EVP_Digest(der, (size_t)len, digest, NULL, EVP_sha256(), NULL), 1);
		OPENSSL_free(der);
		assert_int_equal(cr_identity_from_cert(cert, &id, &err), CM_OK);
		assert_int_equal(id.role, cases[i].role);
		assert_int_equal(id.devices, cases[i].devices);
		assert_string_equal(id.name, cases[i].name);
		assert_memory_equal(id.key_hash, digest, sizeof digest);
		X509_free(cert);
	}
}

static void the_shuffler_carries_its_hosts(void **state)
{
	X509 *cert = load("d/shuffler/shuffler.crt");

	(void)state;
	assert_int_equal(X509_check_host(cert, "shuffler.example", 0, 0, NULL), 1);
	assert_int_equal(X509_check_ip_asc(cert, "192.0.2.7", 0), 1);
	assert_int_equal(X509_check_ip_asc(cert, "2001:db8::1", 0), 1);
	assert_int_equal(X509_check_host(cert, "shuffler", 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL), 0);
	assert_int_equal(X509_check_ip_asc(cert, "192.0.2.8", 0), 0);
	X509_free(cert);
}

static void bad_requests_are_refused(void **state)
{
	static const struct {
		const char *name, *hosts;
		enum cr_role role;
		uint32_t devices;
		int days;
	} cases[] = {
		{ "", NULL, CR_ROLE_CLIENT, 1, 1 },
		{ "../x", NULL, CR_ROLE_CLIENT, 1, 1 },
		{ ".x", NULL, CR_ROLE_CLIENT, 1, 1 },
		{ "-x", NULL, CR_ROLE_CLIENT, 1, 1 },
		{ "a b", NULL, CR_ROLE_CLIENT, 1, 1 },
		{ "a/b", NULL, CR_ROLE_CLIENT, 1, 1 },
		{ "0123456789012345678901234567890123456789012345678901234567890123x", NULL, CR_ROLE_CLIENT,
			1, 1 },
		{ "x", NULL, CR_ROLE_NONE, 1, 1 },
		{ "x", NULL, (enum cr_role)9, 1, 1 },
		{ "x", NULL, CR_ROLE_CLIENT, 0, 1 },
		{ "x", NULL, CR_ROLE_CLIENT, CR_PKI_MAX_DEVICES + 1, 1 },
		{ "x", NULL, CR_ROLE_ANALYZER, 2, 1 },
		{ "x", NULL, CR_ROLE_SHUFFLER, 2, 1 },
		{ "x", "host", CR_ROLE_CLIENT, 1, 1 },
		{ "x", "host", CR_ROLE_ANALYZER, 1, 1 },
		{ "x", "bad host", CR_ROLE_SHUFFLER, 1, 1 },
		{ "x", NULL, CR_ROLE_CLIENT, 1, 3651 },
		{ "x", NULL, CR_ROLE_CLIENT, 1, INT32_MAX },
		{ "x", NULL, CR_ROLE_CLIENT, 1, INT32_MIN },
	};
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(cr_pki_issue(at("d"), at("g"), cases[i].name, cases[i].role, cases[i].hosts,
					 cases[i].devices, cases[i].days, &err),
			CM_EUSAGE);
	assert_int_equal(access(at("g"), F_OK), -1);
	assert_int_equal(cr_pki_issue(at("no"), at("g"), "x", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_ENOINPUT);
}

static void issuing_overwrites_nothing_and_leaves_no_half_pair(void **state)
{
	struct cm_err err;
	X509 *before, *after;

	(void)state;
	assert_int_equal(cr_pki_issue(at("d"), at("h"), "x", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_OK);
	before = load("h/x.crt");
	assert_int_equal(cr_pki_issue(at("d"), at("h"), "x", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_ECREATE);
	assert_int_equal(unlink(at("h/x.key")), 0);
	assert_int_equal(cr_pki_issue(at("d"), at("h"), "x", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_ECREATE);
	assert_int_equal(access(at("h/x.key"), F_OK), -1);
	after = load("h/x.crt");
	assert_int_equal(X509_cmp(before, after), 0);
	X509_free(before);
	X509_free(after);
}

static void a_ca_key_others_may_read_is_not_used(void **state)
{
	struct cm_err err;

	(void)state;
	assert_int_equal(chmod(at("d/ca-clients/ca.key"), 0640), 0);
	assert_int_equal(cr_pki_issue(at("d"), at("i"), "x", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "ca-clients/ca.key"));
	assert_int_equal(chmod(at("d/ca-clients/ca.key"), 0600), 0);
}

static void a_ca_key_of_another_ca_is_not_used(void **state)
{
	struct cm_err err;

	(void)state;
	assert_int_equal(rename(at("d/ca-clients/ca.key"), at("kept.key")), 0);
	assert_int_equal(link(at("d/ca-services/ca.key"), at("d/ca-clients/ca.key")), 0);
	assert_int_equal(cr_pki_issue(at("d"), at("i"), "x", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_EDATA);
	assert_int_equal(rename(at("kept.key"), at("d/ca-clients/ca.key")), 0);
}

static void an_expired_certificate_does_not_verify(void **state)
{
	struct cr_pki_info info;
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_issue(at("d"), at("j"), "old", CR_ROLE_CLIENT, NULL, 1, -1, &err), CM_OK);
	assert_int_equal(verify("d/ca-clients/ca.crt", "j/old.crt", X509_PURPOSE_SSL_CLIENT, NULL),
		X509_V_ERR_CERT_HAS_EXPIRED);
	assert_int_equal(cr_pki_show(at("j/old.crt"), &info, &err), CM_OK);
	assert_true(info.not_before < info.not_after && info.not_after < (int64_t)time(NULL));
}

/* A revocation list without a next update never expires; everything else is valid from its first second until
 * its last. */
static void a_file_holds_between_its_dates(void **state)
{
	static const char *const of[CR_FILES] = { "certificate \"x\"", "CA \"x\"",
		"the revocation list of \"x\"", "CA \"x\"", "the revocation list of \"x\"" };
	const struct cr_dates dates = { .begins = 1000, .ends = 2000, .of = "x" },
			      lasts = { .begins = 1000, .ends = INT64_MAX, .of = "x" };
	struct cm_err err;

	(void)state;
	for (int i = 0; i < CR_FILES; i++) {
		const enum cr_file which = (enum cr_file)i;

		assert_int_equal(cr_dates_check("f", which, &dates, 1000, &err), CM_OK);
		assert_int_equal(cr_dates_check("f", which, &dates, 1999, &err), CM_OK);
		assert_int_equal(cr_dates_check("f", which, &lasts, INT64_MAX / 2000, &err), CM_OK);
		assert_int_equal(cr_dates_check("f", which, &dates, 2000, &err), CM_EPERM);
		assert_non_null(strstr(err.msg, of[i]));
		assert_non_null(strstr(err.msg, "expired at 1970-01-01T00:33:20"));
		assert_int_equal(cr_dates_check("f", which, &dates, 999, &err), CM_EPERM);
		assert_non_null(strstr(err.msg, "not valid before 1970-01-01T00:16:40"));
	}
}

static void serials_are_long_and_differ(void **state)
{
	static const char *const names[] = { "d/client/client.crt", "d/shuffler/shuffler.crt",
		"d/analyzer/analyzer.crt", "d/ca-clients/ca.crt", "d/ca-services/ca.crt" };
	X509 *cert[5];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		BIGNUM *n;

		cert[i] = load(names[i]);
		n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert[i]), NULL);
		assert_non_null(n);
		assert_false(BN_is_negative(n));
		/* The top 40 of 128 random bits are all zero once in 2^40 runs. */
		assert_true(BN_num_bits(n) > 88 && BN_num_bits(n) <= 128);
		BN_free(n);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(cert[i]),
						     X509_get0_serialNumber(cert[j])),
				0);
	}
	for (size_t i = 0; i < 5; i++)
		X509_free(cert[i]);
}

static void show_says_the_hosts_as_they_were_given(void **state)
{
	static const char few[] = "shuffler.example.org,10.0.0.1,2001:db8::1,localhost";
	char many[1900] = "h0.example.org";
	struct cr_pki_info info;
	struct cm_err err;
	size_t n;

	(void)state;
	assert_int_equal(cr_pki_issue(at("d"), at("few"), "few", CR_ROLE_SHUFFLER, few, 1, 90, &err), CM_OK);
	assert_int_equal(cr_pki_show(at("few/few.crt"), &info, &err), CM_OK);
	assert_string_equal(info.hosts, few);
	assert_int_equal(cr_pki_show(at("d/client/client.crt"), &info, &err), CM_OK);
	assert_string_equal(info.hosts, "");
	/* Hosts that do not fit are not left out silently, and every host that is shown is whole. */
	for (unsigned i = 1; i < 100; i++)
		(void)snprintf(many + strlen(many), sizeof many - strlen(many), ",h%u.example.org", i);
	assert_int_equal(cr_pki_issue(at("d"), at("many"), "many", CR_ROLE_INTAKE, many, 1, 90, &err), CM_OK);
	assert_int_equal(cr_pki_show(at("many/many.crt"), &info, &err), CM_OK);
	n = strlen(info.hosts);
	assert_true(n > 900 && n < sizeof info.hosts);
	assert_string_equal(info.hosts + n - 4, ",...");
	assert_memory_equal(info.hosts, many, n - 3);
}

static void show_tells_a_ca_from_a_party_and_from_rubbish(void **state)
{
	struct cr_pki_info info;
	struct cm_err err;
	X509 *cert = load("d/client/client.crt");
	uint8_t digest[32];
	char hex[65];

	(void)state;
	assert_int_equal(X509_digest(cert, EVP_sha256(), digest, NULL), 1);
	for (size_t i = 0; i < 32; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	X509_free(cert);
	assert_int_equal(cr_pki_show(at("d/client/client.crt"), &info, &err), CM_OK);
	assert_string_equal(info.sha256, hex);
	assert_string_equal(info.subject, "CN=client");
	assert_string_equal(info.issuer, "CN=tombola clients CA");
	assert_false(info.is_ca);
	assert_int_equal(info.identity.role, CR_ROLE_CLIENT);
	assert_in_range(info.not_after - (int64_t)time(NULL), 90 * 86400 - 600, 90 * 86400);
	assert_int_equal(cr_pki_show(at("d/ca-services/ca.crt"), &info, &err), CM_OK);
	assert_true(info.is_ca);
	assert_int_equal(info.identity.role, CR_ROLE_NONE);
	assert_int_equal(cr_pki_show(at("d/client/client.key"), &info, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "client.key"));
	assert_int_equal(cr_pki_show(at("d/client"), &info, &err), CM_EDATA);
	assert_int_equal(cr_pki_show(at("d/none"), &info, &err), CM_ENOINPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_makes_these_files_and_no_others),
		cmocka_unit_test(the_signing_keys_of_the_parties_fit_what_the_others_pin),
		cmocka_unit_test(a_second_init_touches_nothing),
		cmocka_unit_test(init_with_bad_arguments_leaves_nothing_behind),
		cmocka_unit_test(each_certificate_verifies_for_its_purpose_and_ca_only),
		cmocka_unit_test(a_party_cannot_act_as_a_ca),
		cmocka_unit_test(identities_are_as_issued),
		cmocka_unit_test(the_shuffler_carries_its_hosts),
		cmocka_unit_test(bad_requests_are_refused),
		cmocka_unit_test(issuing_overwrites_nothing_and_leaves_no_half_pair),
		cmocka_unit_test(a_ca_key_others_may_read_is_not_used),
		cmocka_unit_test(a_ca_key_of_another_ca_is_not_used),
		cmocka_unit_test(an_expired_certificate_does_not_verify),
		cmocka_unit_test(a_file_holds_between_its_dates),
		cmocka_unit_test(serials_are_long_and_differ),
		cmocka_unit_test(show_says_the_hosts_as_they_were_given),
		cmocka_unit_test(show_tells_a_ca_from_a_party_and_from_rubbish),
	};

	return cmocka_run_group_tests(tests, pki_deployment_make, pki_deployment_drop);
}
