/* acct_gspa.h - bounds the loss of a shuffled round whose participants choose their own local guarantees
 * (epsilon, delta).
 *
 * The functions have no state and keep no argument.  Epsilons are in nats.  On ACCT_EDOMAIN *why (may be
 * NULL) points to a static sentence.  Neighbouring data sets differ in one participant's record.  This
 * participant is the victim; its own epsilon and delta are public.
 *
 * What the guarantees hold for.  Participant i holds one of k symbols.  With chance delta_i it sends the
 * symbol in the clear, and marked as such.  Otherwise it sends k-ary randomized response: its own symbol is
 * e^eps_i times as likely as each other one.  For k = 2 that is the canonical randomizer of an (eps_i,
 * delta_i) guarantee (Kairouz, Oh, Viswanath 2015).  The guarantees do NOT hold for other randomizers:
 * participants who add Laplace noise at eps 0.01 do not hide a victim who adds it at eps 5; see
 * acct_gspa_general_delta.
 *
 * Why.  With chance share_i = k (1 - delta_i)/(e^eps_i + k - 1) participant i sends a uniform symbol, which
 * does not depend on what it holds: a blanket message.  The number of blanket messages is Poisson-binomial.
 * With chance delta_v the victim's symbol is given away (doc/analyses.md, "Personalised response"). */
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

/* As `victim`: whichever participant is the victim.  The result holds for every victim: it takes the largest
 * epsilon and the largest delta of all for the victim's, and leaves out of the others the participant with
 * the largest share.  So it has at most one participant's cover less than the worst victim has. */
#define ACCT_GSPA_ANYBODY ((size_t)-1)

/* Most classes of one analysis. */
#define ACCT_GSPA_MAX_CLASSES 1000000u

/* Describe the round by cells, levels and defect, for a victim of class number `victim` (from 0) or
 * ACCT_GSPA_ANYBODY.  k: number of symbols, 2..1e12, the same for everybody.  Sets r->count to 1 and sampling
 * to 0.  The round dominates the victim's: PROVED.
 *
 * Where there are more than ACCT_MAX_LEVELS distinct shares, neighbouring ones are joined in groups, each at
 * the geometric mean of its shares, rounded down.  This never lowers the loss: the number of blanket
 * messages, a sum of Bern(p_i), is stochastically at least Bin(n, geometric mean) (Boland, Singh, Cukic 2002:
 * replacing two shares by their geometric mean keeps P(both) and lowers P(any)), and the loss grows when
 * blanket messages are fewer.  The number lost is of second order in the groups' widths.  The cost is that of
 * sorting the classes.  ACCT_ENOMEM. */
ACCT_CHECK enum acct_rc acct_gspa_round(const struct acct_gspa_class *cls, size_t n, double k, size_t victim,
	struct acct_round *r, const char **why);

/* Bound delta at this epsilon ([0, 700]) of one round of two symbols.  The sum goes over the number of
 * blanket messages: no shares are joined, and there is no grid.  *delta: PROVED. The cost grows as (number of
 * classes) * (spread of the number of blanket messages): 0.1 s at 10,000 classes. */
ACCT_CHECK enum acct_rc acct_gspa_delta(const struct acct_gspa_class *cls, size_t n, size_t victim,
	double epsilon, struct acct_bound *delta, const char **why);
/* Bound epsilon at this delta ((0, 1)) of the same round.  INFINITY where delta_v is not below delta. */
ACCT_CHECK enum acct_rc acct_gspa_epsilon(const struct acct_gspa_class *cls, size_t n, size_t victim,
	double delta, struct acct_bound *epsilon, const char **why);

/* Bound epsilon or delta of the shift pair, (1,0) + V against (0,1) + V, where V are the counts of the
 * others' blanket messages of two symbols: the victim sends its symbol as it is, and only the others hide it.
 * The participant with the largest share is left out of V.  Where all delta_i are 0 the pair dominates every
 * victim's: PROVED, but larger than needed.  acct_gspa_mu approximates this pair. */
ACCT_CHECK enum acct_rc acct_gspa_shift_epsilon(const struct acct_gspa_class *cls, size_t n, double delta,
	struct acct_bound *epsilon, const char **why);
ACCT_CHECK enum acct_rc acct_gspa_shift_delta(const struct acct_gspa_class *cls, size_t n, double epsilon,
	struct acct_bound *delta, const char **why);

