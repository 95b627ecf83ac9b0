/* cr_hash.c - SHA-256, HMAC and HKDF on libcrypto's SHA256_* functions.
 *
 * They do what EVP_Digest does, with the same instructions, on memory of the caller: a hash allocates
 * nothing, takes no lock and cannot fail.  In OpenSSL 3.0 the overhead of EVP costs more than a hash of one
 * block. */
/* SHA256_* is deprecated, but its struct is part of libcrypto's stable interface */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "cr_hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "cr_libcrypto.h"

#define BLOCK_LEN 64u

_Static_assert(sizeof((SHA256_CTX *)0)->h == sizeof((struct cr_hmac_key *)0)->inner, "eight words of state");

struct cr_hasher {
	SHA256_CTX ctx;
};

/* SHA256_Init, _Update and _Final always return 1. */
static void begin(SHA256_CTX *ctx)
{
	(void)SHA256_Init(ctx);
}

static void add(SHA256_CTX *ctx, const void *data, size_t len)
{
	if (len > 0)
		(void)SHA256_Update(ctx, data, len);
}

static void add_spans(SHA256_CTX *ctx, const struct cr_span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(ctx, spans[i].data, spans[i].len);
}

/* Finish, and wipe the state: it would reveal the result, which may be a key. */
static void end(SHA256_CTX *ctx, uint8_t out[CR_HASH_LEN])
{
	(void)SHA256_Final(out, ctx);
	explicit_bzero(ctx, sizeof *ctx);
}

void cr_sha256(const void *data, size_t len, uint8_t out[CR_HASH_LEN])
{
	SHA256_CTX ctx;

	begin(&ctx);
	add(&ctx, data, len);
	end(&ctx, out);
}

void cr_sha256_spans(const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN])
{
	SHA256_CTX ctx;

	begin(&ctx);
	add_spans(&ctx, spans, n);
	end(&ctx, out);
}

/* Compute the state after the key's block, each byte of which is XORed with `with`. */
static void absorb(const uint8_t key[BLOCK_LEN], uint8_t with, uint32_t state[8])
{
	uint8_t block[BLOCK_LEN];
	SHA256_CTX ctx;

	for (size_t i = 0; i < sizeof block; i++)
		block[i] = key[i] ^ with;
	begin(&ctx);
	SHA256_Transform(&ctx, block);
	memcpy(state, ctx.h, sizeof ctx.h);
	explicit_bzero(block, sizeof block);
	explicit_bzero(&ctx, sizeof ctx);
}

void cr_hmac_key_init(struct cr_hmac_key *k, const uint8_t *key, size_t key_len)
{
	uint8_t block[BLOCK_LEN] = { 0 };

	if (key_len > BLOCK_LEN)
		cr_sha256(key, key_len, block);
	else if (key_len > 0)
		memcpy(block, key, key_len);
	absorb(block, 0x36, k->inner);
	absorb(block, 0x5c, k->outer);
	explicit_bzero(block, sizeof block);
}

void cr_hmac_key_fini(struct cr_hmac_key *k)
{
	explicit_bzero(k, sizeof *k);
}

/* Continue after one block that led to this state. */
static void begin_after(SHA256_CTX *ctx, const uint32_t state[8])
{
	begin(ctx);
	memcpy(ctx->h, state, sizeof ctx->h);
	ctx->Nl = BLOCK_LEN * 8;
}

void cr_hmac_with(
	const struct cr_hmac_key *k, const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN])
{
	uint8_t inner[CR_HASH_LEN];
	SHA256_CTX ctx;

	begin_after(&ctx, k->inner);
	add_spans(&ctx, spans, n);
	end(&ctx, inner);
	begin_after(&ctx, k->outer);
	add(&ctx, inner, sizeof inner);
	end(&ctx, out);
	explicit_bzero(inner, sizeof inner);
}

void cr_hmac(
	const uint8_t *key, size_t key_len, const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN])
{
	struct cr_hmac_key k;

	cr_hmac_key_init(&k, key, key_len);
	cr_hmac_with(&k, spans, n, out);
	cr_hmac_key_fini(&k);
}

void cr_hkdf(const uint8_t *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, uint8_t *out, size_t out_len)
{
	uint8_t prk[CR_HASH_LEN], block[CR_HASH_LEN];
	struct cr_hmac_key expand;
	size_t before = 0;

	assert(out_len <= (size_t)255 * CR_HASH_LEN);
	cr_hmac(salt, salt_len, &(struct cr_span){ key, key_len }, 1, prk);
	cr_hmac_key_init(&expand, prk, sizeof prk);
	for (uint8_t i = 1; out_len > 0; i++) {
		const struct cr_span spans[] = { { block, before }, { info, info_len }, { &i, 1 } };
		size_t take = out_len < CR_HASH_LEN ? out_len : CR_HASH_LEN;

		cr_hmac_with(&expand, spans, 3, block);
		memcpy(out, block, take);
		before = sizeof block;
		out += take;
		out_len -= take;
	}
	cr_hmac_key_fini(&expand);
	explicit_bzero(prk, sizeof prk);
	explicit_bzero(block, sizeof block);
}

struct cr_hasher *cr_hasher_new(void)
{
	struct cr_hasher *h = malloc(sizeof *h);

	if (!h)
		cr_libcrypto_die("libcrypto cannot hash (out of memory?)");
	begin(&h->ctx);
	return h;
}

void cr_hasher_add(struct cr_hasher *h, const void *data, size_t len)
{
	add(&h->ctx, data, len);
}

void cr_hasher_done(struct cr_hasher *h, uint8_t out[CR_HASH_LEN])
{
	end(&h->ctx, out);
	begin(&h->ctx);
}

void cr_hasher_free(struct cr_hasher *h)
{
	if (!h)
		return;
	explicit_bzero(h, sizeof *h);
	free(h);
}
