/* pt_noise.h - blanket messages whose number is discrete Laplace noise: for each bin the shuffler adds
 * mean + L dummies of that bin, L on -mean..mean with chance proportional to a^|L|, a = decay / 2^64.
 *
 * Only the shuffler is trusted, and nothing depends on the number of participants.  One bin, with the victim
 * in it or not, is binary randomized response of epsilon ln(1/a) but for the chance `defect`, exactly; a
 * victim is in one of two bins, so a round is two of these.
 *
 * Draw.  L is how often a chance of a came true in a row, minus the same again, which has P(l) = (1-a)/(1+a)
 * a^|l| (Inusah and Kozubowski 2006); a draw beyond the ends is repeated.  So P(L = l) = a^|l| / Z, Z = 1 + 2
 * a (1 - a^E) / (1 - a), E the mean.
 *
 * Loss.  The analyzer sees the counts c_w + E + L_w; all else it sees is a function of these and n, or
 * independent of them.  A participant who changes from bin x to y moves two counts by one.  For one bin
 * compare u = E + L + 1 (law P) with u = E + L (law Q):
 * - 1 <= u <= E: P(u) / Q(u) = a.  E < u <= 2E: P(u) / Q(u) = 1/a.  u = 0 has Q only, u = 2E + 1 has P only.
 * - P of the second part is (a^0 + .. + a^(E-1)) / Z, of the first a times as much.  Q has them the other way
 *   round.  Both have the chance t = a^E / Z outside of the other.
 * So with chance 1 - t it is exactly binary randomized response with keep probability 1 / (1 + a), and with
 * chance t everything is told.  The other bin is the same with P and Q exchanged, and independent.  Epsilon
 * alone is 2 ln(1/a) from delta 2t on.
 *
 * Ends.  E is the least with 2t <= delta / (64 rounds), delta the plan's, and a^E <= PT_NOISE_END_MAX:
 * several rounds whose ends each took delta could not be composed. */
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
