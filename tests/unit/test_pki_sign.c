/* test_pki_sign.c - keys that are made elsewhere and certified by their requests: what is signed, what is
 * refused. */
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

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cm_file.h"
#include "cr_pki.h"
#include "cr_private_many.h"
#include "pki_deployment.h"

static struct cr_pki_signer *signer_of(enum cr_role role, uint32_t devices)
{
	struct cr_pki_signer *s = NULL;
	struct cm_err err;

	assert_int_equal(cr_pki_signer_new(at("d"), role, NULL, devices, 30, &s, &err), CM_OK);
	return s;
}

/* Files in a folder, without those that are not finished. */
static size_t entries(const char *folder)
{
	char command[256];
	size_t n = 0;
	FILE *f;

	(void)snprintf(command, sizeof command, "ls -A '%s' | grep -vcF %s", at(folder), ".tmp-");
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu", &n), 1);
	assert_true(pclose(f) >= 0); /* grep fails when it counts none */
	return n;
}

static bool is_there(const char *name)
{
	return access(at(name), F_OK) == 0;
}

/* Signs the request r/NAME.csr for a client of one device; checks that it is refused with these words, and
 * that nothing comes of it. */
static void refused(struct cr_pki_signer *s, const char *name, enum cm_rc rc, const char *words)
{
	size_t before = entries("d/ca-clients/issued");
	char request[64], made[64];
	struct cm_err err = { 0 };

	(void)snprintf(request, sizeof request, "r/%s.csr", name);
	(void)snprintf(made, sizeof made, "c/%s.crt", name);
	if (cr_pki_signer_sign(s, at(request), name, at("c"), &err) != rc || !strstr(err.msg, words) ||
		strncmp(err.msg, at(request), strlen(at(request))) != 0)
		fail_msg("%s: %d, %s", name, (int)err.code, err.msg);
	assert_int_equal(cr_pki_signer_hand_out(s, &err), CM_OK);
	assert_int_equal(entries("d/ca-clients/issued"), before);
	assert_false(is_there(made));
}

static void store(X509_REQ *request, const char *name)
{
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof path, "r/%s.csr", name);
	f = fopen(at(path), "w");
	assert_non_null(f);
	assert_int_equal(PEM_write_X509_REQ(f, request), 1);
	assert_int_equal(fclose(f), 0);
	X509_REQ_free(request);
}

/* A request for this key that asks for these alternative names (NULL: none). */
static X509_REQ *request_of(EVP_PKEY *key, const char *names)
{
	X509_REQ *request = X509_REQ_new();
	const EVP_MD *hash = EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();

	assert_non_null(request);
	assert_int_equal(X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), "CN", MBSTRING_ASC,
				 (const uint8_t *)"admin", -1, -1, 0),
		1);
	assert_int_equal(X509_REQ_set_pubkey(request, key), 1);
	if (names) {
		STACK_OF(X509_EXTENSION) *asked = sk_X509_EXTENSION_new_null();

		assert_true(sk_X509_EXTENSION_push(
				    asked, X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names)) > 0);
		assert_true(
			sk_X509_EXTENSION_push(asked, X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
							      "critical,CA:TRUE")) > 0);
		assert_int_equal(X509_REQ_add_extensions(request, asked), 1);
		sk_X509_EXTENSION_pop_free(asked, X509_EXTENSION_free);
	}
	assert_true(X509_REQ_sign(request, key, hash) > 0);
	return request;
}

static int make(void **state)
{
	struct cm_err err;

	return pki_deployment_make(state) == 0 && mkdir(at("r"), 0700) == 0 &&
			       cm_file_mkdir(at("c"), &err) == CM_OK
		       ? 0
		       : -1;
}

