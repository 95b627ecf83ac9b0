/* acct_metric.h - cells of shuffled reports under metric differential privacy: the laws of the reports of two
 * inputs x, x' are within a factor e^{d(x, x')}, where d is a metric scaled by epsilon (Chatzikokolakis et
 * al. 2013; Wang et al. 2024, definitions 4 and 5).
 *
 * The functions are pure, and distances are in nats.  They fill cell[] and cells only; *why as in acct.h (may
 * be NULL).
 *
 * Proof.  Of two records at a distance of at most d in a domain where no two inputs are further apart than
 * `most`: R(x) <= e^d R(x'), and every other participant's report, whatever he holds, is at least e^-most
 * max(R(x), R(x')).  So the pair of acct_cells_pair with p = e^d, q = q2 = e^most and beta the total
 * variation dominates, and it is monotone in each of the three: a bound at d holds for all pairs nearer than
 * d.  Total variation at d: any noise      (p-1)/(p+1), the most there is at this ratio a line Laplace noise
 * of density e^-|y-x|/2:  1 - e^{-d/2} the plane      planar Laplace noise of density e^-|y-x|/(2 pi), Andres
 * et al. 2013: what lies nearer to x than to x' is a half-plane, so it is the chance of |Y_1| < d/2, (2/pi)
 * int_0^{d/2} t K_1(t) dt; with K_1's integral and c = cosh u, (2/pi) int_0^inf (1 - (1 + c d/2) e^{-c
 * d/2})/c du.  In the plane the trapezoid rule is taken with step 1/8: the integrand is analytic and bounded
 * for |Im u| <= 1.2 with an integral below 16, so that the error is below 32/(e^{2 pi 1.2 8} - 1) < 1e-24;
 * what is left out beyond c = 1e17/min(1, d) is added, and rounding is covered by 1e-12 of the sum.
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

/* Total variation of the reports of two inputs at this distance, [1e-6, 300]: rounded up, by at most 3e-12 of
 * it. */
ACCT_CHECK enum acct_rc acct_metric_variation(
	enum acct_metric_noise noise, double distance, double *beta, const char **why);

/* Cells of two inputs at a distance of at most `distance` in a domain of diameter `most`: PROVED for every
 * epsilon at once.  distance [1e-6, most], most up to 300.  Not for a round with `sampling` unless distance
 * is most: there a record that nobody changed may be drawn in the changed one's place, up to `most` away. */
ACCT_CHECK enum acct_rc acct_metric_cells(
	enum acct_metric_noise noise, double distance, double most, struct acct_round *r, const char **why);

#ifdef __cplusplus
}
#endif
