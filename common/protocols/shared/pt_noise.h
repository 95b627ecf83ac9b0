/* pt_noise.h - blanket messages whose number is discrete Laplace noise: for each bin the shuffler adds
 * mean + L dummies of that bin, L on -mean..mean with chance proportional to a^|L|, a = decay / 2^64.
 *
 * Only the shuffler is trusted, and nothing depends on the number of participants.  One bin, with the victim
 * in it or not, is binary randomized response of epsilon ln(1/a) but for the chance `defect`, exactly; a
 * victim is in one of two bins, so a round is two of these (doc/protocols/categories.md, "Noise of the
 * shuffler"). */
#pragma once

#include "pt_device.h"

/* Greatest mean: the law of a bin's dummies is a window of 2^18. */
#define PT_NOISE_MEAN_MAX 100000u
/* Greatest a^mean, the chance of an end over that of the middle: the defect is less, and a draw takes no more
 * than a seventh of the mean in generated numbers. */
#define PT_NOISE_END_MAX 0.001

/* a^mean. */
long double pt_noise_end(uint64_t decay, uint32_t mean);
/* Is the noise of p possible, and is there nothing beside it that it does not go with?  Of rows with
 * pt_mixbins.  CM_EPROTO. */
CM_CHECK enum cm_rc pt_noise_check(const struct pt_randomizer *p, struct cm_err *err);
/* How many dummies of one bin, 0..2 mean: drawn from exactly that law. */
uint32_t pt_noise_draw(const struct pt_shuffler *s, const struct cr_rng *rng);
