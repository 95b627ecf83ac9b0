/* acct_decimal.h - computes exactly with decimals that a person wrote, although only the nearest doubles
 * are stored.
 *
 * A limit, a slice or a share is written as a decimal, and is stored, signed and sent as a double.  Sums
 * and products of the doubles are not those of the decimals: 0.1 + 0.2 > 0.3.  The functions here recover
 * the decimals and compute with them.  They have no state, allocate nothing, and take a microsecond or two.
 *
 * The decimal of a double x >= 0 is the nearest decimal with 15 significant digits, if reading it gives x
 * again; otherwise the nearest with 16 digits, or with 17.  If x is subnormal, it has as few digits as read
 * back to x.  It is what the person wrote if that had at most 15 digits.  Decimals are in the same order as
 * their doubles, and different doubles have different decimals.  So to compare two numbers, compare the
 * doubles. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The least double whose decimal is at least the sum of the decimals of a and b; it is the sum itself if
 * that has at most 15 digits.  a, b >= 0.  INFINITY if a or b is, or the sum exceeds every double; NaN if a
 * or b is. */
double acct_decimal_add(double a, double b);
/* The same for the product of n and the decimal of x. */
double acct_decimal_times(double x, uint64_t n);
/* The whole part of n times the decimal of x, exactly; x >= 0.  UINT64_MAX if it is larger than that, 0 if
 * x is NaN. */
uint64_t acct_decimal_floor(double x, uint64_t n);

#ifdef __cplusplus
}
#endif
