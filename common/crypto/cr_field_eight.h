/* cr_field_eight.h - eight elements of the field of 2^255 - 19 at a time, in vectors of AVX-512 IFMA.
 * cr_field_text.h says which operations a field has; what is called *product* there is loose here.
 *
 * A field element is five limbs of 52 bits, each a vector of eight lanes; its value is the sum of
 * limb[i] * 2^(52 i).  The instruction multiplies the low 52 bits of two lanes and adds the low or the high
 * 52 bits of the product, so the limbs of its operands must be below 2^52.  Forms of an element:
 *
 *	tight	limbs 0 to 3 below 2^52, limb 4 below 2^47 + 2^9: a value below 2^255 + 2^217
 *	factor	tight once the bits from 2^52 on are taken away, which the instruction does: only for products
 *	loose	limbs below 2^56
 *
 * tests/unit/test_x25519.c runs the emulation below, which collects the bits that an operand has too
 * many. */
#pragma once

#include <stdint.h>

#include "cr_x25519_lanes.h"

#define LANES  8
#define LIMBS  5
#define MASK52 (((uint64_t)1 << 52) - 1)
#define MASK47 (((uint64_t)1 << 47) - 1)

typedef uint64_t vector __attribute__((vector_size(64), may_alias));

#ifdef CR_LANES_EMULATED

#define TARGET
#define HERE true
/* cut factors to 52 bits in this emulation, as the instruction would: then only bits that are wrong are
 * noticed */
#define FACTOR_BITS MASK52
/* the bits above the 52 that the instruction reads, of all operands so far: must stay zero */
static uint64_t beyond;
__extension__ typedef unsigned __int128 whole;

static inline whole times_52(uint64_t a, uint64_t b)
{
	beyond |= (a | b) >> 52;
	return (whole)(a & MASK52) * (b & MASK52);
}

static inline void add_low(vector *sum, const vector *a, const vector *b)
{
	for (unsigned i = 0; i < LANES; i++)
		(*sum)[i] += (uint64_t)times_52((*a)[i], (*b)[i]) & MASK52;
}

static inline void add_high(vector *sum, const vector *a, const vector *b)
{
	for (unsigned i = 0; i < LANES; i++)
		(*sum)[i] += (uint64_t)(times_52((*a)[i], (*b)[i]) >> 52);
}

static inline void choose(vector *out, const vector *mask, const vector *x, const vector *y)
{
	*out = (*mask & *x) | (~*mask & *y);
}

/* Choose the entry without an address that depends on an index. */
static inline void select_entry(vector *out, const vector *index, const vector row[2])
{
	*out = (vector){ 0 };
	for (uint64_t j = 0; j < 2ull * LANES; j++)
		*out |= (vector)((*index & 15) == j) & row[j / LANES][j % LANES];
}

#else

#include <immintrin.h>

#define TARGET      __attribute__((target("avx512f,avx512ifma")))
/* The compiler's library asks the processor and, by XGETBV, which registers the operating system saves. */
#define HERE        (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma"))
#define FACTOR_BITS UINT64_MAX

TARGET static inline __attribute__((always_inline)) void add_low(
	vector *sum, const vector *a, const vector *b)
{
	*sum = (vector)_mm512_madd52lo_epu64((__m512i)*sum, (__m512i)*a, (__m512i)*b);
}

TARGET static inline __attribute__((always_inline)) void add_high(
	vector *sum, const vector *a, const vector *b)
{
	*sum = (vector)_mm512_madd52hi_epu64((__m512i)*sum, (__m512i)*a, (__m512i)*b);
}

TARGET static inline __attribute__((always_inline)) void choose(
	vector *out, const vector *mask, const vector *x, const vector *y)
{
	*out = (vector)_mm512_ternarylogic_epi64((__m512i)*mask, (__m512i)*x, (__m512i)*y, 0xca);
}

/* Set every lane to that lane of the row's two vectors whose number is in the index's low four bits. */
TARGET static inline __attribute__((always_inline)) void select_entry(
	vector *out, const vector *index, const vector row[2])
{
	*out = (vector)_mm512_permutex2var_epi64((__m512i)row[0], (__m512i)*index, (__m512i)row[1]);
}

#endif

#define INLINE   TARGET static inline __attribute__((always_inline))
#define NOINLINE TARGET static __attribute__((noinline))

struct element {
	vector limb[LIMBS];
};

INLINE void set_all(vector *v, uint64_t x)
{
	*v = (vector){ x, x, x, x, x, x, x, x };
}

