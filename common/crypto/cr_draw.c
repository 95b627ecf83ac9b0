/* cr_draw.c - unbiased draws from any source of random bytes (cr_rand.h).  Needs no libcrypto. */
#include <assert.h>

#include "cm_buf.h"
#include "cm_wide.h"
#include "cr_rand.h"

uint64_t cr_rng_u64(const struct cr_rng *rng)
{
	uint8_t bytes[8];

	rng->fill(rng->ctx, bytes, sizeof bytes);
	return cm_get_le64(bytes);
}

uint64_t cr_rng_below(const struct cr_rng *rng, uint64_t bound)
{
	struct cm_wide wide;

	assert(bound > 0);
	wide = cm_wide_product(cr_rng_u64(rng), bound);
	if (wide.low < bound) {
		/* 2^64 mod bound: low halves below it belong to results that would otherwise occur once too
		 * often. */
		uint64_t surplus = (0 - bound) % bound;

		while (wide.low < surplus)
			wide = cm_wide_product(cr_rng_u64(rng), bound);
	}
	return wide.high;
}

/* The borrow of a subtraction: a flag of the processor, and no branch. */
uint64_t cr_rng_bernoulli(const struct cr_rng *rng, uint64_t threshold)
{
	uint64_t rest;

	return __builtin_sub_overflow(cr_rng_u64(rng), threshold, &rest);
}