static void a_key_is_certified_where_it_is_not(void **state)
{
	struct cr_pki_signer *s = signer_of(CR_ROLE_CLIENT, 7);
	struct cr_pki_info info;
	struct cm_err err;
	struct stat st;
	size_t others;

	(void)state;
	assert_int_equal(cr_pki_request(at("r"), "gw-1", CR_ROLE_CLIENT, &err), CM_OK);
	assert_int_equal(stat(at("r/gw-1.key"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(entries("r"), 2);
	assert_int_equal(cr_pki_request(at("r"), "gw-1", CR_ROLE_CLIENT, &err), CM_ECREATE);
	assert_int_equal(cr_pki_signer_sign(s, at("r/gw-1.csr"), "gw-one", at("c"), &err), CM_OK);
	/* No certificate is handed out before its record is stored. */
	assert_false(is_there("c/gw-one.crt"));
	assert_int_equal(entries("d/ca-clients/issued"), 1);
	assert_int_equal(cr_pki_signer_hand_out(s, &err), CM_OK);
	assert_int_equal(entries("d/ca-clients/issued"), 2);
	assert_int_equal(entries("c"), 1);
	assert_int_equal(stat(at("c/gw-one.crt"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	cr_pki_signer_free(s);

	/* The certificate says what the signer says; the request's name is nowhere in it. */
	assert_int_equal(cr_pki_show(at("c/gw-one.crt"), &info, &err), CM_OK);
	assert_int_equal(info.identity.role, CR_ROLE_CLIENT);
	assert_int_equal(info.identity.devices, 7);
	assert_string_equal(info.identity.name, "gw-one");
	assert_int_equal(info.is_ca, 0);
	assert_int_equal((info.not_after - info.not_before + 43200) / 86400, 30);
	assert_int_equal(verify("d/shuffler/clients-ca.crt", "c/gw-one.crt", X509_PURPOSE_SSL_CLIENT,
				 "d/shuffler/clients-ca.crl"),
		X509_V_OK);
	/* The CA treats it like any other: it can be renewed, and is revoked with what was renewed. */
	assert_int_equal(cr_pki_renew(at("d"), at("c/gw-one.crt"), at("c/again.crt"), 0, 60, &err), CM_OK);
	assert_int_equal(cr_pki_revoke(at("d"), at("c/again.crt"), &others, &err), CM_OK);
	assert_int_equal(others, 1);
	assert_int_equal(verify("d/shuffler/clients-ca.crt", "c/gw-one.crt", X509_PURPOSE_SSL_CLIENT,
				 "d/shuffler/clients-ca.crl"),
		X509_V_ERR_CERT_REVOKED);
	/* A key that was revoked does not come back by a new request. */
	s = signer_of(CR_ROLE_CLIENT, 7);
	refused(s, "gw-1", CM_EPERM, "its key has a certificate already: ");
	cr_pki_signer_free(s);
}

static void services_are_certified_too_and_have_signing_keys(void **state)
{
	struct cr_pki_signer *s = NULL;
	struct cm_err err;
	X509 *cert;

	(void)state;
	assert_int_equal(cr_pki_request(at("s"), "s2", CR_ROLE_SHUFFLER, &err), CM_OK);
	assert_true(is_there("s/shuffler-sign.key") && is_there("s/shuffler-sign.pub"));
	assert_int_equal(cr_pki_request(at("s"), "s3", CR_ROLE_SHUFFLER, &err), CM_OK);
	assert_int_equal(cr_pki_signer_new(at("d"), CR_ROLE_SHUFFLER, "s2.example", 1, 30, &s, &err), CM_OK);
	assert_int_equal(cr_pki_signer_sign(s, at("s/s2.csr"), "s2", at("s"), &err), CM_OK);
	assert_int_equal(cr_pki_signer_hand_out(s, &err), CM_OK);
	cr_pki_signer_free(s);
	assert_int_equal(verify("d/client/services-ca.crt", "s/s2.crt", X509_PURPOSE_SSL_SERVER,
				 "d/client/services-ca.crl"),
		X509_V_OK);
	cert = load("s/s2.crt");
	assert_int_equal(X509_check_host(cert, "s2.example", 0, 0, NULL), 1);
	X509_free(cert);
	/* A request for a role of one CA is refused at the other. */
	assert_int_equal(rename(at("s/s2.csr"), at("r/other.csr")), 0);
	s = signer_of(CR_ROLE_CLIENT, 1);
	refused(s, "other", CM_EPERM, "it asks for role shuffler, and --role says client");
	cr_pki_signer_free(s);
}

static void a_signer_says_who_may_be_signed(void **state)
{
	struct cr_pki_signer *s;
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_signer_new(at("d"), CR_ROLE_NONE, NULL, 1, 30, &s, &err), CM_EUSAGE);
	assert_int_equal(cr_pki_signer_new(at("d"), CR_ROLE_ANALYZER, NULL, 2, 30, &s, &err), CM_EUSAGE);
	assert_int_equal(cr_pki_signer_new(at("d"), CR_ROLE_CLIENT, "h", 1, 30, &s, &err), CM_EUSAGE);
	assert_int_equal(cr_pki_signer_new(at("d"), CR_ROLE_CLIENT, NULL, 1, 4000, &s, &err), CM_EUSAGE);
	assert_int_equal(cr_pki_signer_new(at("none"), CR_ROLE_CLIENT, NULL, 1, 30, &s, &err), CM_ENOINPUT);
	assert_int_equal(cr_pki_request(at("r"), "../up", CR_ROLE_CLIENT, &err), CM_EUSAGE);
	assert_int_equal(cr_pki_request(at("r"), "x", CR_ROLE_NONE, &err), CM_EUSAGE);
	assert_false(is_there("r/x.key"));
}

static void a_request_decides_nothing(void **state)
{
	static const struct {
		const char *names, *words; /* NULL: it is signed */
	} asks[] = {
		{ "URI:tombola:role:client,URI:tombola:devices:5", NULL },
		{ "DNS:shuffler.example,URI:https://tombola.example", NULL },
		{ "URI:tombola:role:analyzer", "it asks for role analyzer, and --role says client" },
		{ "URI:tombola:role:client,URI:tombola:role:shuffler", "more than one tombola:role" },
		{ "URI:tombola:role:king", "an unknown tombola:role" },
		{ "URI:tombola:devices:500", "it asks for 500 devices, and --devices says 5" },
		{ "URI:tombola:devices:0", "tombola:devices that it asks for is malformed" },
	};
	struct cr_pki_signer *s = signer_of(CR_ROLE_CLIENT, 5);
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
		EVP_PKEY *key = EVP_EC_gen("P-256");
		struct cr_pki_info info;
		char name[16];

		(void)snprintf(name, sizeof name, "ask-%zu", i);
		store(request_of(key, asks[i].names), name);
		EVP_PKEY_free(key);
		if (asks[i].words) {
			refused(s, name, CM_EPERM, asks[i].words);
			continue;
		}
		(void)snprintf(name, sizeof name, "ask-%zu", i);
		assert_int_equal(cr_pki_signer_sign(
					 s, at(i == 0 ? "r/ask-0.csr" : "r/ask-1.csr"), name, at("c"), &err),
			CM_OK);
		assert_int_equal(cr_pki_signer_hand_out(s, &err), CM_OK);
		assert_int_equal(cr_pki_show(at(i == 0 ? "c/ask-0.crt" : "c/ask-1.crt"), &info, &err), CM_OK);
		assert_string_equal(info.subject, i == 0 ? "CN=ask-0" : "CN=ask-1");
		assert_true(!info.is_ca && info.identity.devices == 5);
		X509 *cert = load(i == 0 ? "c/ask-0.crt" : "c/ask-1.crt");
		assert_int_equal(X509_check_host(cert, "shuffler.example", 0, 0, NULL), 0);
		X509_free(cert);
	}
	cr_pki_signer_free(s);
}

static EVP_PKEY *p256(const char *form, const char *encoding)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	assert_non_null(key);
	if (form)
		assert_int_equal(
			EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, form),
			1);
	if (encoding)
		assert_int_equal(
			EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, encoding), 1);
	return key;
}

static void only_one_kind_of_key_is_certified(void **state)
{
	const struct {
		const char *name, *words;
		EVP_PKEY *key;
	} bad[] = {
		{ "rsa", "a key of type RSA and 2048 bits", EVP_RSA_gen(2048) },
		{ "weak", "a key of type RSA and 1024 bits", EVP_RSA_gen(1024) },
		{ "p384", "a key of type EC secp384r1 and 384 bits", EVP_EC_gen("P-384") },
		{ "koblitz", "a key of type EC secp256k1 and 256 bits", EVP_EC_gen("secp256k1") },
		{ "edwards", "a key of type ED25519", EVP_PKEY_Q_keygen(NULL, NULL, "ED25519") },
		/* The same key in another form would be another participant. */
		{ "short", "not written as a named curve", p256("compressed", NULL) },
		{ "hybrid", "not written as a named curve", p256("hybrid", NULL) },
		{ "explicit", "not written as a named curve", p256(NULL, "explicit") },
	};
	struct cr_pki_signer *s = signer_of(CR_ROLE_CLIENT, 1);

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_non_null(bad[i].key);
		store(request_of(bad[i].key, NULL), bad[i].name);
		EVP_PKEY_free(bad[i].key);
		refused(s, bad[i].name, CM_EPERM, bad[i].words);
	}
	cr_pki_signer_free(s);
}

