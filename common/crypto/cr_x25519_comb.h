/* cr_x25519_comb.h - products of many scalars and one public point, from a table of its multiples, with AVX2.
 *
 * Half of the work of cr_x25519_quads.h, or less, once the table is made, which takes as long as some 50
 * products.  Internal to this folder and its tests.  Nothing here looks at a scalar: no branch, no index, and
 * no instruction whose time depends on it.  The point is public. */
#pragma once

#include "cr_x25519_quads.h"

#define CR_COMB_LEN 32u

/* 61 KB. */
struct cr_comb;
/* The table of a point.  NULL: out of memory, or no table can be made, because the point is on the curve's
 * twist.  Only where cr_x25519_quads_here(). */
struct cr_comb *cr_comb_new(const uint8_t point[CR_COMB_LEN]);
void cr_comb_free(struct cr_comb *c);
/* product = scalar * point in every lane of 1 to CR_QUADS_GROUPS groups, as of cr_x25519_quads(). */
void cr_comb_times(
	const struct cr_comb *c, const struct cr_quads *scalar, size_t groups, struct cr_quads *product);
