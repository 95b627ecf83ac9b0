/* cr_x25519_comb.c - multiples of one point from a table, four scalars at a time.
 *
 * Curve25519 is the Edwards curve -x^2 + y^2 = 1 + d x^2 y^2, d = -121665 / 121666 (RFC 7748 section 4.1), by
 * u = (1 + y) / (1 - y).  Its law of addition is complete: it has no exceptions, for points of small order
 * neither (Bernstein, Birkner, Joye, Lange, Peters, "Twisted Edwards Curves", 2008; Hisil, Wong, Carter,
 * Dawson, "Twisted Edwards Curves Revisited", 2008).  Which of its two x a point has does not matter, since
 * the product's u is the same.  A scalar is a sum of digits[i] 16^i with digits of -8 to 8, and the table has
 * the multiples 1 to 8 of each 16^i times the point, all of which are read for each digit. */
#include "cr_x25519_comb.h"

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_quads.h"
#include "cr_secret.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#define DIGITS CR_COMB_DIGITS
#define MOST   CR_COMB_MOST
#define PAIRS  (LIMBS / 2)

/* An affine point as it is added: y + x, y - x and 2 d x y, two limbs in the halves of each number. */
struct entry {
	uint64_t plus[PAIRS], minus[PAIRS], product[PAIRS];
};

struct cr_comb {
	struct entry entry[DIGITS][MOST];
};

/* x = X / Z, y = Y / Z, x y = T / Z. */
struct point {
	struct cr_quad x, y, z, t;
};

/* Everything of a call that depends on a scalar, in one place to be wiped. */
struct work {
	struct point sum;
	struct cr_quad plus, minus, product, a, b, c, d, e, f, g, h;
	quad digit[DIGITS], negative[DIGITS];
	struct cr_quad u[CR_QUADS_GROUPS], w[CR_QUADS_GROUPS];
};

static const struct cr_quads sqrt_of_minus_1 = { {
	{ 0xc4ee1b274a0ea0b0, 0xc4ee1b274a0ea0b0, 0xc4ee1b274a0ea0b0, 0xc4ee1b274a0ea0b0 },
	{ 0x2f431806ad2fe478, 0x2f431806ad2fe478, 0x2f431806ad2fe478, 0x2f431806ad2fe478 },
	{ 0x2b4d00993dfbd7a7, 0x2b4d00993dfbd7a7, 0x2b4d00993dfbd7a7, 0x2b4d00993dfbd7a7 },
	{ 0x2b8324804fc1df0b, 0x2b8324804fc1df0b, 0x2b8324804fc1df0b, 0x2b8324804fc1df0b },
} };
static const struct cr_quads curve_d = { {
	{ 0x75eb4dca135978a3, 0x75eb4dca135978a3, 0x75eb4dca135978a3, 0x75eb4dca135978a3 },
	{ 0x00700a4d4141d8ab, 0x00700a4d4141d8ab, 0x00700a4d4141d8ab, 0x00700a4d4141d8ab },
	{ 0x8cc740797779e898, 0x8cc740797779e898, 0x8cc740797779e898, 0x8cc740797779e898 },
	{ 0x52036cee2b6ffe73, 0x52036cee2b6ffe73, 0x52036cee2b6ffe73, 0x52036cee2b6ffe73 },
} };

/* ---- the table: of a public point, with the same in all lanes ---- */

TARGET static bool are_equal(const struct cr_quad *x, const struct cr_quad *y)
{
	struct cr_quads a = { 0 }, b = { 0 };

	store(&a, x);
	store(&b, y);
	return memcmp(&a, &b, sizeof a) == 0;
}

/* The tight form of a sum or difference. */
TARGET static void tight(struct cr_quad *x)
{
	struct cr_quad one;

	set_number(&one, 1);
	cr_quad_times(x, x, &one);
}