static void a_request_is_by_its_own_key(void **state)
{
	struct cr_pki_signer *s = signer_of(CR_ROLE_CLIENT, 1);
	EVP_PKEY *seen = EVP_EC_gen("P-256"), *own = EVP_EC_gen("P-256");
	X509_REQ *request = request_of(own, NULL);

	(void)state;
	/* Somebody else's public key, signed with one's own. */
	assert_int_equal(X509_REQ_set_pubkey(request, seen), 1);
	assert_true(X509_REQ_sign(request, own, EVP_sha256()) > 0);
	store(request, "stolen");
	refused(s, "stolen", CM_EPERM, "its signature is not by its own key");
	/* A request that was changed on its way. */
	request = request_of(own, NULL);
	assert_int_equal(X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), "CN", MBSTRING_ASC,
				 (const uint8_t *)"more", -1, -1, 0),
		1);
	store(request, "bent");
	refused(s, "bent", CM_EPERM, "its signature is not by its own key");
	cr_pki_signer_free(s);
	EVP_PKEY_free(seen);
	EVP_PKEY_free(own);
}

static void what_is_no_request_is_said(void **state)
{
	static char large[65537];
	struct cr_pki_signer *s = signer_of(CR_ROLE_CLIENT, 1);
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_request(at("r"), "good", CR_ROLE_CLIENT, &err), CM_OK);
	assert_int_equal(symlink(at("r/good.csr"), at("r/link.csr")), 0);
	refused(s, "link", CM_EPERM, "a symbolic link, and no request");
	refused(s, "none", CM_ENOINPUT, "no such file");
	assert_int_equal(link(at("r/good.key"), at("r/key.csr")), 0);
	refused(s, "key", CM_EDATA, "no certificate request in PEM form");
	assert_int_equal(link(at("d/client/client.crt"), at("r/crt.csr")), 0);
	refused(s, "crt", CM_EDATA, "no certificate request in PEM form");
	assert_int_equal(cm_file_write(at("r/large.csr"), large, sizeof large, 0644, &err), CM_OK);
	refused(s, "large", CM_EDATA, "longer than");
	assert_int_equal(mkfifo(at("r/pipe.csr"), 0600), 0);
	refused(s, "pipe", CM_EDATA, "not a regular file");
	/* A name that a certificate may not have, or that is taken. */
	assert_int_equal(link(at("r/good.csr"), at("r/-x.csr")), 0);
	refused(s, "-x", CM_EUSAGE, "a name is 1 to 64");
	assert_int_equal(cm_file_write(at("c/taken.crt"), "", 0, 0644, &err), CM_OK);
	assert_int_equal(cr_pki_signer_sign(s, at("r/good.csr"), "taken", at("c"), &err), CM_ECREATE);
	assert_non_null(strstr(err.msg, "c/taken.crt is there already"));
	/* After all that, the good request is signed. */
	assert_int_equal(cr_pki_signer_sign(s, at("r/good.csr"), "good", at("c"), &err), CM_OK);
	assert_int_equal(cr_pki_signer_hand_out(s, &err), CM_OK);
	assert_true(is_there("c/good.crt"));
	cr_pki_signer_free(s);
}

