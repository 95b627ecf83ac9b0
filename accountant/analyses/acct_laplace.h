/* acct_laplace.h - blanket cells of the Laplace randomizer: x in [0, 1] plus Laplace noise of scale
 * 1/epsilon0.
 *
 * Pure; nats; *why as in acct.h.  Fills cell[] and cells only.  Every other participant's report contains the
 * blanket e^{-epsilon0/2} Laplace(1/2, 1/epsilon0), whatever it holds: the largest there is.  The likelihood
 * ratios (u, v) of inputs 0 and 1 against it run along two straight legs, (s, 1) and (1, s), 1 <= s <=
 * e^epsilon0, so that cells at points of the legs hold the continuous law exactly from one side.
 *
 * PROVED for every pair of inputs: with x <= 1/2 <= x' they are below 0 and 1 in convex order, and two inputs
 * on the same side of 1/2 below the pair with one of them reflected (doc/analyses.md, "Laplace"). */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Above: stretches of the legs moved to their ends, means kept (a mean-preserving spread): dominates the
 * continuous pair for every epsilon at once, so also composed.  Below: stretches replaced by their means:
 * dominated by it.  63 and 64 cells; the deviation of the loss is 1.00003 (epsilon0 0.5) to 1.0002 (epsilon0
 * 4) times too large, or half as much too small.  epsilon0 (0, 300]. */
ACCT_CHECK enum acct_rc acct_laplace_above(double epsilon0, struct acct_round *r, const char **why);
ACCT_CHECK enum acct_rc acct_laplace_below(double epsilon0, struct acct_round *r, const char **why);

/* Above, with 1..31 stretches a leg instead of 31: 2 stretches + 1 cells, faster and wider. */
ACCT_CHECK enum acct_rc acct_laplace_coarse(
	double epsilon0, size_t stretches, struct acct_round *r, const char **why);

/* One input, whichever, against the blanket itself, Laplace(1/2): what telling a participant's message from a
 * dummy reveals.  From above, PROVED: moving every report towards 1/2 and adding noise takes the inputs 0 and
 * 1/2 to x and 1/2, and the blanket to itself.  1..63 stretches, one cell more; not symmetric, hence slow. */
ACCT_CHECK enum acct_rc acct_laplace_half(
	double epsilon0, size_t stretches, struct acct_round *r, const char **why);

#ifdef __cplusplus
}
#endif
