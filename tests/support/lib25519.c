/* lib25519.c - a library with lib25519's names, made of libcrypto, so that loading it is tested where the
 * real one is not installed.
 *
 * LIB25519_VECTORS: it says that it has vectors.  LIB25519_WRONG: a product of low order is not zero.
 * LIB25519_SCALARS: from the ninth product on, all of a call are of its ninth scalar. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void lib25519_nPbatch_montgomery25519(
	unsigned char *product, const unsigned char *scalar, const unsigned char *point, long long n);
EXPORTED void lib25519_nG_montgomery25519(unsigned char *product, const unsigned char *scalar);
EXPORTED const char *lib25519_nPbatch_montgomery25519_implementation(void);

static void multiply(unsigned char *product, const unsigned char *scalar, const unsigned char *point)
{
	EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, scalar, 32);
	EVP_PKEY *peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, point, 32);
	EVP_PKEY_CTX *derive = EVP_PKEY_CTX_new(own, NULL);
	size_t len = 32;

	if (!derive || EVP_PKEY_derive_init(derive) != 1 || EVP_PKEY_derive_set_peer(derive, peer) != 1)
		abort();
	if (EVP_PKEY_derive(derive, product, &len) != 1) {
		ERR_clear_error();
		memset(product, 0, 32);
#ifdef LIB25519_WRONG
		product[0] = 1;
#endif
	}
	EVP_PKEY_CTX_free(derive);
	EVP_PKEY_free(own);
	EVP_PKEY_free(peer);
}

void lib25519_nPbatch_montgomery25519(
	unsigned char *product, const unsigned char *scalar, const unsigned char *point, long long n)
{
	for (long long i = 0; i < n; i++) {
#ifdef LIB25519_SCALARS
		long long of = i < 8 ? i : 8;
#else
		long long of = i;
#endif

		multiply(product + 32 * i, scalar + 32 * of, point + 32 * i);
	}
}

void lib25519_nG_montgomery25519(unsigned char *product, const unsigned char *scalar)
{
	static const unsigned char base[32] = { 9 };

	multiply(product, scalar, base);
}

const char *lib25519_nPbatch_montgomery25519_implementation(void)
{
#ifdef LIB25519_VECTORS
	return "tests-avx2";
#else
	return "tests";
#endif
}