static void the_same_key_twice_in_a_run_is_refused_the_second_time(void **state)
{
	struct cr_pki_signer *s = signer_of(CR_ROLE_CLIENT, 1);
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_pki_request(at("r"), "one", CR_ROLE_CLIENT, &err), CM_OK);
	assert_int_equal(link(at("r/one.csr"), at("r/two.csr")), 0);
	assert_int_equal(cr_pki_signer_sign(s, at("r/one.csr"), "one", at("c"), &err), CM_OK);
	assert_int_equal(cr_pki_signer_sign(s, at("r/two.csr"), "two", at("c"), &err), CM_EPERM);
	assert_non_null(strstr(err.msg, "c/one.crt"));
	/* Two requests of one name: neither is signed, and no record stays. */
	assert_int_equal(cr_pki_request(at("r"), "three", CR_ROLE_CLIENT, &err), CM_OK);
	assert_int_equal(cr_pki_signer_sign(s, at("r/three.csr"), "one", at("c"), &err), CM_OK);
	size_t before = entries("d/ca-clients/issued"), made = entries("c");
	assert_int_equal(cr_pki_signer_hand_out(s, &err), CM_ECREATE);
	assert_int_equal(entries("d/ca-clients/issued"), before);
	assert_int_equal(entries("c"), made);
	cr_pki_signer_free(s);
}

