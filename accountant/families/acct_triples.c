/* acct_triples.c - lists what three inputs have in common, where each law has two levels. */
#include "acct_triples.h"

#include <math.h>
#include <stdlib.h>

#include "acct_below.h"
#include "acct_cells.h"

#define MOST 1000u
/* the places of a level: both ends, and the levels at up to three lengths from either end */
#define PLACES 8u
#define BREAKS 24u

struct maker {
	unsigned number;
	/* the family's parameters: size and length are b and w (windows), b and r (stairs), d and k
	 * (draws); items: items of an input; p: ratio of the two levels of a law */
	double size, length, items, p;
	struct acct_triples *made;
};

static bool shape_fits(unsigned number, const double shape[3])
{
	for (int i = 0; i < 3; i++)
		if (!(shape[i] >= 0 && shape[i] <= 1e12 && shape[i] <= floor(shape[i])))
			return false;
	if (number == ACCT_DRAWS)
		return shape[1] >= 1 && shape[2] >= 1 && shape[2] <= ACCT_DRAWS_ITEMS &&
		       shape[1] + shape[2] <= shape[0];
	if (number == ACCT_SIGNS)
		return shape[0] >= 2 && shape[0] <= ACCT_SIGNS_MOST && fmod(shape[0], 2) <= 0 &&
		       shape[1] <= 0 && shape[2] <= 0;
	return shape[0] >= 1 && shape[1] >= 1 && shape[2] <= 0 &&
	       (number == ACCT_WINDOWS || shape[1] <= shape[0]);
}

static void add(const struct maker *m, const struct acct_triple *one)
{
	struct acct_triples *t = m->made;

	if (t->all < MOST)
		t->triple[t->all++] = *one;
	else
		t->ends = MOST; /* there is no room, for which acct_triples_new() returns NULL */
}

static void put(struct acct_triple *t, const bool likelier[3], double mass)
{
	t->mass[(likelier[0] ? 1 : 0) + (likelier[1] ? 2 : 0) + (likelier[2] ? 4 : 0)] += mass;
}

/* The blanket's density at y, which is in [0, b+w).  Sets in likelier[] which of the three windows [x, x+w)
 * contain y.  A value that every window contains tells nothing, and counts as likelier under none. */
static double window_at(const struct maker *m, const double x[3], double y, bool likelier[3])
{
	double b = m->size, w = m->length;
	bool all = y >= b && y < w;

	for (int i = 0; i < 3; i++)
		likelier[i] = !all && y >= x[i] && y < x[i] + w;
	return y < 0 || y >= b + w ? 0 : (all ? m->p : 1) / (w * m->p + b);
}

/* By how many steps the density at y is below the density at level x.  A report y is treated as the
 * interval [y, y+1). */
static double steps(const struct maker *m, double x, double y)
{
	double beyond = fmax(y - (x + m->length), x - m->length + 1 - y);

	return beyond < 0 ? 0 : 1 + floor(beyond / m->size);
}

/* The blanket's density at y.  Sets in likelier[] under which inputs y is likelier.  What is more than one
 * period of steps outside the range is counted in the outermost period. */
