/* acct_binomial.h - binomial chances, far tails included. */
#pragma once

/* log P[Bin(n, p) = k], p in (0, 1), 0 <= k <= n below 2^53, whole numbers.  The absolute error is below
 * acct_binomial_error(n, p, k).  Source: Loader 2000, "Fast and accurate computation of binomial
 * probabilities". */
double acct_binomial_log(double n, double p, double k);
double acct_binomial_error(double n, double p, double k);

/* P[Bin = k+1] / P[Bin = k], a ratio r that falls as k grows.  So beyond the mode the chances above k sum
 * to at most chance(k) r/(1-r), where r < 1. */
double acct_binomial_ratio(double n, double p, double k);

/* The least k whose upper tail, P[Bin > k], is certainly at most e^log_tail; at least the mode. */
double acct_binomial_last(double n, double p, double log_tail);
