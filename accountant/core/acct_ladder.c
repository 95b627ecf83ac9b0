/* acct_ladder.c - levels 0..b with discrete Laplace noise, clamped. */
#include "acct_ladder.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "acct_places.h"

struct ladder {
	size_t b;
	double a, power[2 * ACCT_MAX_CELLS]; /* a^i at i + b */
};

/* Powers to an ulp of what they are when a^-b is the largest u: those of a rounded a would be off by b ulps. */
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

/* A level y under the victim's inputs s and t and the other's, z. */
static struct acct_cell cell_of(const struct ladder *r, size_t s, size_t t, size_t z, size_t y)
{
	double weight = (y == 0 || y == r->b ? 1 : 1 - r->a) / (1 + r->a);
	const double *power = &r->power[r->b];
	ptrdiff_t away = (ptrdiff_t)apart(z, y);

	return (struct acct_cell){ weight * power[away], power[(ptrdiff_t)apart(s, y) - away],
		power[(ptrdiff_t)apart(t, y) - away] };
}

/* With chance `keep` X over it, else 0. */
static void put_kind(const struct ladder *r, size_t s, size_t t, size_t z, double keep, double grown,
	struct acct_place *k)
{
	k->atoms = 0;
	for (size_t y = 0; y <= r->b; y++) {
		struct acct_cell c = cell_of(r, s, t, z, y);

		k->p[k->atoms] = keep * c.omega;
		k->x[k->atoms++] = ((c.u - c.v) - grown * c.v) / keep;
	}
	if (keep < 1) {
		k->p[k->atoms] = 1 - keep;
		k->x[k->atoms++] = 0;
	}
}

double acct_ladder_largest(const struct acct_list *l, double part, double eta, double places, double eps,
	double most, double *work)
{
	struct ladder r;
	double keep = (1 - part) / (1 - eta), grown = expm1(eps), largest;
	struct acct_place *kind = malloc((3 * l->cells - 1) * sizeof *kind);
	struct acct_places of = { .kinds = 0, .kind = kind, .free = places };

	if (!kind)
		return INFINITY;
	set_ladder(l, &r);
	put_kind(&r, 0, r.b, 0, keep, grown, &kind[of.kinds++]);
	put_kind(&r, 0, r.b, r.b, keep, grown, &kind[of.kinds++]);
	for (size_t z = 1; z < r.b; z++) {
		put_kind(&r, 0, r.b, z, keep, grown, &kind[of.kinds++]);
		put_kind(&r, z, r.b, 0, keep, grown, &kind[of.kinds++]);
		put_kind(&r, 0, z, r.b, keep, grown, &kind[of.kinds++]);
	}
	*work += 10 * (double)(of.kinds * l->cells);
	largest = acct_places_largest(&of, most, work);
	free(kind);
	return largest;
}

double acct_ladder_work(const struct acct_list *l)
{
	size_t kinds = 3 * l->cells - 4;

	return acct_places_least_work(kinds, kinds * (l->cells + 1));
}

void acct_ladder_held(const struct acct_list *l, struct acct_round *r)
{
	struct ladder of;

	set_ladder(l, &of);
	for (r->cells = 0; r->cells < l->cells; r->cells++)
		r->cell[r->cells] = cell_of(&of, 0, of.b, 0, r->cells);
}
