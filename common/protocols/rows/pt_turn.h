/* pt_turn.h - the device's half of `rotated`: what turns a vector, in time and addresses that depend on its
 * dimension alone.  pt_rotated.h has the rotation in words.  All numbers are exact, so each turner makes the
 * same ones.
 *
 * Vectors are of d numbers within 2^60 of 0, d a power of two from 2; arrays have PT_TURN_LANES numbers at
 * least, zeroes from d on, and begin at a multiple of 64 bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PT_TURN_LANES 8u
#define PT_TURN_FAR   (INT64_C(1) << 60) /* no number is beyond: 2^30 sqrt(d) halved, times d */

struct pt_turner {
	/* A turn, but for the last transform: signs, a transform, halved floor(log2(d) / 2) times, signs.  v
	 * and out may be one. */
	void (*half)(const int64_t *v, uint32_t rotation, int64_t *out, uint32_t d);
	/* Number k < d of the last transform of what half() made.  k is no address here, and no branch. */
	int64_t (*coordinate)(const int64_t *v, uint32_t k, uint32_t d);
};

/* For every processor, and the fastest for this one. */
extern const struct pt_turner pt_turner_plain;
const struct pt_turner *pt_turner_here(void);
/* Those of this processor, the fastest first; NULL from their number on. */
const struct pt_turner *pt_turner_of(size_t i);
