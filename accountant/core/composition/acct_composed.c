/* acct_composed.c (acct_composition.h) - keeps a growing list of rounds and the products of their
 * transforms: computes them, updates them for new rounds, and reads answers from them. */
#include "acct_composition.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "acct_family.h"
#include "acct_invert.h"

/* grid step, divided by the standard deviation of the composed loss; the relative width of an interval is
 * about the square of it, over 4 */
#define COARSEST 0.04
#define LEVELS   5
#define WIDTH    9e-4 /* an answer of this relative width is narrow */
/* a delta is narrow at this relative width, or at the width that corresponds to WIDTH of epsilon if that is
 * larger */
#define OF_DELTA 1e-2
/* from this number of different rounds on, COARSER and WIDER apply, so that the work stays limited */
#define MANY    64
#define COARSER 0.045 /* replaces COARSEST for MANY rounds */
#define WIDER   2e-4  /* relative width of delta at a point of a round's curve, for MANY rounds */
/* the lattice of losses of a round with more than this share of the variance shows in the answer */
#define ROUGH 0.125
/* The window is so many times longer than the present rounds need, which gives room for more than twice
 * their variance. */
#define GROWTH 1.5

static void drop_entry(struct acct_entry *e)
{
	acct_rung_fini(&e->rung);
	memset(e, 0, sizeof *e);
}

static void drop_products(struct acct_composed *c)
{
	for (int which = 0; which < ACCT_PRODUCTS; which++)
		for (int side = 0; side < ACCT_SIDES; side++) {
			free(c->product[which][side].at);
			c->product[which][side].at = NULL;
		}
}

void acct_composed_unframe(struct acct_composed *c)
{
	drop_products(c);
	acct_frame_fini(&c->frame);
	c->sides = 0;
	for (size_t i = 0; i < c->entries; i++) {
		c->entry[i].factored = false;
		memset(c->entry[i].in, 0, sizeof c->entry[i].in);
	}
}

void acct_composed_fini(struct acct_composed *c)
{
	acct_composed_unframe(c);
	for (size_t i = 0; i < c->entries; i++)
		drop_entry(&c->entry[i]);
	free(c->entry);
	memset(c, 0, sizeof *c);
}

struct acct_entry *acct_composed_append(struct acct_composed *c)
{
	if (c->entries == c->capacity) {
		size_t more = c->capacity > 0 ? 2 * c->capacity : 4;
		struct acct_entry *bigger = realloc(c->entry, more * sizeof *bigger);

		if (!bigger)
			return NULL;
		c->entry = bigger;
		c->capacity = more;
	}
	struct acct_entry *e = &c->entry[c->entries++];
	memset(e, 0, sizeof *e);
	return e;
}

void acct_composed_forget(struct acct_composed *c, struct acct_entry *e)
{
	/* the products still hold the round, so they must be computed anew */
	if (e->in[ACCT_ALL] > 0 || e->in[ACCT_BASE] > 0)
		acct_composed_unframe(c);
	drop_entry(e);
}

void acct_composed_add(struct acct_composed *c, struct acct_entry *e, uint64_t count)
{
	if (c->recents == ACCT_RECENT) {
		c->entry[c->recent[0].entry].recent -= c->recent[0].count;
		memmove(&c->recent[0], &c->recent[1], (ACCT_RECENT - 1) * sizeof c->recent[0]);
		c->recents--;
	}
	c->recent[c->recents++] = (struct acct_addition){ (size_t)(e - c->entry), count };
	e->count += count;
	e->recent += count;
}

void acct_composed_remove(struct acct_composed *c, struct acct_entry *e, uint64_t count)
{
	size_t kept = c->recents;

	e->count -= count;
	for (size_t i = c->recents; i-- > 0 && count > 0;) {
		struct acct_addition *a = &c->recent[i];
		uint64_t less = a->count < count ? a->count : count;

		if (&c->entry[a->entry] != e)
			continue;
		a->count -= less;
		count -= less;
		e->recent -= less;
	}
	c->recents = 0;
	for (size_t i = 0; i < kept; i++)
		if (c->recent[i].count > 0)
			c->recent[c->recents++] = c->recent[i];
}