/* Bring limbs below 2^58 to the tight form, or to a factor: bits from 2^255 on are worth 19 each.  Limb 4
 * gets a carry below 2^7 after it was cut to 47 bits.  out may be where r is. */
INLINE void tighten_to(vector r[LIMBS], struct element *out, uint64_t bits)
{
	const vector over = r[4] >> 47;
	vector nineteen;

	set_all(&nineteen, 19);
	r[4] &= MASK47;
	add_low(&r[0], &over, &nineteen);
	for (int i = 0; i < 4; i++) {
		r[i + 1] += r[i] >> 52;
		out->limb[i] = r[i] & bits;
	}
	out->limb[4] = r[4];
}

INLINE void tighten(vector r[LIMBS], struct element *out)
{
	tighten_to(r, out, MASK52);
}

/* Reduce the ten columns of a product of tight elements to a loose element, by 2^260 = 608 modulo 2^255 -
 * 19.  A column is a sum of at most nine halves of products, so it is below 2^56 also after the two that
 * are added here.  Columns from 2^260 on are carried first, since they are multiplied once more.  The
 * product is below (2^255 + 2^217)^2 < 2^510 + 2^474, so the last column is then below 2^42 + 2^6, and 608
 * times it has no high half. */
INLINE void reduce(vector c[10], struct element *out)
{
	vector factor;

	set_all(&factor, 608);
	for (int i = 5; i < 9; i++) {
		c[i + 1] += c[i] >> 52;
		c[i] &= FACTOR_BITS;
	}
	for (int i = 0; i < LIMBS; i++)
		add_low(&c[i], &c[i + 5], &factor);
	for (int i = 0; i < 4; i++)
		add_high(&c[i + 1], &c[i + 5], &factor);
	for (int i = 0; i < LIMBS; i++)
		out->limb[i] = c[i];
}

INLINE void multiply(struct element *out, const struct element *x, const struct element *y)
{
	vector c[10] = { { 0 } };

	for (int i = 0; i < LIMBS; i++)
		for (int j = 0; j < LIMBS; j++) {
			add_low(&c[i + j], &x->limb[i], &y->limb[j]);
			add_high(&c[i + j + 1], &x->limb[i], &y->limb[j]);
		}
	reduce(c, out);
}

INLINE void square(struct element *out, const struct element *x)
{
	vector c[10] = { { 0 } };

	for (int i = 0; i < LIMBS; i++)
		for (int j = i + 1; j < LIMBS; j++) {
			add_low(&c[i + j], &x->limb[i], &x->limb[j]);
			add_high(&c[i + j + 1], &x->limb[i], &x->limb[j]);
		}
	for (int i = 1; i < 9; i++)
		c[i] += c[i];
	for (size_t i = 0; i < LIMBS; i++) {
		add_low(&c[2 * i], &x->limb[i], &x->limb[i]);
		add_high(&c[2 * i + 1], &x->limb[i], &x->limb[i]);
	}
	reduce(c, out);
}

/* Bring a product, which may be where the result is, to the tight form and to a factor. */
INLINE void settle(struct element *x)
{
	tighten(x->limb, x);
}

INLINE void as_factor(struct element *x)
{
	tighten_to(x->limb, x, FACTOR_BITS);
}

INLINE void square_tight(struct element *out, const struct element *x)
{
	square(out, x);
	settle(out);
}

NOINLINE void square_times(struct element *out, const struct element *x, int n)
{
	struct element r = *x;

	for (int i = 0; i < n; i++)
		square_tight(&r, &r);
	*out = r;
}

/* Add for a sum that is added to, or subtracted from, at most once more. */
INLINE void add_loose(struct element *out, const struct element *x, const struct element *y)
{
	for (int i = 0; i < LIMBS; i++)
		out->limb[i] = x->limb[i] + y->limb[i];
}

/* x - y + 2^10 (2^255 - 19).  The last term is written in limbs that are above those of any loose y, so no
 * limb becomes negative.  x may be a sum of two loose elements. */
INLINE void difference_of(vector r[LIMBS], const struct element *x, const struct element *y)
{
	const uint64_t above = (uint64_t)1 << 57;

	for (int i = 0; i < LIMBS; i++)
		r[i] = x->limb[i] - y->limb[i] + (above - (i == 0 ? (uint64_t)19 << 10 : (uint64_t)1 << 5));
}

INLINE void add(struct element *out, const struct element *x, const struct element *y)
{
	struct element r;

	add_loose(&r, x, y);
	tighten(r.limb, out);
}

