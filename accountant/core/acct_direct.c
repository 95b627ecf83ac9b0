/* acct_direct.c - the lowest frequencies of a law's transform, term by term. */
#include "acct_direct.h"

#include <math.h>
#include <stdlib.h>

#define ULP        0x1p-53
#define MOST_TURNS 32 /* frequencies from sines and cosines to the next ones */

/* Atoms -at and at: cosine and sine of the current angle and of the step; sum and difference of masses. */
struct pair {
	double re, im, step_re, step_im, sum, difference;
};

static bool is_even(const struct acct_law *law)
{
	for (size_t i = 0; 2 * i < law->size; i++)
		if (law->at[i] != -law->at[law->size - 1 - i])
			return false;
	return law->size % 2 == 1;
}

/* e^(-2 pi i k at/size); k at is far below 2^63. */
static void turn_to(long at, size_t k, size_t size, double *re, double *im)
{
	double angle = 2 * acos(-1) * (double)(at * (long)k % (long)size) / (double)size;

	*re = cos(angle);
	*im = -sin(angle);
}

static struct pair *pairs_new(const struct acct_law *law, const double *g, size_t size)
{
	size_t half = law->size / 2;
	struct pair *p = calloc(half + 1, sizeof *p);

	for (size_t j = 0; p && j < half; j++) {
		size_t up = half + 1 + j, down = half - 1 - j;

		turn_to(law->at[up], 1, size, &p[j].step_re, &p[j].step_im);
		p[j].sum = g[up] + g[down];
		p[j].difference = g[up] - g[down];
	}
	return p;
}

/* z *= (a + ib)^power. */
static void raise(double z[2], double a, double b, double power)
{
	for (unsigned long k = (unsigned long)power; k > 0; k >>= 1) {
		double t;

		if (k & 1) {
			t = z[0] * a - z[1] * b;
			z[1] = z[0] * b + z[1] * a;
			z[0] = t;
		}
		t = a * a - b * b;
		b = 2 * a * b;
		a = t;
	}
}

bool acct_direct_multiply(double (*product)[2], size_t n, size_t size, const struct acct_law *law,
	const double *g, double power, double most)
{
	size_t half = law->size / 2;
	double error = (170 + (double)law->size) * ULP * sqrt(2 * (double)n / (double)size);

	/* About 2 ns a pair and frequency, against 2 ns a point of a transform. */
	if (error > most || (double)n * (double)half > (double)size || !is_even(law))
		return false;
	struct pair *p = pairs_new(law, g, size);

	if (!p)
		return false;
	for (size_t k = 0; k < n; k++) {
		double re = g[half], im = 0;

		for (size_t j = 0; k % MOST_TURNS == 0 && j < half; j++)
			turn_to(law->at[half + 1 + j], k, size, &p[j].re, &p[j].im);
		for (size_t j = 0; j < half; j++) {
			double c = p[j].re, s = p[j].im;

			re += p[j].sum * c;
			im += p[j].difference * s;
			p[j].re = c * p[j].step_re - s * p[j].step_im;
			p[j].im = c * p[j].step_im + s * p[j].step_re;
		}
		raise(product[k], re, im, power);
	}
	free(p);
	return true;
}
