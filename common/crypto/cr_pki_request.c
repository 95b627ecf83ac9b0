/* cr_pki_request.c (cr_pki.h) - makes certificate requests, reads the requests of others, and certifies
 * their keys. */
#define _GNU_SOURCE /* declares tdestroy */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "cr_hash.h"
#include "cr_pem.h"
#include "cr_pki_cert.h"
#include "cr_private_file.h"
#include "cr_private_many.h"
#include "cr_sign.h"

#define MAX_REQUEST 65536u

static enum cm_rc no_memory(struct cm_err *err)
{
	ERR_clear_error();
	return cm_fail(err, CM_EINTERNAL, "libcrypto cannot make a certificate request (out of memory?)");
}

/* Write the role into a request; the signer compares it with the role that it means to give. */
static int ask_for(X509_REQ *request, const char *uri)
{
	STACK_OF(X509_EXTENSION) *asked = NULL;
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	int ok = names && cr_pki_push_text(names, GEN_URI, uri) &&
		 X509V3_add1_i2d(&asked, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1 &&
		 X509_REQ_add_extensions(request, asked) == 1;

	sk_X509_EXTENSION_pop_free(asked, X509_EXTENSION_free);
	GENERAL_NAMES_free(names);
	return ok;
}

static int fill(X509_REQ *request, const char *name, enum cr_role role, EVP_PKEY *key)
{
	char uri[64];

	(void)snprintf(uri, sizeof uri, "tombola:role:%s", cr_role_name(role));
	return X509_REQ_set_version(request, X509_REQ_VERSION_1) == 1 &&
	       X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), "CN", MBSTRING_ASC,
		       (const uint8_t *)name, -1, -1, 0) == 1 &&
	       X509_REQ_set_pubkey(request, key) == 1 && ask_for(request, uri) &&
	       X509_REQ_sign(request, key, EVP_sha256()) > 0;
}

static enum cm_rc store(X509_REQ *request, const char *path, struct cm_err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	enum cm_rc rc = !bio || PEM_write_bio_X509_REQ(bio, request) != 1
				? no_memory(err)
				: cr_pem_create(path, bio, 0644, err);

	BIO_free(bio);
	return rc;
}

/* Make key and request; the key is destroyed when the request cannot be written. */
static enum cm_rc make(const char *out_dir, const char *name, enum cr_role role, struct cm_err *err)
{
	char *key_path = cr_private_path(out_dir, name, ".key");
	char *path = cr_private_path(out_dir, name, ".csr");
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509_REQ *request = X509_REQ_new();
	struct cm_err ignored;
	enum cm_rc rc = CM_OK;

	if (!key_path || !path || !key || !request || !fill(request, name, role, key))
		rc = no_memory(err);
	if (rc == CM_OK)
		rc = cr_pki_key_store(key, key_path, err);
	if (rc == CM_OK && (rc = store(request, path, err)) != CM_OK)
		(void)!cr_private_destroy(key_path, &ignored);
	X509_REQ_free(request);
	EVP_PKEY_free(key);
	free(key_path);
	free(path);
	return rc;
}

/* Make the key with which this role signs messages, ROLE-sign.key and .pub, unless it exists. */
static enum cm_rc make_sign_key(const char *out_dir, enum cr_role role, struct cm_err *err)
{
	const char *name = role == CR_ROLE_SHUFFLER ? "shuffler-sign" : "analyzer-sign";
	char *private_path = cr_private_path(out_dir, name, ".key");
	char *public_path = cr_private_path(out_dir, name, ".pub");
	struct stat st;
	enum cm_rc rc = !private_path || !public_path ? no_memory(err) : CM_OK;

	if (rc == CM_OK && lstat(private_path, &st) != 0)
		rc = cr_sign_keygen(private_path, public_path, err);
	free(private_path);
	free(public_path);
	return rc;
}

enum cm_rc cr_pki_request(const char *out_dir, const char *name, enum cr_role role, struct cm_err *err)
{
	const struct cr_pki_subject s = { .name = name, .role = role, .devices = 1, .days = 1 };
	enum cm_rc rc = cr_pki_subject_check(&s, err);

	if (rc == CM_OK)
		rc = cm_file_mkdir(out_dir, err);
	if (rc == CM_OK)
		rc = make(out_dir, name, role, err);
	if (rc == CM_OK && (role == CR_ROLE_SHUFFLER || role == CR_ROLE_ANALYZER))
		rc = make_sign_key(out_dir, role, err);
	return rc;
}

/* The first block of a file that is no symbolic link: requests are put there by others. */
static enum cm_rc read_pem(const char *path, X509_REQ **out, struct cm_err *err)
{
	uint8_t *pem = malloc(MAX_REQUEST);
	BIO *bio = NULL;
	struct stat st;
	enum cm_rc rc;
	size_t n;

