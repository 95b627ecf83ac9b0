/* acct_pair.h - rounds of two mirrored cells (w: a, b), (w: b, a), by sums over their two counts.
 *
 * The cells of acct_cells_generic, acct_basic_clone and binary randomized response are such; what acct_delta
 * and acct_renyi answer to 1e-4 is had to about 1e-8 here. */
#pragma once

#include "acct_cells.h"

/* Are these cells mirrored, everybody alike, and the messages at most 1e7?  l: of r. */
bool acct_pair_is(const struct acct_round *r, const struct acct_list *l);

/* delta at epsilon [0, inf) of a single round (count 1) of mirrored cells; ACCT_EDOMAIN of others.
 * Cost: 0.1 ms at a thousand participants, 1 s from a million on, where the interval widens to 1e-6. */
ACCT_CHECK enum acct_rc acct_pair_delta(
	const struct acct_round *round, double epsilon, struct acct_bound *delta);

/* Bounds on log(E_Q (P/Q)^alpha - 1) of a list that acct_pair_is, for a share (0, 1] of that work. */
void acct_pair_moment(const struct acct_list *l, double alpha, double share, struct acct_bound *log_s);