/* Sort in an order that depends only on the rounds, not on the address of a family. */
static int by_bytes(const void *a, const void *b)
{
	const struct acct_round *x = &((const struct acct_entry *)a)->round,
				*y = &((const struct acct_entry *)b)->round;
	unsigned m = x->family ? x->family->number : x->messages,
		 n = y->family ? y->family->number : y->messages;
	int first = memcmp(x, y, offsetof(struct acct_round, messages)); // NOLINT(*-memory-comparison,cert-*)

	if (first != 0)
		return first;
	return m != n ? (m > n) - (m < n)
		      : memcmp(x->shape, y->shape, sizeof x->shape); // NOLINT(*-memory-comparison,cert-*)
}

void acct_composed_reset(struct acct_composed *c)
{
	size_t kept = 0;

	acct_composed_unframe(c);
	c->recents = 0;
	c->level = 0;
	c->hopeless = 0;
	for (size_t i = 0; i < c->entries; i++) {
		struct acct_entry *e = &c->entry[i];

		if (e->count == 0) {
			drop_entry(e);
			continue;
		}
		e->recent = 0;
		c->entry[kept++] = *e;
	}
	c->entries = kept;
	if (kept > 0)
		qsort(c->entry, kept, sizeof *c->entry, by_bytes);
}

enum acct_rc acct_entry_measure(struct acct_entry *e, double tail)
{
	struct acct_list list = e->rung.list;
	enum acct_rc rc;

	if (e->measured)
		return ACCT_OK;
	rc = acct_rung_init(&e->rung, &list, tail);
	e->measured = rc == ACCT_OK;
	return rc;
}

static double resolution(const struct acct_composed *c)
{
	return ldexp(c->many ? COARSER : COARSEST, -c->level);
}

static bool counts(const struct acct_entry *e)
{
	return acct_entry_count(e) > 0 && e->rung.deviation > 0;
}

static double variance(const struct acct_composed *c)
{
	double sum = 0;

	for (size_t i = 0; i < c->entries; i++)
		sum += acct_entry_count(&c->entry[i]) * c->entry[i].rung.deviation *
		       c->entry[i].rung.deviation;
	return sum;
}

static size_t different(const struct acct_composed *c)
{
	size_t sum = 0;

	for (size_t i = 0; i < c->entries; i++)
		sum += counts(&c->entry[i]);
	return sum;
}

/* The grid step of acct_rounds.c, rounded down to a rung (acct_rung.h). */
static double grid_step(const struct acct_composed *c)
{
	double res = resolution(c), allowed = res * res / 6 * variance(c), low = 0, high = 0;

	for (size_t i = 0; i < c->entries; i++)
		if (counts(&c->entry[i]))
			high = fmax(high, res * c->entry[i].rung.deviation);
	for (int k = 0; k < 50; k++) {
		double h = (low + high) / 2, added = 0;

		for (size_t i = 0; i < c->entries; i++) {
			double deviation = c->entry[i].rung.deviation;

			added += acct_entry_count(&c->entry[i]) * fmin(h * h / 6, 0.8 * deviation * h);
		}
		if (added > allowed)
			high = h;
		else
			low = h;
	}
	return acct_rung_floor(high);
}

/* Does the frame fit the rounds?  Its window has room for twice the variance that it was made for, and its
 * grid is fine enough for half of that variance. */
static bool frame_fits(const struct acct_composed *c)
{
	double at = variance(c);

	return at <= 2 * c->made && at >= c->made / 2;
}

/* Are answers as wide as they are because rounds' own bounds are apart, so that no grid helps?  Not if most
 * of the loss is one round's whose bounds are close and whose loss takes few values: there a finer grid
 * helps. */
