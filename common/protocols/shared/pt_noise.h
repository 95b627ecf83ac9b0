/* pt_noise.h - blanket messages whose number is discrete Laplace noise: for each bin the shuffler adds mean
 * + L dummies of that bin, where L is in -mean..mean with a chance proportional to a^|L|, a = decay / 2^64.
 *
 * Only the shuffler is trusted, and nothing depends on the number of participants.  One bin, with the
 * victim in it or not, is exactly binary randomized response of epsilon ln(1/a), except with the chance
 * `defect`.  A victim is in one of two bins, so a round is two of these.
 *
 * Draw.  L is the number of successes in a row, each with chance a, minus the same drawn again, which has
 * P(l) = (1-a)/(1+a) a^|l| (Inusah and Kozubowski 2006); a draw beyond the ends is repeated.  So P(L = l) =
 * a^|l| / Z, Z = 1 + 2 a (1 - a^E) / (1 - a), where E is the mean.
 *
 * Loss.  The analyzer sees the counts c_w + E + L_w; all else it sees is a function of these and n, or
 * independent of them.  A participant who changes from bin x to y moves two counts by one.  For one bin
 * compare u = E + L + 1 (law P) with u = E + L (law Q):
 * - 1 <= u <= E: P(u) / Q(u) = a.  E < u <= 2E: P(u) / Q(u) = 1/a.  u = 0 occurs only under Q, u = 2E + 1
 *   only under P.
 * - The chance of the second range under P is (a^0 + .. + a^(E-1)) / Z, that of the first a times as much.
 *   Under Q they are exchanged.  The chance of the remaining value is t = a^E / Z under either.  So with
 *   chance 1 - t it is exactly binary randomized response with keep probability 1 / (1 + a), and with
 *   chance t everything is disclosed.  The other bin is the same with P and Q exchanged, and independent.
 *   From delta 2t on, epsilon is 2 ln(1/a).
 *
 * Ends.  E is the least with 2t <= delta / (64 rounds), where delta is the plan's, and a^E <=
 * PT_NOISE_END_MAX.  If the ends of each round took the whole delta, several rounds could not be
 * composed. */
#pragma once

#include "pt_device.h"

/* Largest mean: the law of a bin's dummies is then a window of 2^18. */
#define PT_NOISE_MEAN_MAX 100000u
/* Largest a^mean, the chance of an end divided by that of the middle.  The defect is then smaller, and a
 * draw takes at most a seventh of the mean in generated numbers. */
#define PT_NOISE_END_MAX 0.001

/* a^mean. */
long double pt_noise_end(uint64_t decay, uint32_t mean);
/* Check that the noise of p is possible, and that p has nothing that does not go with noise.  For rows with
 * pt_mixbins.  CM_EPROTO. */
CM_CHECK enum cm_rc pt_noise_check(const struct pt_randomizer *p, struct cm_err *err);
/* Draw the number of dummies of one bin, 0..2 mean, from exactly that law. */
uint32_t pt_noise_draw(const struct pt_shuffler *s, const struct cr_rng *rng);