static double stair_at(const struct maker *m, const double x[3], double y, bool likelier[3])
{
	double b = m->size, r = m->length, drop = 1 / m->p, fall = 1 - drop,
	       low = fmax(steps(m, 0, y), steps(m, b, y));
	bool outer = y < 1 - r || y >= b + r;

	for (int i = 0; i < 3; i++)
		likelier[i] = steps(m, x[i], y) < low;
	return (outer ? 1 : fall) * pow(drop, low) / (2 * r - 1 + (2 * (b - r) + 1) * drop);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Collect every place where a law may change its value, sorted; returns their number. */
static size_t breaks(const struct maker *m, const double x[3], double at[BREAKS])
{
	double b = m->size, w = m->length, from[5] = { 0, b, x[0], x[1], x[2] };
	size_t n = 0;

	for (int i = 0; i < 5; i++) {
		if (m->number == ACCT_WINDOWS) {
			at[n++] = from[i];
			at[n++] = from[i] + w;
			continue;
		}
		for (int k = 0; k < 2; k++) {
			at[n++] = from[i] - w + 1 - k * b;
			at[n++] = from[i] + w + k * b;
		}
	}
	qsort(at, n, sizeof *at, by_size);
	return n;
}

/* The triple of the three levels x.  For stairs the outermost period on each side also stands for all that
 * lies beyond it, so the sum runs from 1-r-b to 2b+r. */
static struct acct_triple of_levels(const struct maker *m, const double x[3])
{
	struct acct_triple one = { { 0 } };
	double at[BREAKS];
	size_t n = breaks(m, x, at);
	double first = m->number == ACCT_WINDOWS ? 0 : 1 - m->length - m->size,
	       last = m->size * (m->number == ACCT_WINDOWS ? 1 : 2) + m->length;

	for (size_t i = 0; i + 1 < n; i++) {
		double from = fmax(at[i], first), to = fmin(at[i + 1], last), y = from + (to - from) / 2;
		bool likelier[3] = { false, false, false };

		if (!(to > from))
			continue;
		double density = (m->number == ACCT_WINDOWS ? window_at : stair_at)(m, x, y, likelier);
		put(&one, likelier, density * (to - from));
	}
	return one;
}

static void add_levels(const struct maker *m, double first, double second, double other)
{
	struct acct_triple one = of_levels(m, (double[3]){ first, second, other });

	add(m, &one);
}

/* List the triples of windows and of stairs.  The masses of a triple are linear in its three levels except
 * where two breaks meet: where a level is an end or (for stairs) one length from an end, or where two
 * levels are equal or one length apart.  So every triple is a mixture of triples at corners, where each
 * level is at most three lengths from an end. */
static void levels(struct maker *m)
{
	double b = m->size, length = m->number == ACCT_WINDOWS ? m->length : 2 * m->length - 1,
	       at[PLACES] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < PLACES; i++) {
		size_t lengths = i / 2;
		double far = (double)lengths * length, x = i % 2 == 0 ? far : b - far;
		bool known = far > b;

		for (size_t j = 0; j < n; j++)
			known = known || (x >= at[j] && x <= at[j]);
		if (!known)
			at[n++] = x;
	}
	for (size_t z = 0; z < n; z++)
		add_levels(m, 0, b, at[z]);
	m->made->ends = n;
	/* a triple and its mirror image, which exchanges the victim's two inputs, are alike: one order is
	 * enough */
	for (size_t s = 0; s < n; s++)
		for (size_t t = 0; t < n; t++)
			for (size_t z = 0; z < n && at[s] <= at[t] && at[t] - at[s] < b; z++)
				add_levels(m, at[s], at[t], at[z]);
}

/* The share of all subsets of k of the d items that contain none of q given items. */
static double avoid(const struct maker *m, double q)
{
	long double share = 1;

	for (double i = 0; i < q; i++)
		share *= fmaxl(0, 1 - m->length / ((long double)m->size - i));
	return (double)share;
}

/* The triple in which the victim's inputs share `shared` items, and of the other participant's items
 * only[i] are in input i alone and `both` are in both. */
static struct acct_triple of_draws(const struct maker *m, double shared, const double only[2], double both)
{
	struct acct_triple one = { { 0 } };
	double s = m->items, hit = 1 - avoid(m, s), z = m->p * hit + 1 - hit, none[ACCT_CLASSES];

	/* none[set]: the share of subsets that contain no item of any of the inputs in `set`, whose bits
	 * are inputs */
	for (unsigned set = 0; set < ACCT_CLASSES; set++) {
		double items = 0;

		for (unsigned part = 1; part < ACCT_CLASSES;
			/* add the items that exactly the inputs in `part` hold, if some of these inputs are
			 * in `set` */
			part++) {
			double outside = s - only[0] - only[1] - both,
			       count[ACCT_CLASSES] = { 0, s - shared - only[0], s - shared - only[1],
				       shared - both, outside, only[0], only[1], both };

			items += (part & set) != 0 ? count[part] : 0;
		}
		none[set] = avoid(m, items);
	}
	for (unsigned hits = 0; hits < ACCT_CLASSES; hits++) {
		/* by inclusion and exclusion: the share of subsets that hit exactly these inputs */
		double sum = 0;

		for (unsigned more = hits;; more = (more - 1) & hits) {
			sum += (__builtin_popcount(more) % 2 != 0 ? -1 : 1) * none[more | (7 - hits)];
			if (more == 0)
				break;
		}
		one.mass[hits] = sum > 4e-15 ? sum / z : 0; /* a smaller sum is only rounding, and is 0 */
	}
	return one;
}

static void add_draws(const struct maker *m, double shared, double first, double second, double both)
{
	struct acct_triple one = of_draws(m, shared, (double[2]){ first, second }, both);

	if (m->items - first - second - both <= m->size - 2 * m->items + shared)
		add(m, &one);
}

static void draws(struct maker *m)
{
	double s = m->items, least = fmax(0, 2 * s - m->size);

	for (double shared = least; shared < s; shared++) {
		for (double a = 0; a <= s - shared; a++)
			for (double b = 0; b <= s - shared && a + b <= s; b++)
				for (double both = 0; both <= shared && a + b + both <= s; both++)
					add_draws(m, shared, a, b, both);
		if (shared <= least)
			m->made->ends = m->made->all;
	}
}

static double choose(double m, double i)
{
	double c = 1;

	for (double j = 0; j < i; j++)
		c = c * (m - j) / (j + 1);
	return c;
}

