/* cr_x25519_quads.c - four X25519 products at a time with AVX2 (RFC 7748 section 5); cr_quads.h has the
 * arithmetic. */
#include "cr_x25519_quads.h"

#include <string.h>

#include "cr_quads.h"
#include "cr_secret.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#ifdef CR_LANES_EMULATED
uint64_t cr_x25519_quads_beyond;
#endif

/* Everything of a call that depends on a scalar, in one place to be wiped.  Names are RFC 7748's. */
struct work {
	struct cr_quad x1, x2, z2, x3, z3, a, b, c, d, aa, bb, e, t;
	struct cr_quad x[CR_QUADS_GROUPS], z[CR_QUADS_GROUPS];
};

/* The powers on the way to an inverse or a root; comments name the exponent, a_b is 2^a - 2^b. */
struct powers {
	struct cr_quad z11, z5_0, z10_0, z50_0, z100_0, t;
};

TARGET __attribute__((noinline)) void cr_quad_times(
	struct cr_quad *out, const struct cr_quad *x, const struct cr_quad *y)
{
	multiply(out, x, y);
}

TARGET __attribute__((noinline)) void cr_quad_square_times(
	struct cr_quad *out, const struct cr_quad *x, int n)
{
	struct cr_quad r = *x;

	for (int i = 0; i < n; i++)
		square(&r, &r);
	*out = r;
}

/* t becomes z^(2^250 - 1), and z11 z^11. */
TARGET static __attribute__((noinline)) void power_250_0(struct powers *p, const struct cr_quad *z)
{
	cr_quad_square_times(&p->t, z, 1);
	cr_quad_square_times(&p->z5_0, &p->t, 2);
	cr_quad_times(&p->z5_0, &p->z5_0, z); /* 9 */
	cr_quad_times(&p->z11, &p->z5_0, &p->t);
	cr_quad_square_times(&p->t, &p->z11, 1);
	cr_quad_times(&p->z5_0, &p->t, &p->z5_0); /* 31 */
	cr_quad_square_times(&p->t, &p->z5_0, 5);
	cr_quad_times(&p->z10_0, &p->t, &p->z5_0);
	cr_quad_square_times(&p->t, &p->z10_0, 10);
	cr_quad_times(&p->t, &p->t, &p->z10_0); /* 20_0 */
	cr_quad_square_times(&p->z50_0, &p->t, 20);
	cr_quad_times(&p->t, &p->z50_0, &p->t); /* 40_0 */
	cr_quad_square_times(&p->t, &p->t, 10);
	cr_quad_times(&p->z50_0, &p->t, &p->z10_0);
	cr_quad_square_times(&p->t, &p->z50_0, 50);
	cr_quad_times(&p->z100_0, &p->t, &p->z50_0);
	cr_quad_square_times(&p->t, &p->z100_0, 100);
	cr_quad_times(&p->t, &p->t, &p->z100_0); /* 200_0 */
	cr_quad_square_times(&p->t, &p->t, 50);
	cr_quad_times(&p->t, &p->t, &p->z50_0);
}

TARGET void cr_quad_root_power(struct cr_quad *out, const struct cr_quad *z)
{
	struct powers p;
	const struct cr_quad of = *z;

	power_250_0(&p, &of);
	cr_quad_square_times(&p.t, &p.t, 2);
	cr_quad_times(out, &p.t, &of);
}

/* Make z one in the lanes where it is zero modulo 2^255 - 19, and x zero there: such a z would make the
 * common inverse zero. */
TARGET static __attribute__((noinline)) void avoid_zero(struct cr_quad *x, struct cr_quad *z)
{
	struct cr_quads canonical = { 0 };
	const quad *c = (const quad *)canonical.word;
	struct cr_quad one, zero;
	quad mask;

	set_number(&one, 1);
	set_number(&zero, 0);
	store(&canonical, z);
	mask = (quad)((c[0] | c[1] | c[2] | c[3]) == 0);
	choose(z, &mask, &one, z);
	choose(x, &mask, &zero, x);
	explicit_bzero(&canonical, sizeof canonical);
}

