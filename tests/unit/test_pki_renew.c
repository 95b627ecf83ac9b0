/* test_pki_renew.c - a certificate issued once more: the same party with the same key, and nobody else's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cr_pki.h"
#include "cr_pki_cert.h"
#include "pki_deployment.h"

#define DAY 86400

static enum cm_rc renew(const char *cert, const char *out, struct cm_err *err)
{
	return cr_pki_renew(at("d"), at(cert), at(out), 0, (int)CR_PKI_DAYS, err);
}

/* Refused with this code, and nothing was written. */
static void refused(enum cm_rc code, const char *cert, const char *why)
{
	struct cm_err err;

	assert_int_equal(renew(cert, "refused.crt", &err), code);
	if (!strstr(err.msg, why))
		fail_msg("'%s' is not in '%s'", why, err.msg);
	assert_int_equal(access(at("refused.crt"), F_OK), -1);
}

/* Put a certificate of ours at a path that a test can name. */
static void store(X509 *cert, const char *name)
{
	FILE *f = fopen(at(name), "w");

	assert_non_null(f);
	assert_int_equal(PEM_write_X509(f, cert), 1);
	assert_int_equal(fclose(f), 0);
}

static struct cr_pki_pair load_ca(const char *dir)
{
	struct cr_pki_pair ca;
	struct cm_err err;

	assert_int_equal(cr_pki_pair_load(at(dir), "ca", &ca, &err), CM_OK);
	return ca;
}

static void assert_same_extensions(X509 *a, X509 *b)
{
	assert_int_equal(X509_get_ext_count(a), X509_get_ext_count(b));
	assert_true(X509_get_ext_count(a) >= 6);
	for (int i = 0; i < X509_get_ext_count(a); i++) {
		uint8_t *x = NULL, *y = NULL;
		int n = i2d_X509_EXTENSION(X509_get_ext(a, i), &x);

		assert_int_equal(n, i2d_X509_EXTENSION(X509_get_ext(b, i), &y));
		assert_memory_equal(x, y, (size_t)n);
		OPENSSL_free(x);
		OPENSSL_free(y);
	}
}

/* Seconds from now. */
static int64_t until(const ASN1_TIME *t)
{
	int days, seconds;

	assert_int_equal(ASN1_TIME_diff(&days, &seconds, NULL, t), 1);
	return (int64_t)days * DAY + seconds;
}

static const struct {
	const char *old, *renewed, *ca;
	int purpose;
} parties[] = {
	{ "d/client/client.crt", "client-renewed.crt", "d/ca-clients/ca.crt", X509_PURPOSE_SSL_CLIENT },
	{ "d/shuffler/shuffler.crt", "shuffler-renewed.crt", "d/ca-services/ca.crt",
		X509_PURPOSE_SSL_SERVER },
	{ "d/analyzer/analyzer.crt", "analyzer-renewed.crt", "d/ca-services/ca.crt",
		X509_PURPOSE_SSL_CLIENT },
};

static void a_renewed_certificate_is_the_same_party_with_the_same_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof parties / sizeof parties[0]; i++) {
		X509 *old = load(parties[i].old), *renewed, *after;
		struct cr_identity a, b;
		struct cm_err err;
		struct stat st;

		assert_int_equal(renew(parties[i].old, parties[i].renewed, &err), CM_OK);
		renewed = load(parties[i].renewed);
		assert_int_equal(
			verify(parties[i].ca, parties[i].renewed, parties[i].purpose, NULL), X509_V_OK);
		assert_int_equal(cr_identity_from_cert(old, &a, &err), CM_OK);
		assert_int_equal(cr_identity_from_cert(renewed, &b, &err), CM_OK);
		assert_int_equal(a.role, b.role);
		assert_int_equal(a.devices, b.devices);
		assert_string_equal(a.name, b.name);
		assert_memory_equal(a.key_hash, b.key_hash, sizeof a.key_hash);
		assert_int_equal(
			X509_NAME_cmp(X509_get_subject_name(old), X509_get_subject_name(renewed)), 0);
		assert_same_extensions(old, renewed);
		/* The old certificate is as it was. */
		after = load(parties[i].old);
		assert_int_equal(X509_cmp(old, after), 0);
		assert_int_equal(stat(at(parties[i].renewed), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0644);
		X509_free(old);
		X509_free(renewed);
		X509_free(after);
	}
}

