/* cr_pki_cert.h - makes, reads and stores one X.509 certificate and its key.  Needs libcrypto.  Internal to
 * cr_pki*.c. */
#pragma once

#include "cr_pki.h"

/* Bytes of the largest file handled here, a revocation list of some hundred thousand certificates. */
#define CR_PKI_FILE_MAX 16777216u

/* The contents of a new certificate. */
struct cr_pki_subject {
	const char *name;
	enum cr_role role; /* CR_ROLE_NONE: a CA */
	const char *hosts; /* checked as it is read; NULL or "": the local machine's names */
	uint32_t devices;
	int days;
};

/* A certificate with its private key; fini is fine on a zeroed one. */
struct cr_pki_pair {
	X509 *cert;
	EVP_PKEY *key;
};

void cr_pki_pair_fini(struct cr_pki_pair *p);
/* A fresh key and its certificate, signed by ca, or by itself when ca is NULL. */
CM_CHECK enum cm_rc cr_pki_pair_make(const struct cr_pki_subject *s, const struct cr_pki_pair *ca,
	struct cr_pki_pair *out, struct cm_err *err);
/* DIR/NAME.crt and DIR/NAME.key, both new, both durable. */
CM_CHECK enum cm_rc cr_pki_pair_store(
	const struct cr_pki_pair *p, const char *dir, const char *name, struct cm_err *err);
CM_CHECK enum cm_rc cr_pki_pair_load(
	const char *dir, const char *name, struct cr_pki_pair *out, struct cm_err *err);
CM_CHECK enum cm_rc cr_pki_cert_load(const char *path, X509 **out, struct cm_err *err);
/* The certificate into a new file, durable. */
CM_CHECK enum cm_rc cr_pki_cert_store(X509 *cert, const char *path, struct cm_err *err);
/* The certificate `old` again, signed by ca, with another serial and other dates; name, key and extensions
 * are the same bytes. */
CM_CHECK enum cm_rc cr_pki_cert_renew(
	X509 *old, int days, const struct cr_pki_pair *ca, X509 **out, struct cm_err *err);
/* Does cert name this CA as its issuer, and did the CA's key sign it? */
bool cr_pki_cert_is_of(X509 *cert, X509 *ca);

/* The directory of the CA that may vouch for the role: "ca-clients" or "ca-services". */
const char *cr_pki_ca_of(enum cr_role role);
/* Write an empty revocation list ca.crl for the CA of ca_dir, replacing one that exists. */
CM_CHECK enum cm_rc cr_pki_list_start(const char *ca_dir, struct cm_err *err);
/* CM_EPERM when the CA's list, ca.crl in ca_dir, has the certificate's serial. */
CM_CHECK enum cm_rc cr_pki_list_check(
	const char *ca_dir, const struct cr_pki_pair *ca, X509 *cert, struct cm_err *err);
/* Record a certificate that the CA of ca_dir issues, in ca_dir/issued/SERIAL.crt, durably.  Call it before
 * the certificate is handed out: a certificate that is not recorded is not revoked with its key. */
CM_CHECK enum cm_rc cr_pki_issued_keep(const char *ca_dir, X509 *cert, struct cm_err *err);
/* Remove the record of a certificate that was not handed out. */
void cr_pki_issued_forget(const char *ca_dir, X509 *cert);
/* The other certificates of cert's key that the CA has recorded, malloc'd.  On a fault *out holds those that
 * could be read; NULL without memory for any.  Free with sk_X509_pop_free(*out, X509_free).  Reads the whole
 * folder, some 30 us a certificate.  CM_EDATA for a file that this CA did not issue. */
CM_CHECK enum cm_rc cr_pki_issued_same_key(
	const char *ca_dir, X509 *ca, X509 *cert, STACK_OF(X509) * *out, struct cm_err *err);
/* Copy the bytes of the file `from` to `to` (0644), which must not exist unless `replace`. */
CM_CHECK enum cm_rc cr_pki_copy(const char *from, const char *to, int replace, struct cm_err *err);
