/* pl_mu.h - compares losses by the Gaussian mechanism that has the same loss. */
#pragma once

/* The mu of the Gaussian mechanism that is exactly (epsilon, delta)-DP (Dong, Roth, Su 2022), and its epsilon
 * at a delta.  Searches start from these values; no guarantee rests on them. */
double pl_mu(double epsilon, double delta);
double pl_mu_epsilon(double mu, double delta);
