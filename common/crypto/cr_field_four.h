/* cr_field_four.h - four elements of the field of 2^255 - 19 at a time, in vectors of AVX2.
 * cr_field_text.h says which operations a field has; what is called *product* there is tight here, and a
 * sum or difference of products of at most 4 fold is a *factor*.
 *
 * An element has ten limbs of 26 and 25 bits in turn, each a vector of four lanes; its value is the sum of
 * limb[i] * 2^ceil(25.5 i).  The instruction multiplies the low 32 bits of two lanes.  The forms of an
 * element bound its limbs: those with an even number are below the number given here, those with an odd
 * number below half of it.
 *
 *	tight	2^26 + 2^18
 *	k fold	k (2^26 + 2^18)
 *
 * A product takes one factor of at most 4 fold and one of at most 3 fold, and is tight.  The folds of a sum
 * add up; a difference takes a tight subtrahend, and has two folds more than the element that it is taken
 * from.  With these rules 19 times a limb has 32 bits, and a column of a product 63. */
#pragma once

#include <stdint.h>

#include "cr_x25519_lanes.h"

#define LANES  4
#define MASK25 (((uint64_t)1 << 25) - 1)
#define MASK26 (((uint64_t)1 << 26) - 1)
#define LIMBS  10

typedef uint64_t vector __attribute__((vector_size(32), may_alias));

struct element {
	vector limb[LIMBS];
};

#ifdef CR_LANES_EMULATED

#define TARGET
#define HERE true
/* the bits above the 32 that the instruction reads, of all operands so far: must stay zero */
static uint64_t beyond;

static inline void add_product(vector *sum, const vector *a, const vector *b)
{
	for (unsigned i = 0; i < LANES; i++)
		beyond |= ((*a)[i] | (*b)[i]) >> 32;
	*sum += (*a & UINT32_MAX) * (*b & UINT32_MAX);
}

#else

#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))
#define HERE   __builtin_cpu_supports("avx2")

TARGET static inline __attribute__((always_inline)) void add_product(
	vector *sum, const vector *a, const vector *b)
{
	*sum += (vector)_mm256_mul_epu32((__m256i)*a, (__m256i)*b);
}

#endif

#define INLINE   TARGET static inline __attribute__((always_inline))
#define NOINLINE TARGET static __attribute__((noinline))

INLINE void carry(vector *from, vector *to, int bits)
{
	*to += *from >> bits;
	*from &= ((uint64_t)1 << bits) - 1;
}