INLINE void subtract(struct element *out, const struct element *x, const struct element *y)
{
	vector r[LIMBS];

	difference_of(r, x, y);
	tighten(r, out);
}

INLINE void add_factor(struct element *out, const struct element *x, const struct element *y)
{
	struct element r;

	add_loose(&r, x, y);
	tighten_to(r.limb, out, FACTOR_BITS);
}

INLINE void subtract_factor(struct element *out, const struct element *x, const struct element *y)
{
	vector r[LIMBS];

	difference_of(r, x, y);
	tighten_to(r, out, FACTOR_BITS);
}

/* x + 121665 y.  The part of 121665 y from 2^260 on is below 2^13. */
INLINE void add_scaled(struct element *out, const struct element *x, const struct element *y)
{
	vector factor, fold, past = { 0 }, r[LIMBS];

	set_all(&factor, 121665);
	set_all(&fold, 608);
	for (int i = 0; i < LIMBS; i++) {
		r[i] = x->limb[i];
		add_low(&r[i], &y->limb[i], &factor);
	}
	for (int i = 0; i < LIMBS - 1; i++)
		add_high(&r[i + 1], &y->limb[i], &factor);
	add_high(&past, &y->limb[4], &factor);
	add_low(&r[0], &past, &fold);
	tighten_to(r, out, FACTOR_BITS);
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
	set_all(&out->limb[0], x);
}

INLINE void load(struct element *out, const vector w[4])
{
	out->limb[0] = w[0] & MASK52;
	out->limb[1] = (w[0] >> 52 | w[1] << 12) & MASK52;
	out->limb[2] = (w[1] >> 40 | w[2] << 24) & MASK52;
	out->limb[3] = (w[2] >> 28 | w[3] << 36) & MASK52;
	out->limb[4] = w[3] >> 16 & MASK47;
}

INLINE void store(vector w[4], const struct element *x)
{
	vector r[LIMBS], over;

	for (int i = 0; i < LIMBS; i++)
		r[i] = x->limb[i];
	/* A value is too large by at most one modulus, and exactly if adding 19 carries into bit 255. */
	over = (r[0] + 19) >> 52;
	for (int i = 1; i < 4; i++)
		over = (r[i] + over) >> 52;
	over = (r[4] + over) >> 47;
	r[0] += (over << 4) + (over << 1) + over;
	for (int i = 0; i < 4; i++) {
		r[i + 1] += r[i] >> 52;
		r[i] &= MASK52;
	}
	r[4] &= MASK47;
	w[0] = r[0] | r[1] << 52;
	w[1] = r[1] >> 12 | r[2] << 40;
	w[2] = r[2] >> 24 | r[3] << 28;
	w[3] = r[3] >> 36 | r[4] << 16;
}

/* ---- a table of numbers, of which each lane takes one ---- */

/* a digit of a scalar has 6 bits, and chooses from 32 multiples of the point */
#define BITS 6
#define MOST 32

struct column {
	vector limb[LIMBS][MOST / LANES];
};

/* Put the first lane of x, which is tight, into a row. */
INLINE void put(struct column *c, size_t row, const struct element *x)
{
	for (size_t i = 0; i < LIMBS; i++)
		c->limb[i][row / LANES][row % LANES] = x->limb[i][0];
}

/* Set each lane to the number in row digit - 1; for the digit 0 to of_zero, which is 0 or 1. */
INLINE void pick(struct element *out, const struct column *c, const vector *digit, uint64_t of_zero)
{
	const vector none = (vector)(*digit == 0), index = *digit - 1, upper = -(index >> 4 & 1);

	for (int k = 0; k < LIMBS; k++) {
		vector low, high;

		select_entry(&low, &index, &c->limb[k][0]);
		select_entry(&high, &index, &c->limb[k][2]);
		choose(&out->limb[k], &upper, &high, &low);
		out->limb[k] &= ~none;
	}
	out->limb[0] |= none & of_zero;
}

/* Set the two numbers that the digit chooses from a and from b; the digit 0 chooses 1.  They are exchanged
 * in the lanes where `exchange` is all ones. */
INLINE void pick_two(struct element *first, struct element *second, const struct column *a,
	const struct column *b, const vector *digit, const vector *exchange)
{
	struct element x, y;

	pick(&x, a, digit, 1);
	pick(&y, b, digit, 1);
	choose_element(first, exchange, &y, &x);
	choose_element(second, exchange, &x, &y);
}
