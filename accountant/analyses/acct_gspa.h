/* acct_gspa.h - participants who choose their own local guarantee, shuffled together.
 *
 * Pure; epsilons in nats; nothing is kept of what is passed in.  *why (may be NULL) points to a static
 * sentence on ACCT_EDOMAIN.  Neighbouring data sets replace one participant's record, and the victim's own
 * parameters are public.
 *
 * What the guarantees below hold for.  Participant i holds one of k symbols and, with chance delta_i, sends
 * it in the clear, marked as such; else it sends k-ary randomized response at eps_i: e^eps_i to 1 for its own
 * symbol against each other.  For k = 2 that is the canonical randomizer of an (eps_i, delta_i) guarantee
 * (Kairouz, Oh, Viswanath 2015).  They do NOT hold for personalised noise of another kind: a Laplace victim
 * at eps 5 among participants at 0.01 is not hidden by them at all; see acct_gspa_general_delta.
 *
 * Why: participant i is, with chance share_i = k (1 - delta_i)/(e^eps_i + k - 1), a uniform symbol, whatever
 * it holds; the number of such participants is Poisson-binomial; the victim's symbol is given away with
 * chance delta_v (doc/analyses.md, "Personalised response"). */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `count` participants with one guarantee. */
struct acct_gspa_class {
	double epsilon; /* (0, 700) */
	double delta;   /* [0, 1): chance that the symbol is sent in the clear */
	uint64_t count; /* >= 1; all counts sum to 2..ACCT_MAX_REPORTS */
};

/* Any participant: the pair that dominates every victim's, namely the largest epsilon and the largest delta
 * of all, with the participant who gives the largest share taken away.  At most one participant's cover above
 * the worst victim's own. */
#define ACCT_GSPA_ANYBODY ((size_t)-1)

/* Classes one analysis takes. */
#define ACCT_GSPA_MAX_CLASSES 1000000u

/* The round of a victim of class `victim` (or ACCT_GSPA_ANYBODY): cells, levels and defect; count is 1,
 * sampling 0.  A pair that dominates the victim's: PROVED.
 *   k 2..1e12 symbols, the same for everybody.
 * More than ACCT_MAX_LEVELS distinct shares are joined in groups, each at its geometric mean, rounded down:
 * sum of Bern(p_i) is stochastically at least Bin(n, geometric mean) (Boland, Singh, Cukic 2002), and fewer
 * blanket messages are a larger loss: replacing two shares by their geometric mean keeps P(both) and lowers
 * P(any).  The number of blanket messages given up is of second order in the groups' widths.
 * Cost: sorting the classes.  ACCT_ENOMEM. */
ACCT_CHECK enum acct_rc acct_gspa_round(const struct acct_gspa_class *cls, size_t n, double k, size_t victim,
	struct acct_round *r, const char **why);

/* One round of two symbols, from the sum over the number of blanket messages itself: no joining of shares and
 * no grid.  *delta: the pair's value, PROVED; epsilon [0, 700].
 * Cost: (number of classes) * (spread of the number of blanket messages): 0.1 s at 10,000 classes. */
ACCT_CHECK enum acct_rc acct_gspa_delta(const struct acct_gspa_class *cls, size_t n, size_t victim,
	double epsilon, struct acct_bound *delta, const char **why);
/* The same, the other way round: delta (0, 1).  INFINITY where delta_v is not below delta. */
ACCT_CHECK enum acct_rc acct_gspa_epsilon(const struct acct_gspa_class *cls, size_t n, size_t victim,
	double delta, struct acct_bound *epsilon, const char **why);

/* The shift pair, (1,0) + V against (0,1) + V: two symbols, the victim's sent as it is and hidden by others
 * only.  It dominates every victim's pair where all delta_i are 0: PROVED, and larger than needed.  This is
 * what mu approximates.  The participant with the largest share is taken away. */
ACCT_CHECK enum acct_rc acct_gspa_shift_epsilon(const struct acct_gspa_class *cls, size_t n, double delta,
	struct acct_bound *epsilon, const char **why);
