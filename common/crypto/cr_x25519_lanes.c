/* cr_x25519_lanes.c - eight X25519 products at a time with AVX-512 IFMA (RFC 7748 section 5).
 *
 * A field element is five limbs of 52 bits, each a vector of eight lanes; its value is the sum of
 * limb[i] * 2^(52 i).  The instruction multiplies the low 52 bits of two lanes and adds the low or the high
 *52 bits of the product, so the limbs of its operands must be below 2^52.  Two forms of an element:
 *
 *	tight	limbs 0 to 3 below 2^52, limb 4 below 2^47 + 2^9: a value below 2^255 + 2^217
 *	loose	limbs below 2^56
 *
 * Products take tight elements and are loose; sums and differences take loose elements and are tight.
 * tests/unit/test_x25519.c runs the emulation below, which collects the bits that an operand has too
 * many. */
#include "cr_x25519_lanes.h"

#include <openssl/crypto.h>

#include "cr_secret.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#define MASK52 (((uint64_t)1 << 52) - 1)
#define MASK47 (((uint64_t)1 << 47) - 1)

typedef uint64_t lanes __attribute__((vector_size(64), may_alias));

#ifdef CR_LANES_EMULATED

#define TARGET
uint64_t cr_x25519_lanes_beyond;

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

#else

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512ifma")))

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

#endif

#define INLINE TARGET static inline __attribute__((always_inline))

struct element {
	lanes limb[5];
};

/* Everything of a call that depends on a scalar, in one place to be wiped.  Names are RFC 7748's. */
struct work {
	struct element x1, x2, z2, x3, z3, a, b, c, d, aa, bb, e, t;
	struct element x[CR_LANES_GROUPS], z[CR_LANES_GROUPS], z_before[CR_LANES_GROUPS];
};

INLINE void set_all(lanes *v, uint64_t x)
{
	*v = (lanes){ x, x, x, x, x, x, x, x };
}

/* Limbs below 2^58 to the tight form: bits from 2^255 on are worth 19 each.  Limb 4 gets a carry below 2^7
 * after it was cut to 47 bits.  out may be where r is. */
INLINE void tighten(lanes r[5], struct element *out)
{
	const lanes over = r[4] >> 47;
	lanes nineteen;

	set_all(&nineteen, 19);
	r[4] &= MASK47;
	add_low(&r[0], &over, &nineteen);
	for (int i = 0; i < 4; i++) {
		r[i + 1] += r[i] >> 52;
		out->limb[i] = r[i] & MASK52;
	}
	out->limb[4] = r[4];
}

/* The ten columns of a product of tight elements to a loose element: 2^260 is 608.  A column is a sum of at
 * most nine halves, so below 2^56 also after the two that are added here; those from 2^260 on are carried,
 * since they are multiplied once more.  The product is below (2^255 + 2^217)^2 < 2^510 + 2^474, so the last
 * column is then below 2^42 + 2^6, and 608 times it has no high half. */
INLINE void reduce(lanes c[10], struct element *out)
{
	lanes factor;

	set_all(&factor, 608);
	for (int i = 5; i < 9; i++) {
		c[i + 1] += c[i] >> 52;
		c[i] &= MASK52;
	}
	for (int i = 0; i < 5; i++)
		add_low(&c[i], &c[i + 5], &factor);
	for (int i = 0; i < 4; i++)
		add_high(&c[i + 1], &c[i + 5], &factor);
	for (int i = 0; i < 5; i++)
		out->limb[i] = c[i];
}

INLINE void multiply(struct element *out, const struct element *x, const struct element *y)
{
	lanes c[10] = { { 0 } };

	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++) {
			add_low(&c[i + j], &x->limb[i], &y->limb[j]);
			add_high(&c[i + j + 1], &x->limb[i], &y->limb[j]);
		}
	reduce(c, out);
}

INLINE void square(struct element *out, const struct element *x)
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

INLINE void square_tight(struct element *out, const struct element *x)
{
	square(out, x);
	tighten(out->limb, out);
}

/* x + 121665 y, tight, of tight x and y; what 121665 y has from 2^260 on is below 2^13. */
INLINE void add_scaled(struct element *out, const struct element *x, const struct element *y)
{
	lanes factor, fold, beyond = { 0 }, r[5];

	set_all(&factor, 121665);
	set_all(&fold, 608);
	for (int i = 0; i < 5; i++) {
		r[i] = x->limb[i];
		add_low(&r[i], &y->limb[i], &factor);
	}
	for (int i = 0; i < 4; i++)
		add_high(&r[i + 1], &y->limb[i], &factor);
	add_high(&beyond, &y->limb[4], &factor);
	add_low(&r[0], &beyond, &fold);
	tighten(r, out);
}

