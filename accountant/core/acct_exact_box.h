/* acct_exact_box.h - which outcomes of m messages are worth listing: a range of counts for every cell.
 * Private to acct_exact.c. */
#pragma once

#include "acct_list.h"

struct acct_box {
	size_t lo[ACCT_MAX_CELLS], hi[ACCT_MAX_CELLS];
	size_t lo_after[ACCT_MAX_CELLS],
		hi_after[ACCT_MAX_CELLS]; /* sums of the limits over the cells after j */
};

/* Outcomes outside the box have, under either input, a chance of at most 2 * cells * exp(log_cut); -INFINITY:
 * no outcome is outside. m: number of messages besides the victim's. */
void acct_box_init(struct acct_box *b, const struct acct_list *l, size_t m, double log_cut);

/* Number of outcomes inside, the victim's message included. ways: room for 2 (m + 2) numbers. */
double acct_box_outcomes(const struct acct_box *b, size_t cells, size_t m, double *ways);
