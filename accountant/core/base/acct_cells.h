/* acct_cells.h - helpers for everything that makes cells; the two standard pairs are in acct.h. */
#pragma once

#include <float.h>
#include <math.h>

#include "acct_round.h"
#include "acct_twofold.h"

/* Sums of up to 64 rounded products are off by at most this.  A list whose sums are further off is not a
 * pair of laws. */
#define ACCT_CELLS_SLACK 1e-9

static inline bool acct_cells_close(double a, double b)
{
	return fabs(a - b) <= ACCT_CELLS_SLACK * fabs(b);
}

/* The sum of the omegas; and 1 - share times that sum, to an ulp or two. */
struct acct_twofold acct_cells_sum(const struct acct_cell *cell, size_t cells);
double acct_cells_rest(double share, const struct acct_twofold *sum);

/* If the omegas sum to 1 but for at most this, the remainder may be rounding: upper ends count it, lower
 * ends do not. */
#define ACCT_CELLS_DOUBTFUL (2 * DBL_EPSILON)

/* For cells whose omegas should sum to one: raise the largest omega by ulps where rounding made the sum
 * smaller, so that nothing of the blanket counts as missing. */
void acct_cells_fill(struct acct_cell *cell, size_t cells);

/* e^epsilon0, but never 1: the core takes cells whose u and v are equal to the bit to lose nothing. */
static inline double acct_ratio(double epsilon0)
{
	return fmax(exp(epsilon0), 1 + DBL_EPSILON);
}