ACCT_CHECK enum acct_rc acct_gspa_shift_delta(const struct acct_gspa_class *cls, size_t n, double epsilon,
	struct acct_bound *delta, const char **why);

/* Any randomizers, `count` rounds.  victim: the victim's own guarantee (its count is not read); cls: the
 * others.  The premise is about pairs of randomizers: for either input x of the victim and any input x_i of
 * participant i of a class, P(R_v(x) in S) <= e^epsilon P(R_i(x_i) in S) + delta for every S, with the
 * epsilon and delta of that class.  An (epsilon, delta) guarantee of participant i alone does not give it.
 * *delta: upper bound, PROVED from that premise, and never above the victim's own local guarantee composed
 * `count` times by basic composition.  epsilon [0, 700].
 *
 * Bound, over T rounds: delta <= delta(pair with shares e^-eps_i (1-delta_v), defect delta_v, T times) +
 * (1+E) T sum_i e^-eps_i delta_i.  Proof.  Cut R_v(x_b) where it exceeds e^eps_i R_i.  Then R_i contains
 * e^-eps_i (R_v(x_0)+R_v(x_1))/2 but for a mass of at most e^-eps_i delta_i; moving that mass changes R_i by
 * as much in total variation.  And R_v(x_0)+R_v(x_1) >= (1-delta_v)(Q_0+Q_1).  The premise is about pairs:
 * Laplace noise at 0.01 does not cover Laplace noise at 5 with epsilon 0.01, but with log 500 + 0.01. */
ACCT_CHECK enum acct_rc acct_gspa_general_delta(const struct acct_gspa_class *victim,
	const struct acct_gspa_class *cls, size_t n, uint64_t count, double epsilon, double *delta,
	const char **why);

/* PAPER VALUES, not a guarantee, and not an interval.  mu = sqrt(2 / (sum c_i - max c_i)), c_i =
 * (1-delta_i)/(1+e^eps_i), of a round said to be approximately mu-Gaussian private; count rounds: sqrt(count)
 * mu.  Chen, Cao, Ge 2024, Theorems 2 and 5.  Too small: always, if slightly, for its own shift pair; for
 * randomized response at eps_i above about 3 (at 6, n = 2000, delta = 1e-4: 2.24 for a loss above 5.9);
 * without limit where some delta_i reaches delta (the victim's delta is dropped) or where the noise is not
 * randomized response: it is attached to slots instead of persons. */
ACCT_CHECK enum acct_rc acct_gspa_mu(
	const struct acct_gspa_class *cls, size_t n, uint64_t count, double *mu, const char **why);

/* PAPER VALUE, not a guarantee: "Echo of Neighbors" (Liu, Zhao, Xiong, Liu, Chen 2023), the closed form of
 * the clones with every participant's own number of them, as its authors' code has it.  With n participants,
 * victim 1 of the largest epsilon, and for i other than 1, j any,
 *   p_ij = (eps_i/eps_j) (1-e^-eps_j)/(1-e^-eps_i) e^-max(eps_i, eps_j)/n,   S = sum p_ij >= 16 log(4/delta),
 *   epsilon = log(1 + tanh(eps_1/2) (8 sqrt(log(4/delta)/S) + 8/S)).
 * It is said of Laplace noise that is cut off.  ACCT_EDOMAIN where S is too small, and where some delta of a
 * class is not 0. */
ACCT_CHECK enum acct_rc acct_gspa_liu(
	const struct acct_gspa_class *cls, size_t n, double delta, double *epsilon, const char **why);

/* The Gaussian curve: delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2), to about 1e-12 relative.
 * Balle, Wang 2018, Theorem 8.
 * mu (0, inf), epsilon [0, inf), delta (0, 1).  ACCT_EPRECISION below 1e-200. */
ACCT_CHECK enum acct_rc acct_gspa_gaussian_delta(double mu, double epsilon, double *delta, const char **why);
ACCT_CHECK enum acct_rc acct_gspa_gaussian_epsilon(
	double mu, double delta, double *epsilon, const char **why);

#ifdef __cplusplus
}
#endif
