/* acct_cells.h - one round as the rest of the accountant reads it: checked, normalised, merged. */
#pragma once

#include <stdbool.h>

#include "acct.h"

/* A checked round.  Means of u and v are exactly one to rounding; equal cells are merged; cell order is the
 * caller's.  What is left of omega below 2^-51 is rounding of the omegas and is read as nothing left.
 * `symmetric`: exchanging u and v gives the same list, so both directions have one curve. */
struct acct_list {
	struct acct_cell cell[ACCT_MAX_CELLS];
	size_t cells;
	double blanket;         /* sum(omega), in (0, 1] */
	double rest;            /* 1 - sum(omega), to an ulp however small; 0 when blanket is 1 */
	double others, dummies; /* exact: below 2^53 */
	double infinite[2];     /* mass of infinite loss, forwards and with u and v exchanged */
	double largest;         /* no finite loss exceeds this; INFINITY never */
	bool symmetric;
	bool lossless; /* u = v in every cell, to the bit */
};

/* Fails exactly as acct_round_check. */
ACCT_CHECK enum acct_rc acct_list_init(struct acct_list *l, const struct acct_round *r, const char **why);

/* Same curve?  (Counts do not matter.) */
bool acct_list_equal(const struct acct_list *a, const struct acct_list *b);
