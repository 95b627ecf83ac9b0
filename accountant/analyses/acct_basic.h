/* acct_basic.h - composition of (epsilon_i, delta_i) guarantees, the clones' pairs and the closed form: the
 * baselines of the literature.  Nats; neighbours replace one record.  Bounds are rounded up. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One guarantee, `count` times. */
struct acct_guarantee {
	double epsilon; /* [0, inf] */
	double delta;   /* [0, 1] */
	double count;   /* whole, 1..1e15 */
};

/* Basic composition: the sums; delta at most 1.  Proved (Dwork et al. 2006); for adaptive choices too. */
ACCT_CHECK enum acct_rc acct_basic_sum(
	const struct acct_guarantee *g, size_t n, double *epsilon, double *delta);

/* Advanced composition at slack (0, 1): with s = slack and Q = sum e^2,
 *   epsilon = min(sum e, sum e tanh(e/2) + sqrt(2 Q log(min(1/s, exp(1) + sqrt(Q)/s)))),
 *   delta = s + sum delta_i.
 * Proved: Kairouz, Oh, Viswanath 2015, Theorems 3.4 and 3.5 (Dwork, Rothblum, Vadhan 2010 has 1/s alone, and
 * e^e - 1 for tanh(e/2)); guarantees fixed in advance, mechanisms adaptive. */
ACCT_CHECK enum acct_rc acct_basic_advanced(
	const struct acct_guarantee *g, size_t n, double slack, double *epsilon, double *delta);

enum acct_basic_way {
	ACCT_BASIC_SUM,      /* delta in equal parts */
	ACCT_BASIC_ADVANCED, /* half of delta in equal parts, half as slack */
};

/* epsilon at delta of the composition of rounds, each by acct_epsilon at its part of delta.  Proved, and
 * never below acct_epsilon of them all.  Errors: as acct_epsilon.  Cost: that of each single round. */
ACCT_CHECK enum acct_rc acct_basic_epsilon(
	enum acct_basic_way way, const struct acct_round *rounds, size_t n, double delta, double *eps);

/* Cells of "hiding among the clones" (Feldman, McMillan, Talwar 2021, Theorem 3.1): of any eps0-LDP
 * randomizer every other participant is a clone with chance e^-eps0.  Proved.  eps0 (0, 350).  The stronger
 * clones of 2023, with chance 2/(e^eps0 + 1), are acct_cells_generic; they too are proved for every eps0-LDP
 * randomizer (doc/analyses.md, "Clones").  *why as acct_round_check (may be NULL). */
ACCT_CHECK enum acct_rc acct_basic_clone(double epsilon0, struct acct_round *r, const char **why);

/* Closed form: with r = beta p/((p-1) q), c = max(0, 4(1-3r)/(9(1-2r))) and n > 8 log(4/delta)/r,
 *   epsilon = log(1 + beta/((1-c)(p+1)beta/(p-1) + c) (sqrt(16 log(4/delta)/(r(n-1))) + 2/(r(n-1))));
 * else log p.  Paper value, not a guarantee: it rests on the published pair, which is not dominating where
 * beta < (p-1)/(p+1).
 *   p (1, inf), beta (0, (p-1)/(p+1)], q >= 1 + beta, n >= 2, delta (0, 1).
 * Source: Wang et al., "Privacy amplification via shuffling: unified, simplified, and tightened", 2024,
 * Theorem 4.3, as the authors' code has it. */
ACCT_CHECK enum acct_rc acct_basic_closed(
	double p, double beta, double q, uint64_t n, double delta, double *eps);

#ifdef __cplusplus
}
#endif
