/* acct_cells.h - what all that make cells need: the two standard pairs are those of acct.h. */
#pragma once

#include <float.h>
#include <math.h>

#include "acct_round.h"
#include "acct_twofold.h"

/* Sums of up to 64 rounded products are off by no more; beyond it a list is not a pair of laws. */
#define ACCT_CELLS_SLACK 1e-9

static inline bool acct_cells_close(double a, double b)
{
	return fabs(a - b) <= ACCT_CELLS_SLACK * fabs(b);
}

/* The sum of the omegas, and 1 - share times it to an ulp or two. */
struct acct_twofold acct_cells_sum(const struct acct_cell *cell, size_t cells);
double acct_cells_rest(double share, const struct acct_twofold *sum);

/* A remainder of omega up to this may be rounding of the omegas: upper ends count it, lower ends do not. */
#define ACCT_CELLS_DOUBTFUL (2 * DBL_EPSILON)

/* For cells whose omegas sum to one but for rounding: raises the largest by ulps where the sum is short of
 * one, so that nothing of the blanket counts as missing. */
void acct_cells_fill(struct acct_cell *cell, size_t cells);

/* e^epsilon0, but never 1: cells whose u and v are equal to the bit are taken to lose nothing. */
static inline double acct_ratio(double epsilon0)
{
	return fmax(exp(epsilon0), 1 + DBL_EPSILON);
}
