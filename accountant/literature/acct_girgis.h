/* acct_girgis.h - Renyi divergences of shuffled eps0-LDP reports in closed form, for integer orders.  Nats;
 * neighbours replace one record.
 *
 * Every participant sends one report of any eps0-LDP randomizer.  Upper bounds are rounded up, the lower
 * one down.  None of them is better than the divergence of the strong clones' pair (acct_renyi of
 * acct_cells_generic): they are for comparison with the literature.
 *
 * Source: Girgis, Data, Diggavi, Kairouz, Suresh, "On the Renyi differential privacy of the shuffle model",
 * 2021 ([G] below); doc/analyses.md, "Closed forms".
 *
 * Proof of UB1, where l is the order.  R_i >= e^-eps0 R(x) makes m ~ Bin(n-1, e^-eps0) others clones of the
 * victim's second input.  By joint convexity e^{(l-1) D_l} <= E_m F(m+1), where F(N) is the largest moment
 * of N equal reports against one changed report.  There the ratio is a mean of N iid a_k in [e^-eps0,
 * e^eps0] of mean 1.  E a^2 - 1 <= (e^eps0-1)^2/e^eps0 = 4 sinh^2(eps0/2), and moments of sub-Gaussian sums
 * give C(l,i) i Gamma(i/2) (2 sinh^2(eps0)/N)^{i/2} for i >= 3.  F falls with N; P[m < (n-1)e^-eps0/2] <=
 * e^{-(n-1)e^-eps0/8} (Chernoff) and F(1) <= e^{eps0 l}. As F >= 1 the tail may be charged F(1) - 1.
 *
 * Special pair: E[ratio^l] is convex in the law of each a, so the worst law is exactly binary randomized
 * response.  Moments E[(1+z)^l - 1 - l z], z = ratio - 1, are sums of positive terms, whose logarithms are
 * each raised by 32 ulps (l log l + 1) for the gammas. */
#pragma once

#include "acct_renyi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum acct_girgis_kind {
	/* Theorem 3.1 of [G].  Proved. */
	ACCT_GIRGIS_UB1,
	/* The same, with F(1)-1 in place of F(1) in the tail.  Proved. */
	ACCT_GIRGIS_UB1_REFINED,
	/* The expectation over clones, not bounded further, at the worst special pair, binary randomized
	 * response.  Proved; up to 1e-3 above its value.  Slow: up to 0.5 s for each order. */
	ACCT_GIRGIS_SPECIAL,
	/* Theorem 3.3 of [G], for order^4 e^{5 eps0} < n/9.  Paper value: not proved here. */
	ACCT_GIRGIS_UB2,
	/* Theorem 3.4 of [G]: a lower bound on the worst divergence over randomizers and data.  No guarantee,
	 * and an epsilon from it is no lower bound of anything. */
	ACCT_GIRGIS_LB,
	/* n of a larger population's records without replacement, then shuffled, as computed by the authors'
	 * public code for "Renyi differential privacy of the subsampled shuffle model", 2021.  Paper value:
	 * not proved here. */
	ACCT_GIRGIS_SUBSAMPLED,
	/* UB1 of n messages under Poisson sampling: Zhu, Wang 2019.  Proved for neighbours that add or remove
	 * a record, whereas shuffling hides replacement: not a guarantee here. */
	ACCT_GIRGIS_POISSON,
	/* UB1 of n messages sampled without replacement: Wang, Balle, Kasiviswanathan 2019, Theorem 9.
	 * Proved. */
	ACCT_GIRGIS_WOR,
	/* The bound that [G] compares with, its equation (9): 2 l e^{4 eps0} (e^eps0 - 1)^2/n, where l is
	 * the order, from Erlingsson et al.  2019, Remark 1.  Paper value: not proved here; the ends of the
	 * axes of [G], Figure 2 agree with it. */
	ACCT_GIRGIS_ERLINGSSON,
};

#define ACCT_GIRGIS_MOST_ORDER  20000u
#define ACCT_GIRGIS_MOST_SUMMED 1000000000u /* most messages of SPECIAL and LB, which sum over counts */
#define ACCT_GIRGIS_MOST_BELOW  2000u /* largest order of POISSON and WOR, which need all smaller orders */

struct acct_girgis {
	double eps0; /* (0, 700) */
	uint64_t n;  /* messages shuffled together, 1..ACCT_MAX_REPORTS */
	/* (0, 1]: the fraction of the population that sends the messages; 1 except for the last three
	 * kinds */
	double sampled;
};

/* Is this kind's value a proved upper bound? */
bool acct_girgis_is_proved(enum acct_girgis_kind kind);

/* Compute the divergence of order 2..MOST.  ACCT_EDOMAIN: a parameter is out of range, or UB2's condition
 * is not met. */
ACCT_CHECK enum acct_rc acct_girgis_rdp(
	enum acct_girgis_kind kind, const struct acct_girgis *g, unsigned order, double *rdp);

/* Compute epsilon at delta of `rounds` such rounds, by `way` at the best order (may be NULL).  It is proved
 * if the kind's value is.  Cost: 5 to 50 ms; POISSON and WOR up to 1 s; SPECIAL up to 30 s. */
ACCT_CHECK enum acct_rc acct_girgis_epsilon(enum acct_girgis_kind kind, const struct acct_girgis *g,
	uint64_t rounds, enum acct_renyi_way way, double delta, double *eps, unsigned *order);

#ifdef __cplusplus
}
#endif
