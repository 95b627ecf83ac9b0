/* pt_turn.h - rotates vectors for the device's half of `rotated`, in time and with addresses that depend
 * only on the dimension.  pt_rotated.h describes the rotation.  All numbers are exact, so every turner
 * computes the same.
 *
 * A vector has d numbers within 2^60 of 0, d a power of two from 2; arrays have at least PT_TURN_LANES
 * numbers, with zeroes from d on, and begin at a multiple of 64 bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pr_limits.h"

#define PT_TURN_LANES 8u
#define PT_TURN_FAR   (INT64_C(1) << 60) /* no number is beyond this: 2^30 sqrt(d) halved, times d */
/* Bytes of a row, which has the signs of both passes of a rotation (pt_turn_sign), a bit each, lowest
 * first.  The second pass begins at a byte of its own, and rows begin at multiples of 512. */
#define PT_TURN_PASS(d) ((d) < 8 ? 1u : (d) / 8)
#define PT_TURN_ROW(d)  ((2 * PT_TURN_PASS(d) + 511) / 512 * 512)

/* The public sign, as 0 or 1, of coordinate j in pass 0 or 1 of rotation r: the last bit of the mixing
 * function of SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t pt_turn_sign(uint32_t rotation, uint32_t pass, uint32_t j);

/* The rows of R rotations of d numbers, in R PT_TURN_ROW(d) bytes of the caller's memory, at a multiple of
 * 64. */
struct pt_turn_signs {
	/* number of rotations, and of numbers in a vector, for which the rows are filled; 0 before the
	 * first call */
	uint32_t rotations, d;
	uint8_t *row;
};

/* Fill the rows, whose memory the caller sets; does nothing if they are filled for these numbers
 * already. */
void pt_turn_signs(struct pt_turn_signs *s, uint32_t rotations, uint32_t d);

struct pt_turner {
	/* Copy the row of a rotation.  No address depends on the rotation: all rows are read. */
	void (*pick)(const struct pt_turn_signs *s, uint32_t rotation, uint8_t *row);
	/* Rotate by a row, except for the last transform: signs, a transform, halving floor(log2(d) / 2)
	 * times, signs.  v and out may be the same. */
	void (*half)(const int64_t *v, const uint8_t *row, int64_t *out, uint32_t d);
	/* Number k < d of the last transform of the result of half().  No address and no branch depends on
	 * k. */
	int64_t (*coordinate)(const int64_t *v, uint32_t k, uint32_t d);
};

/* The turner for every processor, and the fastest for this one. */
extern const struct pt_turner pt_turner_plain;
const struct pt_turner *pt_turner_here(void);
/* Turner i of those that this processor can run, the fastest first; NULL past the last. */
const struct pt_turner *pt_turner_of(size_t i);
