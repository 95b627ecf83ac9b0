/* cm_wide.h - whole numbers of 128 bits, also for processors whose compiler has no such type.  libc only.
 * All functions take the same time for all values, where the processor's multiplication does. */
#pragma once

#include <stdint.h>

struct cm_wide {
	uint64_t high, low;
};

/* a * b, from four products of 32 bits by 32. */
static inline struct cm_wide cm_wide_product_of_halves(uint64_t a, uint64_t b)
{
	uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32, low = a0 * b0;
	uint64_t one = a1 * b0 + (low >> 32), two = a0 * b1 + (uint32_t)one;

	return (struct cm_wide){ .high = a1 * b1 + (one >> 32) + (two >> 32),
		.low = two << 32 | (uint32_t)low };
}

/* a * b.  Where the compiler has a type of 128 bits it is one instruction. */
static inline struct cm_wide cm_wide_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 whole;
	whole product = (whole)a * b;

	return (struct cm_wide){ .high = (uint64_t)(product >> 64), .low = (uint64_t)product };
#else
	return cm_wide_product_of_halves(a, b);
#endif
}

/* 1 if a < b, else 0. */
static inline uint64_t cm_wide_below(struct cm_wide a, struct cm_wide b)
{
	return (uint64_t)(a.high < b.high) | ((uint64_t)(a.high == b.high) & (uint64_t)(a.low < b.low));
}

/* a + b, modulo 2^128. */
static inline struct cm_wide cm_wide_sum(struct cm_wide a, struct cm_wide b)
{
	uint64_t low = a.low + b.low;

	return (struct cm_wide){ .high = a.high + b.high + (low < b.low), .low = low };
}

/* a - b, modulo 2^128. */
static inline struct cm_wide cm_wide_difference(struct cm_wide a, struct cm_wide b)
{
	return (struct cm_wide){ .high = a.high - b.high - (a.low < b.low), .low = a.low - b.low };
}

/* a * 2^n modulo 2^128, for n of 0..63. */
static inline struct cm_wide cm_wide_left(struct cm_wide a, unsigned n)
{
	return (struct cm_wide){ .high = n == 0 ? a.high : a.high << n | a.low >> (64 - n),
		.low = a.low << n };
}

/* a / 2^n, rounded down, for n of 1..63; a is below 2^(64 + n). */
static inline uint64_t cm_wide_right(struct cm_wide a, unsigned n)
{
	return a.high << (64 - n) | a.low >> n;
}