static bool bounds_decide(const struct acct_composed *c)
{
	double most = 0;
	bool loose = false;

	for (size_t i = 0; i < c->entries; i++) {
		const struct acct_entry *e = &c->entry[i];

		if (!counts(e))
			continue;
		if (acct_list_is_loose(&e->rung.list))
			loose = true;
		else
			most = fmax(most, e->rung.deviation * e->rung.deviation);
	}
	return loose && most <= ROUGH * variance(c);
}

bool acct_composed_is_narrow(const struct acct_composed *c, const struct acct_bound *b)
{
	/* no finer grid closes the gap between the rounds' bounds, so the grid is fine enough if it was
	 * made for these rounds */
	if (bounds_decide(c))
		return frame_fits(c);
	double width = WIDTH;

	/* the relative width of delta that corresponds to WIDTH of epsilon: when epsilon rises by one, log
	 * delta falls by about epsilon/variance */
	if (c->inverse)
		width = fmax(OF_DELTA, WIDTH * c->epsilon * c->epsilon / variance(c));
	return b->upper - b->lower <= fmin(width, 0.1) * b->upper;
}

static enum acct_side sides_needed(const struct acct_composed *c)
{
	for (size_t i = 0; i < c->entries; i++)
		if (counts(&c->entry[i]) && !c->entry[i].rung.list.symmetric)
			return ACCT_SIDES;
	return ACCT_SWAPPED;
}

static void add_up(const struct acct_composed *c, enum acct_side side, struct acct_factor *all)
{
	memset(all, 0, sizeof *all);
	for (size_t i = 0; i < c->entries; i++)
		if (counts(&c->entry[i]))
			acct_factor_add(all, &c->entry[i].factor[side], acct_entry_count(&c->entry[i]));
}

/* Compute the laws and the factors of one entry in the current frame. */
static enum acct_rc fit(struct acct_composed *c, struct acct_entry *e)
{
	enum acct_rc rc = acct_rung_fit(&e->rung, c->frame.h, resolution(c), c->lean, c->width);

	for (int side = 0; side < ACCT_SIDES && !rc; side++)
		if (side == ACCT_SWAPPED && e->rung.list.symmetric)
			e->factor[side] = e->factor[ACCT_BELOW];
		else
			rc = acct_frame_factor(
				&c->frame, acct_rung_law(&e->rung, (enum acct_side)side), &e->factor[side]);
	if (rc)
		return rc;
	e->factored = true;
	return ACCT_OK;
}

/* Choose the frame for the rounds of a question. */
static enum acct_rc choose(struct acct_composed *c)
{
	struct acct_aim aim = { c->delta, NAN };
	struct acct_part *part = calloc(c->entries, sizeof *part);
	struct acct_factor all;
	double h, finite = 0;
	enum acct_rc rc = part ? ACCT_OK : ACCT_ENOMEM;
	size_t parts = 0;

	c->made = variance(c);
	c->many = different(c) >= MANY;
	c->lean = sqrt(-2 * log(c->least_delta > 0 ? c->least_delta : c->delta) / variance(c));
	h = grid_step(c);
	c->width = c->many ? WIDER : ACCT_INVERT_WIDTH;
	for (size_t i = 0; i < c->entries && !rc; i++) {
		struct acct_entry *e = &c->entry[i];
		double count = acct_entry_count(e);

		if (!counts(e))
			continue;
		rc = acct_rung_fit(&e->rung, h, resolution(c), c->lean, c->width);
		if (rc)
			break;
		part[parts++] = (struct acct_part){ acct_rung_law(&e->rung, ACCT_ABOVE), count };
		finite += count * log1p(-fmin(part[parts - 1].law->infinite, 1));
	}
	if (!rc) {
		aim.delta = fmax(c->delta + expm1(finite), 1e-3 * c->delta);
		rc = acct_frame_init(&c->frame, part, parts, h, aim);
	}
	for (size_t i = 0; i < c->entries && !rc; i++)
		if (counts(&c->entry[i]))
			rc = fit(c, &c->entry[i]);
	add_up(c, ACCT_ABOVE, &all);
	if (!rc)
		rc = acct_frame_room(&c->frame, &all, GROWTH);
	free(part);
	return rc;
}