/* chance[i] is the chance that i of m fair coins show heads. */
static void set_heads(double m, double chance[])
{
	double all = pow(2, -m);

	for (size_t i = 0; (double)i <= m; i++)
		chance[i] = choose(m, (double)i) * all;
}

/* The triple of three inputs of signs.  with[0] signs are the same in all three; with[1], with[2] and
 * with[3] are the numbers of signs in which the other's input, the victim's second and its first differ
 * from the two others.  A report is likelier under an input if the sum of its products with that input is
 * above 0. */
static struct acct_triple of_signs(const struct maker *m, const double with[4])
{
	struct acct_triple one = { { 0 } };
	double d = m->size, half = (1 - choose(d, d / 2) * pow(2, -d)) / 2, z = half * m->p + 1 - half;
	double heads[4][(size_t)ACCT_SIGNS_MOST + 1];

	for (int part = 0; part < 4; part++)
		set_heads(with[part], heads[part]);
	for (double i = 0; i <= with[0]; i++)
		for (double j = 0; j <= with[1]; j++)
			for (double k = 0; k <= with[2]; k++)
				for (double l = 0; l <= with[3]; l++) {
					double sum[4] = { 2 * i - with[0], 2 * j - with[1], 2 * k - with[2],
						2 * l - with[3] };
					bool likelier[3] = { sum[0] + sum[1] + sum[2] - sum[3] > 0,
						sum[0] + sum[1] - sum[2] + sum[3] > 0,
						sum[0] - sum[1] + sum[2] + sum[3] > 0 };

					put(&one, likelier,
						heads[0][(size_t)i] * heads[1][(size_t)j] *
							heads[2][(size_t)k] * heads[3][(size_t)l] / z);
				}
	return one;
}

static void signs(struct maker *m)
{
	double d = m->size;

	for (double apart = d; apart > 0; apart--) {
		for (double third = 0; third <= d - apart; third++)
			for (double second = 0; second <= apart; second++) {
				struct acct_triple one = of_signs(
					m, (double[4]){ d - apart - third, third, second, apart - second });

				add(m, &one);
			}
		if (apart >= d)
			m->made->ends = m->made->all;
	}
}

struct acct_triples *acct_triples_new(unsigned number, const double shape[3], double p)
{
	struct acct_triples *made = calloc(1, sizeof *made + MOST * sizeof made->triple[0]);
	struct maker m = { number, shape[0], shape[1], shape[2], p, made };

	if (!made)
		return NULL;
	made->p = p;
	(number == ACCT_DRAWS ? draws : number == ACCT_SIGNS ? signs : levels)(&m);
	if (made->ends > ACCT_KINDS) {
		free(made);
		return NULL;
	}
	return made;
}

static struct acct_triple first_of(unsigned number, const double shape[3], double p)
{
	struct maker m = { number, shape[0], shape[1], shape[2], p, NULL };

	double shared = fmax(0, 2 * m.items - m.size);

	if (number == ACCT_DRAWS) /* the triple in which the other's input is the victim's first */
		return of_draws(&m, shared, (double[2]){ m.items - shared, 0 }, shared);
	if (number == ACCT_SIGNS)
		return of_signs(&m, (double[4]){ 0, 0, m.size, 0 });
	return of_levels(&m, (double[3]){ 0, m.size, 0 });
}

static void set_kind(const struct acct_triples *t, size_t i, struct acct_kind *k)
{
	k->atoms = 0;
	for (unsigned c = 0; c < ACCT_CLASSES; c++) {
		double first = c & 1 ? t->p : 1, second = c & 2 ? t->p : 1, other = c & 4 ? t->p : 1;

		if (t->triple[i].mass[c] > 0)
			k->atom[k->atoms++] = (struct acct_atom){ t->triple[i].mass[c] * other, first / other,
				second / other, other };
	}
}

void acct_triples_ends(const struct acct_triples *t, struct acct_kinds *k)
{
	for (size_t i = 0; i < t->ends; i++)
		set_kind(t, i, &k->kind[k->kinds++]);
}

struct acct_triples *acct_triples_of(const struct acct_list *l)
{
	double p = 1;

	for (size_t j = 0; j < l->cells; j++)
		p = fmax(p, l->cell[j].u);
	return acct_triples_new(l->family->number, l->shape, p);
}

/* Add to *thin, which has the thinned kinds of the ends (a part eta of the
 * reports is missing), all other kinds that may lose more at this eps.  Returns false if there are too
 * many, or there is no memory. */
static bool between(const struct acct_triples *t, double blanket, double eta, double first, double eps,
	struct acct_kinds *thin, double *work)
{
	struct acct_below *ends = acct_below_new(thin, eps, work);
	struct acct_kind k;
	bool enough = ends != NULL;

