/* cm_hash.h - SHA-256, HMAC-SHA-256, HKDF-SHA-256 (FIPS 180-4, RFC 2104, RFC 5869).  Needs libcrypto. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

#define CM_HASH_LEN 32u

struct cm_span {
	const void *data;
	size_t len;
};

/* These end the process when libcrypto itself fails (out of memory): no caller can go on without a hash. */
void cm_sha256(const void *data, size_t len, uint8_t out[CM_HASH_LEN]);
/* Of the concatenation of n spans. */
void cm_sha256_spans(const struct cm_span *spans, size_t n, uint8_t out[CM_HASH_LEN]);
void cm_hmac(
	const uint8_t *key, size_t key_len, const struct cm_span *spans, size_t n, uint8_t out[CM_HASH_LEN]);
/* out_len <= 255*32. */
void cm_hkdf(const uint8_t *key, size_t key_len, const void *salt, size_t salt_len, const void *info,
	size_t info_len, uint8_t *out, size_t out_len);

/* Incremental SHA-256. */
struct cm_hasher;
struct cm_hasher *cm_hasher_new(void);
void cm_hasher_add(struct cm_hasher *h, const void *data, size_t len);
/* Result, and ready for the next message. */
void cm_hasher_done(struct cm_hasher *h, uint8_t out[CM_HASH_LEN]);
void cm_hasher_free(struct cm_hasher *h);
