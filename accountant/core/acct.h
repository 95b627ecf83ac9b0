/* acct.h - the privacy accountant: certified epsilon and delta of shuffled rounds.
 *
 * Pure: no I/O, no global state but FFTW's planner, and no dependence on the rest of the tree.  Every answer
 * follows from *blanket cells* (doc/accounting.md, "Blanket-cell theorem"): a protocol hands its cells to
 * these functions, which know no protocol.  Epsilons are in nats.  Neighbouring data sets differ in one
 * participant's record, which is replaced.
 *
 * An answer is an interval [lower, upper] that contains the pair's true value, rounding and truncation
 * included.  Publish `upper` and decide on it: it is never below the true privacy loss.  Rounds whose list is
 * not symmetric in u and v are bounded in both directions: upper covers any mixture of the directions, round
 * by round.
 *
 * Threads: every function may be called from several threads at once.  FFTW's planner is shared by the
 * process, and this library guards its own calls of it; a program that itself plans with FFTW must not do so
 * while this library computes.
 *
 * Cost: 0.05 to 5 ms for one round whatever n; 1 to 50 ms per distinct round for a composition; up to two
 * seconds where few participants make the losses a coarse lattice.  The library counts its work and stops at
 * a limit; an answer cut short by the limit is wider.  Equal questions have equal answers.  A delta below
 * 1e-200 is refused with ACCT_EPRECISION. */
#pragma once

#include "acct_round.h"

#ifdef __cplusplus
extern "C" {
#endif

/* epsilon such that the adaptive composition of all rounds is (epsilon, delta)-DP.
 *   delta (0, 1).  rounds borrowed for the call.  On error *eps is untouched.
 *   upper == INFINITY: no finite epsilon reaches delta.
 * Source: PLD of the dominating pairs, composed by FFT (doc/accounting.md, "Composition"). */
ACCT_CHECK enum acct_rc acct_epsilon(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps);

/* The same for 1 or more deltas, into as many elements of eps: the rounds are composed once for all of them.
 * An interval may differ from acct_epsilon's; both contain the value.  On error no element is set. */
ACCT_CHECK enum acct_rc acct_epsilons(const struct acct_round *rounds, size_t n, const double *delta,
	size_t deltas, struct acct_bound *eps);

/* delta such that the adaptive composition of all rounds is (epsilon, delta)-DP; epsilon [0, inf). */
ACCT_CHECK enum acct_rc acct_delta(
	const struct acct_round *rounds, size_t n, double epsilon, struct acct_bound *delta);

/* The same at 1 or more epsilons, increasing, into as many elements of delta; composed once for all of them.
 * On error no element is set. */
ACCT_CHECK enum acct_rc acct_deltas(const struct acct_round *rounds, size_t n, const double *epsilon,
	size_t epsilons, struct acct_bound *delta);

/* What rc means, in a few words. */
const char *acct_strerror(enum acct_rc rc);

#ifdef __cplusplus
}
#endif
