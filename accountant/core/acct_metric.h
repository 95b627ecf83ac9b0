/* acct_metric.h - cells of shuffled reports under metric differential privacy: the laws of the reports of
 * two inputs x, x' are within a factor e^{d(x, x')}, where d is a metric scaled by epsilon (Chatzikokolakis
 * et al.  2013; Wang et al.  2024, definitions 4 and 5).
 *
 * The functions have no state, and distances are in nats.  They set cell[] and cells only; *why as in
 * acct.h (may be NULL).
 *
 * Proof.  Take two records x, x' at a distance of at most d, in a domain where no two inputs are further
 * apart than `most`.  Then R(x) <= e^d R(x'), and every other participant's report, whatever its input, is
 * at least e^-most max(R(x), R(x')).  So the pair of acct_cells_pair with p = e^d, q = q2 = e^most and beta
 * the total variation dominates.  It is monotone in each of the three: a bound at d holds for all pairs
 * nearer than d.  Total variation at distance d:
 * - any noise: (p-1)/(p+1), the largest at this ratio;
 * - Laplace noise on a line, of density e^-|y-x|/2: 1 - e^{-d/2};
 * - planar Laplace noise, of density e^-|y-x|/(2 pi), Andres et al.  2013: the points that are nearer to x
 *   than to x' are a half-plane, so it is the chance that |Y_1| < d/2, (2/pi) int_0^{d/2} t K_1(t) dt.
 *   With K_1's integral and c = cosh u it is (2/pi) int_0^inf (1 - (1 + c d/2) e^{-c d/2})/c du.
 *
 * The last integral is computed by the trapezoid rule with step 1/8.  The integrand is analytic and bounded
 * for |Im u| <= 1.2, with an integral of its modulus below 16, so the error is below 32/(e^{2 pi 1.2 8} -
 * 1) < 1e-24.  Everything beyond c = 1e17/min(1, d) is added, and rounding is covered by 1e-12 of the sum.
 * Post-processing keeps all of this: rounding to levels, clamping to the domain. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

enum acct_metric_noise {
	ACCT_METRIC_ANY,
	ACCT_METRIC_LINE,
	ACCT_METRIC_PLANE,
};

/* Set total variation of the reports of two inputs at this distance, [1e-6, 300]: rounded up, by a relative
 * error of at most 3e-12. */
ACCT_CHECK enum acct_rc acct_metric_variation(
	enum acct_metric_noise noise, double distance, double *beta, const char **why);

/* Set the cells of two inputs at a distance of at most `distance` in a domain of diameter `most`: PROVED
 * for every epsilon at once.  distance [1e-6, most], most up to 300.  If distance is below most, the cells
 * do not hold for a round with `sampling`: where the changed record is not drawn, another record takes its
 * place, and may be up to `most` away. */
ACCT_CHECK enum acct_rc acct_metric_cells(
	enum acct_metric_noise noise, double distance, double most, struct acct_round *r, const char **why);

#ifdef __cplusplus
}
#endif
