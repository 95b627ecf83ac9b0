/* cr_aead.c - AES-256-GCM boxes with random nonces. */
#include "cr_aead.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#define NONCE_LEN 12u
#define TAG_LEN   16u

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_CIPHER *aes256gcm;

static void fetch(void)
{
	aes256gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
}

/* A context with key and nonce set, or NULL. */
static EVP_CIPHER_CTX *begin(const struct cr_key *key, const uint8_t *nonce, int seal)
{
	EVP_CIPHER_CTX *ctx;

	if (pthread_once(&once, fetch) != 0 || !aes256gcm)
		return NULL;
	ctx = EVP_CIPHER_CTX_new();
	if (ctx && EVP_CipherInit_ex2(ctx, aes256gcm, key->bytes, nonce, seal, NULL) == 1)
		return ctx;
	EVP_CIPHER_CTX_free(ctx);
	return NULL;
}

static int update(
	EVP_CIPHER_CTX *ctx, const void *aad, size_t aad_len, const uint8_t *in, size_t len, uint8_t *out)
{
	int n;

	if (aad_len > 0 && EVP_CipherUpdate(ctx, NULL, &n, aad, (int)aad_len) != 1)
		return 0;
	return len == 0 || EVP_CipherUpdate(ctx, out, &n, in, (int)len) == 1;
}

enum cm_rc cr_box_seal(const struct cr_key *key, const struct cr_rng *rng, const void *aad, size_t aad_len,
	const uint8_t *data, size_t len, uint8_t *out, struct cm_err *err)
{
	uint8_t *tag = out + NONCE_LEN + len;
	EVP_CIPHER_CTX *ctx;
	int n, ok;

	if (len > INT_MAX || aad_len > INT_MAX)
		return cm_fail(err, CM_EINTERNAL, "a box of %zu bytes is too long", len);
	rng->fill(rng->ctx, out, NONCE_LEN);
	ctx = begin(key, out, 1);
	ok = ctx && update(ctx, aad, aad_len, data, len, out + NONCE_LEN) &&
	     EVP_CipherFinal_ex(ctx, tag, &n) == 1 &&
	     EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, (int)TAG_LEN, tag) == 1;
	EVP_CIPHER_CTX_free(ctx);
	return ok ? CM_OK : cm_fail(err, CM_EINTERNAL, "libcrypto cannot encrypt (out of memory?)");
}

enum cm_rc cr_box_open(const struct cr_key *key, const void *aad, size_t aad_len, const uint8_t *box,
	size_t len, uint8_t *data, struct cm_err *err)
{
	uint8_t tag[TAG_LEN], none;
	EVP_CIPHER_CTX *ctx;
	size_t data_len;
	int n, ok;

	if (len < CR_BOX_OVERHEAD || len > INT_MAX || aad_len > INT_MAX)
		return cm_fail(err, CM_EDATA, "%zu bytes are too few for a box", len);
	data_len = len - CR_BOX_OVERHEAD;
	memcpy(tag, box + NONCE_LEN + data_len, TAG_LEN);
	ctx = begin(key, box, 0);
	if (!ctx)
		return cm_fail(err, CM_EINTERNAL, "libcrypto cannot decrypt (out of memory?)");
	ok = update(ctx, aad, aad_len, box + NONCE_LEN, data_len, data) &&
	     EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, (int)TAG_LEN, tag) == 1 &&
	     EVP_CipherFinal_ex(ctx, &none, &n) == 1;
	EVP_CIPHER_CTX_free(ctx);
	if (ok)
		return CM_OK;
	/* GCM writes plaintext before it has checked the tag: wipe it. */
	if (data_len > 0)
		OPENSSL_cleanse(data, data_len);
	ERR_clear_error();
	return cm_fail(err, CM_EDATA, "not sealed under this key, or altered");
}
