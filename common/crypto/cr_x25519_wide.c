/* cr_x25519_wide.c - multiples of one point from a table, eight scalars at a time; cr_x25519_comb.c has the
 * curve, its law of addition and the digits. */
#include "cr_x25519_wide.h"

#include <stdlib.h>
#include <string.h>

#include "cr_lanes.h"
#include "cr_secret.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#define LIMBS 5

_Static_assert(CR_LANES == CR_COMB_MOST, "a lane for each multiple");

/* One limb of the eight multiples that a digit chooses from, and with it of y + x, y - x and 2 d x y. */
struct row {
	lanes plus[LIMBS], minus[LIMBS], product[LIMBS];
};

struct cr_wide {
	struct row row[CR_COMB_DIGITS];
};

/* Everything of a call that depends on a scalar, in one place to be wiped.  x = X / Z, y = Y / Z,
 * x y = T / Z. */
struct work {
	struct cr_lane x, y, z, t; /* the sum; loose */
	struct cr_lane plus, minus, product, a, b, c, d, e, f, g, h;
	lanes digit[CR_COMB_DIGITS], negative[CR_COMB_DIGITS];
	struct cr_lane u[CR_LANES_GROUPS], w[CR_LANES_GROUPS];
};

INLINE void set_number(struct cr_lane *out, uint64_t x)
{
	*out = (struct cr_lane){ 0 };
	set_all(&out->limb[0], x);
}

/* ---- the table ---- */

TARGET static void put_entry(lanes limb[LIMBS], size_t multiple, const uint64_t number[4])
{
	struct cr_lanes all = { 0 };
	struct cr_lane x;

	for (size_t i = 0; i < 4; i++)
		all.word[i][multiple] = number[i];
	load(&x, &all);
	for (size_t i = 0; i < LIMBS; i++)
		limb[i][multiple] = x.limb[i][multiple];
}

struct cr_wide *cr_wide_new(const struct cr_comb *c)
{
	struct cr_wide *w = aligned_alloc(64, sizeof *w);

	for (size_t i = 0; w && i < CR_COMB_DIGITS; i++)
		for (size_t j = 0; j < CR_COMB_MOST; j++) {
			struct cr_comb_entry e;

			cr_comb_entry(c, i, j, &e);
			put_entry(w->row[i].plus, j, e.plus);
			put_entry(w->row[i].minus, j, e.minus);
			put_entry(w->row[i].product, j, e.product);
		}
	return w;
}

void cr_wide_free(struct cr_wide *w)
{
	free(w);
}

/* ---- products ---- */

/* Digits of clamped scalars, whose last one is at most 8: magnitudes, and all ones for those below 0. */
INLINE void find_digits(struct work *w, const struct cr_lanes *scalar)
{
	const lanes *word = (const lanes *)scalar->word;
	lanes more = { 0 };

	for (int i = 0; i < CR_COMB_DIGITS; i++) {
		lanes digit = (word[i / 16] >> (4 * (i % 16)) & 15) + more;

		more = (digit + 8) >> (i < CR_COMB_DIGITS - 1 ? 4 : 5);
		w->negative[i] = -more;
		w->digit[i] = ((digit - (more << 4)) ^ -more) + more;
	}
}

/* The number that each lane's digit names: that of 0 is of_zero. */
INLINE void pick(struct cr_lane *out, const lanes row[LIMBS], const lanes *digit, uint64_t of_zero)
{
	const lanes none = (lanes)(*digit == 0), index = *digit - 1;

	for (int k = 0; k < LIMBS; k++) {
		select_entry(&out->limb[k], &index, &row[k]);
		out->limb[k] &= ~none;
	}
	out->limb[0] |= none & of_zero;
}

/* The entry of digit i: of -(x, y) = (-x, y), y + x and y - x change places. */
TARGET static __attribute__((noinline)) void choose_row(struct work *w, const struct row *row, int i)
{
	const lanes *negative = &w->negative[i];
	struct cr_lane plus, minus, product, opposite, zero;

	pick(&plus, row->plus, &w->digit[i], 1);
	pick(&minus, row->minus, &w->digit[i], 1);
	pick(&product, row->product, &w->digit[i], 0);
	set_number(&zero, 0);
	subtract(&opposite, &zero, &product);
	choose_element(&w->plus, negative, &minus, &plus);
	choose_element(&w->minus, negative, &plus, &minus);
	choose_element(&w->product, negative, &opposite, &product);
}

/* The entry is added to the sum. */
TARGET static __attribute__((noinline)) void add_row(struct work *w)
{
	subtract_factor(&w->a, &w->y, &w->x);
	multiply(&w->a, &w->a, &w->minus);
	add_factor(&w->b, &w->y, &w->x);
	multiply(&w->b, &w->b, &w->plus);
	tighten_to(w->t.limb, &w->t, FACTOR_BITS);
	multiply(&w->c, &w->product, &w->t);
	sum_of(w->d.limb, &w->z, &w->z);
	subtract_factor(&w->e, &w->b, &w->a);
	subtract_factor(&w->f, &w->d, &w->c);
	add_factor(&w->g, &w->d, &w->c);
	add_factor(&w->h, &w->b, &w->a);
	multiply(&w->x, &w->f, &w->e);
	multiply(&w->y, &w->g, &w->h);
	multiply(&w->t, &w->e, &w->h);
	multiply(&w->z, &w->f, &w->g);
}

TARGET static __attribute__((noinline)) void add_all(
	const struct cr_wide *c, const struct cr_lanes *scalar, struct cr_lanes *out, size_t groups)
{
	struct work w;

	for (size_t i = 0; i < groups; i++) {
		find_digits(&w, &scalar[i]);
		set_number(&w.x, 0);
		set_number(&w.y, 1);
		w.z = w.y;
		w.t = w.x;
		for (int k = 0; k < CR_COMB_DIGITS; k++) {
			choose_row(&w, &c->row[k], k);
			add_row(&w);
		}
		add(&w.u[i], &w.z, &w.y);
		subtract(&w.w[i], &w.z, &w.y);
	}
	cr_lane_divide(w.u, w.w, groups);
	for (size_t i = 0; i < groups; i++)
		store(&out[i], &w.u[i]);
	explicit_bzero(&w, sizeof w);
}

void cr_wide_times(
	const struct cr_wide *w, const struct cr_lanes *scalar, size_t groups, struct cr_lanes *product)
{
	add_all(w, scalar, product, groups);
	cr_wipe_stack();
}

#else

struct cr_wide *cr_wide_new(const struct cr_comb *c)
{
	(void)c;
	return NULL;
}

void cr_wide_free(struct cr_wide *w)
{
	(void)w;
}

void cr_wide_times(
	const struct cr_wide *w, const struct cr_lanes *scalar, size_t groups, struct cr_lanes *product)
{
	(void)w;
	(void)scalar;
	(void)groups;
	(void)product;
}

#endif
