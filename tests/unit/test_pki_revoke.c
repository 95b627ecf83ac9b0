/* test_pki_revoke.c - certificates taken back: with all others of their key, at every party, and nobody
 * else's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/x509v3.h>

#include "cm_file.h"
#include "cr_pki.h"
#include "cr_pki_cert.h"
#include "pki_deployment.h"

static size_t others; /* of a revoked key */

static void a_revoked_certificate_stops_verifying_and_others_go_on(void **state)
{
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_issue(at("d"), at("k"), "a", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_OK);
	assert_int_equal(cr_pki_issue(at("d"), at("k"), "b", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_OK);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(cr_pki_revoke(at("d"), at("k/a.crt"), &others, &err), CM_OK);
		assert_int_equal(verify("d/shuffler/clients-ca.crt", "k/a.crt", X509_PURPOSE_SSL_CLIENT,
					 "d/shuffler/clients-ca.crl"),
			X509_V_ERR_CERT_REVOKED);
		assert_int_equal(verify("d/shuffler/clients-ca.crt", "k/b.crt", X509_PURPOSE_SSL_CLIENT,
					 "d/shuffler/clients-ca.crl"),
			X509_V_OK);
	}
	assert_int_equal(cr_pki_revoke(at("d"), at("k/b.crt"), &others, &err), CM_OK);
	for (const char *name = "a"; name; name = *name == 'a' ? "b" : NULL) {
		char path[16];

		(void)snprintf(path, sizeof path, "k/%s.crt", name);
		assert_int_equal(
			verify("d/ca-clients/ca.crt", path, X509_PURPOSE_SSL_CLIENT, "d/ca-clients/ca.crl"),
			X509_V_ERR_CERT_REVOKED);
	}
	/* The other CA's list is untouched. */
	assert_int_equal(verify("d/analyzer/services-ca.crt", "d/shuffler/shuffler.crt",
				 X509_PURPOSE_SSL_SERVER, "d/analyzer/services-ca.crl"),
		X509_V_OK);
}

static void what_was_renewed_is_revoked_with_its_key(void **state)
{
	static const char *const same[] = { "r/a.crt", "r/a2.crt", "r/a3.crt" };
	struct cm_err err;
	FILE *f;

	(void)state;
	assert_int_equal(cr_pki_init(at("q"), NULL, 1, &err), CM_OK);
	assert_int_equal(cr_pki_issue(at("q"), at("r"), "a", CR_ROLE_CLIENT, NULL, 1, 1, &err), CM_OK);
	assert_int_equal(cr_pki_renew(at("q"), at("r/a.crt"), at("r/a2.crt"), 0, 2, &err), CM_OK);
	assert_int_equal(cr_pki_renew(at("q"), at("r/a2.crt"), at("r/a3.crt"), 0, 3, &err), CM_OK);
	/* Any certificate of the key will do; a file that cannot be read hides none that can. */
	f = fopen(at("q/ca-clients/issued/00.crt"), "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(cr_pki_revoke(at("q"), at("r/a2.crt"), &others, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "issued/00.crt"));
	assert_int_equal(others, 2);
	for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
		assert_int_equal(verify("q/shuffler/clients-ca.crt", same[i], X509_PURPOSE_SSL_CLIENT,
					 "q/shuffler/clients-ca.crl"),
			X509_V_ERR_CERT_REVOKED);
	assert_int_equal(verify("q/shuffler/clients-ca.crt", "q/client/client.crt", X509_PURPOSE_SSL_CLIENT,
				 "q/shuffler/clients-ca.crl"),
		X509_V_OK);
	assert_int_equal(cr_pki_renew(at("q"), at("r/a.crt"), at("r/a4.crt"), 0, 2, &err), CM_EPERM);
	assert_int_equal(unlink(at("q/ca-clients/issued/00.crt")), 0);
	assert_int_equal(cr_pki_revoke(at("q"), at("r/a.crt"), &others, &err), CM_OK);
	assert_int_equal(others, 0);
	/* A certificate of another CA is no copy of ours. */
	assert_int_equal(link(at("d/client/client.crt"), at("q/ca-clients/issued/01.crt")), 0);
	assert_int_equal(cr_pki_revoke(at("q"), at("r/a.crt"), &others, &err), CM_EDATA);
	/* A folder of a version that kept no copies: the certificate that is named is revoked. */
	assert_int_equal(rename(at("q/ca-clients/issued"), at("q/ca-clients/away")), 0);
	assert_int_equal(cr_pki_revoke(at("q"), at("q/client/client.crt"), &others, &err), CM_OK);
}

static void lists_are_there_from_the_first_day_and_empty(void **state)
{
	(void)state;
	assert_int_equal(verify("d/shuffler/clients-ca.crt", "d/client/client.crt", X509_PURPOSE_SSL_CLIENT,
				 "d/shuffler/clients-ca.crl"),
		X509_V_OK);
	assert_int_equal(verify("d/shuffler/services-ca.crt", "d/analyzer/analyzer.crt",
				 X509_PURPOSE_SSL_CLIENT, "d/shuffler/services-ca.crl"),
		X509_V_OK);
	assert_int_equal(verify("d/client/services-ca.crt", "d/shuffler/shuffler.crt",
				 X509_PURPOSE_SSL_SERVER, "d/client/services-ca.crl"),
		X509_V_OK);
	/* A list of the wrong CA says nothing about the certificate. */
	assert_int_equal(verify("d/shuffler/clients-ca.crt", "d/client/client.crt", X509_PURPOSE_SSL_CLIENT,
				 "d/shuffler/services-ca.crl"),
		X509_V_ERR_UNABLE_TO_GET_CRL);
}

static void a_revoked_service_is_known_to_every_party(void **state)
{
	static const char *const lists[] = { "d/client/services-ca.crl", "d/shuffler/services-ca.crl",
		"d/analyzer/services-ca.crl", "d/ca-services/ca.crl" };
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_issue(at("d"), at("l"), "s", CR_ROLE_SHUFFLER, NULL, 1, 1, &err), CM_OK);
	assert_int_equal(cr_pki_revoke(at("d"), at("l/s.crt"), &others, &err), CM_OK);
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		assert_int_equal(verify("d/ca-services/ca.crt", "l/s.crt", X509_PURPOSE_SSL_SERVER, lists[i]),
			X509_V_ERR_CERT_REVOKED);
	/* A party that is set up later gets the list too. */
	assert_int_equal(cr_pki_outfit(at("d"), at("l"), CR_ROLE_CLIENT, &err), CM_OK);
	assert_int_equal(access(at("l/services-ca.crl"), F_OK), 0);
	assert_int_equal(access(at("l/analyzer-sign.pub"), F_OK), 0);
}

