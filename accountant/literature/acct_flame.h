/* acct_flame.h - bounds for vectors that are sent one coordinate per message (FLAME: Liu, Cao, Chen, Guo,
 * Yoshikawa 2021): SS-Simple, SS-Double and SS-Topk, with the paper's values and with proved bounds.
 *
 * The functions have no state; epsilons are in nats; deltas are those of the whole vector.  On ACCT_EDOMAIN
 * *why (may be NULL) points to a static sentence.
 *
 * Every bound called PROVED here assumes that one message holds one coordinate and is shuffled among the
 * messages of its own index; that dummies are independent draws of the blanket law and look like any
 * message; and that the shuffler adds them and does not collude.  If one message holds several coordinates,
 * as the paper's algorithms print it, none of these bounds holds (acct_flame_linked_lower). */
#pragma once

#include <stdbool.h>

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How one coordinate in [0, 1] is randomized. */
struct acct_flame_slot {
	double epsilon; /* local guarantee of one message, (0, 300] */
	/* 0: Laplace noise of scale 1/epsilon.  2..1e9: levels 0..bins-1, stochastically rounded, then
	 * bins-ary randomized response. */
	uint64_t bins;
};

/* SS-Double and SS-Topk: every index is padded with dummies to `padded` messages. */
struct acct_flame_sparse {
	struct acct_flame_slot slot;
	uint64_t users; /* n >= 2, including the victim */
	/* n_p >= 2: messages of each index; if there are more, some drawn uniformly are dropped */
	uint64_t padded;
	uint64_t length; /* d: number of coordinates of the vector */
	uint64_t sent;   /* k, 1..d: number of coordinates that a user sends */
};

/* The bound by which the paper's theorems get the privacy of a single coordinate. */
enum acct_flame_amplifier {
	ACCT_FLAME_HOEFFDING,
	ACCT_FLAME_BENNETT, /* ACCT_BLANKET_BENNETT, proved */
	/* as first published and in the paper's figures; smaller than the true loss */
	ACCT_FLAME_BENNETT_FIRST,
	ACCT_FLAME_LEMMA1, /* acct_flame_lemma1, for bins >= 2; ACCT_EDOMAIN where it is not valid */
	ACCT_FLAME_EXACT,  /* the accountant's own upper bound */
};

/* Balle, Bell, Gascon, Nissim 2019, their closed form for bins >= 2 levels and n >= 2 reports: sqrt(14
 * log(2/delta) (e^eps0 + bins - 1) / (n-1)).  *valid: the theorem's conditions hold, and *epsilon is an
 * upper bound, PROVED; if false, *epsilon means nothing. */
ACCT_CHECK enum acct_rc acct_flame_lemma1(double epsilon0, uint64_t bins, uint64_t n, double delta,
	double *epsilon, bool *valid, const char **why);

/* SS-Simple, Theorem 1: d coordinates, each (eps_c, delta/(d+1))-private by the amplifier, composed by
 * basic or advanced composition, whichever is less.  An upper bound, PROVED, except with
 * ACCT_FLAME_BENNETT_FIRST, which gives a PAPER VALUE, not a guarantee. */
ACCT_CHECK enum acct_rc acct_flame_simple_theorem1(const struct acct_flame_slot *slot, uint64_t length,
	uint64_t users, double delta, enum acct_flame_amplifier by, double *epsilon, const char **why);
/* SS-Simple as one round repeated `length` times (at most ACCT_MAX_COUNT): PROVED, and about ten times less
 * (epsilon 0.01, d = 7850, n = 1000, delta = 5e-6: 0.0904 instead of 0.93). */
ACCT_CHECK enum acct_rc acct_flame_simple_round(const struct acct_flame_slot *slot, uint64_t length,
	uint64_t users, struct acct_round *r, const char **why);

/* SS-Double, Theorem 4, which the paper also claims for SS-Topk: a PAPER VALUE, not a guarantee, with any
 * amplifier.  It composes 2k coordinates and credits each with being sampled from d, although the analyzer
 * sees which k were sampled.  (Binary response, epsilon 1, k = 1, d = 1000, n_p = 100, delta = 3e-6: with
 * exact losses it gives 6.0e-4, where the loss is at least 7.9e-3.) SS-Topk samples nothing; for it the
 * value is several times below acct_flame_topk_lower.  ACCT_EDOMAIN also where delta/(2k+1) is not below
 * k/d. */
ACCT_CHECK enum acct_rc acct_flame_double_theorem4(const struct acct_flame_sparse *s, double delta,
	enum acct_flame_amplifier by, double *epsilon, const char **why);
/* The same without subsampling, the paper's baseline "20.53": 2k coordinates, each with delta/(2k+1).  An
 * upper bound, PROVED, for SS-Double, and for SS-Topk with users <= padded; except with
 * ACCT_FLAME_BENNETT_FIRST, which gives a PAPER VALUE, not a guarantee. */
ACCT_CHECK enum acct_rc acct_flame_double_unsampled(const struct acct_flame_sparse *s, double delta,
	enum acct_flame_amplifier by, double *epsilon, const char **why);

