/* cr_x25519.h - Diffie-Hellman on Curve25519 (RFC 7748) by libcrypto: one private key is prepared for many
 * peers, and products are computed one at a time.  cr_x25519_many.h computes many at a time.
 *
 * Internal to this folder, its tests and the benchmark. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

#define CR_X25519_LEN 32u

/* A private key with its public half and everything a product needs.  Used by one thread. */
struct cr_x25519;
/* Prepare a key, at the cost of one multiplication.  The secret is copied, and wiped when freed. */
CM_CHECK enum cm_rc cr_x25519_new(
	const uint8_t secret[CR_X25519_LEN], struct cr_x25519 **out, struct cm_err *err);
void cr_x25519_free(struct cr_x25519 *k);
/* The secret and the public half; both are valid as long as k. */
const uint8_t *cr_x25519_secret(const struct cr_x25519 *k);
const uint8_t *cr_x25519_public(const struct cr_x25519 *k);
/* out = secret * peer, by one multiplication.  CM_EDATA when peer has low order (RFC 7748 section 6.1: the
 * product is zero); out is wiped then. */
CM_CHECK enum cm_rc cr_x25519_derive(struct cr_x25519 *k, const uint8_t peer[CR_X25519_LEN],
	uint8_t out[CR_X25519_LEN], struct cm_err *err);
