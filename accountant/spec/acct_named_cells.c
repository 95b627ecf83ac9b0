/* acct_named_cells.c (acct_named.h) - sets cells for the functions of the rows. */
#include <math.h>

#include "acct_named.h"

/* Compare exactly: the core merges cells that are nearer than it can tell apart. */
static bool is_at(const struct acct_cell *c, double u, double v)
{
	return c->u >= u && c->u <= u && c->v >= v && c->v <= v;
}

enum acct_rc acct_named_add(struct acct_round *r, double omega, double u, double v)
{
	size_t j = 0;

	if (!(omega > 0))
		return ACCT_OK;
	while (j < r->cells && !is_at(&r->cell[j], u, v))
		j++;
	if (j == ACCT_MAX_CELLS)
		return ACCT_ELIMIT;
	if (j == r->cells)
		r->cell[r->cells++] = (struct acct_cell){ 0, u, v };
	r->cell[j].omega = fmin(1, r->cell[j].omega + omega);
	return ACCT_OK;
}

void acct_named_two_level(struct acct_round *r, double p, double apart, double both, double none)
{
	r->cells = 0;
	r->cell[r->cells++] = (struct acct_cell){ apart, p, 1 };
	r->cell[r->cells++] = (struct acct_cell){ apart, 1, p };
	if (none > 0)
		r->cell[r->cells++] = (struct acct_cell){ none, 1, 1 };
	if (both > 0)
		r->cell[r->cells++] = (struct acct_cell){ both, p, p };
}

void acct_named_sets(struct acct_spec *s)
{
	if (!(s->eps0 > ACCT_NAMED_LEAST))
		return;
	acct_family_set(&s->round, ACCT_SETS, (double[3]){ s->triple, 0, 0 });
}

void acct_named_shape(
	struct acct_spec *s, enum acct_families which, double first, double second, double third)
{
	if (!(s->eps0 > ACCT_NAMED_LEAST))
		return;
	acct_family_set(&s->round, which, (double[3]){ first, second, third });
}
