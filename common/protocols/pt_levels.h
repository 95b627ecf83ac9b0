/* pt_levels.h - level bins: the mean of a bounded number from one rounded level each. */
#pragma once

#include "pt_protocol.h"

/* x = X / 2^32 of the range, X 0..2^32, to one of the levels 0..b with mean x*b exactly (b below 2^31). */
uint64_t pt_levels_round(uint64_t x, uint32_t b, const struct cm_rng *rng);
/* Bins that make the mean most accurate at this epsilon0 and number of participants. */
uint32_t pt_levels_choose(double epsilon0, uint32_t dummies, uint64_t n);
