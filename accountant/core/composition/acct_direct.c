/* acct_direct.c (acct_fft.h) - computes the lowest frequencies of a law's transform term by term.
 *
 * Rounding.  An angle 2 pi (k at mod N)/N is off by 13 ulp, its sine and cosine by 2 more.  From one
 * frequency to the next they turn by a product, which adds less than 5 ulp, and they are computed anew
 * every 32.  So with atoms that sum to 1 every frequency is off by less than (170 + atoms) ulp; in the
 * 2-norm over all N, divided by sqrt(N), by that times sqrt(2 frequencies/N). */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "acct_fft.h"
#include "acct_lane.h"
#include "acct_law.h"

#define ULP 0x1p-53
/* sines and cosines are computed anew after so many frequencies, since turning them adds up rounding
 * errors */
#define MOST_TURNS 32

/* ACCT_LANES pairs of atoms, at -at and at.  re, im: cosine and sine of the current angle; step_re,
 * step_im: of the step to the next frequency; sum and difference of the two masses. */
struct pairs {
	acct_lanes re, im, step_re, step_im, sum, difference;
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

/* Set the pairs; those beyond the last have no mass. */
static void pairs_init(struct pairs *p, const struct acct_law *law, const double *g, size_t size)
{
	size_t half = law->size / 2;

	for (size_t j = 0; j < half; j++) {
		size_t up = half + 1 + j, down = half - 1 - j, i = j % ACCT_LANES;
		struct pairs *to = &p[j / ACCT_LANES];
		double re, im;

		turn_to(law->at[up], 1, size, &re, &im);
		to->step_re[i] = re;
		to->step_im[i] = im;
		to->sum[i] = g[up] + g[down];
		to->difference[i] = g[up] - g[down];
	}
}

static void pairs_aim(struct pairs *p, const struct acct_law *law, size_t k, size_t size)
{
	size_t half = law->size / 2;

	for (size_t j = 0; j < half; j++) {
		double re, im;

		turn_to(law->at[half + 1 + j], k, size, &re, &im);
		p[j / ACCT_LANES].re[j % ACCT_LANES] = re;
		p[j / ACCT_LANES].im[j % ACCT_LANES] = im;
	}
}

/* Add up the pairs at the current angles, and turn them to the next. */
ACCT_INLINED void turn(struct pairs *p, size_t groups, double *re, double *im)
{
	acct_lanes a = { 0 }, b = { 0 };

	for (size_t j = 0; j < groups; j++) {
		acct_lanes c = p[j].re, s = p[j].im;

		a += p[j].sum * c;
		b += p[j].difference * s;
		p[j].re = c * p[j].step_re - s * p[j].step_im;
		p[j].im = c * p[j].step_im + s * p[j].step_re;
	}
	*re = (a[0] + a[1]) + (a[2] + a[3]);
	*im = (b[0] + b[1]) + (b[2] + b[3]);
}

static void turn_plain(struct pairs *p, size_t groups, double *re, double *im)
{
	turn(p, groups, re, im);
}

ACCT_AVX2 static void turn_avx2(struct pairs *p, size_t groups, double *re, double *im)
{
	turn(p, groups, re, im);
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
	size_t half = law->size / 2, groups = (half + ACCT_LANES - 1) / ACCT_LANES;
	double error = (170 + (double)law->size) * ULP * sqrt(2 * (double)n / (double)size);

	/* estimates: a pair takes 1 ns for each frequency, a transform 2 ns for each point */
	if (error > most || (double)n * (double)half > 2 * (double)size || !is_even(law))
		return false;
	bool wide = acct_lane_has_avx2();
	char *room = calloc(groups + 1, sizeof(struct pairs));

	if (!room)
		return false;
	/* Lanes need a larger alignment than calloc gives. */
	struct pairs *p =
		(struct pairs *)(void *)(room + (sizeof(acct_lanes) - (uintptr_t)room % sizeof(acct_lanes)) %
							sizeof(acct_lanes));

	pairs_init(p, law, g, size);
	for (size_t k = 0; k < n; k++) {
		double re = 0, im = 0;

		if (k % MOST_TURNS == 0)
			pairs_aim(p, law, k, size);
		(wide ? turn_avx2 : turn_plain)(p, groups, &re, &im);
		raise(product[k], g[half] + re, im, power);
	}
	free(room);
	return true;
}
