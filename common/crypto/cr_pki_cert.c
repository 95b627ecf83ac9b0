/* cr_pki_cert.c - makes, reads and stores one X.509 certificate and its key. */
#include "cr_pki_cert.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cm_file.h"
#include "cr_pem.h"
#include "cr_private_file.h"
#include "cr_private_many.h"
#include "cr_rand.h"

#define LOCAL_HOSTS "localhost,127.0.0.1,::1"
#define MAX_HOST    253u
#define SERIAL_LEN  16u
#define DAY         86400
/* Certificates begin this many seconds ago, so that peers whose clocks are a little behind accept a fresh
 * one. */
#define BACKDATE 300

void cr_pki_pair_fini(struct cr_pki_pair *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
	*p = (struct cr_pki_pair){ 0 };
}

static enum cm_rc no_memory(struct cm_err *err)
{
	ERR_clear_error();
	return cm_fail(err, CM_EINTERNAL, "libcrypto cannot make a certificate (out of memory?)");
}

static bool is_dns_name(const char *text)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";

	return text[0] != '-' && text[0] != '.' && text[strspn(text, allowed)] == '\0' && !strstr(text, "..");
}

/* Add a name of this type, a string of ASN.1 type `of`. */
static int push(GENERAL_NAMES *names, int type, int of, const void *data, int len)
{
	GENERAL_NAME *name = GENERAL_NAME_new();
	ASN1_STRING *value = ASN1_STRING_type_new(of);

	if (!name || !value || ASN1_STRING_set(value, data, len) != 1) {
		GENERAL_NAME_free(name);
		ASN1_STRING_free(value);
		return 0;
	}
	GENERAL_NAME_set0_value(name, type, value);
	if (sk_GENERAL_NAME_push(names, name) > 0)
		return 1;
	GENERAL_NAME_free(name);
	return 0;
}

int cr_pki_push_text(GENERAL_NAMES *names, int type, const char *text)
{
	return push(names, type, V_ASN1_IA5STRING, text, -1);
}

static int push_address(GENERAL_NAMES *names, const uint8_t *address, int len)
{
	return push(names, GEN_IPADD, V_ASN1_OCTET_STRING, address, len);
}

static enum cm_rc push_host(GENERAL_NAMES *names, const char *host, struct cm_err *err)
{
	uint8_t address[16];
	int ok;

	if (inet_pton(AF_INET, host, address) == 1)
		ok = push_address(names, address, 4);
	else if (inet_pton(AF_INET6, host, address) == 1)
		ok = push_address(names, address, 16);
	else if (is_dns_name(host))
		ok = cr_pki_push_text(names, GEN_DNS, host);
	else
		return cm_fail(err, CM_EUSAGE, "'%s' is neither a DNS name nor an address", host);
	return ok ? CM_OK : no_memory(err);
}

static enum cm_rc push_hosts(GENERAL_NAMES *names, const char *hosts, struct cm_err *err)
{
	const char *at = !hosts || *hosts == '\0' ? LOCAL_HOSTS : hosts;

	for (;;) {
		size_t n = strcspn(at, ",");
		char host[MAX_HOST + 1];

		if (n == 0 || n > MAX_HOST)
			return cm_fail(err, CM_EUSAGE, "an empty or overlong name in the list of hosts");
		memcpy(host, at, n);
		host[n] = '\0';
		if (push_host(names, host, err) != CM_OK)
			return err->code;
		if (at[n] == '\0')
			return CM_OK;
		at += n + 1;
	}
}

static enum cm_rc add_names(X509 *cert, const struct cr_pki_subject *s, struct cm_err *err)
{
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	enum cm_rc rc = CM_OK;
	char uri[64];

	(void)snprintf(uri, sizeof uri, "tombola:role:%s", cr_role_name(s->role));
	if (!names || !cr_pki_push_text(names, GEN_URI, uri))
		rc = no_memory(err);
	if (rc == CM_OK && s->devices != 1) {
		(void)snprintf(uri, sizeof uri, "tombola:devices:%u", (unsigned)s->devices);
		if (!cr_pki_push_text(names, GEN_URI, uri))
			rc = no_memory(err);
	}
	if (rc == CM_OK && cr_role_listens(s->role))
		rc = push_hosts(names, s->hosts, err);
	if (rc == CM_OK && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) != 1)
		rc = no_memory(err);
	GENERAL_NAMES_free(names);
	return rc;
}

