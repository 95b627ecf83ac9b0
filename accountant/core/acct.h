/* acct.h - the privacy accountant: computes certified epsilon and delta of shuffled rounds.
 *
 * The functions do no I/O, have no global state except FFTW's planner, and do not depend on the rest of the
 * tree.  They know no protocol: a protocol describes its round by *blanket cells* (doc/accounting.md,
 * "Blanket-cell theorem"). Epsilons are in nats.  Neighbouring data sets differ in one participant's record,
 * which is replaced.
 *
 * An answer is an interval [lower, upper] that contains the true value of the dominating pair; it includes
 * all rounding and truncation errors.  Publish `upper` and decide on it: it is never below the true privacy
 * loss.  If exchanging the two inputs (u and v) changes a round's list of cells, upper covers both
 * directions, chosen anew in each round.
 *
 * Threads: every function may be called from several threads at once.  FFTW's planner is shared by the
 * process, and this library guards its own calls of it; a program that itself plans with FFTW must not do so
 * while this library computes.
 *
 * Cost: 0.05 to 5 ms for one round, for any n; 1 to 50 ms per distinct round for a composition; up to two
 * seconds where few participants make the losses a coarse lattice, or where a family's round has few blanket
 * messages and many kinds of others (acct_families.h).  The library counts its work and stops at a limit; an
 * answer cut short by the limit is wider.  Equal questions have equal answers.  A delta below 1e-200 is
 * refused with ACCT_EPRECISION. */
#pragma once

#include "acct_round.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compute the least epsilon such that the adaptive composition of all rounds is (epsilon, delta)-DP; delta
 * (0, 1).  upper is INFINITY if no finite epsilon reaches delta.  On error *eps is untouched.  It composes
 * the privacy-loss distributions of the dominating pairs by FFT (doc/accounting.md, "Composition"). */
ACCT_CHECK enum acct_rc acct_epsilon(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps);

/* The same for deltas >= 1 values of delta, into eps[deltas].  The rounds are composed once for all of
 * them.  An interval may differ from acct_epsilon's; both contain the value.  On error no element is set. */
ACCT_CHECK enum acct_rc acct_epsilons(const struct acct_round *rounds, size_t n, const double *delta,
	size_t deltas, struct acct_bound *eps);

/* Compute the least delta such that the adaptive composition of all rounds is (epsilon, delta)-DP; epsilon
 * [0, inf). */
ACCT_CHECK enum acct_rc acct_delta(
	const struct acct_round *rounds, size_t n, double epsilon, struct acct_bound *delta);

/* The same at epsilons >= 1 increasing values of epsilon, into delta[epsilons].  The rounds are composed
 * once for all of them.  On error no element is set. */
ACCT_CHECK enum acct_rc acct_deltas(const struct acct_round *rounds, size_t n, const double *epsilon,
	size_t epsilons, struct acct_bound *delta);

/* What rc means, in a few words. */
const char *acct_strerror(enum acct_rc rc);

#ifdef __cplusplus
}
#endif
