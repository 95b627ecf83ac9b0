/* acct_cells.h - helpers for everything that makes cells; the two standard pairs are in acct.h. */
#pragma once

#include <float.h>
#include <math.h>

#include "acct_round.h"
#include "acct_twofold.h"

/* Sums of up to 64 rounded products are off by less than this.  A list is refused as not being a pair of
 * laws if its sums are off by more. */
#define ACCT_CELLS_SLACK 1e-9

static inline bool acct_cells_close(double a, double b)
{
	return fabs(a - b) <= ACCT_CELLS_SLACK * fabs(b);
}

/* The sum of the omegas, to twice the digits of a double; and 1 - share times that sum, to an ulp or
 * two. */
struct acct_twofold acct_cells_sum(const struct acct_cell *cell, size_t cells);
double acct_cells_rest(double share, const struct acct_twofold *sum);

/* If the omegas sum to 1 but for at most this, the remainder may be rounding: upper ends count it, lower
 * ends do not. */
#define ACCT_CELLS_DOUBTFUL (2 * DBL_EPSILON)

/* For cells whose omegas should sum to one: if rounding made the sum smaller, raise the largest omega by
 * ulps, so that no part of the blanket counts as missing. */
void acct_cells_fill(struct acct_cell *cell, size_t cells);

/* e^epsilon0, but never exactly 1: the core takes a cell whose u and v are the same double to lose
 * nothing. */
static inline double acct_ratio(double epsilon0)
{
	return fmax(exp(epsilon0), 1 + DBL_EPSILON);
}
