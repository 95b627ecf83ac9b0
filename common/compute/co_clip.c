/* co_clip.c - cuts vectors to a length, and turns coordinates into integers.  Both round towards 0. */
#include <float.h>
#include <math.h>

#include "co_map.h"

/* Of numbers that are not NaN what fmax and fmin are, without a call. */
static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* x, or 0 where it is below 2^-400 of `whole`: that is less than the rounding of the length below, and no
 * integer of a coordinate.  It is 0 before it is divided, which keeps subnormal numbers out, whose arithmetic
 * takes longer. */
static double felt(double x, double whole)
{
	return fabs(x) > whole * 0x1p-400 ? x : 0;
}

/* sqrt of a sum of n squares is off by less than (n + 8) DBL_EPSILON of itself; twice that also covers the
 * multiplication by the factor (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). */
void co_cut(double *v, size_t n, double most)
{
	double largest = 0, sum = 0, length;

	for (size_t i = 0; i < n; i++)
		largest = larger(largest, fabs(v[i]));
	if (!(largest > 0))
		return;
	/* Parts of the largest: a square does not overflow. */
	for (size_t i = 0; i < n; i++) {
		double part = felt(v[i], largest) / largest;

		sum += part * part;
	}
	length = largest * sqrt(sum) * (1 + 2 * ((double)n + 8) * DBL_EPSILON);
	for (size_t i = 0; length > most && i < n; i++)
		v[i] = felt(v[i], length) / length * most;
}

void co_coordinates(const struct qy_query *q, const double *v, uint32_t *at)
{
	/* Two roundings could lift a number to the next integer. */
	double unit = 0x1p30 / q->high * (1 - 4 * DBL_EPSILON);

	for (uint32_t i = 0; i < q->dimension; i++)
		at[i] = (uint32_t)((int32_t)smaller(larger(v[i] * unit, -0x1p30), 0x1p30) + (1 << 30));
}