static void records_that_cannot_be_read_stop_the_signer(void **state)
{
	struct cr_pki_signer *s = NULL;
	struct cm_err err;

	(void)state;
	/* Then it is unknown which keys are certified. */
	assert_int_equal(cm_file_write(at("d/ca-services/issued/00.crt"), "x", 1, 0644, &err), CM_OK);
	assert_int_equal(cr_pki_signer_new(at("d"), CR_ROLE_CLIENT, NULL, 1, 30, &s, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "issued/00.crt"));
	assert_int_equal(unlink(at("d/ca-services/issued/00.crt")), 0);
	/* The other CA may be on another host. */
	assert_int_equal(rename(at("d/ca-services"), at("away")), 0);
	assert_int_equal(cr_pki_signer_new(at("d"), CR_ROLE_CLIENT, NULL, 1, 30, &s, &err), CM_OK);
	cr_pki_signer_free(s);
	assert_int_equal(rename(at("away"), at("d/ca-services")), 0);
}

static void many_files_are_all_there_or_none(void **state)
{
	struct cr_private_many *m = cr_private_many_new();
	struct cm_err err;

	(void)state;
	assert_non_null(m);
	assert_int_equal(cm_file_mkdir(at("m"), &err), CM_OK);
	assert_int_equal(cr_private_many_add(m, at("m/a"), "a", 1, 0600, &err), CM_OK);
	assert_int_equal(cr_private_many_add(m, at("m/b"), "b", 1, 0600, &err), CM_OK);
	assert_int_equal(cr_private_many_add(m, at("no/c"), "c", 1, 0600, &err), CM_ECREATE);
	assert_int_equal(cm_file_write(at("m/b"), "other", 5, 0600, &err), CM_OK);
	assert_int_equal(cr_private_many_commit(m, &err), CM_ECREATE);
	assert_non_null(strstr(err.msg, "m/b"));
	cr_private_many_free(m);
	assert_int_equal(entries("m"), 1);
	assert_non_null(m = cr_private_many_new());
	for (int i = 0; i < 40; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "m/%d", i);
		assert_int_equal(cr_private_many_add(m, at(name), name, strlen(name), 0600, &err), CM_OK);
	}
	assert_int_equal(cr_private_many_commit(m, &err), CM_OK);
	assert_int_equal(entries("m"), 41);
	cr_private_many_undo(m);
	cr_private_many_free(m);
	assert_int_equal(entries("m"), 1);
	cr_private_many_free(NULL);
	cr_pki_signer_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_certified_where_it_is_not),
		cmocka_unit_test(services_are_certified_too_and_have_signing_keys),
		cmocka_unit_test(a_signer_says_who_may_be_signed),
		cmocka_unit_test(a_request_decides_nothing),
		cmocka_unit_test(only_one_kind_of_key_is_certified),
		cmocka_unit_test(a_request_is_by_its_own_key),
		cmocka_unit_test(what_is_no_request_is_said),
		cmocka_unit_test(the_same_key_twice_in_a_run_is_refused_the_second_time),
		cmocka_unit_test(records_that_cannot_be_read_stop_the_signer),
		cmocka_unit_test(many_files_are_all_there_or_none),
	};

	return cmocka_run_group_tests(tests, make, pki_deployment_drop);
}
