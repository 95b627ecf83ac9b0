/* cr_aead.c - AES-256-GCM boxes with random nonces. */
#include "cr_aead.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#define NONCE_LEN CR_NONCE_LEN
#define TAG_LEN   16u

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_CIPHER *aes256gcm;

struct cr_boxes {
	EVP_CIPHER_CTX *seal, *open;
};

static void fetch(void)
{
	aes256gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
}

/* A context with the key set; NULL if that failed. */
static EVP_CIPHER_CTX *keyed(const struct cr_key *key, int seal)
{
	EVP_CIPHER_CTX *ctx;

	if (pthread_once(&once, fetch) != 0 || !aes256gcm)
		return NULL;
	ctx = EVP_CIPHER_CTX_new();
	if (ctx && EVP_CipherInit_ex2(ctx, aes256gcm, key->bytes, NULL, seal, NULL) == 1)
		return ctx;
	EVP_CIPHER_CTX_free(ctx);
	return NULL;
}

/* Begin the box of this nonce, and process the associated data and the box's bytes. */
static int run(EVP_CIPHER_CTX *ctx, const uint8_t *nonce, const void *aad, size_t aad_len, const uint8_t *in,
	size_t len, uint8_t *out)
{
	int n;

	if (!ctx || EVP_CipherInit_ex2(ctx, NULL, NULL, nonce, -1, NULL) != 1)
		return 0;
	if (aad_len > 0 && EVP_CipherUpdate(ctx, NULL, &n, aad, (int)aad_len) != 1)
		return 0;
	return len == 0 || EVP_CipherUpdate(ctx, out, &n, in, (int)len) == 1;
}

/* Seal a box under the nonce that `out` begins with. */
static enum cm_rc seal(EVP_CIPHER_CTX *ctx, const void *aad, size_t aad_len, const uint8_t *data, size_t len,
	uint8_t *out, struct cm_err *err)
{
	uint8_t *tag = out + NONCE_LEN + len;
	int n;

	if (len > INT_MAX || aad_len > INT_MAX)
		return cm_fail(err, CM_EINTERNAL, "a box of %zu bytes is too long", len);
	if (run(ctx, out, aad, aad_len, data, len, out + NONCE_LEN) &&
		EVP_CipherFinal_ex(ctx, tag, &n) == 1 &&
		EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, (int)TAG_LEN, tag) == 1)
		return CM_OK;
	return cm_fail(err, CM_EINTERNAL, "libcrypto cannot encrypt (out of memory?)");
}

static enum cm_rc open_box(EVP_CIPHER_CTX *ctx, const void *aad, size_t aad_len, const uint8_t *box,
	size_t len, uint8_t *data, struct cm_err *err)
{
	uint8_t tag[TAG_LEN], none;
	int n;

	if (len < CR_BOX_OVERHEAD || len > INT_MAX || aad_len > INT_MAX)
		return cm_fail(err, CM_EDATA, "%zu bytes are too few for a box", len);
	if (!ctx)
		return cm_fail(err, CM_EINTERNAL, "libcrypto cannot decrypt (out of memory?)");
	size_t data_len = len - CR_BOX_OVERHEAD;
	memcpy(tag, box + NONCE_LEN + data_len, TAG_LEN);
	if (run(ctx, box, aad, aad_len, box + NONCE_LEN, data_len, data) &&
		EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, (int)TAG_LEN, tag) == 1 &&
		EVP_CipherFinal_ex(ctx, &none, &n) == 1)
		return CM_OK;
	/* GCM writes plaintext before it has checked the tag: wipe it. */
	if (data_len > 0)
		explicit_bzero(data, data_len);
	ERR_clear_error();
	return cm_fail(err, CM_EDATA, "not sealed under this key, or altered");
}

enum cm_rc cr_box_seal(const struct cr_key *key, const struct cr_rng *rng, const void *aad, size_t aad_len,
	const uint8_t *data, size_t len, uint8_t *out, struct cm_err *err)
{
	EVP_CIPHER_CTX *ctx = keyed(key, 1);

	rng->fill(rng->ctx, out, NONCE_LEN);
	enum cm_rc rc = seal(ctx, aad, aad_len, data, len, out, err);
	EVP_CIPHER_CTX_free(ctx);
	return rc;
}

enum cm_rc cr_box_open(const struct cr_key *key, const void *aad, size_t aad_len, const uint8_t *box,
	size_t len, uint8_t *data, struct cm_err *err)
{
	EVP_CIPHER_CTX *ctx = keyed(key, 0);
	enum cm_rc rc = open_box(ctx, aad, aad_len, box, len, data, err);

	EVP_CIPHER_CTX_free(ctx);
	return rc;
}

struct cr_boxes *cr_boxes_new(const struct cr_key *key)
{
	struct cr_boxes *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	b->seal = keyed(key, 1);
	b->open = keyed(key, 0);
	if (b->seal && b->open)
		return b;
	cr_boxes_free(b);
	return NULL;
}

void cr_boxes_free(struct cr_boxes *b)
{
	if (!b)
		return;
	EVP_CIPHER_CTX_free(b->seal); /* wipes the key */
	EVP_CIPHER_CTX_free(b->open);
	free(b);
}

void cr_nonces_draw(struct cr_nonces *n, const struct cr_rng *rng)
{
	rng->fill(rng->ctx, n->next, sizeof n->next);
}

/* Set the next nonce: a number of 96 bits, little endian, plus one. */
static void step(uint8_t next[CR_NONCE_LEN])
{
	for (size_t i = 0; i < CR_NONCE_LEN && ++next[i] == 0; i++)
		;
}

enum cm_rc cr_boxes_seal(struct cr_boxes *b, struct cr_nonces *nonces, const void *aad, size_t aad_len,
	const uint8_t *data, size_t len, uint8_t *out, struct cm_err *err)
{
	memcpy(out, nonces->next, NONCE_LEN);
	step(nonces->next);
	return seal(b->seal, aad, aad_len, data, len, out, err);
}

enum cm_rc cr_boxes_open(struct cr_boxes *b, const void *aad, size_t aad_len, const uint8_t *box, size_t len,
	uint8_t *data, struct cm_err *err)
{
	return open_box(b->open, aad, aad_len, box, len, data, err);
}
