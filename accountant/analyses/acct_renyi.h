/* acct_renyi.h - Renyi divergences of rounds, and epsilon from them.  Nats; neighbours replace one record.
 *
 * The divergence of order alpha is that of a round's dominating pair, the larger of both directions.  It
 * bounds that of the round, adds up over rounds chosen adaptively, and is what Renyi filters charge.
 * Everything in here is proved; `upper` is rounded up, `lower` (of the pair, not of the protocol) down.
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
 * An epsilon from Renyi divergences is never below the one of acct_epsilon: it is a cross-check, and what
 * can be had where only divergences are known.
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
 * Width: 1e-4 to 1e-3 of upper where e^{(alpha-1) rdp} is below 1e200, beyond it and where few messages
 *        make the curve rough wider.  Of mirrored cells (acct_pair.h), such as acct_cells_generic, about
 *        1e-10, and 1e-6 from a million participants on.
 * Errors: as acct_delta; ACCT_EDOMAIN also for orders outside the range.  On error rdp is untouched.
 * Cost: 5 to 100 ms however many orders; 0.5 s where few messages make the curve rough; of mirrored cells
 * up to 1 s. */
ACCT_CHECK enum acct_rc acct_renyi(
	const struct acct_round *round, const double *alpha, size_t n, struct acct_bound *rdp);

/* Ways from a divergence rdp of order alpha to an epsilon at delta; all proved, each below the one before. */
enum acct_renyi_way {
	ACCT_RENYI_CLASSIC, /* rdp + log(1/delta)/(alpha-1).  Mironov 2017, Proposition 3 */
	ACCT_RENYI_CKS,     /* Canonne, Kamath, Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21 */
	ACCT_RENYI_OPTIMAL, /* the best there is from one order.  Asoodeh et al. 2021 */
};

/* alpha (1, ACCT_MOST_ORDER], rdp [0, inf], delta (0, 1); *eps in [0, inf], rounded up. */
ACCT_CHECK enum acct_rc acct_renyi_convert(
	enum acct_renyi_way way, double alpha, double rdp, double delta, double *eps);

/* A bound on the composition's divergence of order alpha; user is acct_renyi_minimise's. */
typedef enum acct_rc acct_renyi_curve(void *user, double alpha, double *rdp);

/* The least epsilon that `way` gives over orders in [2, most]: integers only where `integers`, else
 * from 1 + 1/64 on.  Any order is valid, so the search, which assumes one valley, costs tightness at worst.
 * order may be NULL.  Cost: about 60 calls of curve, whose errors end it. */
ACCT_CHECK enum acct_rc acct_renyi_minimise(acct_renyi_curve *curve, void *user, bool integers, double most,
	enum acct_renyi_way way, double delta, double *eps, double *order);

/* epsilon at delta of the adaptive composition of n rounds (borrowed), from their divergences: an upper
 * bound, INFINITY when an infinite loss has a chance.  *order: where (may be NULL), INFINITY for the sum of
 * the largest losses.
 * Errors: as acct_epsilon, but no delta is too small.  Cost: 10 to 100 ms per round that differs,
 * 0.5 s where few messages make its curve rough. */
ACCT_CHECK enum acct_rc acct_renyi_epsilon(
	const struct acct_round *rounds, size_t n, double delta, double *eps, double *order);

#ifdef __cplusplus
}
#endif
