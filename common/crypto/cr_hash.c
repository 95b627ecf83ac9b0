/* cr_hash.c - SHA-256, HMAC and HKDF on one reused EVP context per thread. */
#include "cr_hash.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "cr_libcrypto.h"

#define BLOCK_LEN 64u

struct cr_hasher {
	EVP_MD_CTX *ctx;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static EVP_MD *sha256;
static _Thread_local EVP_MD_CTX *thread_ctx;

static _Noreturn void die(void)
{
	cr_libcrypto_die("libcrypto cannot hash (out of memory?)");
}

static void free_ctx(void *ctx)
{
	EVP_MD_CTX_free(ctx);
	thread_ctx = NULL;
}

/* Fetching walks OpenSSL's method store under a lock, so do it once a process, not once a hash. */
static void fetch(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!sha256 || pthread_key_create(&thread_end, free_ctx) != 0)
		die();
}

static EVP_MD_CTX *new_ctx(void)
{
	EVP_MD_CTX *ctx;

	if (pthread_once(&once, fetch) != 0)
		die();
	ctx = EVP_MD_CTX_new();
	if (!ctx || EVP_DigestInit_ex2(ctx, sha256, NULL) != 1)
		die();
	return ctx;
}

/* This thread's context, which end() has prepared for a new message. */
static EVP_MD_CTX *begin(void)
{
	if (!thread_ctx) {
		thread_ctx = new_ctx();
		if (pthread_setspecific(thread_end, thread_ctx) != 0)
			die();
	}
	return thread_ctx;
}

static void add(EVP_MD_CTX *ctx, const void *data, size_t len)
{
	if (len > 0 && EVP_DigestUpdate(ctx, data, len) != 1)
		die();
}

static void end(EVP_MD_CTX *ctx, uint8_t out[CR_HASH_LEN])
{
	/* Restart at once: the old state reveals the result, which may be a key. */
	if (EVP_DigestFinal_ex(ctx, out, NULL) != 1 || EVP_DigestInit_ex2(ctx, NULL, NULL) != 1)
		die();
}

void cr_sha256(const void *data, size_t len, uint8_t out[CR_HASH_LEN])
{
	EVP_MD_CTX *ctx = begin();

	add(ctx, data, len);
	end(ctx, out);
}

void cr_sha256_spans(const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN])
{
	EVP_MD_CTX *ctx = begin();

	for (size_t i = 0; i < n; i++)
		add(ctx, spans[i].data, spans[i].len);
	end(ctx, out);
}

static void xor_pad(uint8_t pad[BLOCK_LEN], uint8_t with)
{
	for (size_t i = 0; i < BLOCK_LEN; i++)
		pad[i] ^= with;
}

void cr_hmac(
	const uint8_t *key, size_t key_len, const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN])
{
	uint8_t pad[BLOCK_LEN] = { 0 }, inner[CR_HASH_LEN];
	EVP_MD_CTX *ctx;

	if (key_len > BLOCK_LEN)
		cr_sha256(key, key_len, pad);
	else if (key_len > 0)
		memcpy(pad, key, key_len);
	xor_pad(pad, 0x36);
	ctx = begin();
	add(ctx, pad, sizeof pad);
	for (size_t i = 0; i < n; i++)
		add(ctx, spans[i].data, spans[i].len);
	end(ctx, inner);
	xor_pad(pad, 0x36 ^ 0x5c);
	ctx = begin();
	add(ctx, pad, sizeof pad);
	add(ctx, inner, sizeof inner);
	end(ctx, out);
	OPENSSL_cleanse(pad, sizeof pad);
	OPENSSL_cleanse(inner, sizeof inner);
}

void cr_hkdf(const uint8_t *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, uint8_t *out, size_t out_len)
{
	uint8_t prk[CR_HASH_LEN], block[CR_HASH_LEN];
	size_t before = 0;

	assert(out_len <= (size_t)255 * CR_HASH_LEN);
	cr_hmac(salt, salt_len, &(struct cr_span){ key, key_len }, 1, prk);
	for (uint8_t i = 1; out_len > 0; i++) {
		const struct cr_span spans[] = { { block, before }, { info, info_len }, { &i, 1 } };
		size_t take = out_len < CR_HASH_LEN ? out_len : CR_HASH_LEN;

		cr_hmac(prk, sizeof prk, spans, 3, block);
		memcpy(out, block, take);
		before = sizeof block;
		out += take;
		out_len -= take;
	}
	OPENSSL_cleanse(prk, sizeof prk);
	OPENSSL_cleanse(block, sizeof block);
}

struct cr_hasher *cr_hasher_new(void)
{
	struct cr_hasher *h = malloc(sizeof *h);

	if (h) {
		h->ctx = new_ctx();
		return h;
	}
	die();
}

void cr_hasher_add(struct cr_hasher *h, const void *data, size_t len)
{
	add(h->ctx, data, len);
}

void cr_hasher_done(struct cr_hasher *h, uint8_t out[CR_HASH_LEN])
{
	end(h->ctx, out);
}

void cr_hasher_free(struct cr_hasher *h)
{
	if (!h)
		return;
	EVP_MD_CTX_free(h->ctx);
	free(h);
}