/* x = sqrt(a / b) by a b^3 (a b^7)^((p - 5) / 8), of tight numbers.  false: there is none. */
TARGET static bool root(struct cr_quad *x, const struct cr_quad *a, const struct cr_quad *b)
{
	struct cr_quad b3, t, minus, zero;

	set_number(&zero, 0);
	cr_quad_square_times(&b3, b, 1);
	cr_quad_times(&b3, &b3, b);
	cr_quad_square_times(&t, &b3, 1);
	cr_quad_times(&t, &t, b);
	cr_quad_times(&t, &t, a);
	cr_quad_root_power(&t, &t);
	cr_quad_times(&t, &t, &b3);
	cr_quad_times(x, &t, a);
	cr_quad_square_times(&t, x, 1);
	cr_quad_times(&t, &t, b);
	if (are_equal(&t, a))
		return true;
	subtract(&minus, &zero, a);
	tight(&minus);
	load(&zero, &sqrt_of_minus_1);
	cr_quad_times(x, x, &zero);
	return are_equal(&t, &minus);
}

/* The Edwards point of u: y = (u - 1) / (u + 1), x^2 = -4 u / (d (u - 1)^2 + (u + 1)^2). */
TARGET static bool find_point(const uint8_t u[CR_COMB_LEN], struct point *out)
{
	struct cr_quads number;
	struct cr_quad n, one, zero, d, a, b, x;

	for (size_t i = 0; i < 4; i++)
		for (size_t lane = 0; lane < CR_QUADS; lane++)
			number.word[i][lane] = cm_get_le64(u + 8 * i);
	load(&n, &number);
	load(&d, &curve_d);
	set_number(&one, 1);
	set_number(&zero, 0);
	subtract(&out->y, &n, &one);
	tight(&out->y);
	add(&out->z, &n, &one);
	tight(&out->z);
	if (are_equal(&out->z, &zero))
		return false;
	add(&a, &n, &n);
	add(&a, &a, &a);
	tight(&a);
	subtract(&a, &zero, &a);
	tight(&a);
	cr_quad_square_times(&b, &out->y, 1);
	cr_quad_times(&b, &b, &d);
	cr_quad_square_times(&d, &out->z, 1);
	add(&b, &b, &d);
	tight(&b);
	if (!root(&x, &a, &b))
		return false;
	cr_quad_times(&out->t, &x, &out->y);
	cr_quad_times(&out->x, &x, &out->z);
	return true;
}

/* p + q, of tight points; out may be one of them. */
TARGET static void add_points(struct point *out, const struct point *p, const struct point *q)
{
	struct cr_quad a, b, c, d, e, f;

	subtract(&e, &p->y, &p->x);
	subtract(&f, &q->y, &q->x);
	cr_quad_times(&a, &e, &f);
	add(&e, &p->y, &p->x);
	add(&f, &q->y, &q->x);
	cr_quad_times(&b, &e, &f);
	load(&d, &curve_d);
	add(&d, &d, &d);
	cr_quad_times(&c, &p->t, &q->t);
	cr_quad_times(&c, &c, &d);
	cr_quad_times(&d, &p->z, &q->z);
	add(&d, &d, &d);
	subtract(&e, &b, &a);
	subtract(&f, &d, &c);
	add(&d, &d, &c);
	add(&c, &b, &a);
	cr_quad_times(&out->x, &f, &e);
	cr_quad_times(&out->y, &d, &c);
	cr_quad_times(&out->t, &e, &c);
	cr_quad_times(&out->z, &f, &d);
}

/* The first lane of a sum or difference. */
TARGET static void pack(struct cr_quad *x, uint64_t pair[PAIRS])
{
	struct cr_quads canonical = { 0 };

	tight(x);
	store(&canonical, x);
	load(x, &canonical);
	for (size_t i = 0; i < PAIRS; i++)
		pair[i] = x->limb[2 * i][0] | x->limb[2 * i + 1][0] << 32;
}

