/* pt_ratio.h - ratios of chances as whole numbers, and their logarithms, with the same bits on every machine.
 *
 * A local guarantee is the logarithm of a ratio of chances of 2^-64.  A long double has 64 bits on one
 * processor and 53 on another, which is too few for a threshold of 64 bits: the guarantee of a randomizer
 * would then exceed the epsilon0 from which it was derived.  So this computes with integers. */
#pragma once

#include "cm_wide.h"

/* over / under. */
struct pt_ratio {
	struct cm_wide over, under;
};

/* keep / 2^64 of `likely` outputs against the rest of `unlikely` ones: the ratio of the chances of one likely
 * and one unlikely output, keep * unlikely / ((2^64 - keep) * likely).  keep is above 0. */
struct pt_ratio pt_ratio_of(uint64_t keep, uint64_t unlikely, uint64_t likely);
/* times * ln(ratio), in nats, rounded up: at least the true value, and above it by less than 2^-80 times
 * `times` before it is rounded to a double.  A little above 0 for a ratio of at most 1, and
 * INFINITY for one whose `under` is 0.  times is of 1..4096. */
double pt_ratio_log(struct pt_ratio r, uint32_t times);
/* The ratio as a number, with a relative error below 2^(2 - LDBL_MANT_DIG). */
long double pt_ratio_value(struct pt_ratio r);

/* times * guarantee, which is finite, for a sum of at most 2^20 guarantees; and that sum, rounded up once. It
 * is exact before, if each guarantee is 0 or at least PT_EPSILON0_MIN; a smaller one is rounded up. */
struct cm_wide pt_guarantees(double guarantee, uint32_t times);
double pt_guarantees_up(struct cm_wide sum);
