/* acct_cells.h - one round as the rest of the accountant reads it: checked, normalised, merged. */
#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "acct.h"

#define ACCT_MOST_GROUPS (ACCT_MAX_LEVELS + 1)

/* Participants who are blanket with the same chance share * blanket. */
struct acct_group {
	double share, count; /* count exact: below 2^53 */
	double rest;         /* 1 - share * blanket, to an ulp or two however small */
};

/* A checked round.  Means of u and v are exactly one to rounding; equal cells are merged, and levels of equal
 * share; cell order is the caller's, groups are sorted.  What is left of omega, or of a share of it, below
 * 2^-51 is rounding and is read as nothing left. */
struct acct_list {
	struct acct_cell cell[ACCT_MAX_CELLS];
	size_t cells;
	double blanket;                            /* sum(omega), in (0, 1] */
	struct acct_group group[ACCT_MOST_GROUPS]; /* the others, largest share first; counts above 0 */
	size_t groups;
	double others, dummies; /* others: of all groups */
	double mean;            /* expected blanket messages of the others */
	double defect;          /* acct.h */
	double sampling;        /* acct.h; 1 when everybody takes part */
	double infinite[2];     /* mass of infinite loss, forwards and with u and v exchanged */
	double largest;         /* no finite loss exceeds this; INFINITY never */
	double exponent;        /* how far rounding of the cells moves epsilon: see acct_plan_blur */
	bool symmetric;         /* exchanging u and v gives the same list: both directions have one curve */
	bool lossless;          /* u = v in every cell, to the bit */
};

/* Fails exactly as acct_round_check. */
ACCT_CHECK enum acct_rc acct_list_init(struct acct_list *l, const struct acct_round *r, const char **why);

/* e^epsilon0, but never 1: cells of equal u and v, to the bit, are taken to lose nothing. */
static inline double acct_ratio(double epsilon0)
{
	return fmax(exp(epsilon0), 1 + DBL_EPSILON);
}

/* Same curve?  (Counts do not matter.) */
bool acct_list_equal(const struct acct_list *a, const struct acct_list *b);
