/* es_noise_law.h - the law of discrete Laplace noise on a window.  The noise is mean + L, where L is in
 * -mean..mean and has a chance proportional to a^|L|, a = decay / 2^64.  No I/O, no state. */
#pragma once

#include "es_law.h"

struct es_noise {
	uint64_t decay; /* a times 2^64 */
	uint32_t mean;  /* the mean of the number of dummies; 0: there is no noise */
};

/* The sum of a^|l| over l in -mean..mean. */
long double es_noise_total(const struct es_noise *noise);
double es_noise_variance(const struct es_noise *noise); /* the variance, exact but for rounding */
/* Compute the law.  False: out of memory. */
bool es_noise_law(const struct es_noise *noise, struct es_law *out);
