/* cr_lanes.h - eight elements of the field of 2^255 - 19 at a time, in vectors of AVX-512 IFMA.  Internal to
 * the files that compute X25519 with it.
 *
 * A field element is five limbs of 52 bits, each a vector of eight lanes; its value is the sum of
 * limb[i] * 2^(52 i).  The instruction multiplies the low 52 bits of two lanes and adds the low or the high
 * 52 bits of the product, so the limbs of its operands must be below 2^52.  Forms of an element:
 *
 *	tight	limbs 0 to 3 below 2^52, limb 4 below 2^47 + 2^9: a value below 2^255 + 2^217
 *	factor	tight once the bits from 2^52 on are taken away, which the instruction does: only for products
 *	loose	limbs below 2^56
 *
 * Products take tight elements or factors and are loose; sums and differences take loose elements and are
 * tight or factors.
 * tests/unit/test_x25519.c runs the emulation below, which collects the bits that an operand has too
 * many. */
#pragma once

#include <stdint.h>

#include "cr_x25519_lanes.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#define MASK52 (((uint64_t)1 << 52) - 1)
#define MASK47 (((uint64_t)1 << 47) - 1)

typedef uint64_t lanes __attribute__((vector_size(64), may_alias));

#ifdef CR_LANES_EMULATED

#define TARGET
#define FACTOR_BITS MASK52 /* so that other bits that are too many are seen */
__extension__ typedef unsigned __int128 whole;

static inline whole times_52(uint64_t a, uint64_t b)
{
	cr_x25519_lanes_beyond |= (a | b) >> 52;
	return (whole)(a & MASK52) * (b & MASK52);
}

static inline void add_low(lanes *sum, const lanes *a, const lanes *b)
{
	for (unsigned i = 0; i < CR_LANES; i++)
		(*sum)[i] += (uint64_t)times_52((*a)[i], (*b)[i]) & MASK52;
}

static inline void add_high(lanes *sum, const lanes *a, const lanes *b)
{
	for (unsigned i = 0; i < CR_LANES; i++)
		(*sum)[i] += (uint64_t)(times_52((*a)[i], (*b)[i]) >> 52);
}

static inline void choose(lanes *out, const lanes *mask, const lanes *x, const lanes *y)
{
	*out = (*mask & *x) | (~*mask & *y);
}

/* Without an address that depends on an index. */
static inline void select_entry(lanes *out, const lanes *index, const lanes row[2])
{
	*out = (lanes){ 0 };
	for (uint64_t j = 0; j < 2ull * CR_LANES; j++)
		*out |= (lanes)((*index & 15) == j) & row[j / CR_LANES][j % CR_LANES];
}

#else

#include <immintrin.h>

#define TARGET      __attribute__((target("avx512f,avx512ifma")))
#define FACTOR_BITS UINT64_MAX

TARGET static inline __attribute__((always_inline)) void add_low(lanes *sum, const lanes *a, const lanes *b)
{
	*sum = (lanes)_mm512_madd52lo_epu64((__m512i)*sum, (__m512i)*a, (__m512i)*b);
}

TARGET static inline __attribute__((always_inline)) void add_high(lanes *sum, const lanes *a, const lanes *b)
{
	*sum = (lanes)_mm512_madd52hi_epu64((__m512i)*sum, (__m512i)*a, (__m512i)*b);
}

TARGET static inline __attribute__((always_inline)) void choose(
	lanes *out, const lanes *mask, const lanes *x, const lanes *y)
{
	*out = (lanes)_mm512_ternarylogic_epi64((__m512i)*mask, (__m512i)*x, (__m512i)*y, 0xca);
}

/* In every lane that lane of the row's two vectors whose number is in the index's low four bits. */
TARGET static inline __attribute__((always_inline)) void select_entry(
	lanes *out, const lanes *index, const lanes row[2])
{
	*out = (lanes)_mm512_permutex2var_epi64((__m512i)row[0], (__m512i)*index, (__m512i)row[1]);
}

#endif

#define INLINE TARGET static inline __attribute__((always_inline))

struct cr_lane {
	lanes limb[5];
};

INLINE void set_all(lanes *v, uint64_t x)
{
	*v = (lanes){ x, x, x, x, x, x, x, x };
}

/* Limbs below 2^58 to the tight form, or a factor: bits from 2^255 on are worth 19 each.  Limb 4 gets a carry
 * below 2^7 after it was cut to 47 bits.  out may be where r is. */
INLINE void tighten_to(lanes r[5], struct cr_lane *out, uint64_t bits)
{
	const lanes over = r[4] >> 47;
	lanes nineteen;

	set_all(&nineteen, 19);
	r[4] &= MASK47;
	add_low(&r[0], &over, &nineteen);
	for (int i = 0; i < 4; i++) {
		r[i + 1] += r[i] >> 52;
		out->limb[i] = r[i] & bits;
	}
	out->limb[4] = r[4];
}

INLINE void tighten(lanes r[5], struct cr_lane *out)
{
	tighten_to(r, out, MASK52);
}

