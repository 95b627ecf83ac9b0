/* acct_bits.h - the exact privacy curve of a round whose messages are bits: the largest over all inputs of
 * the others.
 *
 * Theorem (doc/binary.md): where every honest report is a bit whose chance of a one lies in [Q, P], P =
 * e^eps0 Q = 1 - Q, the round is dominated by one pair, whose curve is the largest over m of the curve of "m
 * of the others have chance P and the rest Q".  Its lower end is attained by a data set. */
#pragma once

#include "acct_curve.h"

/* Bounds of one point with `others` bits and `coins` fair ones: at->hi <= the trivial bound, at->lo >= 0.
 * Returns the work done, in the unit of struct acct_work; beyond `most` the point is wide.  Cost: 20 to 100
 * microseconds, up to a few milliseconds where the maximum is far from its place in the limit (eps0 >= 5). */
double acct_bits_at(double others, double coins, double eps0, double eps, double most, struct acct_point *at);

/* Where a list of bits is short, list the outcomes of its pair, sorted: a point then takes a search.  For a
 * curve that is asked at many points.  Cost: up to 30 milliseconds. */
ACCT_CHECK enum acct_rc acct_bits_list(struct acct_curve *c);

/* The law of the number of messages that are of use, where some are so by chance; everybody is told which. */
struct acct_bits_mix;

ACCT_CHECK enum acct_rc acct_bits_mix_new(const struct acct_bit_facts *b, struct acct_bits_mix **out);
void acct_bits_mix_free(struct acct_bits_mix *x); /* NULL allowed */

/* One point of a list of bits, before defect and sampling. */
double acct_bits_curve_at(const struct acct_bit_facts *b, const struct acct_bits_mix *x, double eps,
	double most, struct acct_point *at);
