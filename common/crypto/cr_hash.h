/* cr_hash.h - SHA-256, HMAC-SHA-256, HKDF-SHA-256 (FIPS 180-4, RFC 2104, RFC 5869).  Needs libcrypto. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

#define CR_HASH_LEN 32u

struct cr_span {
	const void *data;
	size_t len;
};

/* None of these functions can fail, and no state of a hash stays in memory. */
void cr_sha256(const void *data, size_t len, uint8_t out[CR_HASH_LEN]);
/* Hash the concatenation of n spans. */
void cr_sha256_spans(const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN]);
void cr_hmac(
	const uint8_t *key, size_t key_len, const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN]);
/* Prepares a key for many messages: the part of HMAC that depends only on the key, which is a third to a
 * half of the work for a short message.  It is as secret as the key. */
struct cr_hmac_key {
	/* SHA-256's states after the block of the key, XORed for the inner and for the outer hash */
	uint32_t inner[8], outer[8];
};
void cr_hmac_key_init(struct cr_hmac_key *k, const uint8_t *key, size_t key_len);
/* Wipe the prepared key. */
void cr_hmac_key_fini(struct cr_hmac_key *k);
void cr_hmac_with(
	const struct cr_hmac_key *k, const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN]);
/* Derive out_len bytes, at most 255*32. */
void cr_hkdf(const uint8_t *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, uint8_t *out, size_t out_len);

/* Incremental SHA-256.  If memory runs out, the process ends. */
struct cr_hasher;
struct cr_hasher *cr_hasher_new(void);
void cr_hasher_add(struct cr_hasher *h, const void *data, size_t len);
/* Write the hash and reset the hasher for the next message. */
void cr_hasher_done(struct cr_hasher *h, uint8_t out[CR_HASH_LEN]);
void cr_hasher_free(struct cr_hasher *h);
