/* cr_quads.h - four elements of the field of 2^255 - 19 at a time, in vectors of AVX2.  Internal to the files
 * that compute X25519 with it.
 *
 * An element is ten limbs of 26 and 25 bits in turn, each a vector of four lanes; its value is the sum of
 * limb[i] * 2^ceil(25.5 i).  The instruction multiplies the low 32 bits of two lanes.  Forms of an element,
 * by what their limbs are below, of odd ones half of it:
 *
 *	tight	2^26 + 2^18
 *	k fold	k (2^26 + 2^18)
 *
 * A product takes one factor of 4 fold and one of 3 fold, or less, and is tight.  A sum's folds add; a
 * difference takes a tight subtrahend and has two folds more than what it was taken from.  With these rules
 * 19 times a limb has 32 bits, and a column of a product 63. */
#pragma once

#include <stdint.h>

#include "cr_x25519_quads.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#define MASK25 (((uint64_t)1 << 25) - 1)
#define MASK26 (((uint64_t)1 << 26) - 1)
#define LIMBS  10

typedef uint64_t quad __attribute__((vector_size(32), may_alias));

struct cr_quad {
	quad limb[LIMBS];
};

#ifdef CR_LANES_EMULATED

#define TARGET

static inline void add_product(quad *sum, const quad *a, const quad *b)
{
	for (unsigned i = 0; i < CR_QUADS; i++)
		cr_x25519_quads_beyond |= ((*a)[i] | (*b)[i]) >> 32;
	*sum += (*a & UINT32_MAX) * (*b & UINT32_MAX);
}

#else

#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))

TARGET static inline __attribute__((always_inline)) void add_product(quad *sum, const quad *a, const quad *b)
{
	*sum += (quad)_mm256_mul_epu32((__m256i)*a, (__m256i)*b);
}

#endif

#define INLINE TARGET static inline __attribute__((always_inline))

INLINE void carry(quad *from, quad *to, int bits)
{
	*to += *from >> bits;
	*from &= ((uint64_t)1 << bits) - 1;
}

/* Columns below 2^63 to a tight element: what is from 2^255 on is worth 19 each. */
INLINE void reduce(quad c[LIMBS], struct cr_quad *out)
{
	quad over;

	carry(&c[0], &c[1], 26);
	carry(&c[4], &c[5], 26);
	carry(&c[1], &c[2], 25);
	carry(&c[5], &c[6], 25);
	carry(&c[2], &c[3], 26);
	carry(&c[6], &c[7], 26);
	carry(&c[3], &c[4], 25);
	carry(&c[7], &c[8], 25);
	carry(&c[4], &c[5], 26);
	carry(&c[8], &c[9], 26);
	over = c[9] >> 25;
	c[9] &= MASK25;
	c[0] += (over << 4) + (over << 1) + over;
	carry(&c[0], &c[1], 26);
	for (int i = 0; i < LIMBS; i++)
		out->limb[i] = c[i];
}

INLINE void times_19(quad out[LIMBS], const quad in[LIMBS])
{
	const quad nineteen = { 19, 19, 19, 19 };

	for (int i = 0; i < LIMBS; i++) {
		out[i] = (quad){ 0 };
		add_product(&out[i], &in[i], &nineteen);
	}
}

/* Limb i of x times all of y: where both limbs have 25 bits, twice. */
INLINE void add_row(quad c[LIMBS], const quad *x, int i, const quad y[LIMBS], const quad y19[LIMBS])
{
	const quad twice = *x << (i % 2);

	for (int j = 0; j < LIMBS; j++)
		add_product(&c[(i + j) % LIMBS], j % 2 ? &twice : x, i + j < LIMBS ? &y[j] : &y19[j]);
}

INLINE void multiply(struct cr_quad *out, const struct cr_quad *x, const struct cr_quad *y)
{
	quad c[LIMBS] = { { 0 } }, y19[LIMBS];

	times_19(y19, y->limb);
	add_row(c, &x->limb[0], 0, y->limb, y19);
	add_row(c, &x->limb[1], 1, y->limb, y19);
	add_row(c, &x->limb[2], 2, y->limb, y19);
	add_row(c, &x->limb[3], 3, y->limb, y19);
	add_row(c, &x->limb[4], 4, y->limb, y19);
	add_row(c, &x->limb[5], 5, y->limb, y19);
	add_row(c, &x->limb[6], 6, y->limb, y19);
	add_row(c, &x->limb[7], 7, y->limb, y19);
	add_row(c, &x->limb[8], 8, y->limb, y19);
	add_row(c, &x->limb[9], 9, y->limb, y19);
	reduce(c, out);
}