static int add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *ext;
	X509V3_CTX ctx;
	int ok;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = ext && X509_add_ext(cert, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

static enum cm_rc add_extensions(X509 *cert, X509 *issuer, const struct cr_pki_subject *s, struct cm_err *err)
{
	bool ca = s->role == CR_ROLE_NONE;
	int ok = add_extension(cert, issuer, NID_basic_constraints,
			 ca ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
		 add_extension(cert, issuer, NID_key_usage,
			 ca ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
		 add_extension(cert, issuer, NID_subject_key_identifier, "hash") &&
		 add_extension(cert, issuer, NID_authority_key_identifier, "keyid");

	/* An analyzer's certificate must not serve as a server's. */
	if (ok && !ca)
		ok = add_extension(cert, issuer, NID_ext_key_usage,
			s->role == CR_ROLE_INTAKE     ? "serverAuth,clientAuth"
			: s->role == CR_ROLE_SHUFFLER ? "serverAuth"
						      : "clientAuth");
	if (!ok)
		return no_memory(err);
	return ca ? CM_OK : add_names(cert, s, err);
}

static int set_serial(X509 *cert, const struct cr_rng *rng)
{
	uint8_t bytes[SERIAL_LEN];
	BIGNUM *n;
	int ok;

	rng->fill(rng->ctx, bytes, sizeof bytes);
	n = BN_bin2bn(bytes, (int)sizeof bytes, NULL);
	ok = n && !BN_is_zero(n) && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
	BN_free(n);
	return ok;
}

static int set_times(X509 *cert, int days)
{
	time_t now = time(NULL), after = now + (time_t)days * DAY;
	time_t before = days > 0 ? now - BACKDATE : after - DAY;

	return ASN1_TIME_set(X509_getm_notBefore(cert), before) &&
	       ASN1_TIME_set(X509_getm_notAfter(cert), after);
}

/* Set everything but the extensions and the signature. */
static int set_basics(
	X509 *cert, const struct cr_pki_subject *s, X509 *issuer, EVP_PKEY *key, const struct cr_rng *rng)
{
	X509_NAME *name = X509_get_subject_name(cert);

	return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert, rng) &&
	       set_times(cert, s->days) &&
	       X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)s->name, -1, -1, 0) ==
		       1 &&
	       X509_set_issuer_name(cert, !issuer ? name : X509_get_subject_name(issuer)) == 1 &&
	       X509_set_pubkey(cert, key) == 1;
}

enum cm_rc cr_pki_cert_make(const struct cr_pki_subject *s, EVP_PKEY *key, const struct cr_pki_pair *ca,
	X509 **out, struct cm_err *err)
{
	X509 *cert = X509_new(), *issuer = !ca ? NULL : ca->cert;
	struct cr_rng rng;
	enum cm_rc rc = cr_rng_system(&rng, err);

	if (rc == CM_OK && (!cert || !set_basics(cert, s, issuer, key, &rng)))
		rc = no_memory(err);
	if (rc == CM_OK)
		rc = add_extensions(cert, !issuer ? cert : issuer, s, err);
	if (rc == CM_OK && X509_sign(cert, !ca ? key : ca->key, EVP_sha256()) == 0)
		rc = no_memory(err);
	if (rc == CM_OK)
		*out = cert;
	else
		X509_free(cert);
	return rc;
}

enum cm_rc cr_pki_pair_make(const struct cr_pki_subject *s, const struct cr_pki_pair *ca,
	struct cr_pki_pair *out, struct cm_err *err)
{
	struct cr_pki_pair p = { .key = EVP_EC_gen("P-256") };
	enum cm_rc rc = !p.key ? no_memory(err) : cr_pki_cert_make(s, p.key, ca, &p.cert, err);

	if (rc == CM_OK)
		*out = p;
	else
		cr_pki_pair_fini(&p);
	return rc;
}

/* Takes out every URI of devices, and puts in the one that says so many. */
static int replace_devices(GENERAL_NAMES *names, uint32_t devices)
{
	static const char prefix[] = "tombola:devices:";
	char uri[64];

	for (int i = sk_GENERAL_NAME_num(names); i-- > 0;) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		const ASN1_STRING *text = name->type == GEN_URI ? name->d.uniformResourceIdentifier : NULL;

		if (text && (size_t)ASN1_STRING_length(text) >= sizeof prefix - 1 &&
			memcmp(ASN1_STRING_get0_data(text), prefix, sizeof prefix - 1) == 0)
			GENERAL_NAME_free(sk_GENERAL_NAME_delete(names, i));
	}
	(void)snprintf(uri, sizeof uri, "%s%u", prefix, (unsigned)devices);
	return devices == 1 || cr_pki_push_text(names, GEN_URI, uri);
}

static int set_devices(X509 *cert, uint32_t devices)
{
	int critical = 0;
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, &critical, NULL);
	int ok = names && replace_devices(names, devices) &&
		 X509_add1_ext_i2d(cert, NID_subject_alt_name, names, critical, X509V3_ADD_REPLACE) == 1;

	GENERAL_NAMES_free(names);
	return ok;
}

enum cm_rc cr_pki_cert_renew(
	X509 *old, uint32_t devices, int days, const struct cr_pki_pair *ca, X509 **out, struct cm_err *err)
{
	X509 *cert = X509_dup(old);
	struct cr_rng rng;
	enum cm_rc rc = cr_rng_system(&rng, err);

	if (rc == CM_OK && (!cert || !set_serial(cert, &rng) || !set_times(cert, days) ||
				   (devices != 0 && !set_devices(cert, devices)) ||
				   X509_sign(cert, ca->key, EVP_sha256()) == 0))
		rc = no_memory(err);
	if (rc == CM_OK)
		*out = cert;
	else
		X509_free(cert);
	return rc;
}

