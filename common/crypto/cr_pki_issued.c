/* cr_pki_issued.c - the record of the certificates that a CA has issued (cr_pki_cert.h). */
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
	if (!path)
		(void)no_memory(err);
	return path;
}

enum cm_rc cr_pki_issued_begin(const char *ca_dir, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER);
	enum cm_rc rc = !folder ? no_memory(err) : cm_file_mkdir(folder, err);

	free(folder);
	return rc;
}

/* The record of this certificate; malloc'd, NULL with err set. */
static char *record_of(const char *ca_dir, X509 *cert, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER), *path = NULL;

	if (!folder)
		(void)no_memory(err);
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

/* A walk through the copies. */
struct walk {
	const char *folder;
	X509 *ca;
	cr_pki_issued_fn *fn;
	void *user;
	struct cm_err fault; /* the first fault; the walk goes on */
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
	if ((!path ? no_memory(err) : look_at(w, path, err)) != CM_OK && w->fault.code == CM_OK)
		w->fault = *err;
	free(path);
	return CM_OK;
}

enum cm_rc cr_pki_issued_each(
	const char *ca_dir, X509 *ca, cr_pki_issued_fn *fn, void *user, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER);
	struct walk w = { .folder = folder, .ca = ca, .fn = fn, .user = user };
	enum cm_rc rc = !folder ? no_memory(err) : cm_file_each(folder, on_entry, &w, err);

	free(folder);
	if (w.fault.code == CM_OK)
		return rc;
	*err = w.fault;
	return err->code;
}

/* A search for others of cert's key. */
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
		return no_memory(err);
	if (sk_X509_push(s->same, kept) > 0)
		return CM_OK;
	X509_free(kept);
	return no_memory(err);
}

enum cm_rc cr_pki_issued_same_key(
	const char *ca_dir, X509 *ca, X509 *cert, STACK_OF(X509) * *out, struct cm_err *err)
{
	struct search s = { .cert = cert, .same = sk_X509_new_null() };

	*out = s.same;
	return !s.same ? no_memory(err) : cr_pki_issued_each(ca_dir, ca, on_kept, &s, err);
}
