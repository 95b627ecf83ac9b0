/* cr_hash_lanes.h - HMAC-SHA-256 of sixteen messages at a time with AVX-512, which takes about half as long
 * as one at a time by cr_hash.h.  Internal to this folder and its tests.  Nothing here depends on what is
 * hashed: no branch, no address.  What it leaves on the stack is its caller's to wipe (cr_wipe_stack).  Only
 * where cr_hash_lanes_here(). */
#pragma once

#include <stdbool.h>

#include "cr_hash.h"

#define CR_HASH_LANES     16u
#define CR_HASH_LANES_MAX 119u /* bytes of a message: two blocks */

/* Sixteen hashes, or states: word i of each. */
struct cr_hashes {
	_Alignas(64) uint32_t word[8][CR_HASH_LANES];
};
/* As struct cr_hmac_key; the caller wipes it. */
struct cr_hmac_keys {
	struct cr_hashes inner, outer;
};

bool cr_hash_lanes_here(void);
/* One key for all. */
void cr_hmac_keys_same(struct cr_hmac_keys *k, const struct cr_hmac_key *key);
/* Keys that are hashes. */
void cr_hmac_keys_init(struct cr_hmac_keys *k, const struct cr_hashes *key);
/* Of message i of len bytes, at data + i stride: 0 is one message for all. */
void cr_hmac_lanes(
	const struct cr_hmac_keys *k, const uint8_t *data, size_t stride, size_t len, struct cr_hashes *out);
/* The first len bytes of a hash. */
void cr_hashes_get(const struct cr_hashes *h, size_t lane, uint8_t *out, size_t len);
