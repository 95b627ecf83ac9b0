/* cr_pki_issued.c (cr_pki.h) - records the certificates that a CA has issued, and keeps its list of revoked
 * ones. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "cm_buf.h"
#include "cm_file.h"
#include "cr_pem.h"
#include "cr_pki_cert.h"
#include "cr_private_file.h"

#define FOLDER     "issued"
#define SUFFIX     ".crt"
#define SERIAL_MAX 20 /* most bytes of a serial, RFC 5280 section 4.1.2.2 */

/* The path FOLDER/SERIAL.crt; malloc'd, NULL with err set. */
static char *path_of(const char *folder, X509 *cert, struct cm_err *err)
{
	const ASN1_INTEGER *serial = X509_get0_serialNumber(cert);
	char name[2 * SERIAL_MAX + 1], *path;

	if (ASN1_STRING_length(serial) > SERIAL_MAX) {
		(void)cm_fail(err, CM_EDATA, "a serial number of more than %d bytes", SERIAL_MAX);
		return NULL;
	}
	cm_hex(ASN1_STRING_get0_data(serial), (size_t)ASN1_STRING_length(serial), name);
	path = cr_private_path(folder, name, SUFFIX);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

enum cm_rc cr_pki_issued_begin(const char *ca_dir, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER);
	enum cm_rc rc = !folder ? cm_fail(err, CM_EINTERNAL, "out of memory") : cm_file_mkdir(folder, err);

	free(folder);
	return rc;
}

/* The path of this certificate's record; malloc'd, NULL with err set. */
static char *record_of(const char *ca_dir, X509 *cert, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER), *path = NULL;

	if (!folder)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	else
		path = path_of(folder, cert, err);
	free(folder);
	return path;
}

enum cm_rc cr_pki_issued_keep(const char *ca_dir, X509 *cert, struct cm_err *err)
{
	char *path = record_of(ca_dir, cert, err);
	enum cm_rc rc = !path ? err->code : cr_pki_issued_begin(ca_dir, err);

	if (rc == CM_OK)
		rc = cr_pki_cert_store(cert, path, err);
	free(path);
	return rc;
}

enum cm_rc cr_pki_issued_add(struct cr_private_many *m, const char *ca_dir, X509 *cert, struct cm_err *err)
{
	char *path = record_of(ca_dir, cert, err);
	enum cm_rc rc = !path ? err->code : cr_pki_cert_add(m, cert, path, err);

	free(path);
	return rc;
}

void cr_pki_issued_forget(const char *ca_dir, X509 *cert)
{
	struct cm_err err;
	char *path = record_of(ca_dir, cert, &err);

	if (path)
		(void)unlink(path);
	free(path);
}

/* A walk through the records. */
struct walk {
	const char *folder;
	X509 *ca;
	cr_pki_issued_fn *fn;
	void *user;
	struct cm_err fault; /* the first error; the walk goes on after it */
};

static enum cm_rc look_at(const struct walk *w, const char *path, struct cm_err *err)
{
	X509 *kept = NULL;
	enum cm_rc rc = cr_pki_cert_load(path, &kept, err);

	if (rc == CM_OK && !cr_pki_cert_is_of(kept, w->ca))
		rc = cm_fail(err, CM_EDATA, "%s: not issued by this CA", path);
	if (rc == CM_OK)
		rc = w->fn(w->user, path, kept, err);
	X509_free(kept);
	return rc;
}

static enum cm_rc on_entry(void *user, const char *name, struct cm_err *err)
{
	struct walk *w = user;
	size_t n = strlen(name);
	char *path;

	/* Other names belong to files that a killed process left unfinished. */
	if (n < sizeof SUFFIX - 1 || strcmp(name + n - (sizeof SUFFIX - 1), SUFFIX) != 0)
		return CM_OK;
	path = cm_file_join(w->folder, name);
	if ((!path ? cm_fail(err, CM_EINTERNAL, "out of memory") : look_at(w, path, err)) != CM_OK &&
		w->fault.code == CM_OK)
		w->fault = *err;
	free(path);
	return CM_OK;
}

