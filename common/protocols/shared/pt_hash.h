/* pt_hash.h - a family of hashes of categories to a few cells, in constant time.
 *
 * Member (a, b) of the family, both uniform on 0..M-1, M = 2^61 - 1 prime, takes x to the point (a x + b)
 * mod M, and the point v to the cell floor(v l / 2^61).  The points of two categories are independent and
 * uniform (two lines over a field meet once), so the cells are independent.  The chance that they are equal
 * is kappa, the sum over cells of (points in the cell / M)^2.  kappa >= 1/l (Cauchy-Schwarz), and since
 * every cell has M/l points, give or take less than two, kappa <= 1/l + 4 l / M^2 < 1/l + 2^-107 for l <=
 * 4096. */
#pragma once

#include "pt_device.h"
#include "pt_record.h"

#define PT_HASH_POINTS ((UINT64_C(1) << 61) - 1)

struct pt_hash {
	uint64_t a, b; /* both below PT_HASH_POINTS */
};

/* The point of x, which is below 2^32. */
uint64_t pt_hash_point(const struct pt_hash *h, uint64_t x);
/* The point of the next category: pt_hash_point(h, x + 1). */
uint64_t pt_hash_next(const struct pt_hash *h, uint64_t point);
/* The cell of a point, 0..cells-1, for cells 1..2^32. */
uint64_t pt_hash_cell(uint64_t point, uint32_t cells);

/* Bytes of a record that is a hash and one of its cells: a pt_record.h head, then a, b and the cell, eight
 * bytes each. */
#define PT_HASH_RECORD_LEN (PT_RECORD_HEAD + 24u)
uint32_t pt_hash_record_len(const struct pt_randomizer *p);
/* Draw a hash of the family, by two random numbers. */
struct pt_hash pt_hash_draw(const struct cr_rng *rng);
void pt_hash_put(uint8_t record[PT_HASH_RECORD_LEN], const struct pt_hash *h, uint64_t cell);
