/* acct_share.h - how exactly a round can tell the share of participants who hold one of two inputs. */
#pragma once

#include "acct_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Standard error of the best unbiased estimate, from the shuffled messages, of the share of participants
 * who hold the first of the cells' two inputs while all others hold the second, at a share of one half and
 * for many participants (Cramer-Rao):
 *     1 / sqrt(n^2 sum omega (u-v)^2 / (n (u+v)/2 + dummies/W)),   W = sum omega.
 * For numbers the two inputs are the ends of the range, so this is the error of a mean in units of the
 * range.  For a round of several slots it is the root of the sum of the slots' squares.  For central noise
 * it is the deviation in units of `scale`, divided by the rate.  Repetitions do not count.  Returns NAN
 * where participants have levels of their own or the round is a curve, and INFINITY where nothing is
 * learned. */
double acct_share_error(const struct acct_spec *part, size_t parts);

#ifdef __cplusplus
}
#endif
