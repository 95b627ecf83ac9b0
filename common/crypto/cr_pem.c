/* cr_pem.c - reads private keys from PEM files. */
#include "cr_pem.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "cr_private_file.h"

#define MAX_PEM 65536u

int cr_pem_no_password(char *buf, int size, int writing, void *arg)
{
	(void)buf, (void)size, (void)writing, (void)arg;
	return -1;
}

enum cm_rc cr_pem_private_key(const char *path, enum cr_kind kind, EVP_PKEY **out, struct cm_err *err)
{
	uint8_t *pem = malloc(MAX_PEM);
	EVP_PKEY *key = NULL;
	BIO *bio = NULL;
	enum cm_rc rc;
	size_t n;

	if (!pem)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
	rc = cr_private_read(path, kind, pem, MAX_PEM, &n, err);
	if (rc != CM_OK)
		goto out;
	bio = BIO_new_mem_buf(pem, (int)n);
	if (bio)
		key = PEM_read_bio_PrivateKey(bio, NULL, cr_pem_no_password, NULL);
	if (!key)
		rc = cm_fail(err, CM_EDATA, "%s: not a PEM private key without a passphrase", path);
	else
		*out = key;
out:
	ERR_clear_error();
	BIO_free(bio);
	explicit_bzero(pem, MAX_PEM);
	free(pem);
	return rc;
}

enum cm_rc cr_pem_create(const char *path, BIO *bio, unsigned mode, struct cm_err *err)
{
	char *data;
	long n = BIO_get_mem_data(bio, &data);

	return cr_private_create(path, data, (size_t)n, mode, err);
}
