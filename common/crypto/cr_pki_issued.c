/* cr_pki_issued.c - the record of the certificates that a CA has issued. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/x509.h>

#include "cm_buf.h"
#include "cm_file.h"
#include "cr_pki_cert.h"
#include "cr_private_file.h"

#define FOLDER     "issued"
#define SUFFIX     ".crt"
#define SERIAL_MAX 20 /* bytes, RFC 5280 section 4.1.2.2 */

static enum cm_rc no_memory(struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* FOLDER/SERIAL.crt; malloc'd, NULL with err set. */
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
	if (path == NULL)
		(void)no_memory(err);
	return path;
}

enum cm_rc cr_pki_issued_keep(const char *ca_dir, X509 *cert, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER), *path = NULL;
	enum cm_rc rc = folder == NULL ? no_memory(err) : cm_file_mkdir(folder, err);

	if (rc == CM_OK)
		rc = (path = path_of(folder, cert, err)) == NULL ? err->code
								 : cr_pki_cert_store(cert, path, err);
	free(path);
	free(folder);
	return rc;
}

void cr_pki_issued_forget(const char *ca_dir, X509 *cert)
{
	struct cm_err err;
	char *folder = cm_file_join(ca_dir, FOLDER);
	char *path = folder == NULL ? NULL : path_of(folder, cert, &err);

	if (path != NULL)
		(void)unlink(path);
	free(path);
	free(folder);
}

/* A search among the copies. */
struct search {
	const char *folder;
	X509 *ca, *cert;
	STACK_OF(X509) * same; /* found: others for cert's key */
	struct cm_err fault;   /* the first fault; the search goes on */
};

static enum cm_rc look_at(struct search *s, const char *path, struct cm_err *err)
{
	X509 *kept = NULL;
	enum cm_rc rc = cr_pki_cert_load(path, &kept, err);

	if (rc == CM_OK && !cr_pki_cert_is_of(kept, s->ca))
		rc = cm_fail(err, CM_EDATA, "%s: not issued by this CA", path);
	if (rc == CM_OK && X509_PUBKEY_eq(X509_get_X509_PUBKEY(kept), X509_get_X509_PUBKEY(s->cert)) == 1 &&
		X509_cmp(kept, s->cert) != 0) {
		if (sk_X509_push(s->same, kept) > 0)
			kept = NULL;
		else
			rc = no_memory(err);
	}
	X509_free(kept);
	return rc;
}

static enum cm_rc on_entry(void *user, const char *name, struct cm_err *err)
{
	struct search *s = user;
	size_t n = strlen(name);
	char *path;

	/* Other names belong to files that a killed process left unfinished. */
	if (n < sizeof SUFFIX - 1 || strcmp(name + n - (sizeof SUFFIX - 1), SUFFIX) != 0)
		return CM_OK;
	path = cm_file_join(s->folder, name);
	if ((path == NULL ? no_memory(err) : look_at(s, path, err)) != CM_OK && s->fault.code == CM_OK)
		s->fault = *err;
	free(path);
	return CM_OK;
}

enum cm_rc cr_pki_issued_same_key(
	const char *ca_dir, X509 *ca, X509 *cert, STACK_OF(X509) * *out, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER);
	struct search s = { .folder = folder, .ca = ca, .cert = cert, .same = sk_X509_new_null() };
	enum cm_rc rc =
		folder == NULL || s.same == NULL ? no_memory(err) : cm_file_each(folder, on_entry, &s, err);

	*out = s.same;
	free(folder);
	if (s.fault.code == CM_OK)
		return rc;
	*err = s.fault;
	return err->code;
}
