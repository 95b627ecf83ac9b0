/* acct_decimal.c - recovers the decimals that doubles were read from, and computes with them. */
#include "acct_decimal.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

#define DIGITS 17 /* a decimal with 17 digits identifies every double */
/* If two numbers are more than 20 powers of ten apart, the smaller is less than one unit of the larger
 * one's last digit, and the sum is taken to be the next double. */
#define REACH 20

/* The number digits * 10^power, exactly. */
struct decimal {
	wide digits;
	int power;
};

/* The least precision of "%e" with which x is written so that reading it gives x again; at least 14, so 15
 * digits, unless x is subnormal.  A number that a person wrote with at most 15 digits is then written as it
 * was, but for zeros at its end. */
static int precision_of(double x)
{
	for (int precision = fabs(x) < DBL_MIN ? 0 : DIGITS - 3; precision < DIGITS - 1; precision++) {
		char text[40];

		(void)snprintf(text, sizeof text, "%.*e", precision, x);
		if (!(strtod(text, NULL) < x) && !(strtod(text, NULL) > x))
			return precision;
	}
	return DIGITS - 1;
}

static wide power_of_ten(int n)
{
	wide power = 1;

	while (n-- > 0)
		power *= 10;
	return power;
}

/* The decimal of a finite x >= 0.  It always has DIGITS digits; if x needs fewer, the last ones are 0. */
static struct decimal decimal_of(double x)
{
	struct decimal d = { 0, 0 };
	int precision = precision_of(x);
	char text[40];
	const char *at = text;

	(void)snprintf(text, sizeof text, "%.*e", precision, x);
	for (; *at != 'e'; at++)
		if (*at >= '0' && *at <= '9') /* skip the locale's decimal point */
			d.digits = d.digits * 10 + (unsigned)(*at - '0');
	d.digits *= power_of_ten(DIGITS - 1 - precision);
	d.power = (int)strtol(at + 1, NULL, 10) - (DIGITS - 1);
	return d;
}

/* Is the decimal of x below d?  x is the double nearest to d, so their first digits are at most one place
 * apart. */
static bool below(double x, struct decimal d)
{
	struct decimal of = decimal_of(x);

	if (of.digits == 0)
		return d.digits > 0;
	if (of.power < d.power)
		return of.digits < d.digits * power_of_ten(d.power - of.power);
	return of.digits * power_of_ten(of.power - d.power) < d.digits;
}

/* The least double whose decimal is at least d.  Reading d gives the nearest double, which may be one too
 * low; then the next double is right, since its decimal reads back to it and so is above d. */
static double least_double(struct decimal d)
{
	struct decimal left = d;
	char text[64];
	size_t at = sizeof text - 12;
	double x;

	(void)snprintf(text + at, sizeof text - at, "e%d", d.power);
	do {
		text[--at] = (char)('0' + (int)(left.digits % 10));
		left.digits /= 10;
	} while (left.digits > 0);
	x = strtod(text + at, NULL);
	return isfinite(x) && below(x, d) ? nextafter(x, INFINITY) : x;
}

double acct_decimal_add(double a, double b)
{
	double more = a > b ? a : b, less = a > b ? b : a;
	struct decimal sum, small;
	int apart;

	if (!isfinite(a) || !isfinite(b) || !(less > 0))
		return a + b; /* whichever of a and b is 0, the sum is exact */
	sum = decimal_of(more);
	small = decimal_of(less);
	apart = sum.power - small.power;
	if (apart > REACH)
		return nextafter(more, INFINITY);
	sum.digits = sum.digits * power_of_ten(apart) +
		     small.digits; /* this sum is below 10^(DIGITS + REACH + 1) < 2^128 */
	sum.power = small.power;
	return least_double(sum);
}

double acct_decimal_times(double x, uint64_t n)
{
	struct decimal product;

	if (!isfinite(x) || n == 0)
		return n == 0 ? 0 : x;
	product = decimal_of(x);
	product.digits *= n; /* this product is below 10^17 2^64 < 2^128 */
	return least_double(product);
}

uint64_t acct_decimal_floor(double x, uint64_t n)
{
	struct decimal product;

	if (!(x > 0) || n == 0)
		return 0;
	if (!isfinite(x))
		return UINT64_MAX;
	product = decimal_of(x);
	product.digits *= n;
	for (; product.power < 0 && product.digits > 0; product.power++)
		product.digits /= 10; /* dividing by ten repeatedly gives the same floor as dividing once */
	for (; product.power > 0 && product.digits <= UINT64_MAX; product.power--)
		product.digits *= 10;
	return product.digits < UINT64_MAX ? (uint64_t)product.digits : UINT64_MAX;
}