INLINE void add(struct element *out, const struct element *x, const struct element *y)
{
	lanes r[5];

	for (int i = 0; i < 5; i++)
		r[i] = x->limb[i] + y->limb[i];
	tighten(r, out);
}

/* x - y + 2^10 (2^255 - 19), the latter in limbs that are above those of any loose y. */
INLINE void subtract(struct element *out, const struct element *x, const struct element *y)
{
	const uint64_t above = (uint64_t)1 << 57;
	lanes r[5];

	for (int i = 0; i < 5; i++)
		r[i] = x->limb[i] - y->limb[i] + (above - (i == 0 ? (uint64_t)19 << 10 : (uint64_t)1 << 5));
	tighten(r, out);
}

/* x in the lanes where mask is all ones, y where it is zero. */
INLINE void choose_element(
	struct element *out, const lanes *mask, const struct element *x, const struct element *y)
{
	for (int i = 0; i < 5; i++)
		choose(&out->limb[i], mask, &x->limb[i], &y->limb[i]);
}

/* One step of RFC 7748's loop.  (x3 : z3) becomes the sum of both points, whose difference is x1: which of
 * them is which has no effect on it.  (x2 : z2) becomes twice itself, or with `swap` twice (x3 : z3). */
INLINE void step(struct work *w, const lanes *swap)
{
	add(&w->a, &w->x2, &w->z2);
	subtract(&w->b, &w->x2, &w->z2);
	add(&w->c, &w->x3, &w->z3);
	subtract(&w->d, &w->x3, &w->z3);
	multiply(&w->x3, &w->d, &w->a); /* DA */
	multiply(&w->z3, &w->c, &w->b); /* CB */
	choose_element(&w->a, swap, &w->c, &w->a);
	choose_element(&w->b, swap, &w->d, &w->b);
	add(&w->c, &w->x3, &w->z3);
	subtract(&w->d, &w->x3, &w->z3);
	square_tight(&w->aa, &w->a);
	square_tight(&w->bb, &w->b);
	square(&w->x3, &w->c);
	square_tight(&w->d, &w->d);
	multiply(&w->z3, &w->d, &w->x1);
	multiply(&w->x2, &w->aa, &w->bb);
	subtract(&w->e, &w->aa, &w->bb);
	add_scaled(&w->t, &w->aa, &w->e);
	multiply(&w->z2, &w->e, &w->t);
}

TARGET static __attribute__((noinline)) void square_times(struct element *out, const struct element *x, int n)
{
	struct element r = *x;

	for (int i = 0; i < n; i++)
		square_tight(&r, &r);
	*out = r;
}

TARGET static __attribute__((noinline)) void times(
	struct element *out, const struct element *x, const struct element *y)
{
	multiply(out, x, y);
	tighten(out->limb, out);
}

/* 1 / z = z^(2^255 - 21), and 0 for 0; z is tight.  Comments name the exponent; a_b is 2^a - 2^b. */
TARGET static __attribute__((noinline)) void invert(
	struct work *w, const struct element *z, struct element *t)
{
	struct element *z11 = &w->e, *z5_0 = &w->a, *z10_0 = &w->aa, *z50_0 = &w->b, *z100_0 = &w->c;

	square_times(t, z, 1);
	square_times(z5_0, t, 2);
	times(z5_0, z5_0, z); /* 9 */
	times(z11, z5_0, t);
	square_times(t, z11, 1);
	times(z5_0, t, z5_0); /* 31 */
	square_times(t, z5_0, 5);
	times(z10_0, t, z5_0);
	square_times(t, z10_0, 10);
	times(t, t, z10_0); /* 20_0 */
	square_times(z50_0, t, 20);
	times(t, z50_0, t); /* 40_0 */
	square_times(t, t, 10);
	times(z50_0, t, z10_0);
	square_times(t, z50_0, 50);
	times(z100_0, t, z50_0);
	square_times(t, z100_0, 100);
	times(t, t, z100_0); /* 200_0 */
	square_times(t, t, 50);
	times(t, t, z50_0); /* 250_0 */
	square_times(t, t, 5);
	times(t, t, z11);
}

