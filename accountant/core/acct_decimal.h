/* acct_decimal.h - decimals that a person wrote, of which only the nearest doubles are left.
 *
 * A limit, a slice or a share is written as a decimal and kept, signed and sent as a double.  Here a double x
 * >= 0 stands for its decimal: the nearest of 15 significant digits, or of 16 or 17 where fewer do not read
 * back to x (of as few as do where x is subnormal).  That is what was written if it had at most 15 digits; a
 * longer one is rounded to a double when it is read, and then the double's decimal counts.  Decimals of
 * doubles are in the order of the doubles, and differ where these do, so two numbers may be compared as
 * doubles; but sums and products are not decimals of the sums and products of doubles: 0.1 + 0.2 > 0.3.  The
 * functions here compute with the decimals, exactly.  No state, no allocation; a microsecond or two. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_DECIMAL_ROOM 32u /* bytes of a text, its NUL included */

/* The decimal of x, as "%g" writes it, in the locale's form; also for negative ones, inf and nan. */
void acct_decimal_text(double x, char out[ACCT_DECIMAL_ROOM]);
/* The least double whose decimal is at least the sum of both decimals: the sum itself where it has at most 15
 * digits.  a, b >= 0; INFINITY if either is, or no double is so large; a or b NaN: NaN. */
double acct_decimal_add(double a, double b);
/* The same of n times the decimal of x. */
double acct_decimal_times(double x, uint64_t n);
/* The whole part of n times the decimal of x >= 0, exactly; UINT64_MAX where it is more, 0 for NaN. */
uint64_t acct_decimal_floor(double x, uint64_t n);

#ifdef __cplusplus
}
#endif