	for (size_t i = t->ends; i < t->all && enough; i++) {
		set_kind(t, i, &k);
		acct_kinds_thin(&k, blanket, eta, first);
		enough = acct_below_try(ends, &k, thin, work);
	}
	free(ends);
	return enough;
}

bool acct_triples_tried(const struct acct_triples *t, const struct acct_kinds *k, double blanket, double eta,
	double first, double eps, struct acct_kinds *thin, double *work)
{
	acct_kinds_thinned(k, blanket, eta, first, thin);
	return between(t, blanket, eta, first, eps, thin, work);
}

/* Does the round have the cells that its family and shape say?  They are (p, 1), (1, p), (p, p) and (1,
 * 1). */
static bool are_triples(const struct acct_round *r)
{
	double p = 1, had[4] = { 0, 0, 0, 0 }, meant[4] = { 0, 0, 0, 0 };
	struct acct_triple t;

	for (size_t j = 0; j < r->cells; j++)
		p = fmax(p, r->cell[j].u);
	if (!(p > 1 && shape_fits(r->family->number, r->shape)))
		return false;
	t = first_of(r->family->number, r->shape, p);
	for (unsigned i = 0; i < ACCT_CLASSES; i++)
		meant[i & 3] += t.mass[i];
	for (size_t j = 0; j < r->cells; j++) {
		double u = r->cell[j].u, v = r->cell[j].v;

		if (!(acct_cells_close(u, 1) || acct_cells_close(u, p)) ||
			!(acct_cells_close(v, 1) || acct_cells_close(v, p)))
			return false;
		had[(acct_cells_close(u, 1) ? 0 : 1) + (acct_cells_close(v, 1) ? 0 : 2)] += r->cell[j].omega;
	}
	for (int i = 0; i < 4; i++)
		if (!(fabs(had[i] - meant[i]) <= ACCT_CELLS_SLACK * (had[i] + 1e-3)))
			return false;
	return true;
}

/* Is a report a bit?  It is with levels 0 and 1, or one item of two: otherwise others may have a law that
 * is neither of the victim's. */
static bool are_bits(const struct acct_round *r)
{
	return r->shape[0] <= (r->family->number == ACCT_DRAWS ? 2 : 1);
}

struct kept {
	struct acct_triples *triples;
	struct acct_kinds ends;
};

static void close_triples(void *kept)
{
	struct kept *k = kept;

	if (k)
		free(k->triples);
	free(k);
}

static enum acct_rc open_triples(const struct acct_list *l, void **kept, struct acct_round *held)
{
	struct kept *k = calloc(1, sizeof *k);

	if (k)
		k->triples = acct_triples_of(l);
	if (!k || !k->triples) {
		close_triples(k);
		return ACCT_ENOMEM;
	}
	acct_triples_ends(k->triples, &k->ends);
	acct_kinds_most(&k->ends, held);
	*kept = k;
	return ACCT_OK;
}

static double work_of(const struct acct_list *l, const void *kept)
{
	const struct kept *k = kept;
	double others = (double)(k->triples->all - k->triples->ends);

	(void)l;
	return acct_kinds_work(&k->ends) + (others > 0 ? acct_below_work(&k->ends, others) : 0);
}

static bool largest(const struct acct_list *l, const void *kept, const struct acct_thinned *t, double *delta,
	double *work)
{
	const struct kept *k = kept;
	struct acct_kinds *thin = malloc(sizeof *thin);
	bool few = thin &&
		   acct_triples_tried(k->triples, &k->ends, l->blanket, t->eta, t->first, t->eps, thin, work);

	if (few)
		thin->absent = 1 - l->present;
	if (few)
		*delta = acct_kinds_largest(thin, t->places, t->eps, t->most, work);
	free(thin);
	return few;
}

/* Numbers of items and signs are all tried.  Of levels only corners are, which stand for all between if what
 * is thinned is the same for all. */
static double quiet(const struct acct_list *l, double *first)
{
	*first = l->family->number == ACCT_DRAWS || l->family->number == ACCT_SIGNS ? ACCT_KINDS_FIRST : 0;
	return acct_kinds_quiet(l);
}

#define OF_TRIPLES(n)                                                                          \
	{                                                                                      \
		.number = (n), .cells = ACCT_MAX_CELLS, .fits = are_triples, .bits = are_bits, \
		.open = open_triples, .close = close_triples, .quiet = quiet, .work = work_of, \
		.largest = largest                                                             \
	}

const struct acct_family acct_triples_family[4] = { OF_TRIPLES(ACCT_WINDOWS), OF_TRIPLES(ACCT_STAIRS),
	OF_TRIPLES(ACCT_DRAWS), OF_TRIPLES(ACCT_SIGNS) };
