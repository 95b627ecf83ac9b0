/* cm_pki_cert.h - one X.509 certificate and its key: made, read, stored.  Needs libcrypto.
 *
 * Internal to cm_pki*.c. */
#pragma once

#include "cm_pki.h"

/* Bytes of the largest file handled here, a revocation list of some hundred thousand certificates. */
#define CM_PKI_FILE_MAX 16777216u

/* What a new certificate is to say. */
struct cm_pki_subject {
	const char *name;
	enum cm_role role; /* CM_ROLE_NONE: a CA */
	const char *hosts; /* checked as it is read; NULL or "": the local machine's names */
	uint32_t devices;
	int days;
};

/* A certificate with its private key; fini is fine on a zeroed one. */
struct cm_pki_pair {
	X509 *cert;
	EVP_PKEY *key;
};

void cm_pki_pair_fini(struct cm_pki_pair *p);
/* A fresh key and its certificate, signed by ca, or by itself when ca is NULL. */
CM_CHECK enum cm_rc cm_pki_pair_make(const struct cm_pki_subject *s, const struct cm_pki_pair *ca,
	struct cm_pki_pair *out, struct cm_err *err);
/* DIR/NAME.crt and DIR/NAME.key, both new, both durable. */
CM_CHECK enum cm_rc cm_pki_pair_store(
	const struct cm_pki_pair *p, const char *dir, const char *name, struct cm_err *err);
CM_CHECK enum cm_rc cm_pki_pair_load(
	const char *dir, const char *name, struct cm_pki_pair *out, struct cm_err *err);
CM_CHECK enum cm_rc cm_pki_cert_load(const char *path, X509 **out, struct cm_err *err);
/* The certificate into a new file, durable. */
CM_CHECK enum cm_rc cm_pki_cert_store(X509 *cert, const char *path, struct cm_err *err);
/* Old once more, signed by ca: with another serial and other dates; name, key and extensions are the same
 * bytes. */
CM_CHECK enum cm_rc cm_pki_cert_renew(
	X509 *old, int days, const struct cm_pki_pair *ca, X509 **out, struct cm_err *err);
/* Does it name this CA, and did the CA's key sign it? */
bool cm_pki_cert_is_of(X509 *cert, X509 *ca);

/* The directory of the CA that may vouch for the role: "ca-clients" or "ca-services". */
const char *cm_pki_ca_of(enum cm_role role);
/* An empty revocation list ca.crl for the CA of ca_dir, in place of any there. */
CM_CHECK enum cm_rc cm_pki_list_start(const char *ca_dir, struct cm_err *err);
/* CM_EPERM when the CA's list, ca.crl in ca_dir, has the certificate's serial. */
CM_CHECK enum cm_rc cm_pki_list_check(
	const char *ca_dir, const struct cm_pki_pair *ca, X509 *cert, struct cm_err *err);
/* Remember a certificate that the CA of ca_dir issues, in ca_dir/issued/SERIAL.crt, durably.  Before it is
 * handed out: what is out and not remembered is not revoked with its key. */
CM_CHECK enum cm_rc cm_pki_issued_keep(const char *ca_dir, X509 *cert, struct cm_err *err);
/* It was not handed out after all. */
void cm_pki_issued_forget(const char *ca_dir, X509 *cert);
/* The other certificates of cert's key that the CA remembers, malloc'd also on a fault: those that could be
 * read then; NULL without memory for any.  sk_X509_pop_free(*out, X509_free).  Reads all of the folder, some
 * 30 us a certificate.  CM_EDATA for a file that is none of this CA's. */
CM_CHECK enum cm_rc cm_pki_issued_same_key(
	const char *ca_dir, X509 *ca, X509 *cert, STACK_OF(X509) * *out, struct cm_err *err);
/* The bytes of the file `from` into `to` (0644), which must be new unless replace. */
CM_CHECK enum cm_rc cm_pki_copy(const char *from, const char *to, int replace, struct cm_err *err);
