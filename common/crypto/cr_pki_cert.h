/* cr_pki_cert.h - makes, reads and stores one X.509 certificate and its key.  Needs libcrypto.  Internal to
 * cr_pki*.c. */
#pragma once

#include "cr_pki.h"

#include <openssl/x509v3.h>

/* Bytes of the largest file handled here, a revocation list of some hundred thousand certificates. */
#define CR_PKI_FILE_MAX 16777216u

/* The contents of a new certificate. */
struct cr_pki_subject {
	const char *name;
	enum cr_role role; /* the role; CR_ROLE_NONE: the certificate is a CA's */
	/* DNS names and addresses with commas, checked when they are read; NULL or "": the names of the
	 * local machine */
	const char *hosts;
	uint32_t devices;
	int days;
};

/* A certificate with its private key; fini accepts a zeroed pair. */
struct cr_pki_pair {
	X509 *cert;
	EVP_PKEY *key;
};

void cr_pki_pair_fini(struct cr_pki_pair *p);
/* Make a certificate for this key, signed by ca, or by the key itself when ca is NULL. */
CM_CHECK enum cm_rc cr_pki_cert_make(const struct cr_pki_subject *s, EVP_PKEY *key,
	const struct cr_pki_pair *ca, X509 **out, struct cm_err *err);
/* Append a URI or DNS name; false when memory runs out. */
CM_CHECK int cr_pki_push_text(GENERAL_NAMES *names, int type, const char *text);
/* Make a key and its certificate, signed by ca, or by itself when ca is NULL. */
CM_CHECK enum cm_rc cr_pki_pair_make(const struct cr_pki_subject *s, const struct cr_pki_pair *ca,
	struct cr_pki_pair *out, struct cm_err *err);
/* Store the pair as DIR/NAME.crt and DIR/NAME.key, both new files, both durable. */
CM_CHECK enum cm_rc cr_pki_pair_store(
	const struct cr_pki_pair *p, const char *dir, const char *name, struct cm_err *err);
CM_CHECK enum cm_rc cr_pki_pair_load(
	const char *dir, const char *name, struct cr_pki_pair *out, struct cm_err *err);
CM_CHECK enum cm_rc cr_pki_cert_load(const char *path, X509 **out, struct cm_err *err);
/* Store the certificate, or the key, which only its owner may read, in a new durable file. */
CM_CHECK enum cm_rc cr_pki_key_store(EVP_PKEY *key, const char *path, struct cm_err *err);
CM_CHECK enum cm_rc cr_pki_cert_store(X509 *cert, const char *path, struct cm_err *err);
/* The same as part of many files: durable once these are committed. */
struct cr_private_many;
CM_CHECK enum cm_rc cr_pki_cert_add(
	struct cr_private_many *m, X509 *cert, const char *path, struct cm_err *err);
/* The certificate `old` again, signed by ca, with another serial and other dates; name, key and extensions
 * are the same bytes, but for the number of devices unless that is 0. */
CM_CHECK enum cm_rc cr_pki_cert_renew(
	X509 *old, uint32_t devices, int days, const struct cr_pki_pair *ca, X509 **out, struct cm_err *err);
/* CM_EPERM unless a key, as it stands in a request or a certificate, is one that this program certifies: of
 * P-256, written as it writes them.  key NULL: it cannot be read. */
CM_CHECK enum cm_rc cr_pki_key_check(X509_PUBKEY *written, EVP_PKEY *key, struct cm_err *err);
/* Does cert name this CA as its issuer, and did the CA's key sign it? */
bool cr_pki_cert_is_of(X509 *cert, X509 *ca);

/* CM_EUSAGE unless the subject is one that may be issued: name, role, devices, hosts. */
CM_CHECK enum cm_rc cr_pki_subject_check(const struct cr_pki_subject *s, struct cm_err *err);
/* Load the CA of DIR for this role, if it can sign for so many days, and its directory (malloc'd, also on
 * an error). */
CM_CHECK enum cm_rc cr_pki_ca_load(const char *dir, enum cr_role role, int days, struct cr_pki_pair *ca,
	char **ca_dir, struct cm_err *err);
/* Read what a request asks for: a role, or CR_ROLE_NONE if it names none, and a number of devices, or 0.
 * CM_EPERM if that cannot be read, or is there twice.  The signer compares it with what is given. */
CM_CHECK enum cm_rc cr_pki_request_claims(
	X509_REQ *request, enum cr_role *role, uint32_t *devices, struct cm_err *err);

/* The directory of the CA that may certify the role: "ca-clients" or "ca-services". */
const char *cr_pki_ca_of(enum cr_role role);
/* Write an empty revocation list ca.crl for the CA of ca_dir, replacing one that exists. */
CM_CHECK enum cm_rc cr_pki_list_start(const char *ca_dir, struct cm_err *err);
/* CM_EPERM when the CA's list, ca.crl in ca_dir, has the certificate's serial. */
CM_CHECK enum cm_rc cr_pki_list_check(
	const char *ca_dir, const struct cr_pki_pair *ca, X509 *cert, struct cm_err *err);
/* Record a certificate that the CA of ca_dir issues, in ca_dir/issued/SERIAL.crt, durably.  Call it before
 * the certificate is handed out: revoking a key does not reach a certificate that is not recorded. */
CM_CHECK enum cm_rc cr_pki_issued_keep(const char *ca_dir, X509 *cert, struct cm_err *err);
/* The same as part of many files, after begin. */
CM_CHECK enum cm_rc cr_pki_issued_begin(const char *ca_dir, struct cm_err *err);
CM_CHECK enum cm_rc cr_pki_issued_add(
	struct cr_private_many *m, const char *ca_dir, X509 *cert, struct cm_err *err);
/* Call fn for each certificate that the CA of ca_dir has recorded, with the path of its record; `kept` is
 * valid during the call.  All are read before the first error is returned; CM_EDATA for a file that this CA
 * did not issue.  Takes some 30 us for each certificate. */
typedef enum cm_rc cr_pki_issued_fn(void *user, const char *path, X509 *kept, struct cm_err *err);
CM_CHECK enum cm_rc cr_pki_issued_each(
	const char *ca_dir, X509 *ca, cr_pki_issued_fn *fn, void *user, struct cm_err *err);
/* Remove the record of a certificate that was not handed out. */
void cr_pki_issued_forget(const char *ca_dir, X509 *cert);
/* Copy the bytes of the file `from` to `to` (0644), which must not exist unless `replace`. */
CM_CHECK enum cm_rc cr_pki_copy(const char *from, const char *to, int replace, struct cm_err *err);
