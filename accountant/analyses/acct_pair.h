/* acct_pair.h - moments of rounds of two mirrored cells (w: a, b), (w: b, a), by sums over their two
 * counts.  The cells of acct_cells_generic, acct_basic_clone and binary randomized response have this form.
 * The result is accurate to about 1e-8, that of acct_renyi's grid to 1e-4.
 *
 * Given M blanket messages the first cell's count is Bin(M, 1/2) under nu, and the loss of counts (a, b) is
 * log((p a + b)/(a + p b)).  With z = (alpha-1) loss the two signs of a loss together add 2 sinh^2(z/2) +
 * tanh(loss/2) sinh z = (s/2)(s + tanh(loss/2)(2 - s)) e^z, s = 1 - e^{-z}, to the moment: nothing cancels.
 * Moments fall with M (a mean of M iid variables is a reverse martingale), so above 4e7 terms rows are
 * grouped: from above at the first row of a group, from below at its last.  Chances are those of
 * acct_binomial.h; rows add three roundings a step.  The rest that a sum leaves out is bounded by falling
 * ratios, chance(k) r/(1-r). */
#pragma once

#include "acct_list.h"

/* Are the cells of r mirrored, all participants alike, and the messages at most 1e7?  l is the list of
 * r. */
bool acct_pair_is(const struct acct_round *r, const struct acct_list *l);

/* Bounds on log(E_Q (P/Q)^alpha - 1) of a list for which acct_pair_is is true.  share, (0, 1], is the part
 * of the most work that it may take, which is about 1 s. */
void acct_pair_moment(const struct acct_list *l, double alpha, double share, struct acct_bound *log_s);
