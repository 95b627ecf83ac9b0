/* cr_x25519_lanes.h - X25519 products in the lanes of vectors: eight at a time with AVX-512 IFMA
 * (cr_x25519_eight.c), or four with AVX2 (cr_x25519_four.c).
 *
 * Internal to this folder and its tests.  Nothing here depends on a secret: no branch, no index, and no
 * instruction whose time depends on a scalar or a point.  The point of a table is public. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_POINT_LEN  32u
#define CR_LANES_MOST 128u /* most products of one call */

/* Numbers of 256 bits in groups of one number per lane: four vectors, of which vector k has bits 64 k to 64
 * k + 63 of each number. */
struct cr_numbers {
	_Alignas(64) uint64_t word[4 * CR_LANES_MOST];
};

/* The table of a point, 61 or 165 KB; free it with free(). */
struct cr_multiples;

struct cr_lanes {
	size_t lanes;
	/* Do this processor and its operating system have the instructions?  If not, call nothing below. */
	bool (*here)(void);
	/* product = scalar * point for n numbers, 1 to CR_LANES_MOST in whole groups, in its canonical
	 * form; zero for a point of low order.  Scalars are clamped already (RFC 7748 section 5).  Bit 255
	 * of a point is ignored, and values from 2^255 - 19 on are accepted.  All products share one
	 * inversion, which is a seventh of the work of a single group.  The stack is wiped of what the
	 * products leave on it. */
	void (*multiply)(const struct cr_numbers *scalar, const struct cr_numbers *point, size_t n,
		struct cr_numbers *product);
	/* Make the table of a point, which takes as long as some 50 products in four lanes, 100 in eight.
	 * NULL: memory ran out, or no table can be made, because the point is on the curve's twist. */
	struct cr_multiples *(*multiples)(const uint8_t point[CR_POINT_LEN]);
	/* The same products for the table's point, in half of the time or less; in eight lanes in a
	 * sixth. */
	void (*multiply_scalars)(const struct cr_multiples *of, const struct cr_numbers *scalar, size_t n,
		struct cr_numbers *product);
#ifdef CR_LANES_EMULATED
	/* For tests: the bits that operands of multiplications had above those that the instruction reads,
	 * in all products so far.  If this is not zero, a result is wrong. */
	uint64_t *beyond;
#endif
};

extern const struct cr_lanes cr_lanes_eight, cr_lanes_four;
