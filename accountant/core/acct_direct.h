/* acct_direct.h - the lowest frequencies of a law's transform, term by term.  Private to acct_frame.c.
 *
 * The product of many laws' transforms is negligible but at the lowest frequencies, and there a sum over the
 * atoms costs less than a transform of all.
 *
 * Rounding.  An angle 2 pi (k at mod N)/N is off by 13 ulp, its sine and cosine by 2 more.  From a frequency
 * to the next they turn by a product, which adds less than 5 ulp, and are computed anew every 32.  So with
 * atoms that sum to 1 every frequency is off by less than (170 + atoms) ulp: in the 2-norm over all N,
 * divided by sqrt(N), by that times sqrt(2 frequencies/N). */
#pragma once

#include "acct_law.h"

/* Multiplies the frequencies 0..n-1 of a product of `size` points by the transform of the tilted law to the
 * given power: atom j has the mass g[j], which sum to 1.  False, and nothing done: the atoms do not lie in
 * pairs around 0, or the error would exceed `most`, or a transform costs less. */
ACCT_CHECK bool acct_direct_multiply(double (*product)[2], size_t n, size_t size, const struct acct_law *law,
	const double *g, double power, double most);
