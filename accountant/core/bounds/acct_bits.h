/* acct_bits.h - computes the exact privacy curve of a round whose messages are bits: the largest over all
 * inputs of the others.
 *
 * Theorem (doc/binary.md): where every honest report is a bit whose chance of a one lies in [Q, P], P =
 * e^eps0 Q = 1 - Q, the round is dominated by one pair, whose curve is the largest over m of the curve of
 * "m of the others have chance P and the rest Q".  Its lower end is attained by a data set.  Where others
 * have guarantees of their own, there is such a number m for each class of them (acct_bits_classes.h).
 *
 * Certificate.  The sum S of acct_bits_sum.h is a sum of exponentials, which is defined for real m and
 * theta, too.  Its lambda = L' + a_1 - a_2 has Re lambda >= 0: L' = eps - (P1-P2) s >= 0, because eps is
 * the integral of P1-P2 over the tilt, and P1-P2 falls; and V1 <= V2.  Hence for u <= 0
 *
 *     S(m+u, theta) <= S(m, theta) + u S_1(m, theta) + (u^2/2) R_2,
 *     |S(m+u, theta)| <= R_0,
 *
 * where S_1 is the sum with a factor lambda in each term, and R_k the sum of moduli with a factor
 * |lambda|^k.  Theta runs over a grid; between two points of it a function exceeds its values at both by at
 * most h^2/8 of its second derivative.  Steps:
 * 1.  `low` is the largest h found at m = n-1, at m = 0, near the largest m where the phase is about the
 * best one, and at m = n-2, n-3, ..
 * 2.  Go down from there until the bound of S at the next m is at most low (1 + tolerance/2), where
 * tolerance is 1e-4 or more.  Up to 129 bits every m is tried.
 * 3.  Blocks: from m go down as far as, by the parabola above, no part of the range of theta exceeds
 * max(low, sup S + tolerance/2 low).  Repeat until m < 1 or R_0 <= low.
 *
 * Then (P-EQ) low is attained by a data set, and (P-EQ) times the largest bound is proved.  If the work
 * runs out, R_0 is the bound.  Where the interval is wider than a per cent, the cells' upper end is
 * computed too, and the smaller one counts. */
#pragma once

#include "acct_list.h"
#include "acct_point.h"

/* The law of the number of messages that count, for rounds in which some messages count only by chance and
 * everybody is told which do. */
struct acct_bits_mix;

ACCT_CHECK enum acct_rc acct_bits_mix_new(const struct acct_bit_facts *b, struct acct_bits_mix **out);
void acct_bits_mix_free(struct acct_bits_mix *x); /* NULL allowed */

/* Bound one point of a round of bits, before defect and sampling.  Returns the work done, in the unit of
 * struct acct_work; beyond `most` the point is wide.  The interval of delta may be as wide as moves epsilon
 * by the relative `width`, at most 0.01.  Cost: 20 to 100 microseconds for each end, up to a few milliseconds
 * where the best m is far from the number of bits and lies in the limit of many bits (eps0 >= 5). */
double acct_bits_curve_at(const struct acct_bit_facts *b, const struct acct_bits_mix *x, double eps,
	double most, double width, struct acct_point *at);