enum cm_rc cr_pki_issued_each(
	const char *ca_dir, X509 *ca, cr_pki_issued_fn *fn, void *user, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER);
	struct walk w = { .folder = folder, .ca = ca, .fn = fn, .user = user };
	enum cm_rc rc = !folder ? cm_fail(err, CM_EINTERNAL, "out of memory")
				: cm_file_each(folder, on_entry, &w, err);

	free(folder);
	if (w.fault.code == CM_OK)
		return rc;
	*err = w.fault;
	return err->code;
}

/* A search for other certificates of cert's key. */
struct search {
	X509 *cert;
	STACK_OF(X509) * same;
};

static enum cm_rc on_kept(void *user, const char *path, X509 *kept, struct cm_err *err)
{
	const struct search *s = user;

	(void)path;
	if (X509_PUBKEY_eq(X509_get_X509_PUBKEY(kept), X509_get_X509_PUBKEY(s->cert)) != 1 ||
		X509_cmp(kept, s->cert) == 0)
		return CM_OK;
	if (X509_up_ref(kept) != 1)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (sk_X509_push(s->same, kept) > 0)
		return CM_OK;
	X509_free(kept);
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* Find the other certificates of cert's key that the CA has recorded, malloc'd.  On an error *out holds
 * those that could be read, or is NULL if there is no memory for any.  Free with sk_X509_pop_free(*out,
 * X509_free).  Reads the whole folder, some 30 us for each certificate.  CM_EDATA for a file that this CA
 * did not issue. */
static enum cm_rc same_key(
	const char *ca_dir, X509 *ca, X509 *cert, STACK_OF(X509) * *out, struct cm_err *err)
{
	struct search s = { .cert = cert, .same = sk_X509_new_null() };

	*out = s.same;
	return !s.same ? cm_fail(err, CM_EINTERNAL, "out of memory")
		       : cr_pki_issued_each(ca_dir, ca, on_kept, &s, err);
}

/* ---- the revocation list ---- */

static const struct {
	const char *dir;
	const char *cert, *list; /* file names of the CA certificate and its list in a party's folder */
} authorities[] = {
	{ "ca-clients", "clients-ca.crt", "clients-ca.crl" },
	{ "ca-services", "services-ca.crt", "services-ca.crl" },
};
#define AUTHORITIES (sizeof authorities / sizeof authorities[0])

static enum cm_rc no_memory(struct cm_err *err)
{
	ERR_clear_error();
	return cm_fail(err, CM_EINTERNAL, "libcrypto cannot make a revocation list (out of memory?)");
}

/* Load the list at path and check that it is the CA's; *out is NULL when there is no list yet. */
static enum cm_rc load_list(
	const char *path, const struct cr_pki_pair *ca, X509_CRL **out, struct cm_err *err)
{
	uint8_t *pem = malloc(CR_PKI_FILE_MAX);
	BIO *bio = NULL;
	enum cm_rc rc;
	size_t n;

	*out = NULL;
	if (!pem)
		return no_memory(err);
	rc = cr_private_read(path, CR_OURS, pem, CR_PKI_FILE_MAX, &n, err);
	if (rc == CM_OK && (bio = BIO_new_mem_buf(pem, (int)n)))
		*out = PEM_read_bio_X509_CRL(bio, NULL, cr_pem_no_password, NULL);
	if (rc == CM_OK && (!*out || X509_CRL_verify(*out, ca->key) != 1)) {
		X509_CRL_free(*out);
		*out = NULL;
		rc = cm_fail(err, CM_EDATA, "%s: not a revocation list of this CA", path);
	}
	ERR_clear_error();
	BIO_free(bio);
	free(pem);
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

static int add_key_identifier(X509_CRL *list, X509 *ca)
{
	X509_EXTENSION *ext;
	X509V3_CTX ctx;
	int ok;

	X509V3_set_ctx(&ctx, ca, NULL, NULL, list, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, NID_authority_key_identifier, "keyid");
	ok = ext && X509_CRL_add_ext(list, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

static X509_CRL *new_list(X509 *ca)
{
	X509_CRL *list = X509_CRL_new();

	if (list && X509_CRL_set_version(list, X509_CRL_VERSION_2) == 1 &&
		X509_CRL_set_issuer_name(list, X509_get_subject_name(ca)) == 1 &&
		add_key_identifier(list, ca))
		return list;
	X509_CRL_free(list);
	return NULL;
}

/* Add one to the list's number, by which verifiers tell the newer of two lists. */
static int raise_number(X509_CRL *list)
{
	ASN1_INTEGER *old = X509_CRL_get_ext_d2i(list, NID_crl_number, NULL, NULL),
		     *next = ASN1_INTEGER_new();
	BIGNUM *n = !old ? BN_new() : ASN1_INTEGER_to_BN(old, NULL);
	int ok = n && next && BN_add_word(n, 1) == 1 && BN_to_ASN1_INTEGER(n, next) &&
		 X509_CRL_add1_ext_i2d(list, NID_crl_number, next, 0, X509V3_ADD_REPLACE) == 1;

	ASN1_INTEGER_free(old);
	ASN1_INTEGER_free(next);
	BN_free(n);
	return ok;
}

static int add_serial(X509_CRL *list, X509 *cert, const ASN1_TIME *now)
{
	X509_REVOKED *entry = X509_REVOKED_new();

	if (entry && X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(cert)) == 1 &&
		X509_REVOKED_set_revocationDate(entry, (ASN1_TIME *)now) == 1 &&
		X509_CRL_add0_revoked(list, entry) == 1)
		return 1;
	X509_REVOKED_free(entry);
	return 0;
}

static bool has_serial(X509_CRL *list, X509 *cert)
{
	X509_REVOKED *entry;

	return X509_CRL_get0_by_serial(list, &entry, X509_get_serialNumber(cert)) == 1;
}

/* Add cert (unless it is NULL) and others of its key to the list and sign it again; *added counts the
 * others. */
static int extend_list(
	X509_CRL *list, X509 *cert, STACK_OF(X509) * others, size_t *added, const struct cr_pki_pair *ca)
{
	ASN1_TIME *now = ASN1_TIME_set(NULL, time(NULL));
	int ok = now && X509_CRL_set1_lastUpdate(list, now) == 1 &&
		 X509_CRL_set1_nextUpdate(list, X509_get0_notAfter(ca->cert)) == 1 && raise_number(list);

	if (ok && cert && !has_serial(list, cert))
		ok = add_serial(list, cert, now);
	*added = 0;
	for (int i = 0; ok && i < sk_X509_num(others); i++)
		if (!has_serial(list, sk_X509_value(others, i))) {
			ok = add_serial(list, sk_X509_value(others, i), now);
			++*added;
		}
	ASN1_TIME_free(now);
	return ok && X509_CRL_sort(list) == 1 && X509_CRL_sign(list, ca->key, EVP_sha256()) > 0;
}

static enum cm_rc store_list(const char *path, X509_CRL *list, struct cm_err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	enum cm_rc rc;
	char *data;
	long n;

	if (!bio || PEM_write_bio_X509_CRL(bio, list) != 1) {
		rc = no_memory(err);
	} else {
		n = BIO_get_mem_data(bio, &data);
		rc = cm_file_write(path, data, (size_t)n, 0644, err);
	}
	BIO_free(bio);
	return rc;
}

/* A list to be copied to the parties in a folder. */
struct refresh {
	const char *dir, *list_path;
	size_t authority;
};

/* Copy the list beside the party's copy of the CA certificate, if it has one. */
static enum cm_rc refresh_one(void *user, const char *name, struct cm_err *err)
{
	const struct refresh *r = user;
	char *party, *cert = NULL, *list = NULL;
	enum cm_rc rc = CM_OK;
	struct stat st;

	if (name[0] == '.')
		return CM_OK;
	party = cm_file_join(r->dir, name);
	if (party) {
		cert = cm_file_join(party, authorities[r->authority].cert);
		list = cm_file_join(party, authorities[r->authority].list);
	}
	if (!cert || !list)
		rc = no_memory(err);
	else if (stat(cert, &st) == 0)
		rc = cr_pki_copy(r->list_path, list, 1, err);
	free(party);
	free(cert);
	free(list);
	return rc;
}

enum cm_rc cr_pki_list_start(const char *ca_dir, struct cm_err *err)
{
	char *path = cr_private_path(ca_dir, "ca", ".crl");
	struct cr_pki_pair ca = { 0 };
	X509_CRL *list = NULL;
	enum cm_rc rc = !path ? no_memory(err) : cr_pki_pair_load(ca_dir, "ca", &ca, err);
	size_t none;

	if (rc == CM_OK && (!(list = new_list(ca.cert)) || !extend_list(list, NULL, NULL, &none, &ca)))
		rc = no_memory(err);
	if (rc == CM_OK)
		rc = store_list(path, list, err);
	X509_CRL_free(list);
	cr_pki_pair_fini(&ca);
	free(path);
	return rc;
}

enum cm_rc cr_pki_list_check(const char *ca_dir, const struct cr_pki_pair *ca, X509 *cert, struct cm_err *err)
{
	char *path = cr_private_path(ca_dir, "ca", ".crl");
	X509_CRL *list = NULL;
	enum cm_rc rc = !path ? no_memory(err) : load_list(path, ca, &list, err);

	if (rc == CM_OK && list && has_serial(list, cert))
		rc = cm_fail(err, CM_EPERM, "%s has it: it is revoked", path);
	X509_CRL_free(list);
	free(path);
	return rc;
}

/* Did this CA issue cert?  Only the CA's certificate is needed, since the two CAs need not be in one
 * place. */
static enum cm_rc issued_by(const char *dir, size_t authority, X509 *cert, bool *issued, struct cm_err *err)
{
	char *ca_dir = cm_file_join(dir, authorities[authority].dir);
	char *path = !ca_dir ? NULL : cm_file_join(ca_dir, "ca.crt");
	enum cm_rc rc = CM_OK;
	X509 *ca = NULL;

	*issued = false;
	rc = !path ? no_memory(err) : cr_pki_cert_load(path, &ca, err);
	if (rc == CM_OK)
		*issued = cr_pki_cert_is_of(cert, ca);
	X509_free(ca);
	free(path);
	free(ca_dir);
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

static enum cm_rc revoke_under(
	const char *dir, size_t authority, X509 *cert, size_t *others, struct cm_err *err)
{
	char *ca_dir = cm_file_join(dir, authorities[authority].dir);
	char *path = !ca_dir ? NULL : cr_private_path(ca_dir, "ca", ".crl");
	struct cr_pki_pair ca = { 0 };
	struct refresh refresh = { dir, path, authority };
	STACK_OF(X509) *same = NULL;
	X509_CRL *list = NULL;
	struct cm_err unread = { .code = CM_OK };
	enum cm_rc rc;

	rc = !path ? no_memory(err) : cr_pki_pair_load(ca_dir, "ca", &ca, err);
	if (rc == CM_OK)
		rc = load_list(path, &ca, &list, err);
	if (rc == CM_OK && !list)
		list = new_list(ca.cert);
	/* A file that cannot be read is an error, but the certificates that can be read must still be
	 * revoked. */
	if (rc == CM_OK)
		unread.code = same_key(ca_dir, ca.cert, cert, &same, &unread);
	if (rc == CM_OK && (!list || !extend_list(list, cert, same, others, &ca)))
		rc = no_memory(err);
	if (rc == CM_OK)
		rc = store_list(path, list, err);
	if (rc == CM_OK)
		rc = cm_file_each(dir, refresh_one, &refresh, err);
	if (rc == CM_OK && unread.code != CM_OK) {
		*err = unread;
		rc = cm_context(err, "revoked, but other certificates of its key may not be");
	}
	ERR_clear_error();
	sk_X509_pop_free(same, X509_free);
	X509_CRL_free(list);
	cr_pki_pair_fini(&ca);
	free(path);
	free(ca_dir);
	return rc;
}

enum cm_rc cr_pki_revoke(const char *dir, const char *cert_path, size_t *others, struct cm_err *err)
{
	X509 *cert = NULL;
	enum cm_rc rc = cr_pki_cert_load(cert_path, &cert, err);
	bool issued = false;

	*others = 0;
	if (rc != CM_OK)
		return rc;
	/* A list cannot revoke the CA's own certificate: no verifier would look it up there. */
	if (X509_check_ca(cert) != 0)
		rc = cm_fail(err, CM_EUSAGE, "%s: this is a CA's certificate, not a party's", cert_path);
	for (size_t i = 0; rc == CM_OK && !issued && i < AUTHORITIES; i++) {
		rc = issued_by(dir, i, cert, &issued, err);
		if (rc == CM_OK && issued)
			rc = revoke_under(dir, i, cert, others, err);
	}
	if (rc == CM_OK && !issued)
		rc = cm_fail(err, CM_EPERM, "%s: issued by neither CA of %s", cert_path, dir);
	X509_free(cert);
	return rc;
}
