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

/* The closed form of the clones: for eps0 <= log(n/(16 log(2/delta))),
 *   epsilon = log(1 + tanh(eps0/2) (8 sqrt(e^eps0 log(4/delta)/n) + 8 e^eps0/n)).
 * Proved: Feldman, McMillan, Talwar 2021, Theorem 3.1.  eps0 (0, 350), n >= 1, delta (0, 1).  ACCT_EDOMAIN
 * where the condition is not met. */
ACCT_CHECK enum acct_rc acct_basic_clones_closed(double epsilon0, uint64_t n, double delta, double *eps);

/* The first bound: epsilon = 12 eps0 sqrt(log(1/delta)/n), for 0 < eps0 < 1/2, n >= 1000 and 0 < delta <
 * 1/100; ACCT_EDOMAIN elsewhere.  Proved: Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019,
 * Theorem 7; and it follows from the closed form of the clones, for one randomizer of all participants: there
 * tanh(eps0/2) <= eps0/2, e^{eps0/2} < 1.285 and log(4/delta) < 1.302 log(1/delta), so that the clones'
 * epsilon is below eps0 (5.87 sqrt(log(1/delta)/n) + 6.6/n) < 6 eps0 sqrt(log(1/delta)/n); where its
 * condition fails, log(1/delta)/n > 1/31 and the value is above 2 eps0. */
ACCT_CHECK enum acct_rc acct_basic_erlingsson(double epsilon0, uint64_t n, double delta, double *eps);

/* The second closed form of the authors of acct_basic_closed, in Omega = 2r(n-1) - sqrt(min(6r, 1/2) (n-1)
 * log(4/delta)) special messages; a = beta/(p-1), rest = 1 - a - a p:
 *   epsilon = log(1 + beta (2 sqrt(Omega log(4/delta)/2) + 1)
 *             / (a Omega + beta (Omega/2 - sqrt(Omega log(4/delta)/2)) + rest (n-1-Omega) r/(1-2r))).
 * Paper value, not a guarantee, as the other.  ACCT_EDOMAIN where their code's conditions are not met: Omega
 * > 0, (p+1) a/2 > rest r/(1-2r), and Omega > (2p (beta+1+(beta-1) p)(n-1) + beta)/(q + p (beta-1+(beta+1) p)
 * - p q). */
ACCT_CHECK enum acct_rc acct_basic_closed_tight(
	double p, double beta, double q, uint64_t n, double delta, double *eps);

#ifdef __cplusplus
}
#endif
