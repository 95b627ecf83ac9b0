/* acct_girgis_parts.h - moments of the special pairs.  Private to acct_girgis*.c. */
#pragma once

#include "acct.h"

/* Bounds on log(E r^l - 1), r = (k/n) e^eps0 + (1 - k/n) e^-eps0 with k ~ Bin(n, 1/(e^eps0 + 1)): the moment
 * of n reports of binary randomized response on equal inputs against one of them changed. */
struct acct_bound acct_girgis_moment(double eps0, double n, double l);

/* The log of its expectation over 1 + Bin(n-1, e^-eps0) reports, from above, to 1e-3 relative. */
double acct_girgis_special(double eps0, double n, double l);
