/* acct_laplace.h - blanket cells of the Laplace randomizer: x in [0, 1] plus Laplace noise of scale
 * 1/epsilon0.
 *
 * No I/O, no state; nats; *why as in acct.h.  Sets cell[] and cells only.  Every other participant's report
 * contains the blanket e^{-epsilon0/2} Laplace(1/2, 1/epsilon0), whatever its input is, and this is the
 * largest blanket.  Relative to it the likelihood ratios (u, v) of inputs 0 and 1 lie on two straight legs,
 * (s, 1) and (1, s), 1 <= s <= e^epsilon0, so that cells at points of the legs bound the continuous law
 * exactly from one side.
 *
 * Legs.  s = e^{epsilon0 |1-2y|} has density (g/4) s^{-3/2} on [1, p] and mass e^{-epsilon0}/2 at p, with g
 * = e^{-epsilon0/2} and p = e^{epsilon0}.  With t = sqrt(s) a stretch t1..t2 has mass (g/2)(t2-t1)/(t1 t2)
 * and mean t1 t2.
 *
 * PROVED: inputs 0 and 1 are the worst pair.  u_a = R_a/omega falls in y for a <= 1/2 and rises for a >=
 * 1/2.
 * 1.  a <= 1/2 <= b: x = u_a - E u_b falls in y.  u_0 - u_a changes sign once, from + to -, and so does
 * E(u_b - u_1).  If two falling functions of the same y have equal means and their difference changes sign
 * once, from + to -, then the second is below the first in convex order (cut criterion).  So (a, b) <= (0,
 * b) <= (0, 1).
 * 2.  a, b <= 1/2: u_b and u_(1-b) have the same law, since omega is symmetric about 1/2.  u_a and -E
 * u_(1-b) both fall, and of all sums with given marginal laws the comonotone sum is largest in convex
 * order.  So (a, b) <= (a, 1-b), which is case 1.  Reflection gives the other cases.  QED */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Set cells for epsilon0 (0, 300].  acct_laplace_above moves each stretch of a leg to the stretch's ends
 * and keeps its mean (a mean-preserving spread).  Its 63 cells dominate the continuous pair at every
 * epsilon, so also in compositions.  acct_laplace_below replaces each stretch by its mean; its 64 cells are
 * dominated by the pair.  The standard deviation of the loss is 1.00003 times (epsilon0 0.5) to 1.0002
 * times (epsilon0 4) too large, or too small by half of that. */
ACCT_CHECK enum acct_rc acct_laplace_above(double epsilon0, struct acct_round *r, const char **why);
ACCT_CHECK enum acct_rc acct_laplace_below(double epsilon0, struct acct_round *r, const char **why);

/* As acct_laplace_above, with 1..31 stretches for each leg instead of 31.  It has 2 stretches + 1 cells,
 * which is faster and wider. */
ACCT_CHECK enum acct_rc acct_laplace_coarse(
	double epsilon0, size_t stretches, struct acct_round *r, const char **why);

/* Cells that tell one input, the worst, from the blanket itself, Laplace(1/2): what a message reveals by
 * being a participant's and not a dummy.  From above, PROVED: input 0 is worst.  Map Y to 1/2 + c (Y - 1/2)
 * + Z, where Z is 0 with chance c^2 and else Laplace(1/epsilon0).  This takes Laplace(1/2 + d) to
 * Laplace(1/2 + c d), since (1 + c^2 w)/(1 + w) = c^2 + (1-c^2)/(1+w) in characteristic functions.  So it
 * maps the blanket to itself, and input 0 to any input in [0, 1/2].  There are 1..63 stretches and one cell
 * more.  The list is not symmetric, hence slow. */
ACCT_CHECK enum acct_rc acct_laplace_half(
	double epsilon0, size_t stretches, struct acct_round *r, const char **why);

#ifdef __cplusplus
}
#endif