static enum acct_rc build(struct acct_composed *c)
{
	enum acct_side sides = sides_needed(c);
	enum acct_rc rc;

	acct_composed_unframe(c);
	rc = choose(c);
	for (int which = 0; which < ACCT_PRODUCTS; which++)
		for (int side = 0; side < (int)sides && !rc; side++) {
			struct acct_spectrum *product = &c->product[which][side];

			product->at = calloc(acct_frame_points(&c->frame), sizeof *product->at);
			if (!product->at)
				rc = ACCT_ENOMEM;
			else
				acct_frame_one(&c->frame, product);
		}
	c->sides = sides;
	if (rc)
		acct_composed_unframe(c);
	return rc;
}

/* Multiply a product by the entry's law until it holds the law `upto` times.  If memory runs out the
 * product is broken, and the caller drops the frame. */
static enum acct_rc multiply(
	struct acct_composed *c, enum acct_product which, struct acct_entry *e, uint64_t upto)
{
	enum acct_rc rc = ACCT_OK;

	if (e->in[which] >= upto || !(e->rung.deviation > 0))
		return ACCT_OK;
	for (int side = 0; side < (int)c->sides && !rc; side++)
		rc = acct_frame_multiply(&c->frame, &c->product[which][side],
			acct_rung_law(&e->rung, (enum acct_side)side), (double)(upto - e->in[which]));
	e->in[which] = upto;
	return rc;
}

/* Update the products `base` and `all` to the rounds of the state. */
static enum acct_rc keep_up(struct acct_composed *c)
{
	bool restart[ACCT_PRODUCTS] = { false, true };
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < c->entries; i++) {
		struct acct_entry *e = &c->entry[i];

		if (counts(e) && !e->factored)
			rc = fit(c, e);
		if (rc)
			return rc;
		if (e->in[ACCT_BASE] > e->count)
			restart[ACCT_BASE] = true;
	}
	for (size_t i = 0; i < c->entries && restart[ACCT_BASE]; i++)
		c->entry[i].in[ACCT_BASE] = 0;
	for (int side = 0; side < (int)c->sides && restart[ACCT_BASE]; side++)
		acct_frame_one(&c->frame, &c->product[ACCT_BASE][side]);
	for (size_t i = 0; i < c->entries && !rc; i++)
		rc = multiply(c, ACCT_BASE, &c->entry[i], c->entry[i].count - c->entry[i].recent);
	/* Compute `all` anew from `base` if it holds a round that was removed, or holds nothing yet. */
	for (size_t i = 0; i < c->entries; i++)
		if (c->entry[i].in[ACCT_ALL] > 0)
			restart[ACCT_ALL] = false;
	for (size_t i = 0; i < c->entries; i++)
		if (c->entry[i].in[ACCT_ALL] > c->entry[i].count)
			restart[ACCT_ALL] = true;
	for (int side = 0; side < (int)c->sides && restart[ACCT_ALL]; side++)
		acct_frame_copy(&c->frame, &c->product[ACCT_ALL][side], &c->product[ACCT_BASE][side]);
	for (size_t i = 0; i < c->entries && restart[ACCT_ALL]; i++)
		c->entry[i].in[ACCT_ALL] = c->entry[i].in[ACCT_BASE];
	for (size_t i = 0; i < c->entries && !rc; i++)
		rc = multiply(c, ACCT_ALL, &c->entry[i], c->entry[i].count);
	return rc;
}

/* The laws, on one side, of the rounds that the question adds to those of the products.  The caller frees
 * *out; NULL: there are none. */