INLINE void load(struct element *out, const struct cr_lanes *in)
{
	const lanes *w = (const lanes *)in->word;

	out->limb[0] = w[0] & MASK52;
	out->limb[1] = (w[0] >> 52 | w[1] << 12) & MASK52;
	out->limb[2] = (w[1] >> 40 | w[2] << 24) & MASK52;
	out->limb[3] = (w[2] >> 28 | w[3] << 36) & MASK52;
	out->limb[4] = w[3] >> 16 & MASK47;
}

/* The canonical form of a tight element: less than 2^255 - 19. */
INLINE void store(struct cr_lanes *out, const struct element *x)
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

/* (x2 : z2) = scalar * x1, tight. */
TARGET static __attribute__((noinline)) void climb(struct work *w, const struct cr_lanes *scalar)
{
	const lanes *word = (const lanes *)scalar->word;
	lanes before = { 0 };

	w->x2 = w->z2 = w->z3 = (struct element){ 0 };
	set_all(&w->x2.limb[0], 1);
	w->x3 = w->x1;
	set_all(&w->z3.limb[0], 1);
	for (int bit = 254; bit >= 0; bit--) {
		const lanes now = -(word[bit / 64] >> (bit % 64) & 1), swap = now ^ before;

		before = now;
		step(w, &swap);
	}
	/* The last bit of a clamped scalar is 0, so that nothing is left exchanged. */
	tighten(w->x2.limb, &w->x2);
	tighten(w->z2.limb, &w->z2);
}

/* Make z one in the lanes where it is zero modulo 2^255 - 19, and x zero there: the product of a point of low
 * order, whose z would make the common inverse zero. */
TARGET static __attribute__((noinline)) void avoid_zero(struct element *x, struct element *z)
{
	struct cr_lanes canonical = { { { 0 } } };
	const lanes *c = (const lanes *)canonical.word;
	const struct element one = { { { 1, 1, 1, 1, 1, 1, 1, 1 } } }, zero = { { { 0 } } };

	store(&canonical, z);
	const lanes mask = (lanes)((c[0] | c[1] | c[2] | c[3]) == 0);

	choose_element(z, &mask, &one, z);
	choose_element(x, &mask, &zero, x);
	OPENSSL_cleanse(&canonical, sizeof canonical);
}

/* All quotients x / z by one inversion: z_before[i] is the product of z[0] to z[i - 1]. */
TARGET static __attribute__((noinline)) void divide(struct work *w, size_t groups)
{
	w->z_before[0] = (struct element){ { { 1, 1, 1, 1, 1, 1, 1, 1 } } };
	for (size_t i = 1; i < groups; i++)
		times(&w->z_before[i], &w->z_before[i - 1], &w->z[i - 1]);
	times(&w->d, &w->z_before[groups - 1], &w->z[groups - 1]);
	invert(w, &w->d, &w->t);
	for (size_t i = groups; i-- > 0;) {
		times(&w->a, &w->t, &w->z_before[i]);
		times(&w->x[i], &w->x[i], &w->a);
		times(&w->t, &w->t, &w->z[i]);
	}
}

TARGET static __attribute__((noinline)) void multiply_all(
	const struct cr_lanes *scalar, const struct cr_lanes *point, struct cr_lanes *out, size_t groups)
{
	struct work w;

	for (size_t i = 0; i < groups; i++) {
		load(&w.x1, &point[i]);
		climb(&w, &scalar[i]);
		avoid_zero(&w.x2, &w.z2);
		w.x[i] = w.x2;
		w.z[i] = w.z2;
	}
	divide(&w, groups);
	for (size_t i = 0; i < groups; i++)
		store(&out[i], &w.x[i]);
	OPENSSL_cleanse(&w, sizeof w);
}

void cr_x25519_lanes(
	const struct cr_lanes *scalar, const struct cr_lanes *point, size_t groups, struct cr_lanes *product)
{
	multiply_all(scalar, point, product, groups);
	cr_wipe_stack();
}

bool cr_x25519_lanes_here(void)
{
#ifdef CR_LANES_EMULATED
	return true;
#else
	/* The compiler's library asks the processor and, by XGETBV, which registers the system saves. */
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma");
#endif
}

#else

bool cr_x25519_lanes_here(void)
{
	return false;
}

void cr_x25519_lanes(
	const struct cr_lanes *scalar, const struct cr_lanes *point, size_t groups, struct cr_lanes *product)
{
	(void)scalar;
	(void)point;
	(void)groups;
	(void)product;
}

#endif