/* Bound delta at this epsilon ([0, 700]) after `count` rounds, for randomizers of any kind.  victim: the
 * victim's own local guarantee (its count is not read); cls: the classes of the others.
 *
 * Premise.  The epsilon and delta of a class compare two randomizers: for either input x of the victim, any
 * input x_i of a participant i of the class and every set S of messages,
 * P(R_v(x) in S) <= e^epsilon P(R_i(x_i) in S) + delta.  It does not follow from an (epsilon, delta)
 * guarantee of participant i alone: participants who add Laplace noise at 0.01 cover a victim who adds it at
 * 5 with epsilon log 500 + 0.01, not with 0.01.
 *
 * Claim.  *delta is an upper bound, PROVED from the premise, and never above the victim's local guarantee
 * composed `count` times by basic composition.  Over T rounds, with E = e^epsilon,
 * delta <= delta(pair with shares e^-eps_i (1-delta_v), defect delta_v, T times) +
 * (1+E) T sum_i e^-eps_i delta_i.
 *
 * Proof.  Cut R_v(x_b) where it exceeds e^eps_i R_i.  Then R_i contains e^-eps_i (R_v(x_0)+R_v(x_1))/2 but
 * for a mass of at most e^-eps_i delta_i.  Moving that mass changes R_i by as much in total variation.  And
 * R_v(x_0)+R_v(x_1) >= (1-delta_v)(Q_0+Q_1): by the victim's guarantee R_v(x_b) is a
 * mixture that has Q_b with weight 1-delta_v, where Q_0 and Q_1 differ by factors of at most e^eps_v. */
ACCT_CHECK enum acct_rc acct_gspa_general_delta(const struct acct_gspa_class *victim,
	const struct acct_gspa_class *cls, size_t n, uint64_t count, double epsilon, double *delta,
	const char **why);

/* Compute the mu of a paper (Chen, Cao, Ge 2024, Theorems 2 and 5), which says that a round is approximately
 * mu-Gaussian private: a PAPER VALUE, neither a guarantee nor an interval.  One round has
 * mu = sqrt(2 / (sum c_i - max c_i)), c_i = (1-delta_i)/(1+e^eps_i); `count` rounds have sqrt(count) mu.
 * The value is too small:
 * - always, if slightly, for the shift pair that it approximates;
 * - for randomized response at eps_i above about 3 (at eps_i = 6, n = 2000 and delta = 1e-4 it gives epsilon
 *   2.24 for a loss above 5.9);
 * - without limit where some delta_i reaches delta, since the victim's delta is dropped;
 * - without limit where the noise is not randomized response, since the paper attaches it to slots instead of
 *   persons. */
ACCT_CHECK enum acct_rc acct_gspa_mu(
	const struct acct_gspa_class *cls, size_t n, uint64_t count, double *mu, const char **why);

/* Compute the closed form of "Echo of Neighbors" (Liu, Zhao, Xiong, Liu, Chen 2023) as its authors' code has
 * it: a PAPER VALUE, not a guarantee.  It is the bound by clones, where each participant has its own chance
 * to be a clone.  With n participants, victim 1 of the largest epsilon, i other than 1 and j any, p_ij =
 * (eps_i/eps_j) (1-e^-eps_j)/(1-e^-eps_i) e^-max(eps_i, eps_j)/n,   S = sum p_ij >= 16 log(4/delta), epsilon
 * = log(1 + tanh(eps_1/2) (8 sqrt(log(4/delta)/S) + 8/S)).  The paper claims it for Laplace noise that is cut
 * off.  ACCT_EDOMAIN where S is too small, and where the delta of some class is not 0. */
ACCT_CHECK enum acct_rc acct_gspa_liu(
	const struct acct_gspa_class *cls, size_t n, double delta, double *epsilon, const char **why);

/* The Gaussian curve: delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2), with a relative error
 * of about 1e-12.  Balle, Wang 2018, Theorem 8.  mu (0, inf), epsilon [0, inf), delta (0, 1).
 * ACCT_EPRECISION for a delta below 1e-200. */
ACCT_CHECK enum acct_rc acct_gspa_gaussian_delta(double mu, double epsilon, double *delta, const char **why);
ACCT_CHECK enum acct_rc acct_gspa_gaussian_epsilon(
	double mu, double delta, double *epsilon, const char **why);

#ifdef __cplusplus
}
#endif
