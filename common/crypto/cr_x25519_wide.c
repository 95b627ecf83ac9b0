/* cr_x25519_wide.c - multiples of one point from a table, eight scalars at a time; cr_x25519_comb.c has the
 * curve and its law of addition.  A scalar is a sum of digits[i] 64^i with digits of -32 to 32. */
#include "cr_x25519_wide.h"

#include <stdlib.h>
#include <string.h>

#include "cr_lanes.h"
#include "cr_secret.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#define LIMBS 5

#define BITS   6
#define DIGITS ((255 + BITS - 1) / BITS)
#define MOST   CR_COMB_MOST_WIDE
#define PARTS  (MOST / CR_LANES)

_Static_assert(MOST == 1 << (BITS - 1) && PARTS == 4, "what pick() chooses from");

/* One limb of the multiples that a digit chooses from, eight in a vector. */
typedef lanes limb_of_all[PARTS];

/* Of y + x, y - x and 2 d x y. */
struct row {
	limb_of_all plus[LIMBS], minus[LIMBS], product[LIMBS];
};

struct cr_wide {
	struct row row[DIGITS];
};

/* Everything of a call that depends on a scalar, in one place to be wiped.  x = X / Z, y = Y / Z,
 * x y = T / Z. */
struct work {
	struct cr_lane x, y, z, t; /* the sum; loose */
	struct cr_lane plus, minus, product, a, b, c, d, e, f, g, h;
	lanes digit[DIGITS], negative[DIGITS];
	struct cr_lane u[CR_LANES_GROUPS], w[CR_LANES_GROUPS];
};

INLINE void set_number(struct cr_lane *out, uint64_t x)
{
	*out = (struct cr_lane){ 0 };
	set_all(&out->limb[0], x);
}

/* ---- the table ---- */

TARGET static void put_number(limb_of_all limb[LIMBS], size_t multiple, const uint64_t number[4])
{
	const size_t lane = multiple % CR_LANES;
	struct cr_lanes all = { 0 };
	struct cr_lane x;

	for (size_t i = 0; i < 4; i++)
		all.word[i][lane] = number[i];
	load(&x, &all);
	for (size_t i = 0; i < LIMBS; i++)
		limb[i][multiple / CR_LANES][lane] = x.limb[i][lane];
}

static void put_entry(void *user, size_t digit, size_t multiple, const struct cr_comb_entry *e)
{
	struct row *row = &((struct cr_wide *)user)->row[digit];

	put_number(row->plus, multiple, e->plus);
	put_number(row->minus, multiple, e->minus);
	put_number(row->product, multiple, e->product);
}

struct cr_wide *cr_wide_new(const uint8_t point[CR_COMB_LEN])
{
	struct cr_wide *w = aligned_alloc(64, sizeof *w);

	if (w && !cr_comb_multiples(point, DIGITS, MOST, put_entry, w)) {
		free(w);
		return NULL;
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

	for (int i = 0; i < DIGITS; i++) {
		const int at = BITS * i / 64, from = BITS * i % 64;
		lanes digit = word[at] >> from;

		if (from > 64 - BITS && at < 3)
			digit |= word[at + 1] << (64 - from);
		digit = (digit & (2 * MOST - 1)) + more;
		/* All ones for a digit that becomes negative, with 1 more in the next place. */
		w->negative[i] = -((digit + (MOST - 1)) >> BITS);
		more = w->negative[i] & 1;
		w->digit[i] = ((digit - (more << BITS)) ^ w->negative[i]) + more;
	}
}

/* The number that each lane's digit names: that of 0 is of_zero. */
INLINE void pick(struct cr_lane *out, const limb_of_all row[LIMBS], const lanes *digit, uint64_t of_zero)
{
	const lanes none = (lanes)(*digit == 0), index = *digit - 1, upper = -(index >> 4 & 1);

	for (int k = 0; k < LIMBS; k++) {
		lanes low, high;

		select_entry(&low, &index, &row[k][0]);
		select_entry(&high, &index, &row[k][2]);
		choose(&out->limb[k], &upper, &high, &low);
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

/* The sum is the entry (x, y) alone: Z = 4, X = 4 x, Y = 4 y, T = 4 x y. */
TARGET static __attribute__((noinline)) void begin_with_row(struct work *w)
{
	subtract(&w->a, &w->plus, &w->minus);
	add(&w->b, &w->plus, &w->minus);
	multiply(&w->t, &w->a, &w->b);
	sum_of(w->x.limb, &w->a, &w->a);
	sum_of(w->y.limb, &w->b, &w->b);
	set_number(&w->z, 4);
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
		choose_row(&w, &c->row[0], 0);
		begin_with_row(&w);
		for (int k = 1; k < DIGITS; k++) {
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

struct cr_wide *cr_wide_new(const uint8_t point[CR_COMB_LEN])
{
	(void)point;
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