/* Named curve and uncompressed point, RFC 5480.  We compare bytes and not the curve's name: the same key in
 * another encoding has another hash, and would be a second identity. */
enum cm_rc cr_pki_key_check(X509_PUBKEY *written, EVP_PKEY *key, struct cm_err *err)
{
	static const uint8_t p256[] = { 0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d,
		0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
		0x04 };
	uint8_t *der = NULL;
	char group[32] = "";
	int len = !key ? 0 : i2d_X509_PUBKEY(written, &der);
	bool good = len == (int)sizeof p256 + 64 && memcmp(der, p256, sizeof p256) == 0;

	OPENSSL_free(der);
	ERR_clear_error();
	if (good)
		return CM_OK;
	if (!key)
		return cm_fail(err, CM_EPERM, "its public key cannot be read; P-256 is what is certified");
	if (EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 && strcmp(group, "prime256v1") == 0)
		return cm_fail(err, CM_EPERM,
			"its P-256 key is not written as a named curve and a whole point: make it again");
	ERR_clear_error();
	return cm_fail(err, CM_EPERM, "a key of type %s%s%s and %d bits; P-256 is what is certified",
		EVP_PKEY_get0_type_name(key), group[0] != '\0' ? " " : "", group, EVP_PKEY_get_bits(key));
}

bool cr_pki_cert_is_of(X509 *cert, X509 *ca)
{
	bool is = X509_check_issued(ca, cert) == X509_V_OK && X509_verify(cert, X509_get0_pubkey(ca)) == 1;

	ERR_clear_error();
	return is;
}

enum cm_rc cr_pki_cert_store(X509 *cert, const char *path, struct cm_err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	enum cm_rc rc = !bio || PEM_write_bio_X509(bio, cert) != 1 ? no_memory(err)
								   : cr_pem_create(path, bio, 0644, err);

	BIO_free(bio);
	return rc;
}

enum cm_rc cr_pki_cert_add(struct cr_private_many *m, X509 *cert, const char *path, struct cm_err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	enum cm_rc rc;
	char *data;
	long n;

	if (!bio || PEM_write_bio_X509(bio, cert) != 1) {
		rc = no_memory(err);
	} else {
		n = BIO_get_mem_data(bio, &data);
		rc = cr_private_many_add(m, path, data, (size_t)n, 0644, err);
	}
	BIO_free(bio);
	return rc;
}

enum cm_rc cr_pki_key_store(EVP_PKEY *key, const char *path, struct cm_err *err)
{
	BIO *bio = BIO_new(BIO_s_secmem());
	enum cm_rc rc = !bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1
				? no_memory(err)
				: cr_pem_create(path, bio, 0600, err);

	BIO_free(bio);
	return rc;
}

enum cm_rc cr_pki_pair_store(
	const struct cr_pki_pair *p, const char *dir, const char *name, struct cm_err *err)
{
	char *cert = cr_private_path(dir, name, ".crt"), *key = cr_private_path(dir, name, ".key");
	enum cm_rc rc = !cert || !key ? no_memory(err) : cr_pki_key_store(p->key, key, err);
	struct cm_err ignored;

	if (rc == CM_OK) {
		rc = cr_pki_cert_store(p->cert, cert, err);
		if (rc != CM_OK)
			(void)!cr_private_destroy(key, &ignored);
	}
	free(cert);
	free(key);
	return rc;
}

enum cm_rc cr_pki_pair_load(const char *dir, const char *name, struct cr_pki_pair *out, struct cm_err *err)
{
	char *cert = cr_private_path(dir, name, ".crt"), *key = cr_private_path(dir, name, ".key");
	struct cr_pki_pair p = { 0 };
	enum cm_rc rc;

	if (!cert || !key)
		rc = no_memory(err);
	else
		rc = cr_pki_cert_load(cert, &p.cert, err);
	if (rc == CM_OK)
		rc = cr_pem_private_key(key, CR_SECRET, &p.key, err);
	if (rc == CM_OK && X509_check_private_key(p.cert, p.key) != 1) {
		ERR_clear_error();
		rc = cm_fail(err, CM_EDATA, "%s: not the key of %s", key, cert);
	}
	if (rc == CM_OK)
		*out = p;
	else
		cr_pki_pair_fini(&p);
	free(cert);
	free(key);
	return rc;
}

enum cm_rc cr_pki_copy(const char *from, const char *to, int replace, struct cm_err *err)
{
	uint8_t *bytes = malloc(CR_PKI_FILE_MAX);
	enum cm_rc rc;
	size_t n;

	if (!bytes)
		return no_memory(err);
	rc = cr_private_read(from, CR_OURS, bytes, CR_PKI_FILE_MAX, &n, err);
	if (rc == CM_OK)
		rc = replace ? cm_file_write(to, bytes, n, 0644, err)
			     : cr_private_create(to, bytes, n, 0644, err);
	free(bytes);
	return rc;
}
