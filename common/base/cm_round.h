/* cm_round.h - rounds numbers to decimals in the safe direction, before they are shown.  libc only. */
#pragma once

/* The least number with so many decimal places (0..9) that is not below x, and the largest that is not
 * above it.  A number that is a decimal of so many places stays as it is: 0.07 does not become 0.0701.  inf
 * and NaN stay, too. */
double cm_round_up(double x, int places);
double cm_round_down(double x, int places);
/* The same by the number of significant digits (1..17), for %.4g and the like. */
double cm_digits_up(double x, int digits);
double cm_digits_down(double x, int digits);
/* A share (1 is all) in percent, rounded up to so many places. */
double cm_percent_up(double share, int places);
