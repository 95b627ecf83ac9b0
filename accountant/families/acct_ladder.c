/* acct_ladder.c - bounds the loss of levels 0..b with discrete Laplace noise, clamped. */
#include "acct_ladder.h"

#include <math.h>
#include <stdlib.h>

#include "acct_cells.h"
#include "acct_families.h"
#include "acct_places.h"

struct ladder {
	size_t b;
	/* a: the ratio between neighbouring levels; power[i + b]: a^i, for i from -b to b */
	double a, power[2 * ACCT_MAX_CELLS];
};

/* Set a and its powers.  Each power is computed from the logarithm of the largest u, which is a^-b, and so
 * is right to an ulp; powers of a rounded `a` would be off by b ulps. */
static void set_ladder(const struct acct_list *l, struct ladder *r)
{
	double most = 1;

	r->b = l->cells - 1;
	for (size_t j = 0; j < l->cells; j++)
		most = fmax(most, l->cell[j].u);
	long double step = logl(most) / (long double)r->b;
	r->a = (double)expl(-step);
	for (size_t i = 0; i <= 2 * r->b; i++)
		r->power[i] = (double)expl(step * ((long double)r->b - (long double)i));
}

static size_t apart(size_t x, size_t y)
{
	return x > y ? x - y : y - x;
}

/* The cell of level y in struct acct_cell's terms: s and t are the victim's inputs, z is the input of the
 * other participant. */
static struct acct_cell cell_of(const struct ladder *r, size_t s, size_t t, size_t z, size_t y)
{
	double weight = (y == 0 || y == r->b ? 1 : 1 - r->a) / (1 + r->a);
	size_t away = apart(z, y);
	double u = r->power[r->b + apart(s, y) - away], v = r->power[r->b + apart(t, y) - away];

	return (struct acct_cell){ weight * r->power[r->b + away], u, v };
}

struct maker {
	struct ladder ladder;
	/* keep: the chance that a thinned report is kept; grown: E - 1, where E = e^eps; room: numbers for
	 * the kinds that are made */
	double keep, grown, *room;
	size_t kinds;
	struct acct_place kind[ACCT_PLACES_KINDS];
};

/* Add the kind (s, t, z), thinned: with chance `keep` its value is X / keep, else 0 (acct_ladder.h,
 * "Thinned"). */
static void put_kind(struct maker *m, size_t s, size_t t, size_t z)
{
	size_t b = m->ladder.b;
	double *p = &m->room[m->kinds * 2 * (b + 2)], *x = p + b + 2;

	for (size_t y = 0; y <= b; y++) {
		struct acct_cell c = cell_of(&m->ladder, s, t, z, y);

		p[y] = m->keep * c.omega;
		x[y] = ((c.u - c.v) - m->grown * c.v) / m->keep;
	}
	p[b + 1] = fmax(0, 1 - m->keep);
	x[b + 1] = 0;
	m->kind[m->kinds++] = (struct acct_place){ b + 2, p, x };
}

double acct_ladder_largest(const struct acct_list *l, double part, double eta, double places, double eps,
	double most, double *work)
{
	struct maker m = { .keep = (1 - part) / (1 - eta), .grown = expm1(eps) };
	size_t b = l->cells - 1;
	double largest;

	m.room = malloc((3 * b - 1) * 2 * (b + 2) * sizeof *m.room);
	if (!m.room)
		return INFINITY;
	set_ladder(l, &m.ladder);
	put_kind(&m, 0, b, 0);
	put_kind(&m, 0, b, b);
	for (size_t z = 1; z < b; z++) {
		put_kind(&m, 0, b, z);
		put_kind(&m, z, b, 0);
		put_kind(&m, 0, z, b);
	}
	struct acct_places of = { .kinds = m.kinds,
		.kind = m.kind,
		.free = places,
		.absent = 1 - l->present,
		.absent_x = -m.grown };
	*work += 10 * (double)(m.kinds * l->cells);
	largest = acct_places_largest(&of, most, work);
	free(m.room);
	return largest;
}

static double work_of(const struct acct_list *l, const void *kept)
{
	size_t kinds = 3 * l->cells - 4;

	(void)kept;
	return acct_places_least_work(kinds, kinds * (l->cells + 1));
}

/* Set the cells of the data set in which everybody else holds the victim's first input, 0. */
static enum acct_rc held(const struct acct_list *l, void **kept, struct acct_round *r)
{
	struct ladder of;

	*kept = NULL;
	set_ladder(l, &of);
	for (r->cells = 0; r->cells < l->cells; r->cells++)
		r->cell[r->cells] = cell_of(&of, 0, of.b, 0, r->cells);
	return ACCT_OK;
}

static bool are_ladder(const struct acct_round *r)
{
	double b = (double)r->cells - 1, most = 1, a;

	for (size_t j = 0; j < r->cells; j++)
		most = fmax(most, r->cell[j].u);
	a = pow(most, -1 / b);
	for (double y = 0; y <= b; y++) {
		double omega = (y > 0 && y < b ? 1 - a : 1) / (1 + a) * pow(a, fmax(y, b - y));
		bool found = false;

		for (size_t j = 0; j < r->cells && !found; j++)
			found = acct_cells_close(r->cell[j].u, fmax(1, pow(a, 2 * y - b))) &&
				acct_cells_close(r->cell[j].v, fmax(1, pow(a, b - 2 * y))) &&
				acct_cells_close(r->cell[j].omega, omega);
		if (!found)
			return false;
	}
	return most > 1 && r->shape[0] == 0 && r->shape[1] == 0 && r->shape[2] == 0;
}

/* If there are only two levels, a report is a bit. */
static bool are_bits(const struct acct_round *r)
{
	(void)r;
	return true;
}

static bool largest(const struct acct_list *l, const void *kept, const struct acct_thinned *t, double *delta,
	double *work)
{
	(void)kept;
	*delta = acct_ladder_largest(l, t->share.quiet, t->eta, t->places, t->eps, t->most, work);
	return true;
}

const struct acct_family acct_ladder_family = { .number = ACCT_LADDER,
	.cells = ACCT_MAX_CELLS,
	.fits = are_ladder,
	.bits = are_bits,
	.open = held,
	.work = work_of,
	.largest = largest };
