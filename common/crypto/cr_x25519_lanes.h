/* cr_x25519_lanes.h - X25519 products in the lanes of vectors: eight at a time with AVX-512 IFMA
 * (cr_x25519_eight.c), or four with AVX2 (cr_x25519_four.c).
 *
 * Internal to this folder and its tests.  Nothing here looks at a value: no branch, no index, and no
 * instruction whose time depends on a scalar or a point; the point of a table is public. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_POINT_LEN  32u
#define CR_LANES_MOST 128u /* products of one call */

/* Numbers of 256 bits in groups of one a lane: four vectors, of which vector k has bits 64 k to 64 k + 63. */
struct cr_numbers {
	_Alignas(64) uint64_t word[4 * CR_LANES_MOST];
};

/* The table of a point, 61 or 165 KB; free it with free(). */
struct cr_multiples;

struct cr_lanes {
	size_t lanes;
	/* Whether this processor and its operating system have the instructions; else call nothing below. */
	bool (*here)(void);
	/* product = scalar * point of n numbers, 1 to CR_LANES_MOST in whole groups, in its canonical form;
	 * zero for a point of low order.  Scalars are clamped already (RFC 7748 section 5); of points bit 255
	 * is ignored, and values from 2^255 - 19 on are accepted.  All share one inversion, a seventh of the
	 * work of a single group.  The stack is wiped of what the products leave on it. */
	void (*multiply)(const struct cr_numbers *scalar, const struct cr_numbers *point, size_t n,
		struct cr_numbers *product);
	/* The table of a point, which takes as long as some 50 products in four lanes, 100 in eight.  NULL:
	 * out of memory, or no table can be made, because the point is on the curve's twist. */
	struct cr_multiples *(*multiples)(const uint8_t point[CR_POINT_LEN]);
	/* The same products of the table's point, in half of the time, or less; in a sixth in eight lanes. */
	void (*multiply_scalars)(const struct cr_multiples *of, const struct cr_numbers *scalar, size_t n,
		struct cr_numbers *product);
#ifdef CR_LANES_EMULATED
	/* For tests: bits that an operand of a multiplication had above those which the instruction reads, of
	 * all products so far.  Zero, or the result is wrong. */
	uint64_t *beyond;
#endif
};

extern const struct cr_lanes cr_lanes_eight, cr_lanes_four;
