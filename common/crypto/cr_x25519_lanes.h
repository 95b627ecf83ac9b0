/* cr_x25519_lanes.h - eight X25519 products at a time with AVX-512 IFMA.
 *
 * Internal to this folder and its tests.  Nothing here looks at a value: no branch, no index, and no
 * instruction whose time depends on a scalar or a point. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_LANES        8u
#define CR_LANES_GROUPS 16u

/* Numbers of 256 bits, one a lane: word[i][lane] has bits 64 i to 64 i + 63. */
struct cr_lanes {
	_Alignas(64) uint64_t word[4][CR_LANES];
};

/* Whether this processor and its operating system have the instructions. */
bool cr_x25519_lanes_here(void);
/* product = scalar * point in every lane of 1 to CR_LANES_GROUPS groups, in its canonical form; zero for a
 * point of low order.  Scalars are clamped already (RFC 7748 section 5); of points bit 255 is ignored, and
 * values from 2^255 - 19 on are accepted.  All groups share one inversion, a seventh of the work of a single
 * group.  The stack is wiped of what the products leave on it.  Only where cr_x25519_lanes_here(). */
void cr_x25519_lanes(
	const struct cr_lanes *scalar, const struct cr_lanes *point, size_t groups, struct cr_lanes *product);

#ifdef CR_LANES_EMULATED
/* Of the emulation, for tests: bits that an operand of a multiplication had above the 52 which the
 * instruction reads, of all products so far.  Zero, or the result is wrong. */
extern uint64_t cr_x25519_lanes_beyond;
#endif
