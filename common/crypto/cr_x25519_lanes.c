/* cr_x25519_lanes.c - eight X25519 products at a time with AVX-512 IFMA (RFC 7748 section 5); cr_lanes.h has
 * the arithmetic. */
#include "cr_x25519_lanes.h"

#include <string.h>

#include "cr_lanes.h"
#include "cr_secret.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#ifdef CR_LANES_EMULATED
uint64_t cr_x25519_lanes_beyond;
#endif

/* Everything of a call that depends on a scalar, in one place to be wiped.  Names are RFC 7748's. */
struct work {
	struct cr_lane x1, x2, z2, x3, z3, a, b, c, d, aa, bb, e, t;
	struct cr_lane x[CR_LANES_GROUPS], z[CR_LANES_GROUPS];
};

/* x + 121665 y, a factor, of a tight x and a factor y; what 121665 y has from 2^260 on is below 2^13. */
INLINE void add_scaled(struct cr_lane *out, const struct cr_lane *x, const struct cr_lane *y)
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
	tighten_to(r, out, FACTOR_BITS);
}

/* One step of RFC 7748's loop.  (x3 : z3) becomes the sum of both points, whose difference is x1: which of
 * them is which has no effect on it.  (x2 : z2) becomes twice itself, or with `swap` twice (x3 : z3). */
INLINE void step(struct work *w, const lanes *swap)
{
	add_factor(&w->a, &w->x2, &w->z2);
	subtract_factor(&w->b, &w->x2, &w->z2);
	add_factor(&w->c, &w->x3, &w->z3);
	subtract_factor(&w->d, &w->x3, &w->z3);
	multiply(&w->x3, &w->d, &w->a); /* DA */
	multiply(&w->z3, &w->c, &w->b); /* CB */
	choose_element(&w->a, swap, &w->c, &w->a);
	choose_element(&w->b, swap, &w->d, &w->b);
	add_factor(&w->c, &w->x3, &w->z3);
	subtract_factor(&w->d, &w->x3, &w->z3);
	square_tight(&w->aa, &w->a);
	square_tight(&w->bb, &w->b);
	square(&w->x3, &w->c);
	square(&w->d, &w->d);
	tighten_to(w->d.limb, &w->d, FACTOR_BITS);
	multiply(&w->z3, &w->d, &w->x1);
	multiply(&w->x2, &w->aa, &w->bb);
	subtract_factor(&w->e, &w->aa, &w->bb);
	add_scaled(&w->t, &w->aa, &w->e);
	multiply(&w->z2, &w->e, &w->t);
}

TARGET static __attribute__((noinline)) void square_times(struct cr_lane *out, const struct cr_lane *x, int n)
{
	struct cr_lane r = *x;

	for (int i = 0; i < n; i++)
		square_tight(&r, &r);
	*out = r;
}

TARGET __attribute__((noinline)) static void lane_times(
	struct cr_lane *out, const struct cr_lane *x, const struct cr_lane *y)
{
	multiply(out, x, y);
	tighten(out->limb, out);
}

struct powers {
	struct cr_lane z11, z5_0, z10_0, z50_0, z100_0;
};

/* 1 / z = z^(2^255 - 21), and 0 for 0; z is tight.  Comments name the exponent; a_b is 2^a - 2^b. */
TARGET static __attribute__((noinline)) void invert(
	struct powers *p, const struct cr_lane *z, struct cr_lane *t)
{
	struct cr_lane *z11 = &p->z11, *z5_0 = &p->z5_0, *z10_0 = &p->z10_0, *z50_0 = &p->z50_0,
		       *z100_0 = &p->z100_0;

	square_times(t, z, 1);
	square_times(z5_0, t, 2);
	lane_times(z5_0, z5_0, z); /* 9 */
	lane_times(z11, z5_0, t);
	square_times(t, z11, 1);
	lane_times(z5_0, t, z5_0); /* 31 */
	square_times(t, z5_0, 5);
	lane_times(z10_0, t, z5_0);
	square_times(t, z10_0, 10);
	lane_times(t, t, z10_0); /* 20_0 */
	square_times(z50_0, t, 20);
	lane_times(t, z50_0, t); /* 40_0 */
	square_times(t, t, 10);
	lane_times(z50_0, t, z10_0);
	square_times(t, z50_0, 50);
	lane_times(z100_0, t, z50_0);
	square_times(t, z100_0, 100);
	lane_times(t, t, z100_0); /* 200_0 */
	square_times(t, t, 50);
	lane_times(t, t, z50_0); /* 250_0 */
	square_times(t, t, 5);
	lane_times(t, t, z11);
}

/* Make z one in the lanes where it is zero modulo 2^255 - 19, and x zero there: the product of a point of low
 * order, whose z would make the common inverse zero. */
TARGET static __attribute__((noinline)) void avoid_zero(struct cr_lane *x, struct cr_lane *z)
{
	struct cr_lanes canonical = { { { 0 } } };
	const lanes *c = (const lanes *)canonical.word;
	const struct cr_lane one = { { { 1, 1, 1, 1, 1, 1, 1, 1 } } }, zero = { { { 0 } } };

	store(&canonical, z);
	const lanes mask = (lanes)((c[0] | c[1] | c[2] | c[3]) == 0);

	choose_element(z, &mask, &one, z);
	choose_element(x, &mask, &zero, x);
	explicit_bzero(&canonical, sizeof canonical);
}

/* before[i] is the product of z[0] to z[i - 1]. */
TARGET void cr_lane_divide(struct cr_lane *x, struct cr_lane *z, size_t n)
{
	struct cr_lane before[CR_LANES_GROUPS] = { 0 }, all = { { { 1, 1, 1, 1, 1, 1, 1, 1 } } }, rest;
	struct powers p;

	for (size_t i = 0; i < n; i++) {
		avoid_zero(&x[i], &z[i]);
		before[i] = all;
		lane_times(&all, &all, &z[i]);
	}
	invert(&p, &all, &rest);
	for (size_t i = n; i-- > 0;) {
		lane_times(&before[i], &rest, &before[i]);
		lane_times(&x[i], &x[i], &before[i]);
		lane_times(&rest, &rest, &z[i]);
	}
	explicit_bzero(before, sizeof before);
	explicit_bzero(&all, sizeof all);
	explicit_bzero(&rest, sizeof rest);
	explicit_bzero(&p, sizeof p);
}

/* (x2 : z2) = scalar * x1, tight. */
TARGET static __attribute__((noinline)) void climb(struct work *w, const struct cr_lanes *scalar)
{
	const lanes *word = (const lanes *)scalar->word;
	lanes before = { 0 };

	w->x2 = w->z2 = w->z3 = (struct cr_lane){ 0 };
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

TARGET static __attribute__((noinline)) void multiply_all(
	const struct cr_lanes *scalar, const struct cr_lanes *point, struct cr_lanes *out, size_t groups)
{
	struct work w;

	for (size_t i = 0; i < groups; i++) {
		load(&w.x1, &point[i]);
		climb(&w, &scalar[i]);
		w.x[i] = w.x2;
		w.z[i] = w.z2;
	}
	cr_lane_divide(w.x, w.z, groups);
	for (size_t i = 0; i < groups; i++)
		store(&out[i], &w.x[i]);
	explicit_bzero(&w, sizeof w);
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
