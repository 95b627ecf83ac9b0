/* cm_round.c - rounds by the decimal text of a number, since 1e4 * 0.07 is above 700 in doubles. */
#include "cm_round.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECIMAL_ROOM 384 /* the largest double has 309 digits before the point */

static double nearest(double x, int places)
{
	char text[DECIMAL_ROOM];

	(void)snprintf(text, sizeof text, "%.*f", places, x);
	return strtod(text, NULL);
}

double cm_round_up(double x, int places)
{
	double v, unit = 1;

	if (!isfinite(x))
		return x;
	for (int i = 0; i < places; i++)
		unit /= 10;
	v = nearest(x, places);
	return v < x ? nearest(x + unit, places) : v;
}

double cm_round_down(double x, int places)
{
	return 0 - cm_round_up(-x, places); /* never -0 */
}

double cm_digits_up(double x, int digits)
{
	char text[DECIMAL_ROOM];

	if (!isfinite(x) || x == 0)
		return x;
	(void)snprintf(text, sizeof text, "%.*e", digits - 1, x);
	double v = strtod(text, NULL);
	if (v >= x)
		return v;
	/* The unit of x's own last digit: v may have one digit more before the point, -1.00 for -0.9999. */
	(void)snprintf(text, sizeof text, "%.16e", x);
	(void)snprintf(text, sizeof text, "1e%ld", strtol(strchr(text, 'e') + 1, NULL, 10) - digits + 1);
	(void)snprintf(text, sizeof text, "%.*e", digits - 1, v + strtod(text, NULL));
	return strtod(text, NULL);
}

double cm_digits_down(double x, int digits)
{
	return 0 - cm_digits_up(-x, digits);
}

double cm_percent_up(double share, int places)
{
	return isfinite(share) ? nearest(100 * cm_round_up(share, places + 2), places) : share;
}
