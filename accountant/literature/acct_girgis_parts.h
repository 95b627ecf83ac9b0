/* acct_girgis_parts.h - moments of the special pairs.  Private to acct_girgis*.c. */
#pragma once

#include "acct.h"

/* Bounds on log(E r^l - 1), where r = (k/n) e^eps0 + (1 - k/n) e^-eps0 and k ~ Bin(n, 1/(e^eps0 + 1)): the
 * moment of n reports of binary randomized response on equal inputs against the same with one of them
 * changed. */
struct acct_bound acct_girgis_moment(double eps0, double n, double l);

/* An upper bound on the log of its expectation over 1 + Bin(n-1, e^-eps0) reports, up to a relative
 * 1e-3. */
double acct_girgis_special(double eps0, double n, double l);
