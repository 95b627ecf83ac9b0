/* cr_hash.h - SHA-256, HMAC-SHA-256, HKDF-SHA-256 (FIPS 180-4, RFC 2104, RFC 5869).  Needs libcrypto. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

#define CR_HASH_LEN 32u

struct cr_span {
	const void *data;
	size_t len;
};

/* These end the process when libcrypto itself fails (out of memory): no caller can go on without a hash. */
void cr_sha256(const void *data, size_t len, uint8_t out[CR_HASH_LEN]);
/* The hash of the concatenation of n spans. */
void cr_sha256_spans(const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN]);
void cr_hmac(
	const uint8_t *key, size_t key_len, const struct cr_span *spans, size_t n, uint8_t out[CR_HASH_LEN]);
/* out_len <= 255*32. */
void cr_hkdf(const uint8_t *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, uint8_t *out, size_t out_len);

/* Incremental SHA-256. */
struct cr_hasher;
struct cr_hasher *cr_hasher_new(void);
void cr_hasher_add(struct cr_hasher *h, const void *data, size_t len);
/* Write the hash and reset the hasher for the next message. */
void cr_hasher_done(struct cr_hasher *h, uint8_t out[CR_HASH_LEN]);
void cr_hasher_free(struct cr_hasher *h);
