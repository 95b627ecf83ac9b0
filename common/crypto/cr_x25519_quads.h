/* cr_x25519_quads.h - four X25519 products at a time with AVX2.
 *
 * Internal to this folder and its tests.  Nothing here looks at a value: no branch, no index, and no
 * instruction whose time depends on a scalar or a point. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_QUADS        4u
#define CR_QUADS_GROUPS 32u

/* Numbers of 256 bits, one a lane: word[i][lane] has bits 64 i to 64 i + 63. */
struct cr_quads {
	_Alignas(32) uint64_t word[4][CR_QUADS];
};

/* Whether this processor and its operating system have the instructions. */
bool cr_x25519_quads_here(void);
/* product = scalar * point in every lane of 1 to CR_QUADS_GROUPS groups, in its canonical form; zero for a
 * point of low order.  Scalars are clamped already (RFC 7748 section 5); of points bit 255 is ignored, and
 * values from 2^255 - 19 on are accepted.  All groups share one inversion.  The stack is wiped of what the
 * products leave on it.  Only where cr_x25519_quads_here(). */
void cr_x25519_quads(
	const struct cr_quads *scalar, const struct cr_quads *point, size_t groups, struct cr_quads *product);

#ifdef CR_LANES_EMULATED
/* Of the emulation, for tests: bits that an operand of a multiplication had above the 32 which the
 * instruction reads, of all products so far.  Zero, or the result is wrong. */
extern uint64_t cr_x25519_quads_beyond;
#endif
