/* acct_cells.c - makes the cells of the two standard pairs, and fills up omegas that sum to one. */
#include "acct_cells.h"

#include <float.h>
#include <math.h>

#include "acct_fault.h"

struct acct_twofold acct_cells_sum(const struct acct_cell *cell, size_t cells)
{
	struct acct_twofold s = { 0, 0 };

	for (size_t j = 0; j < cells; j++)
		acct_twofold_add(&s, cell[j].omega);
	return s;
}

double acct_cells_rest(double share, const struct acct_twofold *s)
{
	double product = share * s->sum;

	return ((1 - product) - fma(share, s->sum, -product)) - share * s->low;
}

void acct_cells_fill(struct acct_cell *cell, size_t cells)
{
	for (int i = 0; i < 4; i++) {
		struct acct_twofold all = acct_cells_sum(cell, cells);
		double rest = acct_cells_rest(1, &all);
		size_t largest = 0;

		if (!(rest > 0 && rest <= ACCT_CELLS_DOUBTFUL))
			return;
		for (size_t j = 1; j < cells; j++)
			largest = cell[j].omega > cell[largest].omega ? j : largest;
		cell[largest].omega = fmin(1, nextafter(cell[largest].omega + rest, 2));
	}
}

enum acct_rc acct_cells_pair(
	double p, double beta, double q, double q2, struct acct_round *r, const char **why)
{
	if (!(p > 1))
		return acct_fault(why, "p must be above 1 (inf is allowed)");
	double ip = 1 / p, most = (1 - ip) / (1 + ip);
	if (!(beta > 0 && beta <= most * (1 + 1e-12)))
		return acct_fault(why, "beta must be above 0 and at most (p-1)/(p+1)");
	if (!(q >= (1 + beta) * (1 - 1e-12) && q < INFINITY))
		return acct_fault(why, "q must be finite and at least 1 + beta");
	if (!(q2 > 0 && q2 <= q * (1 + 1e-12)))
		return acct_fault(why, "q2 must be above 0 and at most q");

	double pa = beta / (1 - ip), rest = 1 - pa * (1 + ip);
	if (rest < 1e-14) {
		rest = 0;
		pa = 1 / (1 + ip);
	}
	if (!(2 * pa / q + rest / q2 <= 1 + 1e-12))
		return acct_fault(why, "q2 is too small: the three blanket cells would sum to more than 1");
	r->cells = rest > 0 ? 3 : 2;
	r->cell[0] = (struct acct_cell){ pa / q, q, q * ip };
	r->cell[1] = (struct acct_cell){ pa / q, q * ip, q };
	if (rest > 0)
		r->cell[2] = (struct acct_cell){ rest / q2, q2, q2 };
	if (q <= 1 + beta && q2 >= q) /* nothing is left for the third cell */
		acct_cells_fill(r->cell, r->cells);
	return ACCT_OK;
}

enum acct_rc acct_cells_generic(double epsilon0, struct acct_round *r, const char **why)
{
	if (!(epsilon0 > 0 && epsilon0 < 700))
		return acct_fault(why, "eps0 must be above 0 and below 700");
	/* acct_cells_pair is not used here: for a small epsilon0 the difference p - 1 would lose digits of
	 * beta. */
	double p = acct_ratio(epsilon0), omega = 1 / (p + 1);

	r->cells = 2;
	r->cell[0] = (struct acct_cell){ omega, p, 1 };
	r->cell[1] = (struct acct_cell){ omega, 1, p };
	return ACCT_OK;
}