/* Multiples 1 to `most` of p, which becomes 2 most p. */
TARGET static void make_row(struct entry *row, size_t most, struct point *p)
{
	struct point multiple[CR_COMB_MOST_WIDE];
	struct cr_quad inverse[CR_COMB_MOST_WIDE], z[CR_COMB_MOST_WIDE], d, t;

	load(&d, &curve_d);
	for (size_t j = 0; j < most; j++) {
		multiple[j] = *p;
		if (j > 0)
			add_points(&multiple[j], &multiple[j - 1], p);
		set_number(&inverse[j], 1);
		z[j] = multiple[j].z;
	}
	cr_quad_divide(inverse, z, most);
	for (size_t j = 0; j < most; j++) {
		struct cr_quad x, y;

		cr_quad_times(&x, &multiple[j].x, &inverse[j]);
		cr_quad_times(&y, &multiple[j].y, &inverse[j]);
		cr_quad_times(&t, &x, &y);
		cr_quad_times(&t, &t, &d);
		add(&t, &t, &t);
		pack(&t, row[j].product);
		add(&t, &y, &x);
		pack(&t, row[j].plus);
		subtract(&t, &y, &x);
		pack(&t, row[j].minus);
	}
	add_points(p, &multiple[most - 1], &multiple[most - 1]);
}

struct cr_comb *cr_comb_new(const uint8_t point[CR_COMB_LEN])
{
	struct cr_comb *c = aligned_alloc(64, sizeof *c);
	struct point p;

	if (!c || !find_point(point, &p)) {
		free(c);
		return NULL;
	}
	for (int i = 0; i < DIGITS; i++)
		make_row(c->entry[i], MOST, &p);
	return c;
}

void cr_comb_free(struct cr_comb *c)
{
	free(c);
}

/* Limbs of 26 and 25 bits to words. */
static void join(const uint64_t pair[PAIRS], uint64_t word[4])
{
	uint64_t p[PAIRS];

	for (size_t i = 0; i < PAIRS; i++)
		p[i] = (pair[i] & UINT32_MAX) | pair[i] >> 32 << 26;
	word[0] = p[0] | p[1] << 51;
	word[1] = p[1] >> 13 | p[2] << 38;
	word[2] = p[2] >> 26 | p[3] << 25;
	word[3] = p[3] >> 39 | p[4] << 12;
}

bool cr_comb_multiples(const uint8_t point[CR_COMB_LEN], size_t digits, size_t most,
	void (*take)(void *user, size_t digit, size_t multiple, const struct cr_comb_entry *e), void *user)
{
	struct entry row[CR_COMB_MOST_WIDE];
	struct point p;

	if (!find_point(point, &p))
		return false;
	for (size_t i = 0; i < digits; i++) {
		make_row(row, most, &p);
		for (size_t j = 0; j < most; j++) {
			struct cr_comb_entry e;

			join(row[j].plus, e.plus);
			join(row[j].minus, e.minus);
			join(row[j].product, e.product);
			take(user, i, j, &e);
		}
	}
	return true;
}

/* ---- products ---- */

/* Digits of clamped scalars, whose last one is at most 8: magnitudes, and all ones for those below 0. */
INLINE void find_digits(struct work *w, const struct cr_quads *scalar)
{
	const quad *word = (const quad *)scalar->word;
	quad more = { 0 };

	for (int i = 0; i < DIGITS; i++) {
		quad digit = (word[i / 16] >> (4 * (i % 16)) & 15) + more;

		more = (digit + 8) >> (i < DIGITS - 1 ? 4 : 5);
		w->negative[i] = -more;
		w->digit[i] = ((digit - (more << 4)) ^ -more) + more;
	}
}

/* The pairs of one coordinate of the entry that each lane's digit names: those of 0 are first. */
INLINE void pick(
	quad out[PAIRS], const struct entry row[MOST], size_t at, const quad *digit, uint64_t of_zero)
{
	const quad none = (quad)(*digit == 0);

	for (int k = 0; k < PAIRS; k++)
		out[k] = (quad){ 0 };
	out[0] = none & of_zero;
	for (uint64_t j = 0; j < MOST; j++) {
		const uint64_t *pair = (const uint64_t *)(const void *)((const uint8_t *)&row[j] + at);
		const quad mask = (quad)(*digit == j + 1);

		for (int k = 0; k < PAIRS; k++)
			out[k] |= mask & pair[k];
	}
}

