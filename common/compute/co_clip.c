/* co_clip.c - cuts vectors to a length, and turns coordinates into integers.  Both steps round towards
 * 0. */
#include "co_clip.h"

#include <float.h>
#include <math.h>

/* partial results of a sum or maximum, so that one addition does not wait for the one before */
#define PARTS 8

/* For numbers that are not NaN the same as fmax and fmin, without a call. */
static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* x, or 0 if it is below 2^-400 of `whole`: that is less than the rounding of the length below, and too
 * small to change the integer of a coordinate.  It becomes 0 before the division, which avoids subnormal
 * numbers, whose arithmetic is slow. */
static double felt(double x, double whole)
{
	return fabs(x) > whole * 0x1p-400 ? x : 0;
}

/* The largest absolute value. */
static double largest_of(const double *v, size_t n)
{
	double part[PARTS] = { 0 };
	size_t i = 0;

	for (; i + PARTS <= n; i += PARTS)
		for (size_t k = 0; k < PARTS; k++)
			part[k] = larger(part[k], fabs(v[i + k]));
	for (; i < n; i++)
		part[0] = larger(part[0], fabs(v[i]));
	for (size_t k = 1; k < PARTS; k++)
		part[0] = larger(part[0], part[k]);
	return part[0];
}

static double squared(double x)
{
	return x * x;
}

/* The sum of squares of v * scale. */
static double squares_of(const double *v, size_t n, double largest, double scale)
{
	double part[PARTS] = { 0 };
	size_t i = 0;

	for (; i + PARTS <= n; i += PARTS)
		for (size_t k = 0; k < PARTS; k++)
			part[k] += squared(felt(v[i + k], largest) * scale);
	for (; i < n; i++)
		part[0] += squared(felt(v[i], largest) * scale);
	for (size_t k = 1; k < PARTS; k++)
		part[0] += part[k];
	return part[0];
}

/* The root of a sum of n squares, added in any order, has a relative error below (n + 8) DBL_EPSILON; twice
 * that also covers the multiplication by the factor (Higham, Accuracy and Stability of Numerical
 * Algorithms, 3.1 and 4.2). */
void co_cut(double *v, size_t n, double most)
{
	double largest = largest_of(v, n), scale, length, factor;
	int exponent;

	if (!(largest > 0))
		return;
	/* Scale by a power of two, so that products are exact, and no square overflows or is lost: the
	 * largest number becomes nearly 1, or the least double 2^-74. */
	(void)frexp(largest, &exponent);
	scale = ldexp(1, exponent > 1000 ? -1000 : exponent < -1000 ? 1000 : -exponent);
	length = sqrt(squares_of(v, n, largest, scale)) * (1 + 2 * ((double)n + 8) * DBL_EPSILON);
	factor = most / length;
	for (size_t i = 0; length / scale > most && i < n; i++)
		v[i] = felt(v[i], largest) * scale * factor;
}

void co_coordinates(const struct qy_query *q, const double *v, uint32_t *at)
{
	/* Two roundings could lift a number to the next integer, so make the unit a little smaller. */
	double unit = 0x1p30 / q->high * (1 - 4 * DBL_EPSILON);

	for (uint32_t i = 0; i < q->dimension; i++)
		at[i] = (uint32_t)((int32_t)smaller(larger(v[i] * unit, -0x1p30), 0x1p30) + (1 << 30));
}