static void what_is_not_ours_cannot_be_revoked(void **state)
{
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_init(at("other"), NULL, 1, &err), CM_OK);
	assert_int_equal(cr_pki_revoke(at("d"), at("other/client/client.crt"), &others, &err), CM_EPERM);
	assert_int_equal(cr_pki_revoke(at("d"), at("other/shuffler/shuffler.crt"), &others, &err), CM_EPERM);
	assert_int_equal(cr_pki_revoke(at("other"), at("other/ca-clients/ca.crt"), &others, &err), CM_EUSAGE);
	assert_int_equal(cr_pki_revoke(at("d"), at("d/client/client.key"), &others, &err), CM_EDATA);
	assert_int_equal(cr_pki_revoke(at("d"), at("nothing"), &others, &err), CM_ENOINPUT);
	assert_int_equal(verify("other/ca-clients/ca.crt", "other/client/client.crt", X509_PURPOSE_SSL_CLIENT,
				 "other/ca-clients/ca.crl"),
		X509_V_OK);
}

static void a_list_of_another_ca_is_not_extended(void **state)
{
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_init(at("m"), NULL, 1, &err), CM_OK);
	assert_int_equal(cr_pki_revoke(at("m"), at("m/analyzer/analyzer.crt"), &others, &err), CM_OK);
	assert_int_equal(unlink(at("m/ca-clients/ca.crl")), 0);
	assert_int_equal(link(at("m/ca-services/ca.crl"), at("m/ca-clients/ca.crl")), 0);
	assert_int_equal(cr_pki_revoke(at("m"), at("m/client/client.crt"), &others, &err), CM_EDATA);
}

static void revoking_needs_the_one_ca_only_and_says_what_is_wrong_with_it(void **state)
{
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_init(at("n"), NULL, 1, &err), CM_OK);
	/* The fault is in its own key, so the text is not "issued by neither". */
	assert_int_equal(chmod(at("n/ca-services/ca.key"), 0640), 0);
	assert_int_equal(cr_pki_revoke(at("n"), at("n/analyzer/analyzer.crt"), &others, &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "n/ca-services/ca.key"));
	assert_non_null(strstr(err.msg, "chmod"));
	assert_int_equal(chmod(at("n/ca-services/ca.key"), 0600), 0);
	/* The other CA's key, or its whole folder, may be elsewhere. */
	assert_int_equal(unlink(at("n/ca-clients/ca.key")), 0);
	assert_int_equal(cr_pki_revoke(at("n"), at("n/analyzer/analyzer.crt"), &others, &err), CM_OK);
	assert_int_equal(rename(at("n/ca-clients"), at("elsewhere")), 0);
	assert_int_equal(cr_pki_revoke(at("n"), at("n/shuffler/shuffler.crt"), &others, &err), CM_OK);
	assert_int_equal(cr_pki_revoke(at("n"), at("n/client/client.crt"), &others, &err), CM_EPERM);
}

static void a_list_of_many_megabytes_still_reaches_the_parties(void **state)
{
	const size_t n = (size_t)3 << 20;
	char *bytes = malloc(n);
	struct cm_err err;
	struct stat st;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'x', n);
	assert_int_equal(cm_file_write(at("large"), bytes, n, 0644, &err), CM_OK);
	assert_int_equal(cr_pki_copy(at("large"), at("large.copy"), 1, &err), CM_OK);
	assert_int_equal(stat(at("large.copy"), &st), 0);
	assert_int_equal(st.st_size, (off_t)n);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_there_from_the_first_day_and_empty),
		cmocka_unit_test(a_revoked_certificate_stops_verifying_and_others_go_on),
		cmocka_unit_test(what_was_renewed_is_revoked_with_its_key),
		cmocka_unit_test(a_revoked_service_is_known_to_every_party),
		cmocka_unit_test(what_is_not_ours_cannot_be_revoked),
		cmocka_unit_test(a_list_of_another_ca_is_not_extended),
		cmocka_unit_test(revoking_needs_the_one_ca_only_and_says_what_is_wrong_with_it),
		cmocka_unit_test(a_list_of_many_megabytes_still_reaches_the_parties),
	};

	return cmocka_run_group_tests(tests, pki_deployment_make, pki_deployment_drop);
}
