/* acct_basic.h - baselines of the literature: composition of (epsilon_i, delta_i) guarantees, the bound by
 * clones, and closed forms.  Epsilons are in nats; neighbours replace one record.  Bounds are rounded up. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One guarantee that holds `count` times. */
struct acct_guarantee {
	double epsilon; /* [0, inf] */
	double delta;   /* [0, 1] */
	double count;   /* whole, 1..1e15 */
};

/* Basic composition: the sum of the epsilons and the sum of the deltas, delta at most 1.  Proved (Dwork et
 * al.  2006), also for guarantees that are chosen adaptively. */
ACCT_CHECK enum acct_rc acct_basic_sum(
	const struct acct_guarantee *g, size_t n, double *epsilon, double *delta);

/* Advanced composition at slack (0, 1), the delta that is given up for a smaller epsilon: with s = slack
 * and Q = sum e^2, where each e is an epsilon,
 *   epsilon = min(sum e, sum e tanh(e/2) + sqrt(2 Q log(min(1/s, exp(1) + sqrt(Q)/s)))), delta = s + sum
 *   delta_i.
 * Proved for guarantees that are fixed in advance; mechanisms may be adaptive.  Kairouz, Oh, Viswanath
 * 2015, Theorems 3.4 and 3.5 (Dwork, Rothblum, Vadhan 2010 have 1/s alone in the minimum, and e^e - 1 in
 * place of tanh(e/2)). */
ACCT_CHECK enum acct_rc acct_basic_advanced(
	const struct acct_guarantee *g, size_t n, double slack, double *epsilon, double *delta);

enum acct_basic_way {
	ACCT_BASIC_SUM,      /* each round gets an equal part of delta */
	ACCT_BASIC_ADVANCED, /* half of delta is the slack, and each round gets an equal part of the rest */
};

/* Compute epsilon at delta of the composition of rounds, by acct_epsilon of each round at its part of
 * delta.  Proved, and never below acct_epsilon of all of them.  Errors: as acct_epsilon.  Cost: the sum
 * over the single rounds. */
ACCT_CHECK enum acct_rc acct_basic_epsilon(
	enum acct_basic_way way, const struct acct_round *rounds, size_t n, double delta, double *eps);

/* Set the cells of "hiding among the clones" (Feldman, McMillan, Talwar 2021, Theorem 3.1): with any
 * eps0-LDP randomizer each other participant is a clone of the victim with chance e^-eps0.  Proved.  eps0
 * (0, 350).  The stronger clones of 2023, with chance 2/(e^eps0 + 1), are acct_cells_generic; they, too,
 * are proved for every eps0-LDP randomizer (doc/analyses.md, "Clones").  *why as in acct_round_check (may
 * be NULL). */
ACCT_CHECK enum acct_rc acct_basic_clone(double epsilon0, struct acct_round *r, const char **why);

/* Compute a closed form for the pair (p, beta, q): with r = beta p/((p-1) q), c = max(0, 4(1-3r)/(9(1-2r)))
 * and n > 8 log(4/delta)/r, epsilon = log(1 + beta/((1-c)(p+1)beta/(p-1) + c) (sqrt(16 log(4/delta)/(r(n-1)))
 * + 2/(r(n-1)))); and otherwise log p.  It is a paper value, not a guarantee: it rests on the published pair,
 * which does not dominate the round where beta < (p-1)/(p+1). p (1, inf), beta (0, (p-1)/(p+1)], q >= 1 +
 * beta, n >= 2, delta (0, 1). Source: Wang et al., "Privacy amplification via shuffling: unified, simplified,
 * and tightened", 2024, Theorem 4.3, as the authors' code has it. */
ACCT_CHECK enum acct_rc acct_basic_closed(
	double p, double beta, double q, uint64_t n, double delta, double *eps);

/* The closed form of the clones: for eps0 <= log(n/(16 log(2/delta))),
 *   epsilon = log(1 + tanh(eps0/2) (8 sqrt(e^eps0 log(4/delta)/n) + 8 e^eps0/n)).
 * Proved: Feldman, McMillan, Talwar 2021, Theorem 3.1.  eps0 (0, 350), n >= 1, delta (0, 1).  ACCT_EDOMAIN
 * where the condition is not met. */
ACCT_CHECK enum acct_rc acct_basic_clones_closed(double epsilon0, uint64_t n, double delta, double *eps);

/* The first bound that was published: epsilon = 12 eps0 sqrt(log(1/delta)/n), for 0 < eps0 < 1/2, n >= 1000
 * and 0 < delta < 1/100; ACCT_EDOMAIN elsewhere.  Proved: Erlingsson, Feldman, Mironov, Raghunathan,
 * Talwar, Thakurta 2019, Theorem 7.  If all participants use one randomizer, it also follows from the
 * closed form of the clones: there tanh(eps0/2) <= eps0/2, e^{eps0/2} < 1.285 and log(4/delta) < 1.302
 * log(1/delta), so the clones' epsilon is below eps0 (5.87 sqrt(log(1/delta)/n) + 6.6/n) < 6 eps0
 * sqrt(log(1/delta)/n).  Where the clones' condition fails, log(1/delta)/n > 1/31 and the value is above 2
 * eps0. */
ACCT_CHECK enum acct_rc acct_basic_erlingsson(double epsilon0, uint64_t n, double delta, double *eps);

/* The second closed form of the authors of acct_basic_closed, with Omega = 2r(n-1) - sqrt(min(6r, 1/2)
 * (n-1) log(4/delta)) special messages, a = beta/(p-1) and rest = 1 - a - a p:
 *   epsilon = log(1 + beta (2 sqrt(Omega log(4/delta)/2) + 1)
 *             / (a Omega + beta (Omega/2 - sqrt(Omega log(4/delta)/2)) + rest (n-1-Omega) r/(1-2r))).
 * Like the first it is a paper value, not a guarantee.  ACCT_EDOMAIN where the conditions of their code are
 * not met: Omega > 0, (p+1) a/2 > rest r/(1-2r), and Omega > (2p (beta+1+(beta-1) p)(n-1) + beta)/(q + p
 * (beta-1+(beta+1) p) - p q). */
ACCT_CHECK enum acct_rc acct_basic_closed_tight(
	double p, double beta, double q, uint64_t n, double delta, double *eps);

#ifdef __cplusplus
}
#endif