/* Limb i times itself and those above it, which are met twice in a square. */
INLINE void add_half_row(quad c[LIMBS], int i, const quad x[LIMBS], const quad x19[LIMBS])
{
	const quad one = x[i], two = one + one, four = two + two;

	for (int j = i; j < LIMBS; j++) {
		const quad *times = j == i ? (i % 2 ? &two : &one) : (i % 2 && j % 2 ? &four : &two);

		add_product(&c[(i + j) % LIMBS], times, i + j < LIMBS ? &x[j] : &x19[j]);
	}
}

/* Of 3 fold or less. */
INLINE void square(struct cr_quad *out, const struct cr_quad *x)
{
	quad c[LIMBS] = { { 0 } }, x19[LIMBS];

	times_19(x19, x->limb);
	add_half_row(c, 0, x->limb, x19);
	add_half_row(c, 1, x->limb, x19);
	add_half_row(c, 2, x->limb, x19);
	add_half_row(c, 3, x->limb, x19);
	add_half_row(c, 4, x->limb, x19);
	add_half_row(c, 5, x->limb, x19);
	add_half_row(c, 6, x->limb, x19);
	add_half_row(c, 7, x->limb, x19);
	add_half_row(c, 8, x->limb, x19);
	add_half_row(c, 9, x->limb, x19);
	reduce(c, out);
}

INLINE void add(struct cr_quad *out, const struct cr_quad *x, const struct cr_quad *y)
{
	for (int i = 0; i < LIMBS; i++)
		out->limb[i] = x->limb[i] + y->limb[i];
}

/* Limb i of 2 (2^255 - 19). */
INLINE uint64_t above(int i)
{
	return i == 0 ? 2 * (MASK26 - 18) : i % 2 ? 2 * MASK25 : 2 * MASK26;
}

INLINE void subtract(struct cr_quad *out, const struct cr_quad *x, const struct cr_quad *y)
{
	for (int i = 0; i < LIMBS; i++)
		out->limb[i] = x->limb[i] - y->limb[i] + above(i);
}

/* x in the lanes where mask is all ones, y where it is zero. */
INLINE void choose(struct cr_quad *out, const quad *mask, const struct cr_quad *x, const struct cr_quad *y)
{
	for (int i = 0; i < LIMBS; i++)
		out->limb[i] = y->limb[i] ^ ((x->limb[i] ^ y->limb[i]) & *mask);
}

INLINE void set_number(struct cr_quad *out, uint64_t x)
{
	*out = (struct cr_quad){ 0 };
	out->limb[0] = (quad){ x, x, x, x };
}

/* Of bits 0 to 254. */
INLINE void load(struct cr_quad *out, const struct cr_quads *in)
{
	const quad *w = (const quad *)in->word;

	out->limb[0] = w[0] & MASK26;
	out->limb[1] = w[0] >> 26 & MASK25;
	out->limb[2] = (w[0] >> 51 | w[1] << 13) & MASK26;
	out->limb[3] = w[1] >> 13 & MASK25;
	out->limb[4] = w[1] >> 38;
	out->limb[5] = w[2] & MASK25;
	out->limb[6] = w[2] >> 25 & MASK26;
	out->limb[7] = (w[2] >> 51 | w[3] << 13) & MASK25;
	out->limb[8] = w[3] >> 12 & MASK26;
	out->limb[9] = w[3] >> 38 & MASK25;
}

/* The canonical form of a tight element: less than 2^255 - 19. */
INLINE void store(struct cr_quads *out, const struct cr_quad *x)
{
	quad *w = (quad *)out->word, r[LIMBS], over = { 19, 19, 19, 19 };

	/* A value is too large by at most one modulus, and then if adding 19 carries into bit 255. */
	for (int i = 0; i < LIMBS; i++) {
		r[i] = x->limb[i];
		over = (r[i] + over) >> (i % 2 ? 25 : 26);
	}
	r[0] += (over << 4) + (over << 1) + over;
	for (int i = 0; i < LIMBS - 1; i++)
		carry(&r[i], &r[i + 1], i % 2 ? 25 : 26);
	r[9] &= MASK25;
	w[0] = r[0] | r[1] << 26 | r[2] << 51;
	w[1] = r[2] >> 13 | r[3] << 13 | r[4] << 38;
	w[2] = r[5] | r[6] << 25 | r[7] << 51;
	w[3] = r[7] >> 13 | r[8] << 12 | r[9] << 38;
}

/* What both files need, not inlined (cr_x25519_quads.c).  z and x are tight. */
void cr_quad_times(struct cr_quad *out, const struct cr_quad *x, const struct cr_quad *y);
void cr_quad_square_times(struct cr_quad *out, const struct cr_quad *x, int n);
/* z^(2^252 - 3). */
void cr_quad_root_power(struct cr_quad *out, const struct cr_quad *z);
/* x[i] becomes x[i] / z[i], and 0 where z[i] is 0; 1 to CR_QUADS_GROUPS of them, by one inversion. */
void cr_quad_divide(struct cr_quad *x, struct cr_quad *z, size_t n);

#endif