/* before[i] is the product of z[0] to z[i - 1]; 1 / z = z^(2^255 - 21). */
TARGET void cr_quad_divide(struct cr_quad *x, struct cr_quad *z, size_t n)
{
	struct cr_quad before[CR_QUADS_GROUPS], all;
	struct powers p;

	set_number(&all, 1);
	for (size_t i = 0; i < n; i++) {
		avoid_zero(&x[i], &z[i]);
		before[i] = all;
		cr_quad_times(&all, &all, &z[i]);
	}
	power_250_0(&p, &all);
	cr_quad_square_times(&p.t, &p.t, 5);
	cr_quad_times(&p.t, &p.t, &p.z11);
	for (size_t i = n; i-- > 0;) {
		cr_quad_times(&before[i], &p.t, &before[i]);
		cr_quad_times(&x[i], &x[i], &before[i]);
		cr_quad_times(&p.t, &p.t, &z[i]);
	}
	explicit_bzero(before, sizeof before);
	explicit_bzero(&all, sizeof all);
	explicit_bzero(&p, sizeof p);
}

/* x + 121665 y, tight, of a tight x and a y of 3 fold. */
INLINE void add_scaled(struct cr_quad *out, const struct cr_quad *x, const struct cr_quad *y)
{
	const quad factor = { 121665, 121665, 121665, 121665 };
	quad c[LIMBS];

	for (int i = 0; i < LIMBS; i++) {
		c[i] = x->limb[i];
		add_product(&c[i], &y->limb[i], &factor);
	}
	reduce(c, out);
}

/* One step of RFC 7748's loop.  (x3 : z3) becomes the sum of both points, whose difference is x1: which of
 * them is which has no effect on it.  (x2 : z2) becomes twice itself, or with `swap` twice (x3 : z3). */
TARGET static __attribute__((noinline)) void step(struct work *w, const quad *swap)
{
	add(&w->a, &w->x2, &w->z2);
	subtract(&w->b, &w->x2, &w->z2);
	add(&w->c, &w->x3, &w->z3);
	subtract(&w->d, &w->x3, &w->z3);
	cr_quad_times(&w->x3, &w->d, &w->a); /* DA */
	cr_quad_times(&w->z3, &w->c, &w->b); /* CB */
	choose(&w->a, swap, &w->c, &w->a);
	choose(&w->b, swap, &w->d, &w->b);
	add(&w->c, &w->x3, &w->z3);
	subtract(&w->d, &w->x3, &w->z3);
	cr_quad_square_times(&w->aa, &w->a, 1);
	cr_quad_square_times(&w->bb, &w->b, 1);
	cr_quad_square_times(&w->x3, &w->c, 1);
	cr_quad_square_times(&w->d, &w->d, 1);
	cr_quad_times(&w->z3, &w->d, &w->x1);
	cr_quad_times(&w->x2, &w->aa, &w->bb);
	subtract(&w->e, &w->aa, &w->bb);
	add_scaled(&w->t, &w->aa, &w->e);
	cr_quad_times(&w->z2, &w->e, &w->t);
}

/* (x2 : z2) = scalar * x1, tight. */
TARGET static __attribute__((noinline)) void climb(struct work *w, const struct cr_quads *scalar)
{
	const quad *word = (const quad *)scalar->word;
	quad before = { 0 };

	set_number(&w->x2, 1);
	set_number(&w->z2, 0);
	w->x3 = w->x1;
	set_number(&w->z3, 1);
	for (int bit = 254; bit >= 0; bit--) {
		const quad now = -(word[bit / 64] >> (bit % 64) & 1), swap = now ^ before;

		before = now;
		step(w, &swap);
	}
	/* The last bit of a clamped scalar is 0, so that nothing is left exchanged. */
}

TARGET static __attribute__((noinline)) void multiply_all(
	const struct cr_quads *scalar, const struct cr_quads *point, struct cr_quads *out, size_t groups)
{
	struct work w;

	for (size_t i = 0; i < groups; i++) {
		load(&w.x1, &point[i]);
		climb(&w, &scalar[i]);
		w.x[i] = w.x2;
		w.z[i] = w.z2;
	}
	cr_quad_divide(w.x, w.z, groups);
	for (size_t i = 0; i < groups; i++)
		store(&out[i], &w.x[i]);
	explicit_bzero(&w, sizeof w);
}

void cr_x25519_quads(
	const struct cr_quads *scalar, const struct cr_quads *point, size_t groups, struct cr_quads *product)
{
	multiply_all(scalar, point, product, groups);
	cr_wipe_stack();
}

bool cr_x25519_quads_here(void)
{
#ifdef CR_LANES_EMULATED
	return true;
#else
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2");
#endif
}

#else

bool cr_x25519_quads_here(void)
{
	return false;
}

void cr_x25519_quads(
	const struct cr_quads *scalar, const struct cr_quads *point, size_t groups, struct cr_quads *product)
{
	(void)scalar;
	(void)point;
	(void)groups;
	(void)product;
}

#endif