	if (!pem)
		return no_memory(err);
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		rc = cm_fail(err, CM_EPERM, "%s: a symbolic link, and no request", path);
	else
		rc = cr_private_read(path, CR_ANYBODYS, pem, MAX_REQUEST, &n, err);
	if (rc == CM_OK && !(bio = BIO_new_mem_buf(pem, (int)n)))
		rc = no_memory(err);
	if (rc == CM_OK && !(*out = PEM_read_bio_X509_REQ(bio, NULL, cr_pem_no_password, NULL)))
		rc = cm_fail(err, CM_EDATA, "%s: no certificate request in PEM form", path);
	ERR_clear_error();
	BIO_free(bio);
	free(pem);
	return rc;
}

/* Compare what the request asks for with what is given. */
static enum cm_rc check_claims(X509_REQ *request, const struct cr_pki_subject *given, struct cm_err *err)
{
	enum cr_role role;
	uint32_t devices;

	if (cr_pki_request_claims(request, &role, &devices, err) != CM_OK)
		return err->code;
	if (role != CR_ROLE_NONE && role != given->role)
		return cm_fail(err, CM_EPERM, "it asks for role %s, and --role says %s", cr_role_name(role),
			cr_role_name(given->role));
	if (devices != 0 && devices != given->devices)
		return cm_fail(err, CM_EPERM, "it asks for %u devices, and --devices says %u",
			(unsigned)devices, (unsigned)given->devices);
	return CM_OK;
}

static enum cm_rc accept_key(
	X509_REQ *request, const struct cr_pki_subject *given, EVP_PKEY **out, struct cm_err *err)
{
	EVP_PKEY *key = X509_REQ_get0_pubkey(request);
	enum cm_rc rc = cr_pki_key_check(X509_REQ_get_X509_PUBKEY(request), key, err);

	/* Without this check anybody who has seen a key could have it certified under a name of their
	 * choice. */
	if (rc == CM_OK && CM_CHECKED("pki.request") && X509_REQ_verify(request, key) != 1)
		rc = cm_fail(err, CM_EPERM, "its signature is not by its own key");
	if (rc == CM_OK)
		rc = check_claims(request, given, err);
	if (rc == CM_OK && EVP_PKEY_up_ref(key) != 1)
		rc = no_memory(err);
	if (rc == CM_OK)
		*out = key;
	ERR_clear_error();
	return rc;
}

/* Load the key of a certificate request (PEM, PKCS #10).  The key must have the form that this program
 * certifies, and must have signed the request.  The request decides nothing: if it names a role or a number
 * of devices, they must be those of `given`.  CM_EPERM with what is wrong; CM_EDATA, CM_ENOINPUT.  Messages
 * begin with the path.  Free with EVP_PKEY_free. */
static enum cm_rc request_load(
	const char *path, const struct cr_pki_subject *given, EVP_PKEY **out, struct cm_err *err)
{
	X509_REQ *request = NULL;
	enum cm_rc rc = read_pem(path, &request, err);

	if (rc == CM_OK && accept_key(request, given, out, err) != CM_OK)
		rc = cm_context(err, "%s", path);
	X509_REQ_free(request);
	return rc;
}

/* ---- certifying ---- */

/* A key that has a certificate, and the path of that certificate. */
struct known {
	uint8_t key[CR_HASH_LEN];
	char path[];
};

struct cr_pki_signer {
	struct cr_pki_subject given; /* the name is replaced by each request's own */
	char *hosts, *ca_dir;
	struct cr_pki_pair ca;
	void *known; /* a tree of struct known */
	/* certificates and their records that are not handed out yet */
	struct cr_private_many *records, *files;
};

static int by_key(const void *a, const void *b)
{
	return memcmp(((const struct known *)a)->key, ((const struct known *)b)->key, CR_HASH_LEN);
}

/* The SHA-256 of the key as certificates contain it. */
static enum cm_rc hash_of(EVP_PKEY *key, uint8_t out[CR_HASH_LEN], struct cm_err *err)
{
	uint8_t *der = NULL;
	int len = i2d_PUBKEY(key, &der);

	if (len <= 0)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	cr_sha256(der, (size_t)len, out);
	OPENSSL_free(der);
	return CM_OK;
}

static enum cm_rc remember(struct cr_pki_signer *s, EVP_PKEY *key, const char *path, struct cm_err *err)
{
	struct known *new = malloc(sizeof *new + strlen(path) + 1), **node;

	if (!new)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	strcpy(new->path, path);
	if (hash_of(key, new->key, err) != CM_OK) {
		free(new);
		return err->code;
	}
	node = tsearch(new, &s->known, by_key);
	if (!node || *node != new)
		free(new); /* another certificate has the same key, as after a renewal */
	return !node ? cm_fail(err, CM_EINTERNAL, "out of memory") : CM_OK;
}

static enum cm_rc on_kept(void *user, const char *path, X509 *kept, struct cm_err *err)
{
	EVP_PKEY *key = X509_get0_pubkey(kept);

	return !key ? cm_fail(err, CM_EDATA, "%s: its public key cannot be read", path)
		    : remember(user, key, path, err);
}

/* Learn the keys of one CA's certificates.  A CA that is not on this host has no certificates here. */
static enum cm_rc learn(struct cr_pki_signer *s, const char *dir, enum cr_role role, struct cm_err *err)
{
	char *ca_dir = cm_file_join(dir, cr_pki_ca_of(role));
	char *path = !ca_dir ? NULL : cm_file_join(ca_dir, "ca.crt");
	X509 *ca = NULL;
	enum cm_rc rc =
		!path ? cm_fail(err, CM_EINTERNAL, "out of memory") : cr_pki_cert_load(path, &ca, err);

