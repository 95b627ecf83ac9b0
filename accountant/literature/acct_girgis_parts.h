/* acct_girgis_parts.h - moments of the special pairs.  Private to acct_girgis*.c. */
#pragma once

#include "acct.h"

/* Bounds on log(E r^l - 1) for the likelihood ratio r = (k/n) e^eps0 + (1 - k/n) e^-eps0, k ~ Bin(n,
 * 1/(e^eps0 + 1)): the moment of n reports of binary randomized response on equal inputs against the same
 * with one of them changed, for order l. */
struct acct_bound acct_girgis_moment(double eps0, double n, double l);

/* An upper bound on the log of the expectation of that moment over n = 1 + Bin(n-1, e^-eps0) reports,
 * larger by at most a relative 1e-3. */
double acct_girgis_special(double eps0, double n, double l);
