/* acct_share.c - computes the standard error of a share of participants from a round's cells
 * (Cramer-Rao). */
#include "acct_share.h"

#include <math.h>

static double variance(const struct acct_spec *s)
{
	const struct acct_round *r = &s->round;
	double n = s->participants > 0 ? (double)s->participants : (double)r->others + 1, sum = 0,
	       blanket = 0;

	if (r->event == ACCT_GAUSSIAN)
		return r->scale / r->rate * (r->scale / r->rate);
	if (r->event == ACCT_LAPLACE)
		return 2 * r->scale * r->scale;
	if (r->event != ACCT_SHUFFLED || r->levels > 0)
		return NAN;
	for (size_t j = 0; j < r->cells; j++)
		blanket += r->cell[j].omega;
	for (size_t j = 0; j < r->cells; j++) {
		const struct acct_cell *c = &r->cell[j];
		double law = n * (c->u + c->v) / 2 + (double)r->dummies / blanket;

		if (law > 0)
			sum += c->omega * (c->u - c->v) * (c->u - c->v) / law;
	}
	return 1 / (n * n * sum);
}

double acct_share_error(const struct acct_spec *part, size_t parts)
{
	double sum = 0;

	for (size_t i = 0; i < parts; i++)
		sum += variance(&part[i]);
	return sqrt(sum);
}