	if (rc == CM_OK)
		rc = cr_pki_issued_each(ca_dir, ca, on_kept, s, err);
	X509_free(ca);
	free(path);
	free(ca_dir);
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

enum cm_rc cr_pki_signer_new(const char *dir, enum cr_role role, const char *hosts, uint32_t devices,
	int days, struct cr_pki_signer **out, struct cm_err *err)
{
	struct cr_pki_signer *s = calloc(1, sizeof *s);
	enum cm_rc rc;

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->given = (struct cr_pki_subject){ .name = "any", .role = role, .devices = devices, .days = days };
	s->records = cr_private_many_new();
	s->files = cr_private_many_new();
	s->given.hosts = s->hosts = !hosts ? NULL : strdup(hosts);
	if (!s->records || !s->files || (hosts && !s->hosts))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	else
		rc = cr_pki_subject_check(&s->given, err);
	if (rc == CM_OK)
		rc = cr_pki_ca_load(dir, role, days, &s->ca, &s->ca_dir, err);
	if (rc == CM_OK)
		rc = cr_pki_issued_begin(s->ca_dir, err);
	if (rc == CM_OK)
		rc = learn(s, dir, CR_ROLE_CLIENT, err);
	if (rc == CM_OK)
		rc = learn(s, dir, CR_ROLE_SHUFFLER, err);
	if (rc == CM_OK)
		*out = s;
	else
		cr_pki_signer_free(s);
	return rc;
}

void cr_pki_signer_free(struct cr_pki_signer *s)
{
	if (!s)
		return;
	tdestroy(s->known, free);
	cr_private_many_free(s->records);
	cr_private_many_free(s->files);
	cr_pki_pair_fini(&s->ca);
	free(s->hosts);
	free(s->ca_dir);
	free(s);
}

/* Refuse a key that has a certificate: it would be one participant under two names. */
static enum cm_rc check_new(const struct cr_pki_signer *s, EVP_PKEY *key, struct cm_err *err)
{
	struct known asked;
	struct known *const *found;

	if (hash_of(key, asked.key, err) != CM_OK)
		return err->code;
	found = tfind(&asked, &s->known, by_key);
	return !found || !CM_CHECKED("pki.request_twice")
		       ? CM_OK
		       : cm_fail(err, CM_EPERM, "its key has a certificate already: %s", (*found)->path);
}

enum cm_rc cr_pki_signer_hand_out(struct cr_pki_signer *s, struct cm_err *err)
{
	/* Write records first: revoking a key does not reach a certificate that is not recorded. */
	enum cm_rc rc = cr_private_many_commit(s->records, err);

	if (rc == CM_OK && (rc = cr_private_many_commit(s->files, err)) != CM_OK)
		cr_private_many_undo(s->records);
	cr_private_many_free(s->records);
	cr_private_many_free(s->files);
	s->records = cr_private_many_new();
	s->files = cr_private_many_new();
	return rc == CM_OK && (!s->records || !s->files) ? cm_fail(err, CM_EINTERNAL, "out of memory") : rc;
}

/* Make the certificate of this key, for the file `path`. */
static enum cm_rc certify(struct cr_pki_signer *s, const struct cr_pki_subject *given, EVP_PKEY *key,
	const char *path, struct cm_err *err)
{
	enum cm_rc rc = cr_pki_subject_check(given, err);
	X509 *cert = NULL;
	struct stat st;

	if (rc == CM_OK)
		rc = check_new(s, key, err);
	if (rc == CM_OK && lstat(path, &st) == 0)
		rc = cm_fail(err, CM_ECREATE, "%s is there already", path);
	if (rc == CM_OK)
		rc = cr_pki_cert_make(given, key, &s->ca, &cert, err);
	if (rc == CM_OK)
		rc = remember(s, key, path, err);
	/* Add the record first: if adding the certificate then fails, there is a record too many, and never
	 * a certificate without a record. */
	if (rc == CM_OK)
		rc = cr_pki_issued_add(s->records, s->ca_dir, cert, err);
	if (rc == CM_OK)
		rc = cr_pki_cert_add(s->files, cert, path, err);
	X509_free(cert);
	return rc;
}

enum cm_rc cr_pki_signer_sign(struct cr_pki_signer *s, const char *request_path, const char *name,
	const char *out_dir, struct cm_err *err)
{
	struct cr_pki_subject given = s->given;
	char *path = cr_private_path(out_dir, name, ".crt");
	EVP_PKEY *key = NULL;
	enum cm_rc rc = !path ? cm_fail(err, CM_EINTERNAL, "out of memory")
			      : request_load(request_path, &given, &key, err);

	given.name = name;
	if (rc == CM_OK && certify(s, &given, key, path, err) != CM_OK)
		rc = cm_context(err, "%s", request_path);
	EVP_PKEY_free(key);
	free(path);
	return rc;
}
