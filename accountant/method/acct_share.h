/* acct_share.h - how well a round tells how many hold which of two inputs. */
#pragma once

#include "acct_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Standard error of the best unbiased estimate, from what is shuffled, of the share of participants who hold
 * the first of the two inputs of the cells while the others hold the second, at half and half and for many
 * participants (Cramer-Rao):
 *     1 / sqrt(n^2 sum omega (u-v)^2 / (n (u+v)/2 + dummies/W)),   W = sum omega.
 * Of numbers the two inputs are the ends of the range, so this is the error of a mean in units of the range.
 * Of a round of several slots: the root of the sum of their squares.  Of central noise: its deviation, in the
 * units of `scale`, over the rate.  Repetitions do not count.  NAN where participants have levels of their
 * own or the round is a curve; INFINITY where nothing is learned. */
double acct_share_error(const struct acct_spec *part, size_t parts);

#ifdef __cplusplus
}
#endif