/* The ten columns of a product of tight elements to a loose element: 2^260 is 608.  A column is a sum of at
 * most nine halves, so below 2^56 also after the two that are added here; those from 2^260 on are carried,
 * since they are multiplied once more.  The product is below (2^255 + 2^217)^2 < 2^510 + 2^474, so the last
 * column is then below 2^42 + 2^6, and 608 times it has no high half. */
INLINE void reduce(lanes c[10], struct cr_lane *out)
{
	lanes factor;

	set_all(&factor, 608);
	for (int i = 5; i < 9; i++) {
		c[i + 1] += c[i] >> 52;
		c[i] &= FACTOR_BITS;
	}
	for (int i = 0; i < 5; i++)
		add_low(&c[i], &c[i + 5], &factor);
	for (int i = 0; i < 4; i++)
		add_high(&c[i + 1], &c[i + 5], &factor);
	for (int i = 0; i < 5; i++)
		out->limb[i] = c[i];
}

INLINE void multiply(struct cr_lane *out, const struct cr_lane *x, const struct cr_lane *y)
{
	lanes c[10] = { { 0 } };

	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++) {
			add_low(&c[i + j], &x->limb[i], &y->limb[j]);
			add_high(&c[i + j + 1], &x->limb[i], &y->limb[j]);
		}
	reduce(c, out);
}

INLINE void square(struct cr_lane *out, const struct cr_lane *x)
{
	lanes c[10] = { { 0 } };

	for (int i = 0; i < 5; i++)
		for (int j = i + 1; j < 5; j++) {
			add_low(&c[i + j], &x->limb[i], &x->limb[j]);
			add_high(&c[i + j + 1], &x->limb[i], &x->limb[j]);
		}
	for (int i = 1; i < 9; i++)
		c[i] += c[i];
	for (size_t i = 0; i < 5; i++) {
		add_low(&c[2 * i], &x->limb[i], &x->limb[i]);
		add_high(&c[2 * i + 1], &x->limb[i], &x->limb[i]);
	}
	reduce(c, out);
}

INLINE void square_tight(struct cr_lane *out, const struct cr_lane *x)
{
	square(out, x);
	tighten(out->limb, out);
}

INLINE void sum_of(lanes r[5], const struct cr_lane *x, const struct cr_lane *y)
{
	for (int i = 0; i < 5; i++)
		r[i] = x->limb[i] + y->limb[i];
}

/* x - y + 2^10 (2^255 - 19), the latter in limbs that are above those of any loose y.  x may be a sum of two
 * loose elements. */
INLINE void difference_of(lanes r[5], const struct cr_lane *x, const struct cr_lane *y)
{
	const uint64_t above = (uint64_t)1 << 57;

	for (int i = 0; i < 5; i++)
		r[i] = x->limb[i] - y->limb[i] + (above - (i == 0 ? (uint64_t)19 << 10 : (uint64_t)1 << 5));
}

INLINE void add(struct cr_lane *out, const struct cr_lane *x, const struct cr_lane *y)
{
	lanes r[5];

	sum_of(r, x, y);
	tighten(r, out);
}

INLINE void subtract(struct cr_lane *out, const struct cr_lane *x, const struct cr_lane *y)
{
	lanes r[5];

	difference_of(r, x, y);
	tighten(r, out);
}

/* The same to factors. */
INLINE void add_factor(struct cr_lane *out, const struct cr_lane *x, const struct cr_lane *y)
{
	lanes r[5];

	sum_of(r, x, y);
	tighten_to(r, out, FACTOR_BITS);
}

INLINE void subtract_factor(struct cr_lane *out, const struct cr_lane *x, const struct cr_lane *y)
{
	lanes r[5];

	difference_of(r, x, y);
	tighten_to(r, out, FACTOR_BITS);
}

/* x in the lanes where mask is all ones, y where it is zero. */
INLINE void choose_element(
	struct cr_lane *out, const lanes *mask, const struct cr_lane *x, const struct cr_lane *y)
{
	for (int i = 0; i < 5; i++)
		choose(&out->limb[i], mask, &x->limb[i], &y->limb[i]);
}

INLINE void load(struct cr_lane *out, const struct cr_lanes *in)
{
	const lanes *w = (const lanes *)in->word;

	out->limb[0] = w[0] & MASK52;
	out->limb[1] = (w[0] >> 52 | w[1] << 12) & MASK52;
	out->limb[2] = (w[1] >> 40 | w[2] << 24) & MASK52;
	out->limb[3] = (w[2] >> 28 | w[3] << 36) & MASK52;
	out->limb[4] = w[3] >> 16 & MASK47;
}

/* The canonical form of a tight element: less than 2^255 - 19. */
INLINE void store(struct cr_lanes *out, const struct cr_lane *x)
{
	lanes *w = (lanes *)out->word, r[5], over;

	for (int i = 0; i < 5; i++)
		r[i] = x->limb[i];
	/* A value is too large by at most one modulus, and then if adding 19 carries into bit 255. */
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

/* What both files need (cr_x25519_lanes.c): x[i] becomes x[i] / z[i], tight, and 0 where z[i] is 0; 1 to
 * CR_LANES_GROUPS of them, of tight elements, by one inversion. */
void cr_lane_divide(struct cr_lane *x, struct cr_lane *z, size_t n);

#endif
