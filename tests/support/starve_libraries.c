/* starve_libraries.c - allocators for libraries: this file's calls are wrapped, and theirs with them. */
#include "starve_libraries.h"

#include "cm_buf.h"
#include "cm_oom.h"
#include "cr_hash.h"
#include "starve.h"

#include <jansson.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdlib.h>

int __real_EVP_DigestInit_ex2(EVP_MD_CTX *ctx, const EVP_MD *type, const OSSL_PARAM params[]);
int __wrap_EVP_DigestInit_ex2(EVP_MD_CTX *ctx, const EVP_MD *type, const OSSL_PARAM params[]);

/* cr_hash.c calls it, and has nobody to tell. */
int __wrap_EVP_DigestInit_ex2(EVP_MD_CTX *ctx, const EVP_MD *type, const OSSL_PARAM params[])
{
	bool was = starve_set(false);
	int rc = __real_EVP_DigestInit_ex2(ctx, type, params);

	(void)starve_set(was);
	return rc;
}

static void *crypto_malloc(size_t n, const char *file, int line)
{
	(void)file, (void)line;
	return malloc(n);
}

static void *crypto_realloc(void *p, size_t n, const char *file, int line)
{
	(void)file, (void)line;
	if (n == 0) {
		free(p);
		return NULL;
	}
	return realloc(p, n);
}

static void crypto_free(void *p, const char *file, int line)
{
	(void)file, (void)line;
	free(p);
}

static void *sql_malloc(int n)
{
	return malloc((size_t)n);
}

static void *sql_realloc(void *p, int n)
{
	return realloc(p, (size_t)n);
}

static int sql_size(void *p)
{
	return (int)malloc_usable_size(p);
}

static int sql_roundup(int n)
{
	return (n + 7) / 8 * 8;
}

static int sql_init(void *data)
{
	(void)data;
	return SQLITE_OK;
}

static void sql_shutdown(void *data)
{
	(void)data;
}

void starve_libraries(void)
{
	static const sqlite3_mem_methods methods = { sql_malloc, free, sql_realloc, sql_size, sql_roundup,
		sql_init, sql_shutdown, NULL };

	json_set_alloc_funcs(cm_oom_malloc, free);
	assert_int_equal(CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free), 1);
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
	/* Else most small requests are met from a block that every connection sets aside. */
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
	assert_int_equal(sqlite3_initialize(), SQLITE_OK);
}

void starve_fold(const void *p, size_t n, uint64_t *answer)
{
	uint8_t hash[CR_HASH_LEN];

	cr_sha256(p, n, hash);
	*answer = *answer * 3 + cm_get_le64(hash);
}
