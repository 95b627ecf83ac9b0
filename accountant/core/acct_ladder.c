/* acct_ladder.c - the kinds of levels 0..b with discrete Laplace noise, clamped.
 *
 * R_x(y) = w_y a^|x-y|; the blanket is the lesser of the laws of 0 and b, w_y a^max(y, b-y). */
#include "acct_ladder.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "acct_below.h"

struct ladder {
	size_t b;
	double a, power[2 * ACCT_LADDER_MOST + 1]; /* a^i at i + b */
};

/* False: too many levels. */
static bool set_ladder(const struct acct_list *l, struct ladder *r)
{
	*r = (struct ladder){ l->cells - 1, 1, { 0 } };
	if (r->b > ACCT_LADDER_MOST)
		return false;
	for (size_t j = 0; j < l->cells; j++)
		r->a = fmin(r->a, pow(l->cell[j].u, -1 / (double)r->b));
	for (size_t i = 0; i <= 2 * r->b; i++)
		r->power[i] = pow(r->a, (double)i - (double)r->b);
	return true;
}

static size_t apart(size_t x, size_t y)
{
	return x > y ? x - y : y - x;
}

/* The victim's inputs are s and t, the other's is z. */
static void set_kind(const struct ladder *r, size_t s, size_t t, size_t z, struct acct_kind *k)
{
	k->atoms = 0;
	for (size_t y = 0; y <= r->b; y++) {
		double weight = (y == 0 || y == r->b ? 1 : 1 - r->a) / (1 + r->a);
		size_t away = apart(z, y), most = y > r->b - y ? y : r->b - y;
		const double *power = &r->power[r->b];

		k->atom[k->atoms++] =
			(struct acct_atom){ weight * power[away], (power + apart(s, y))[-(ptrdiff_t)away],
				(power + apart(t, y))[-(ptrdiff_t)away], (power + away)[-(ptrdiff_t)most] };
	}
}

void acct_ladder_ends(const struct acct_list *l, struct acct_kinds *k)
{
	struct ladder r;

	if (!set_ladder(l, &r))
		return;
	for (size_t z = 0; z <= r.b; z++)
		set_kind(&r, 0, r.b, z, &k->kind[k->kinds++]);
}

/* In the mirror, levels s, t and z are b-s, b-t and b-z: s < t is enough. */
bool acct_ladder_between(
	const struct acct_list *l, double part, double eta, double eps, struct acct_kinds *thin, double *work)
{
	struct ladder r;
	struct acct_below *ends = acct_below_new(thin, eps, work);
	struct acct_kind k;
	bool enough = ends && set_ladder(l, &r);

	for (size_t s = 0; enough && s <= r.b; s++)
		for (size_t t = s + 1; enough && t <= r.b; t++)
			for (size_t z = 0; enough && t - s < r.b && z <= r.b; z++) {
				set_kind(&r, s, t, z, &k);
				enough = acct_below_try(ends, &k, part, eta, thin, work);
			}
	free(ends);
	return enough;
}