/* Reduce columns below 2^63 to a tight element: bits from 2^255 on are worth 19 each. */
INLINE void reduce(vector c[LIMBS], struct element *out)
{
	vector over;

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

INLINE void times_19(vector out[LIMBS], const vector in[LIMBS])
{
	const vector nineteen = { 19, 19, 19, 19 };

	for (int i = 0; i < LIMBS; i++) {
		out[i] = (vector){ 0 };
		add_product(&out[i], &in[i], &nineteen);
	}
}

/* Add limb i of x times all of y to the columns.  Products of two limbs of 25 bits count twice, since their
 * places add up to one bit too few. */
INLINE void add_row(vector c[LIMBS], const vector *x, int i, const vector y[LIMBS], const vector y19[LIMBS])
{
	const vector twice = *x << (i % 2);

	for (int j = 0; j < LIMBS; j++)
		add_product(&c[(i + j) % LIMBS], j % 2 ? &twice : x, i + j < LIMBS ? &y[j] : &y19[j]);
}

/* Like square_times() it is not inlined, since the code is long. */
NOINLINE void multiply(struct element *out, const struct element *x, const struct element *y)
{
	vector c[LIMBS] = { { 0 } }, y19[LIMBS];

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

/* Add limb i times itself and times the limbs above it, which occur twice in a square. */
INLINE void add_half_row(vector c[LIMBS], int i, const vector x[LIMBS], const vector x19[LIMBS])
{
	const vector one = x[i], two = one + one, four = two + two;

	for (int j = i; j < LIMBS; j++) {
		const vector *times = j == i ? (i % 2 ? &two : &one) : (i % 2 && j % 2 ? &four : &two);

		add_product(&c[(i + j) % LIMBS], times, i + j < LIMBS ? &x[j] : &x19[j]);
	}
}

/* Square x, which is at most 3 fold. */
INLINE void square_once(struct element *out, const struct element *x)
{
	vector c[LIMBS] = { { 0 } }, x19[LIMBS];

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

NOINLINE void square_times(struct element *out, const struct element *x, int n)
{
	struct element r = *x;

	for (int i = 0; i < n; i++)
		square_once(&r, &r);
	*out = r;
}

INLINE void square(struct element *out, const struct element *x)
{
	square_times(out, x, 1);
}

/* Nothing to do: products are already tight, and factors. */
INLINE void settle(struct element *x)
{
	(void)x;
}

INLINE void as_factor(struct element *x)
{
	(void)x;
}

INLINE void square_tight(struct element *out, const struct element *x)
{
	square(out, x);
}

INLINE void add_factor(struct element *out, const struct element *x, const struct element *y)
{
	for (int i = 0; i < LIMBS; i++)
		out->limb[i] = x->limb[i] + y->limb[i];
}

INLINE void add_loose(struct element *out, const struct element *x, const struct element *y)
{
	add_factor(out, x, y);
}

/* Limb i of 2 (2^255 - 19). */
INLINE uint64_t above(int i)
{
	return i == 0 ? 2 * (MASK26 - 18) : i % 2 ? 2 * MASK25 : 2 * MASK26;
}

INLINE void subtract_factor(struct element *out, const struct element *x, const struct element *y)
{
	for (int i = 0; i < LIMBS; i++)
		out->limb[i] = x->limb[i] - y->limb[i] + above(i);
}

INLINE void add(struct element *out, const struct element *x, const struct element *y)
{
	add_factor(out, x, y);
	reduce(out->limb, out);
}

INLINE void subtract(struct element *out, const struct element *x, const struct element *y)
{
	subtract_factor(out, x, y);
	reduce(out->limb, out);
}

/* x + 121665 y, where y is at most 3 fold. */
INLINE void add_scaled(struct element *out, const struct element *x, const struct element *y)
{
	const vector factor = { 121665, 121665, 121665, 121665 };
	vector c[LIMBS];

	for (int i = 0; i < LIMBS; i++) {
		c[i] = x->limb[i];
		add_product(&c[i], &y->limb[i], &factor);
	}
	reduce(c, out);
}

INLINE void choose(vector *out, const vector *mask, const vector *x, const vector *y)
{
	*out = *y ^ ((*x ^ *y) & *mask);
}

/* Set each lane to x where mask is all ones, and to y where it is zero. */
INLINE void choose_element(
	struct element *out, const vector *mask, const struct element *x, const struct element *y)
{
	for (int i = 0; i < LIMBS; i++)
		choose(&out->limb[i], mask, &x->limb[i], &y->limb[i]);
}

INLINE void set_number(struct element *out, uint64_t x)
{
	*out = (struct element){ 0 };
	out->limb[0] = (vector){ x, x, x, x };
}

/* Load bits 0 to 254. */
INLINE void load(struct element *out, const vector w[4])
{
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

/* Store the canonical form of a tight element: less than 2^255 - 19. */
INLINE void store(vector w[4], const struct element *x)
{
	vector r[LIMBS], over = { 19, 19, 19, 19 };

	/* A value is too large by at most one modulus, and exactly if adding 19 carries into bit 255. */
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

/* ---- a table of numbers, of which each lane takes one ---- */

/* a digit of a scalar has 4 bits, and chooses from 8 multiples of the point, all of which are read */
#define BITS 4
#define MOST 8

/* Each word holds two limbs of a number, one in each half. */
#define PACKED (LIMBS / 2)
struct column {
	uint64_t word[MOST][PACKED];
};
struct packed {
	vector word[PACKED];
};

/* Put the first lane of x, which is tight, into a row. */
INLINE void put(struct column *c, size_t row, const struct element *x)
{
	for (size_t i = 0; i < PACKED; i++)
		c->word[row][i] = x->limb[2 * i][0] | x->limb[2 * i + 1][0] << 32;
}

INLINE void pick_packed(struct packed *out, const struct column *c, const vector *digit, uint64_t of_zero)
{
	for (int k = 0; k < PACKED; k++)
		out->word[k] = (vector){ 0 };
	out->word[0] = (vector)(*digit == 0) & of_zero;
	for (uint64_t row = 0; row < MOST; row++) {
		const vector mask = (vector)(*digit == row + 1);

		for (int k = 0; k < PACKED; k++)
			out->word[k] |= mask & c->word[row][k];
	}
}

INLINE void unpack(struct element *out, const struct packed *p)
{
	for (size_t i = 0; i < PACKED; i++) {
		out->limb[2 * i] = p->word[i] & UINT32_MAX;
		out->limb[2 * i + 1] = p->word[i] >> 32;
	}
}

/* Set each lane to the number in row digit - 1; for the digit 0 to of_zero, which is 0 or 1. */
INLINE void pick(struct element *out, const struct column *c, const vector *digit, uint64_t of_zero)
{
	struct packed p;

	pick_packed(&p, c, digit, of_zero);
	unpack(out, &p);
}

/* Set the two numbers that the digit chooses from a and from b; the digit 0 chooses 1.  They are exchanged
 * in the lanes where `exchange` is all ones. */
INLINE void pick_two(struct element *first, struct element *second, const struct column *a,
	const struct column *b, const vector *digit, const vector *exchange)
{
	struct packed x, y;

	pick_packed(&x, a, digit, 1);
	pick_packed(&y, b, digit, 1);
	for (int k = 0; k < PACKED; k++) {
		const vector change = (x.word[k] ^ y.word[k]) & *exchange;

		x.word[k] ^= change;
		y.word[k] ^= change;
	}
	unpack(first, &x);
	unpack(second, &y);
}
