/* acct_kinds.c - bounds the loss where every other report has one of a few kinds of law. */
#include "acct_kinds.h"

#include <math.h>

#include "acct_cells.h"
#include "acct_family.h"
#include "acct_places.h"

static bool is_quiet(const struct acct_atom *a)
{
	return !(a->u < a->v || a->u > a->v);
}

void acct_kinds_thin(struct acct_kind *k, double blanket, double eta, double first)
{
	struct acct_shares share;
	double quiet = 0;

	for (size_t j = 0; j < k->atoms && first > 0; j++)
		quiet += is_quiet(&k->atom[j]) ? k->atom[j].mass / k->atom[j].ratio : 0;
	share = acct_shares_of(eta, blanket, quiet, first);
	for (size_t j = 0; j < k->atoms; j++) {
		struct acct_atom *a = &k->atom[j];
		double scale = (1 - (is_quiet(a) ? share.quiet : share.loud) / a->ratio) / (1 - eta);

		a->mass *= scale;
		a->u /= scale;
		a->v /= scale;
	}
}

void acct_kinds_thinned(
	const struct acct_kinds *k, double blanket, double eta, double first, struct acct_kinds *thin)
{
	*thin = *k;
	for (size_t i = 0; i < thin->kinds; i++)
		acct_kinds_thin(&thin->kind[i], blanket, eta, first);
}

double acct_kinds_quiet(const struct acct_list *l)
{
	double quiet = 0;

	for (size_t j = 0; j < l->cells; j++)
		quiet += acct_cells_close(l->cell[j].u, l->cell[j].v) ? l->cell[j].omega : 0;
	return quiet * (1 - 1e-12);
}

double acct_kinds_work(const struct acct_kinds *k)
{
	size_t atoms = 0;

	for (size_t i = 0; i < k->kinds; i++)
		atoms += k->kind[i].atoms;
	return acct_places_least_work(k->kinds, atoms);
}

double acct_kinds_largest(const struct acct_kinds *k, double places, double eps, double most, double *work)
{
	struct acct_place kind[ACCT_KINDS];
	double p[ACCT_KINDS][ACCT_ATOMS], x[ACCT_KINDS][ACCT_ATOMS];
	double grown = expm1(eps);
	struct acct_places of = {
		.kinds = k->kinds, .kind = kind, .free = places, .absent = k->absent, .absent_x = -grown
	};

	for (size_t i = 0; i < k->kinds; i++) {
		kind[i] = (struct acct_place){ k->kind[i].atoms, p[i], x[i] };
		for (size_t j = 0; j < k->kind[i].atoms; j++) {
			const struct acct_atom *a = &k->kind[i].atom[j];

			p[i][j] = a->mass;
			x[i][j] = (a->u - a->v) - grown * a->v;
		}
	}
	return acct_places_largest(&of, most, work);
}

void acct_kinds_most(const struct acct_kinds *k, struct acct_round *r)
{
	double most = -1;
	size_t best = 0;

	for (size_t i = 0; i < k->kinds; i++) {
		double sum = 0;

		for (size_t j = 0; j < k->kind[i].atoms; j++) {
			const struct acct_atom *a = &k->kind[i].atom[j];

			sum += a->mass * (a->u - a->v) * (a->u - a->v);
		}
		if (sum > most) {
			most = sum;
			best = i;
		}
	}
	r->cells = 0;
	for (size_t j = 0; j < k->kind[best].atoms; j++) {
		const struct acct_atom *a = &k->kind[best].atom[j];

		r->cell[r->cells++] = (struct acct_cell){ a->mass, a->u, a->v };
	}
}
