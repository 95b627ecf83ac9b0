/* cr_x25519_comb.h - products of many scalars and one public point, from a table of its multiples, with AVX2.
 *
 * Half of the work of cr_x25519_quads.h, or less, once the table is made, which takes as long as some 50
 * products.  Internal to this folder and its tests.  Nothing here looks at a scalar: no branch, no index, and
 * no instruction whose time depends on it.  The point is public. */
#pragma once

#include "cr_x25519_quads.h"

#define CR_COMB_LEN       32u
#define CR_COMB_DIGITS    64
#define CR_COMB_MOST      8  /* the largest digit */
#define CR_COMB_MOST_WIDE 32 /* of the table in cr_x25519_wide.h */

/* 61 KB. */
struct cr_comb;
/* The table of a point.  NULL: out of memory, or no table can be made, because the point is on the curve's
 * twist.  Only where cr_x25519_quads_here(). */
struct cr_comb *cr_comb_new(const uint8_t point[CR_COMB_LEN]);
void cr_comb_free(struct cr_comb *c);
/* product = scalar * point in every lane of 1 to CR_QUADS_GROUPS groups, as of cr_x25519_quads(). */
void cr_comb_times(
	const struct cr_comb *c, const struct cr_quads *scalar, size_t groups, struct cr_quads *product);

/* y + x, y - x and 2 d x y of an affine point: numbers below 2^255 - 19, least word first. */
struct cr_comb_entry {
	uint64_t plus[4], minus[4], product[4];
};

/* Give the entry of (multiple + 1) (2 most)^digit times the point, for all digits and multiples below
 * `digits` and `most`, which is a power of two, CR_COMB_MOST_WIDE at most.  false, and nothing is given: as
 * cr_comb_new() gives NULL. */
bool cr_comb_multiples(const uint8_t point[CR_COMB_LEN], size_t digits, size_t most,
	void (*take)(void *user, size_t digit, size_t multiple, const struct cr_comb_entry *e), void *user);
