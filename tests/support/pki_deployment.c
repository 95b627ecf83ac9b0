/* pki_deployment.c - runs `pki init`, and reads and verifies the certificates it made. */
#include "pki_deployment.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cr_pki.h"

static char root[64];

const char *at(const char *name)
{
	static char buf[8][256];
	static unsigned turn;
	char *out = buf[turn++ % 8];

	(void)snprintf(out, 256, "%s/%s", root, name);
	return out;
}

int pki_deployment_make(void **state)
{
	struct cm_err err;

	(void)state;
	(void)snprintf(root, sizeof root, "/tmp/tombola-pki-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	return cr_pki_init(at("d"), HOSTS, 100, &err) == CM_OK ? 0 : -1;
}

int pki_deployment_drop(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -r '%s'", root);
	return system(command);
}

X509 *load(const char *name)
{
	FILE *f = fopen(at(name), "r");
	X509 *cert;

	assert_non_null(f);
	cert = PEM_read_X509(f, NULL, NULL, NULL);
	assert_non_null(cert);
	assert_int_equal(fclose(f), 0);
	return cert;
}

static X509_CRL *load_list(const char *name)
{
	FILE *f = fopen(at(name), "r");
	X509_CRL *list;

	assert_non_null(f);
	list = PEM_read_X509_CRL(f, NULL, NULL, NULL);
	assert_non_null(list);
	assert_int_equal(fclose(f), 0);
	return list;
}

int verify(const char *ca_name, const char *name, int purpose, const char *list_name)
{
	X509 *ca = load(ca_name), *cert = load(name);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	int verdict = X509_V_OK;

	assert_true(store && ctx);
	assert_int_equal(X509_STORE_add_cert(store, ca), 1);
	assert_int_equal(X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT), 1);
	if (list_name) {
		X509_CRL *list = load_list(list_name);

		assert_int_equal(X509_STORE_add_crl(store, list), 1);
		assert_int_equal(X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK), 1);
		X509_CRL_free(list);
	}
	assert_int_equal(X509_STORE_CTX_init(ctx, store, cert, NULL), 1);
	assert_int_equal(X509_STORE_CTX_set_purpose(ctx, purpose), 1);
	if (X509_verify_cert(ctx) != 1)
		verdict = X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	X509_free(ca);
	X509_free(cert);
	return verdict;
}
