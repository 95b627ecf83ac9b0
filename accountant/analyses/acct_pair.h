/* acct_pair.h - rounds of two mirrored cells (w: a, b), (w: b, a), by sums over their two counts.  The cells
 * of acct_cells_generic, acct_basic_clone and binary randomized response have this form; the result is
 * accurate to about 1e-8, that of acct_renyi's grid to 1e-4. */
#pragma once

#include "acct_cells.h"

/* Are these cells mirrored, everybody alike, and the messages at most 1e7?  l: of r. */
bool acct_pair_is(const struct acct_round *r, const struct acct_list *l);

/* Bounds on log(E_Q (P/Q)^alpha - 1) of a list that acct_pair_is, for a share (0, 1] of the most work, which
 * takes about 1 s. */
void acct_pair_moment(const struct acct_list *l, double alpha, double share, struct acct_bound *log_s);