static void its_serial_and_its_dates_are_new(void **state)
{
	X509 *old, *renewed;
	struct cm_err err;
	BIGNUM *n;

	(void)state;
	/* An expired certificate can be renewed as well: that is what renewing is for. */
	assert_int_equal(cr_pki_issue(at("d"), at("x"), "old", CR_ROLE_CLIENT, NULL, 7, -30, &err), CM_OK);
	assert_int_equal(cr_pki_renew(at("d"), at("x/old.crt"), at("x/new.crt"), 0, 12, &err), CM_OK);
	old = load("x/old.crt");
	renewed = load("x/new.crt");
	n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(renewed), NULL);
	assert_non_null(n);
	assert_true(!BN_is_negative(n) && BN_num_bits(n) > 88 && BN_num_bits(n) <= 128);
	assert_int_not_equal(
		ASN1_INTEGER_cmp(X509_get0_serialNumber(old), X509_get0_serialNumber(renewed)), 0);
	assert_in_range(until(X509_get0_notAfter(renewed)), 12 * DAY - 60, 12 * DAY);
	assert_in_range(-until(X509_get0_notBefore(renewed)), 0, 600);
	assert_int_equal(verify("d/ca-clients/ca.crt", "x/old.crt", X509_PURPOSE_SSL_CLIENT, NULL),
		X509_V_ERR_CERT_HAS_EXPIRED);
	assert_int_equal(
		verify("d/ca-clients/ca.crt", "x/new.crt", X509_PURPOSE_SSL_CLIENT, NULL), X509_V_OK);
	/* A renewed certificate can be renewed. */
	assert_int_equal(cr_pki_renew(at("d"), at("x/new.crt"), at("x/newer.crt"), 0, 24, &err), CM_OK);
	BN_free(n);
	X509_free(old);
	X509_free(renewed);
}

static void no_key_but_the_ca_s_is_needed(void **state)
{
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_issue(at("d"), at("k"), "x", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_OK);
	assert_int_equal(unlink(at("k/x.key")), 0);
	assert_int_equal(renew("k/x.crt", "k/y.crt", &err), CM_OK);
	assert_int_equal(access(at("k/y.key"), F_OK), -1);
	/* Only the folder of that certificate's CA is needed. */
	assert_int_equal(rename(at("d/ca-clients"), at("elsewhere")), 0);
	assert_int_equal(renew("d/analyzer/analyzer.crt", "k/a.crt", &err), CM_OK);
	refused(CM_ENOINPUT, "k/x.crt", "ca-clients");
	assert_int_equal(rename(at("elsewhere"), at("d/ca-clients")), 0);
}

static void nothing_is_written_over(void **state)
{
	X509 *before, *after;
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_issue(at("d"), at("o"), "x", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_OK);
	before = load("o/x.crt");
	assert_int_equal(renew("o/x.crt", "o/x.crt", &err), CM_ECREATE);
	assert_non_null(strstr(err.msg, "o/x.crt"));
	assert_int_equal(renew("o/x.crt", "no/such/x.crt", &err), CM_ECREATE);
	after = load("o/x.crt");
	assert_int_equal(X509_cmp(before, after), 0);
	X509_free(before);
	X509_free(after);
}

static void a_revoked_one_is_not_renewed(void **state)
{
	struct cm_err err;
	size_t others;

	(void)state;
	assert_int_equal(cr_pki_issue(at("d"), at("r"), "c", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_OK);
	assert_int_equal(cr_pki_issue(at("d"), at("r"), "a", CR_ROLE_ANALYZER, NULL, 1, 1, &err), CM_OK);
	assert_int_equal(cr_pki_revoke(at("d"), at("r/c.crt"), &others, &err), CM_OK);
	refused(CM_EPERM, "r/c.crt", "revoked");
	/* The revocation concerns that serial number and its own CA. */
	assert_int_equal(renew("r/a.crt", "r/a-renewed.crt", &err), CM_OK);
	assert_int_equal(renew("d/client/client.crt", "r/client.crt", &err), CM_OK);
	/* A revocation list of another CA says nothing, so nothing is renewed. */
	assert_int_equal(rename(at("d/ca-clients/ca.crl"), at("kept.crl")), 0);
	assert_int_equal(link(at("d/ca-services/ca.crl"), at("d/ca-clients/ca.crl")), 0);
	refused(CM_EDATA, "d/client/client.crt", "ca.crl");
	assert_int_equal(rename(at("kept.crl"), at("d/ca-clients/ca.crl")), 0);
}

static void a_ca_s_own_is_not_renewed(void **state)
{
	(void)state;
	refused(CM_EUSAGE, "d/ca-clients/ca.crt", "a CA");
	refused(CM_EUSAGE, "d/ca-services/ca.crt", "a CA");
}

static void what_the_ca_did_not_sign_is_not_renewed(void **state)
{
	struct cr_pki_pair ca = load_ca("d/ca-clients");
	EVP_PKEY *own = EVP_EC_gen("P-256");
	X509 *cert = load("d/client/client.crt");
	struct cm_err err;

	(void)state;
	/* The CA of another deployment has the same name, but another key and key identifier. */
	assert_int_equal(cr_pki_init(at("other"), NULL, 1, &err), CM_OK);
	refused(CM_EPERM, "other/client/client.crt", "not issued by");
	/* Self-made, naming our CA in every way. */
	assert_non_null(own);
	assert_int_equal(X509_set_pubkey(cert, own), 1);
	assert_true(X509_sign(cert, own, EVP_sha256()) > 0);
	assert_int_equal(X509_check_issued(ca.cert, cert), X509_V_OK);
	store(cert, "self-made.crt");
	refused(CM_EPERM, "self-made.crt", "not issued by");
	/* A certificate signed with our CA's key under another CA's name: nobody would trust it, renewed or
	 * not. */
	assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_issuer_name(cert), "OU", MBSTRING_ASC,
				 (const uint8_t *)"x", -1, -1, 0),
		1);
	assert_true(X509_sign(cert, ca.key, EVP_sha256()) > 0);
	store(cert, "misnamed.crt");
	refused(CM_EPERM, "misnamed.crt", "not issued by");
	EVP_PKEY_free(own);
	X509_free(cert);
	cr_pki_pair_fini(&ca);
}

