/* acct_poisson.c (acct_round.h) - participants who take part by chance, each independently. */
#include "acct_fault.h"

#define LEAST 1e-9

/* Somebody who does not take part is silent.  Silence is a report that has the same law for everybody: a
 * cell with u = v = 1, which is all blanket.  So the blanket-cell theorem holds for the list with this
 * cell, and every other omega multiplied by the rate. */
enum acct_rc acct_round_poisson(struct acct_round *r, double rate, const char **why)
{
	if (!(rate >= LEAST && rate < 1))
		return acct_fault(why, "poisson must be from 1e-9 to below 1");
	if (r->event != ACCT_SHUFFLED)
		return acct_fault(why, "poisson is of shuffled reports");
	if (r->dummies > 0 || r->levels > 0)
		return acct_fault(why,
			"poisson with dummies or guarantees of the participants' own: they are "
			"not blanket in the proportions of those who may be silent");
	if (r->sampling > 0)
		return acct_fault(why, "poisson or sampling, not both");
	if (r->cells >= ACCT_MAX_CELLS)
		return acct_fault(why, "poisson takes a cell more than there is room for");
	for (size_t j = 0; j < r->cells; j++)
		r->cell[j].omega *= rate;
	r->cell[r->cells++] = (struct acct_cell){ 1 - rate, 1, 1 };
	r->messages = ACCT_ANY_MESSAGES; /* silence is neither a bit nor a report of a family */
	r->family = NULL;
	for (int i = 0; i < 3; i++)
		r->shape[i] = 0;
	return ACCT_OK;
}
