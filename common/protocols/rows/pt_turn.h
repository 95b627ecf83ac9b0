/* pt_turn.h - the device's half of `rotated`: what turns a vector, in time and addresses that depend on its
 * dimension alone.  pt_rotated.h has the rotation in words.  All numbers are exact, so each turner makes the
 * same ones.
 *
 * Vectors are of d numbers within 2^60 of 0, d a power of two from 2; arrays have PT_TURN_LANES numbers at
 * least, zeroes from d on, and begin at a multiple of 64 bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pr_limits.h"

#define PT_TURN_LANES 8u
#define PT_TURN_FAR   (INT64_C(1) << 60) /* no number is beyond: 2^30 sqrt(d) halved, times d */
/* Bytes of a row: the signs of both passes of a rotation (pt_turn_sign), a bit each, lowest first.  The
 * second pass begins at a byte of its own, and rows at multiples of 512. */
#define PT_TURN_PASS(d) ((d) < 8 ? 1u : (d) / 8)
#define PT_TURN_ROW(d)  ((2 * PT_TURN_PASS(d) + 511) / 512 * 512)

/* The public sign, as 0 or 1, of coordinate j in pass 0 or 1 of rotation r: the last bit of the mixing
 * function of SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t pt_turn_sign(uint32_t rotation, uint32_t pass, uint32_t j);

/* The rows of R rotations of d numbers: R PT_TURN_ROW(d) bytes of the caller's, at a multiple of 64. */
struct pt_turn_signs {
	uint32_t rotations, d; /* 0 at first */
	uint8_t *row;
};

/* Fills the rows, whose place the caller sets; nothing is done where they are these already. */
void pt_turn_signs(struct pt_turn_signs *s, uint32_t rotations, uint32_t d);

struct pt_turner {
	/* The row of a rotation, which is no address here: all rows are read. */
	void (*pick)(const struct pt_turn_signs *s, uint32_t rotation, uint8_t *row);
	/* A turn by a row, but for the last transform: signs, a transform, halved floor(log2(d) / 2) times,
	 * signs.  v and out may be one. */
	void (*half)(const int64_t *v, const uint8_t *row, int64_t *out, uint32_t d);
	/* Number k < d of the last transform of what half() made.  k is no address here, and no branch. */
	int64_t (*coordinate)(const int64_t *v, uint32_t k, uint32_t d);
};

/* For every processor, and the fastest for this one. */
extern const struct pt_turner pt_turner_plain;
const struct pt_turner *pt_turner_here(void);
/* Those of this processor, the fastest first; NULL from their number on. */
const struct pt_turner *pt_turner_of(size_t i);
