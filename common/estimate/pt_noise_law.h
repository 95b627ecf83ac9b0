/* pt_noise_law.h - the law of discrete Laplace noise on a window: mean + L, L on -mean..mean with chance
 * proportional to a^|L|, a = decay / 2^64.  Pure. */
#pragma once

#include "pt_law.h"

struct pt_noise {
	uint64_t decay; /* a * 2^64 */
	uint32_t mean;  /* 0: there is no noise */
};

/* Sum of a^|l| over -mean..mean. */
long double pt_noise_total(const struct pt_noise *noise);
double pt_noise_variance(const struct pt_noise *noise); /* exactly */
/* False out of memory. */
bool pt_noise_law(const struct pt_noise *noise, struct pt_law *out);