static void the_wrong_ca_s_signature_is_none(void **state)
{
	static const struct cr_pki_subject analyzer = {
		.name = "mallory", .role = CR_ROLE_ANALYZER, .devices = 1, .days = 9
	};
	struct cr_pki_pair ca = load_ca("d/ca-clients"), pair;
	struct cm_err err;

	(void)state;
	/* Whoever enrols clients must not make analyzers. */
	assert_int_equal(cr_pki_pair_make(&analyzer, &ca, &pair, &err), CM_OK);
	store(pair.cert, "mallory.crt");
	refused(CM_EPERM, "mallory.crt", "not issued by");
	cr_pki_pair_fini(&pair);
	cr_pki_pair_fini(&ca);
}

static void without_one_role_there_is_no_party(void **state)
{
	struct cr_pki_pair ca = load_ca("d/ca-clients");
	X509 *cert = load("d/client/client.crt");
	int at_names = X509_get_ext_by_NID(cert, NID_subject_alt_name, -1);

	(void)state;
	X509_EXTENSION_free(X509_delete_ext(cert, at_names));
	assert_true(X509_sign(cert, ca.key, EVP_sha256()) > 0);
	store(cert, "nobody.crt");
	refused(CM_EPERM, "nobody.crt", "no tombola:role");
	X509_free(cert);
	cr_pki_pair_fini(&ca);
}

static void bad_input_is_said_by_its_code(void **state)
{
	static const int days[] = { (int)CR_PKI_DAYS_CA + 1, INT32_MAX, INT32_MIN };
	struct cm_err err;

	(void)state;
	refused(CM_ENOINPUT, "nothing.crt", "nothing.crt");
	refused(CM_EDATA, "d/client/client.key", "client.key");
	for (size_t i = 0; i < sizeof days / sizeof days[0]; i++)
		assert_int_equal(
			cr_pki_renew(at("d"), at("d/client/client.crt"), at("refused.crt"), 0, days[i], &err),
			CM_EUSAGE);
	assert_int_equal(access(at("refused.crt"), F_OK), -1);
}

static uint32_t devices_of(const char *cert)
{
	struct cr_pki_info info;
	struct cm_err err;

	assert_int_equal(cr_pki_show(at(cert), &info, &err), CM_OK);
	assert_int_equal(info.identity.role, CR_ROLE_CLIENT);
	return info.identity.devices;
}

/* The number of devices alone changes: the key, and with it the party, is the same. */
static void a_fleet_grows_and_shrinks_to_one(void **state)
{
	static const uint32_t now[] = { 600, 1, 7, 0 }, shown[] = { 600, 1, 7, 7 };
	struct cr_pki_info first, last;
	struct cm_err err;
	char from[32] = "d/client/client.crt", to[32];

	(void)state;
	assert_int_equal(cr_pki_show(at(from), &first, &err), CM_OK);
	for (size_t i = 0; i < sizeof now / sizeof now[0]; i++) {
		(void)snprintf(to, sizeof to, "fleet-%zu.crt", i);
		assert_int_equal(cr_pki_renew(at("d"), at(from), at(to), now[i], 9, &err), CM_OK);
		assert_int_equal(devices_of(to), shown[i]);
		memcpy(from, to, sizeof from);
	}
	assert_int_equal(cr_pki_show(at(to), &last, &err), CM_OK);
	assert_memory_equal(first.identity.key_hash, last.identity.key_hash, sizeof first.identity.key_hash);
	assert_string_equal(first.identity.name, last.identity.name);
	assert_int_equal(cr_pki_renew(at("d"), at("d/shuffler/shuffler.crt"), at("refused.crt"), 2, 9, &err),
		CM_EUSAGE);
	assert_non_null(strstr(err.msg, "only a client"));
	assert_int_equal(access(at("refused.crt"), F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_renewed_certificate_is_the_same_party_with_the_same_key),
		cmocka_unit_test(its_serial_and_its_dates_are_new),
		cmocka_unit_test(no_key_but_the_ca_s_is_needed),
		cmocka_unit_test(nothing_is_written_over),
		cmocka_unit_test(a_revoked_one_is_not_renewed),
		cmocka_unit_test(a_ca_s_own_is_not_renewed),
		cmocka_unit_test(what_the_ca_did_not_sign_is_not_renewed),
		cmocka_unit_test(the_wrong_ca_s_signature_is_none),
		cmocka_unit_test(without_one_role_there_is_no_party),
		cmocka_unit_test(bad_input_is_said_by_its_code),
		cmocka_unit_test(a_fleet_grows_and_shrinks_to_one),
	};

	return cmocka_run_group_tests(tests, pki_deployment_make, pki_deployment_drop);
}
