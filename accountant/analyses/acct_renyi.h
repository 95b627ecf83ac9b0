/* acct_renyi.h - computes Renyi divergences of rounds, and epsilon from them.  Epsilons and divergences are
 * in nats; neighbours replace one record.
 *
 * A round's divergence of order alpha is that of its dominating pair, the larger of both directions.  It is
 * an upper bound on the divergence of the protocol.  Divergences add up over rounds that are chosen
 * adaptively, and Renyi filters charge them.  All bounds here are proved.  `upper` is rounded up; `lower` is
 * rounded down, and bounds the pair, not the protocol.
 *
 * Moments from the curve.  Let S = E_Q (dP/dQ)^alpha - 1 and D_alpha = log(1 + S)/(alpha-1).  With delta' the
 * curve of (Q, P),
 *
 *     S = alpha (alpha-1) [ int_0^inf e^{(alpha-1) l} delta(l) dl + int_0^inf e^{-alpha l} delta'(l) dl ],
 *
 * because r^alpha - 1 - alpha(r-1) has the second derivative alpha(alpha-1) r^{alpha-2}, and E_Q (r-e)+ =
 * delta(log e), E_Q (e-r)+ = e delta'(-log e).  Every term is positive, so nothing cancels.  Between two
 * losses delta lies below the chord of upper points and above the lines of the two tests.  Errors:
 * acct_renyi_grid.c, acct_pair.h.
 *
 * An epsilon from Renyi divergences is never below that of acct_epsilon.  It serves as a cross-check, and
 * where only divergences are known.
 *
 * Threads: all functions are pure.  Source: Mironov 2017. */
#pragma once

#include <stdbool.h>

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_MOST_ORDER 1e7

/* Divergences of all `count` repetitions of a round at n >= 1 orders, each in (1, ACCT_MOST_ORDER].
 *   rdp[i]: [lower, upper] at alpha[i].  Upper and lower are INFINITY when an infinite loss has a chance;
 *           upper never exceeds the largest loss.
 * Width: 1e-4 to 1e-3 of upper where e^{(alpha-1) rdp} is below 1e200; wider beyond it, and where few
 * messages make the curve rough.  For mirrored cells (acct_pair.h), such as acct_cells_generic, about 1e-10,
 * and 1e-6 from a million participants on. Errors: as acct_delta; ACCT_EDOMAIN also for orders outside the
 * range.  On error rdp is untouched. Cost: 5 to 100 ms for any number of orders; 0.5 s where few messages
 * make the curve rough; up to 1 s for mirrored cells. */
ACCT_CHECK enum acct_rc acct_renyi(
	const struct acct_round *round, const double *alpha, size_t n, struct acct_bound *rdp);

/* Three ways to compute an epsilon at delta from a divergence rdp of order alpha.  All are proved, and each
 * gives a smaller epsilon than the one before. */
enum acct_renyi_way {
	ACCT_RENYI_CLASSIC, /* rdp + log(1/delta)/(alpha-1).  Mironov 2017, Proposition 3 */
	ACCT_RENYI_CKS,     /* Canonne, Kamath, Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21 */
	ACCT_RENYI_OPTIMAL, /* the least epsilon that one order can give.  Asoodeh et al. 2021 */
};

/* Compute that epsilon, in [0, inf] and rounded up.  alpha (1, ACCT_MOST_ORDER], rdp [0, inf], delta (0,
 * 1). */
ACCT_CHECK enum acct_rc acct_renyi_convert(
	enum acct_renyi_way way, double alpha, double rdp, double delta, double *eps);

/* Computes an upper bound on the composition's divergence of order alpha.  user: as passed to
 * acct_renyi_minimise. */
typedef enum acct_rc acct_renyi_curve(void *user, double alpha, double *rdp);

/* Search the order at which `way` gives the least epsilon: among the integers in [2, most] if `integers`,
 * else in [1 + 1/64, most].  *order (may be NULL) is the order found.  The search assumes that epsilon has
 * one minimum.  If that is false, the epsilon is larger than necessary, but still valid, since every order
 * is.  Cost: about 60 calls of curve; an error of curve ends the search. */
ACCT_CHECK enum acct_rc acct_renyi_minimise(acct_renyi_curve *curve, void *user, bool integers, double most,
	enum acct_renyi_way way, double delta, double *eps, double *order);

/* Compute an upper bound on epsilon at delta of the adaptive composition of n rounds (borrowed), from their
 * divergences.  It is INFINITY if an infinite loss is possible.  *order (may be NULL): the order that gave
 * it; INFINITY: the sum of the largest losses did. Errors: as acct_epsilon, but no delta is too small.  Cost:
 * 10 to 100 ms per round that differs, 0.5 s where few messages make its curve rough. */
ACCT_CHECK enum acct_rc acct_renyi_epsilon(
	const struct acct_round *rounds, size_t n, double delta, double *eps, double *order);

#ifdef __cplusplus
}
#endif
