/* cr_x25519_lib25519.h - X25519 products by lib25519 (https://lib25519.cr.yp.to), which is loaded at run
 * time if it is installed: nothing is linked with it.
 *
 * The library promises that no branch and no address depends on a scalar or a point; tests/x25519_secret.sh
 * checks this where it is installed.  Internal to this folder and its tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr_x25519.h"

/* most products of one call */
#define CR_LIB25519_MANY 64u

/* Load "lib25519.so.1" at the first call, from any thread; do so before the process gives up the right to
 * map executable memory.  Returns false when it is not installed, or when its products of a few points,
 * among them some of low order and some that are not canonical, are not libcrypto's: then it is not used.
 * Costs a millisecond. */
bool cr_x25519_lib25519_here(void);
/* Does it have vectors for this processor?  If so, it is loaded, and was measured to be faster than
 * libcrypto. */
bool cr_x25519_lib25519_quick(void);

/* product i = scalar i * point i, for 1 to CR_LIB25519_MANY of CR_X25519_LEN bytes each, one after the
 * other; zero for a point of low order.  Scalars are clamped here (RFC 7748 section 5).  What this left on
 * the stack is wiped.  Call it only if the library is loaded. */
void cr_x25519_lib25519(const uint8_t *scalar, const uint8_t *point, size_t n, uint8_t *product);
/* The same for the base point, 9, with two fifths of the work. */
void cr_x25519_lib25519_base(const uint8_t *scalar, size_t n, uint8_t *product);
