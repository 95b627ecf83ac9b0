/* pl_mu.h - the Gaussian mechanism as a yardstick. */
#pragma once

/* mu of the Gaussian mechanism that is exactly (epsilon, delta)-DP (Dong, Roth, Su 2022), and back.  Good
 * first guesses, nothing more: nobody's privacy rests on them. */
double pl_mu(double epsilon, double delta);
double pl_mu_epsilon(double mu, double delta);