static enum acct_rc asked_about(
	const struct acct_composed *c, enum acct_side side, struct acct_part **out, size_t *n)
{
	size_t room = 0;

	for (size_t i = 0; i < c->entries; i++)
		room += c->entry[i].asked > 0;
	if (room == 0)
		return ACCT_OK;
	*out = calloc(room, sizeof **out);
	if (!*out)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < c->entries; i++) {
		const struct acct_entry *e = &c->entry[i];

		if (e->asked > 0 && e->rung.deviation > 0)
			(*out)[(*n)++] =
				(struct acct_part){ acct_rung_law(&e->rung, side), (double)e->asked };
	}
	return ACCT_OK;
}

static void read_delta(const struct acct_composed *c, enum acct_side side, double blur,
	const struct acct_sum *sum, struct acct_bound *out)
{
	/* where epsilon - blur is below 0 take delta(0), and add how far below: delta rises by at most
	 * that */
	if (side == ACCT_ABOVE)
		out->upper = fmin(out->upper,
			acct_sum_delta_above(sum, fmax(0, c->epsilon - blur)) + fmax(0, blur - c->epsilon));
	else
		out->lower = fmax(out->lower, acct_sum_delta_below(sum, c->epsilon + blur));
}

static enum acct_rc read_side(
	struct acct_composed *c, enum acct_side side, double blur, struct acct_bound *out)
{
	struct acct_part *asked = NULL;
	struct acct_factor all;
	struct acct_sum sum = { 0 };
	size_t n = 0;
	double bound;
	enum acct_rc rc = asked_about(c, side, &asked, &n);

	add_up(c, side, &all);
	if (!rc)
		rc = acct_frame_sum(&c->frame, &c->product[ACCT_ALL][side], asked, n, &all, &sum);
	free(asked);
	if (!rc && c->inverse)
		read_delta(c, side, blur, &sum, out);
	else if (!rc && side == ACCT_ABOVE) {
		bound = acct_sum_epsilon_above(&sum, c->delta, NULL) * (1 + 1e-12) + blur;
		if (acct_sum_delta_above(&sum, 0) + blur <= c->delta)
			bound = 0;
		out->upper = fmin(out->upper, bound);
	} else if (!rc) {
		bound = acct_sum_epsilon_below(&sum, c->delta, NULL) * (1 - 1e-12) - blur;
		out->lower = fmax(out->lower, bound);
	}
	acct_sum_fini(&sum);
	return rc;
}

static enum acct_rc read_all(struct acct_composed *c, double blur, struct acct_bound *out)
{
	enum acct_rc rc = keep_up(c);

	for (int side = 0; side < (int)c->sides && !rc; side++)
		rc = read_side(c, (enum acct_side)side, blur, out);
	return rc;
}

/* May the resolution of every law be doubled, within the work and number of levels allowed? */
static bool can_refine(const struct acct_composed *c)
{
	double work = 0;

	for (size_t i = 0; i < c->entries; i++)
		if (counts(&c->entry[i]))
			work += c->entry[i].rung.work;
	return c->level + 1 < LEVELS && 2 * work <= ACCT_MOST_WORK / 2;
}

bool acct_composed_is_hopeless(const struct acct_composed *c)
{
	double at = variance(c);

	return at < 2 * c->hopeless && at > c->hopeless / 2;
}

enum acct_rc acct_composed_epsilon(struct acct_composed *c, double blur, struct acct_bound *out)
{
	bool fresh = false;
	enum acct_rc rc = ACCT_OK;

	for (;;) {
		if (c->sides < sides_needed(c)) {
			fresh = true;
			rc = build(c);
		}
		if (!rc)
			rc = read_all(c, blur, out);
		if (rc == ACCT_ENOMEM || (!rc && acct_composed_is_narrow(c, out)))
			break;
		if (fresh && (rc || !can_refine(c))) {
			c->hopeless = variance(c);
			c->level = 0; /* a finer grid did not help: begin with the coarsest again */
			acct_composed_unframe(c);
			break;
		}
		c->level += fresh;
		acct_composed_unframe(c);
		rc = ACCT_OK;
	}
	if (rc)
		acct_composed_unframe(c);
	return rc;
}
