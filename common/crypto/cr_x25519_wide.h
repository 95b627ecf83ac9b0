/* cr_x25519_wide.h - products of many scalars and one public point, from a table of its multiples, eight
 * scalars at a time with AVX-512 IFMA.
 *
 * A sixth of the work of cr_x25519_lanes.h, once the table is made; cr_x25519_comb.h has the method. Internal
 * to this folder and its tests.  Nothing here looks at a scalar: no branch, no index in memory, and no
 * instruction whose time depends on it.  The point is public. */
#pragma once

#include "cr_x25519_comb.h"
#include "cr_x25519_lanes.h"

/* 165 KB. */
struct cr_wide;

/* The table of a point, which takes as long as some 1000 products.  NULL: as of cr_comb_new().  Only where
 * cr_x25519_lanes_here() and cr_x25519_quads_here(). */
struct cr_wide *cr_wide_new(const uint8_t point[CR_COMB_LEN]);
void cr_wide_free(struct cr_wide *w);
/* product = scalar * point in every lane of 1 to CR_LANES_GROUPS groups, as of cr_x25519_lanes(). */
void cr_wide_times(
	const struct cr_wide *w, const struct cr_lanes *scalar, size_t groups, struct cr_lanes *product);
