/* cm_pki_issued.c - the certificates that a CA remembers having issued. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/x509.h>

#include "cm_buf.h"
#include "cm_file.h"
#include "cm_pki_cert.h"
#include "cm_private_file.h"

#define FOLDER     "issued"
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
	path = cm_private_path(folder, name, ".crt");
	if (path == NULL)
		(void)no_memory(err);
	return path;
}

enum cm_rc cm_pki_issued_keep(const char *ca_dir, X509 *cert, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER), *path = NULL;
	enum cm_rc rc = folder == NULL ? no_memory(err) : cm_file_mkdir(folder, err);

	if (rc == CM_OK)
		rc = (path = path_of(folder, cert, err)) == NULL ? err->code
								 : cm_pki_cert_store(cert, path, err);
	free(path);
	free(folder);
	return rc;
}

void cm_pki_issued_forget(const char *ca_dir, X509 *cert)
{
	struct cm_err err;
	char *folder = cm_file_join(ca_dir, FOLDER);
	char *path = folder == NULL ? NULL : path_of(folder, cert, &err);

	if (path != NULL)
		(void)unlink(path);
	free(path);
	free(folder);
}

/* The certificate at path joins `same` if it is another one for cert's key. */
static enum cm_rc look_at(const char *path, X509 *ca, X509 *cert, STACK_OF(X509) * same, struct cm_err *err)
{
	X509 *kept = NULL;
	enum cm_rc rc = cm_pki_cert_load(path, &kept, err);

	if (rc == CM_OK && !cm_pki_cert_is_of(kept, ca))
		rc = cm_fail(err, CM_EDATA, "%s: not issued by this CA", path);
	if (rc == CM_OK && X509_PUBKEY_eq(X509_get_X509_PUBKEY(kept), X509_get_X509_PUBKEY(cert)) == 1 &&
		X509_cmp(kept, cert) != 0) {
		if (sk_X509_push(same, kept) > 0)
			kept = NULL;
		else
			rc = no_memory(err);
	}
	X509_free(kept);
	return rc;
}

/* All that can be read are looked at; the first fault is reported. */
static enum cm_rc look_at_all(
	const char *folder, X509 *ca, X509 *cert, STACK_OF(X509) * same, struct cm_err *err)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	struct cm_err one;

	if (d == NULL)
		return errno == ENOENT ? CM_OK : cm_fail(err, CM_EIO, "%s: %s", folder, strerror(errno));
	err->code = CM_OK;
	while ((errno = 0, entry = readdir(d)) != NULL) {
		char *path;

		if (entry->d_name[0] == '.')
			continue;
		path = cm_file_join(folder, entry->d_name);
		if ((path == NULL ? no_memory(&one) : look_at(path, ca, cert, same, &one)) != CM_OK &&
			err->code == CM_OK)
			*err = one;
		free(path);
	}
	if (errno != 0 && err->code == CM_OK)
		(void)cm_fail(err, CM_EIO, "%s: %s", folder, strerror(errno));
	(void)closedir(d);
	return err->code;
}

enum cm_rc cm_pki_issued_same_key(
	const char *ca_dir, X509 *ca, X509 *cert, STACK_OF(X509) * *out, struct cm_err *err)
{
	char *folder = cm_file_join(ca_dir, FOLDER);
	enum cm_rc rc;

	*out = sk_X509_new_null();
	rc = folder == NULL || *out == NULL ? no_memory(err) : look_at_all(folder, ca, cert, *out, err);
	free(folder);
	return rc;
}
