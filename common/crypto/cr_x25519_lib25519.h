/* cr_x25519_lib25519.h - X25519 products by lib25519 (https://lib25519.cr.yp.to), which is loaded at run time
 * where it is installed: nothing is linked with it.
 *
 * The library claims that no branch and no address depends on a scalar or a point; tests/x25519_secret.sh
 * checks it where it is installed.  Internal to this folder and its tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr_x25519.h"

/* At most so many products a call. */
#define CR_LIB25519_MANY 64u

/* Loads "lib25519.so.1" at the first call, from any thread: before the process gives up the right to map
 * executable memory.  false when it is not installed, or when it does not make the products of a few points,
 * also of low order and not canonical, that libcrypto makes: then it is not used.  Costs a millisecond. */
bool cr_x25519_lib25519_here(void);
/* Whether it has vectors for this processor: it is here, and measured quicker than libcrypto. */
bool cr_x25519_lib25519_quick(void);

/* product i = scalar i * point i, 1 to CR_LIB25519_MANY of CR_X25519_LEN bytes each, one after the other;
 * zero for a point of low order.  Scalars are clamped here (RFC 7748 section 5).  What this left on the stack
 * is wiped.  Only where it is here. */
void cr_x25519_lib25519(const uint8_t *scalar, const uint8_t *point, size_t n, uint8_t *product);
/* The same for the base point, 9: two fifths of the work. */
void cr_x25519_lib25519_base(const uint8_t *scalar, size_t n, uint8_t *product);