INLINE void unpack(struct cr_quad *out, const quad pair[PAIRS])
{
	for (size_t i = 0; i < PAIRS; i++) {
		out->limb[2 * i] = pair[i] & UINT32_MAX;
		out->limb[2 * i + 1] = pair[i] >> 32;
	}
}

/* The entry of digit i: of -(x, y) = (-x, y), y + x and y - x change places. */
TARGET static __attribute__((noinline)) void choose_entry(struct work *w, const struct entry row[MOST], int i)
{
	quad plus[PAIRS], minus[PAIRS], product[PAIRS];
	struct cr_quad zero, opposite;

	pick(plus, row, offsetof(struct entry, plus), &w->digit[i], 1);
	pick(minus, row, offsetof(struct entry, minus), &w->digit[i], 1);
	pick(product, row, offsetof(struct entry, product), &w->digit[i], 0);
	for (int k = 0; k < PAIRS; k++) {
		const quad change = (plus[k] ^ minus[k]) & w->negative[i];

		plus[k] ^= change;
		minus[k] ^= change;
	}
	unpack(&w->plus, plus);
	unpack(&w->minus, minus);
	unpack(&w->product, product);
	set_number(&zero, 0);
	subtract(&opposite, &zero, &w->product);
	choose(&w->product, &w->negative[i], &opposite, &w->product);
}

/* The entry is added to the sum. */
TARGET static __attribute__((noinline)) void add_entry(struct work *w)
{
	struct point *s = &w->sum;

	subtract(&w->a, &s->y, &s->x);
	cr_quad_times(&w->a, &w->a, &w->minus);
	add(&w->b, &s->y, &s->x);
	cr_quad_times(&w->b, &w->b, &w->plus);
	cr_quad_times(&w->c, &w->product, &s->t);
	add(&w->d, &s->z, &s->z);
	subtract(&w->e, &w->b, &w->a);
	subtract(&w->f, &w->d, &w->c);
	add(&w->g, &w->d, &w->c);
	add(&w->h, &w->b, &w->a);
	cr_quad_times(&s->x, &w->f, &w->e);
	cr_quad_times(&s->y, &w->g, &w->h);
	cr_quad_times(&s->t, &w->e, &w->h);
	cr_quad_times(&s->z, &w->f, &w->g);
}

TARGET static __attribute__((noinline)) void add_all(
	const struct cr_comb *c, const struct cr_quads *scalar, struct cr_quads *out, size_t groups)
{
	struct work w;

	for (size_t i = 0; i < groups; i++) {
		find_digits(&w, &scalar[i]);
		set_number(&w.sum.x, 0);
		set_number(&w.sum.y, 1);
		w.sum.z = w.sum.y;
		w.sum.t = w.sum.x;
		for (int k = 0; k < DIGITS; k++) {
			choose_entry(&w, c->entry[k], k);
			add_entry(&w);
		}
		add(&w.u[i], &w.sum.z, &w.sum.y);
		subtract(&w.w[i], &w.sum.z, &w.sum.y);
		tight(&w.w[i]);
	}
	cr_quad_divide(w.u, w.w, groups);
	for (size_t i = 0; i < groups; i++)
		store(&out[i], &w.u[i]);
	explicit_bzero(&w, sizeof w);
}

void cr_comb_times(
	const struct cr_comb *c, const struct cr_quads *scalar, size_t groups, struct cr_quads *product)
{
	add_all(c, scalar, product, groups);
	cr_wipe_stack();
}

#else

struct cr_comb *cr_comb_new(const uint8_t point[CR_COMB_LEN])
{
	(void)point;
	return NULL;
}

void cr_comb_free(struct cr_comb *c)
{
	(void)c;
}

void cr_comb_times(
	const struct cr_comb *c, const struct cr_quads *scalar, size_t groups, struct cr_quads *product)
{
	(void)c;
	(void)scalar;
	(void)groups;
	(void)product;
}

bool cr_comb_multiples(const uint8_t point[CR_COMB_LEN], size_t digits, size_t most,
	void (*take)(void *user, size_t digit, size_t multiple, const struct cr_comb_entry *e), void *user)
{
	(void)point;
	(void)digits;
	(void)most;
	(void)take;
	(void)user;
	return false;
}

#endif