/* SS-Double: k rounds, in each of which the victim's message hides among the blanket messages of the d/k
 * indices it may have picked from.  PROVED for a uniform choice of k of d indices and for one index from
 * each of k public groups of d/k; k must divide d (with uneven groups: d = k times the smallest).  failure
 * (0, 1) is the chance that some index is chosen by more than `padded` users, or has more messages outside
 * the blanket than the round allows for.  It adds to delta: the vector is (epsilon, delta of r plus
 * failure)-private.  ACCT_EDOMAIN where `padded` is too small for that.
 *
 * Proof.  A uniform k-subset is a uniform partition into k groups of d/k indices, and then one index from
 * each group.  Given the partition, groups are independent.  In each the victim's message hides among all
 * blanket messages of d/k indices: the density of P against all-blanket is the mean over indices of the
 * mean of R(x_j)/omega over the index's blanket messages.  Others' choices and blanket membership do not
 * depend on data.  Except with chance `failure` (half each) no index is chosen by more than n_p users, and
 * none has more than K messages outside the blanket, where K is the quantile of Bin(n-1, k/d (1-gamma)) at
 * failure/(2d).  Means of fewer iid terms are larger in convex order, so each group is dominated by M =
 * (d/k)(n_p - K) messages that are certain to be blanket: a round with M-1 dummies and no others, k
 * times. */
ACCT_CHECK enum acct_rc acct_flame_double_round(
	const struct acct_flame_sparse *s, double failure, struct acct_round *r, const char **why);
/* Compute epsilon of acct_flame_double_round at delta > failure.  The interval contains the bound's value;
 * the upper end is PROVED. */
ACCT_CHECK enum acct_rc acct_flame_double_epsilon(const struct acct_flame_sparse *s, double failure,
	double delta, struct acct_bound *epsilon, const char **why);
/* A PROVED LOWER BOUND on epsilon (tight for bins 0 and 2, weak for many): the victim holds all 0 or all 1,
 * everybody else all 1/2, and a test counts the messages below 1/2.  It compares Bin(N-k, 1/2) + Bin(k, b)
 * with Bin(N-k, 1/2) + Bin(k, 1-b); any threshold t shows epsilon >= log((P(>= t) - delta)/Q(>= t)).  No
 * analysis can go below it.  0 where the test shows nothing.  ACCT_EDOMAIN where an index may be chosen by
 * more than `padded` users. */
ACCT_CHECK enum acct_rc acct_flame_double_lower(
	const struct acct_flame_sparse *s, double delta, double *epsilon, const char **why);

/* SS-Topk: the indices depend on the data, so up to 2k coordinates change, and nothing is sampled.  If the
 * two records have a indices in common, a coordinates are one input against another, and 2(k-a) an input
 * against a dummy.  Every a is covered; a stretch of them counts with its largest number of each kind.  The
 * upper end is up to 0.5 % (few bins) or 5 % (many) above that of the worst a alone.  This needs users <=
 * padded.  With more users an index may overflow; then another user's message and not a dummy takes the
 * place of a dropped message, and 2k coordinates of one input against another are charged.  (Binary
 * response, eps 0.5, k = 1, n_p = 50, 50 others on each index: the delta at 0.475 is 14,000 times that of
 * one full round.) For Laplace, input 0 against the blanket is computed up to eps 0.75 with e^(-eps/4)
 * Laplace(1/4), about which 0 and 1/2 are symmetric.  `length` is only checked against its range.  The
 * upper end is PROVED if every user sends equally many messages of one index each; the lower end is that of
 * the bound at a = k (of 2k), not of the protocol.  Cost: up to 13 compositions, some seconds. */
ACCT_CHECK enum acct_rc acct_flame_topk_epsilon(
	const struct acct_flame_sparse *s, double delta, struct acct_bound *epsilon, const char **why);
/* A PROVED LOWER BOUND on epsilon, found as in acct_flame_double_lower, with both records having the same
 * top k.  The indices of others are spread evenly: ACCT_EDOMAIN where (users - 1) sent > (padded - 1)
 * length. */
ACCT_CHECK enum acct_rc acct_flame_topk_lower(
	const struct acct_flame_sparse *s, double delta, double *epsilon, const char **why);

/* A PROVED LOWER BOUND on epsilon where the k coordinates of a user travel in one message, as the paper's
 * algorithms print it (for SS-Simple set sent = length and padded = users).  It uses the data of
 * acct_flame_double_lower, and tests whether some message has many coordinates below 1/2. */
ACCT_CHECK enum acct_rc acct_flame_linked_lower(
	const struct acct_flame_sparse *s, double delta, double *epsilon, const char **why);

/* "nu-index privacy": the factor by which an index that a user reported is likelier to be among its top k
 * than by the uniform prior beta = k/d.  This is NOT differential privacy, and not comparable with an
 * epsilon: an index that was not reported is certainly not among the top k.
 *
 * The user reports its `sent` top indices and `dummies` more, each drawn uniformly from all `length`; sent
 * 1..length, length up to 1e12.  *nu is the factor for an index of which only is known that it was
 * reported, 1/(beta + (1-beta)(1-(1-1/d)^dummies)), rounded up; 1/beta without dummies.  *most (may be
 * NULL) is the largest factor for any set that may be reported.  It is 1/beta for any number of dummies,
 * since all of them may fall on the top k.  An index that was reported twice has a larger factor than
 * *nu. */
ACCT_CHECK enum acct_rc acct_flame_nu_of(
	uint64_t length, uint64_t sent, uint64_t dummies, double *nu, double *most, const char **why);
/* Theorem 5: max(1, 1/(floor(n_p/(n beta)) beta)), the least nu that any number of reports could give with
 * this padding.  It is a PAPER VALUE, since the true nu depends on what users report.  ACCT_EDOMAIN where
 * n_p < n beta. */
ACCT_CHECK enum acct_rc acct_flame_nu(
	uint64_t padded, uint64_t users, double beta, double *nu, const char **why);
/* The number of messages per sent coordinate that nu needs: the least whole l >= max(1/(nu beta), nu/(nu -
 * 1 + beta)); nu in [1, 1/beta].  At nu = 1 it is ceil(1/beta): every index. */
ACCT_CHECK enum acct_rc acct_flame_nu_reports(double nu, double beta, double *reports, const char **why);

#ifdef __cplusplus
}
#endif
