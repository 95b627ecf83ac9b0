/* acct_gdp.h - bounds rounds by Gaussian differential privacy with a defect, which the Gaussian filter
 * charges.
 *
 * A round is mu-GDP with defect d when, for every y, H(y) <= d (1-y)/2 + (1-d) H_mu(y), where H_mu is the
 * curve of N(mu, 1) against N(0, 1).  Its pair is then dominated by the pair that gives everything away
 * with chance d and otherwise is Gaussian (Dong, Roth, Su 2022; doc/accounting.md, "Filters").  Source of
 * the sums: Gaussian filters compose fully adaptively (Smith, Thakurta 2022; Koskela, Tobaben, Honkela
 * 2023), and defects add up.
 *
 * Proof, node by node.  Upper bounds on H at nodes 0.01 deviations apart, the larger of both directions,
 * are joined by chords; H is convex and below them.  Points above a chord of others are lowered to it; from
 * the largest finite loss on, H(y) = nu(inf)(1-y)/2.  The right side is convex, hence above its tangent at
 * the middle of a cell, which has slope d/2 + (1-d) nu(Y > y).  A tangent above a chord at both ends is
 * above it between them.  Beyond the last node the chord goes to (1, 0), and d (1-y)/2 alone must be above
 * it.  mu is found by bisection.
 *
 * Rounding.  Phi(-z) = erfc(z/sqrt 2)/2 with z off by 2 ulps of s = eps/mu + mu/2, hence Phi by a relative
 * (|z|+1) 2 ulp s and a few ulps of erfc: 32 + 8 (s+1)^2 ulps are charged to each of the two terms before
 * they are subtracted.  Gaps between losses lose ulp b/(b-a), and eight times that is charged.  The blur of
 * the cells (acct_plan_blur) moves every node up, with H(-shift) <= H(0) + shift/2 at the first. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The delta of mu-GDP at epsilon, rounded up (above) or down (below).  epsilon [0, 700], mu [0, inf). */
double acct_gdp_delta_above(double epsilon, double mu);
double acct_gdp_delta_below(double epsilon, double mu);

/* Find a mu such that one repetition of the round is mu-GDP with this defect, (0, 1).  *mu is rounded up
 * and proved; it is INFINITY if the defect is too small for the chance of an infinite loss, or mu would
 * exceed 100.  It exceeds the least such mu by a relative 1e-5 where the curve is smooth.  Errors: as
 * acct_epsilon; on error *mu is untouched.  Cost: 10 to 100 ms. */
ACCT_CHECK enum acct_rc acct_gdp_round(const struct acct_round *round, double defect, double *mu);

#ifdef __cplusplus
}
#endif
