/* acct_sets.c - bounds the loss of reports whose law is the blanket or p times it, where every two inputs
 * are alike. */
#include "acct_sets.h"

#include <math.h>
#include <stdlib.h>

#include "acct_cells.h"
#include "acct_families.h"

/* Are these the cells of sets?  (p, 1) and (1, p) have the same mass; any other cell is (p, p) or (1,
 * 1). */
static bool are_sets(const struct acct_round *r)
{
	double p = 1, apart[2] = { 0, 0 }, both = 0;

	for (size_t j = 0; j < r->cells; j++)
		p = fmax(p, r->cell[j].u);
	for (size_t j = 0; j < r->cells; j++) {
		const struct acct_cell *c = &r->cell[j];

		if (!(acct_cells_close(c->u, 1) || acct_cells_close(c->u, p)) ||
			!(acct_cells_close(c->v, 1) || acct_cells_close(c->v, p)))
			return false;
		if (acct_cells_close(c->u, 1) != acct_cells_close(c->v, 1))
			apart[acct_cells_close(c->u, 1)] += c->omega;
		else if (!acct_cells_close(c->u, 1))
			both += c->omega;
	}
	return r->shape[1] == 0 && r->shape[2] == 0 && r->shape[0] >= 0 &&
	       r->shape[0] <= both * (1 + ACCT_CELLS_SLACK) && r->cells <= 4 && p > 1 && apart[0] > 0 &&
	       acct_cells_close(apart[0], apart[1]);
}

/* With two cells, (p, 1) and (1, p), there are only two laws: a third law would be larger on values on
 * which neither of the two is, and those would be a third cell. */
static bool are_bits(const struct acct_round *r)
{
	(void)r;
	return true;
}

static void add_atom(struct acct_kind *k, double mass, double u, double v, double ratio)
{
	if (mass > 0 && k->atoms < ACCT_ATOMS)
		k->atom[k->atoms++] = (struct acct_atom){ mass, u, v, ratio };
}

/* Every law is the blanket or p times it.  `apart` is the blanket's mass where one given input of any two
 * is likelier and the other is not; `both` is its mass where both are.  A third input shares a mass of
 * `triple` with both.  The kinds are linear in `triple`, so the two ends of its range are enough.  Beside
 * that, the third input shares a mass of both - triple with the first alone and the same with the second
 * alone, and it is likelier on a mass of apart - both + triple where neither of the two is. */
void acct_sets_kinds(const struct acct_list *r, struct acct_kinds *k)
{
	double p = 1, apart = 0, both = 0, none = 0, with, without;

	*k = (struct acct_kinds){ 0 };
	for (size_t j = 0; j < r->cells; j++)
		p = fmax(p, r->cell[j].u);
	for (size_t j = 0; j < r->cells; j++) { /* u and v are 1 or p, rounded */
		const struct acct_cell *c = &r->cell[j];
		bool first = c->u > sqrt(p), second = c->v > sqrt(p);

		if (first != second)
			apart = c->omega;
		else
			*(first ? &both : &none) = c->omega;
	}
	for (int first = 0; first < 2; first++) {
		struct acct_kind *at = &k->kind[k->kinds++];

		add_atom(at, p * apart, first ? 1 / p : 1, first ? 1 : 1 / p, p);
		add_atom(at, apart, first ? p : 1, first ? 1 : p, 1);
		add_atom(at, p * both, 1, 1, p);
		add_atom(at, none, 1, 1, 1);
	}
	with = fmax(0, both - r->shape[0]);
	without = apart - with;
	/* A mass that is negative by more than rounding means that there is no third input.  A kind too
	 * many would only raise the bound. */
	if (!(without >= -1e-9 * apart && none - without >= -1e-9 * apart))
		return;
	without = fmax(0, without);
	add_atom(&k->kind[2], p * with, 1, 1 / p, p);
	add_atom(&k->kind[2], p * with, 1 / p, 1, p);
	add_atom(&k->kind[2], without, p, 1, 1);
	add_atom(&k->kind[2], without, 1, p, 1);
	add_atom(&k->kind[2], p * r->shape[0], 1, 1, p);
	add_atom(&k->kind[2], with, p, p, 1);
	add_atom(&k->kind[2], p * without, 1 / p, 1 / p, p);
	add_atom(&k->kind[2], fmax(0, none - without), 1, 1, 1);
	k->kinds = 3;
}

static enum acct_rc open_sets(const struct acct_list *l, void **kept, struct acct_round *held)
{
	struct acct_kinds *k = malloc(sizeof *k);

	if (!k)
		return ACCT_ENOMEM;
	acct_sets_kinds(l, k);
	acct_kinds_most(k, held);
	*kept = k;
	return ACCT_OK;
}

static double quiet(const struct acct_list *l, double *first)
{
	*first = ACCT_KINDS_FIRST;
	return acct_kinds_quiet(l);
}

static double work(const struct acct_list *l, const void *kept)
{
	(void)l;
	return acct_kinds_work(kept);
}

static bool largest(const struct acct_list *l, const void *kept, const struct acct_thinned *t, double *delta,
	double *work_done)
{
	struct acct_kinds *thin = malloc(sizeof *thin);

	if (!thin)
		return false;
	acct_kinds_thinned(kept, l->blanket, t->eta, t->first, thin);
	thin->absent = 1 - l->present;
	*delta = acct_kinds_largest(thin, t->places, t->eps, t->most, work_done);
	free(thin);
	return true;
}

const struct acct_family acct_sets_family = { .number = ACCT_SETS,
	.cells = ACCT_MAX_CELLS,
	.fits = are_sets,
	.bits = are_bits,
	.open = open_sets,
	.close = free,
	.quiet = quiet,
	.work = work,
	.largest = largest };
