/* acct_screen.c - finds the nodes of the inversion that are negligible, with rotations instead of
 * exponentials. */
#include "acct_screen.h"

#include <math.h>

#include "acct_line.h"

/* Variance of x under the tilted law of one message: 0 with chance rest, else the weights times scale. */
static double variance(
	const struct acct_screen *f, const struct acct_path *w, double rest, double scale, double m1)
{
	double mean = m1 * scale, sum = rest * mean * mean;

	for (size_t j = 0; j < w->cells; j++)
		sum += scale * f->weight[j] * (w->x[j] - mean) * (w->x[j] - mean);
	return sum;
}

void acct_screen_init(struct acct_screen *f, const struct acct_path *w, double step)
{
	double total = 0, m1 = 0, lo = INFINITY, hi = -INFINITY;

	f->largest = 0;
	for (size_t j = 0; j < w->cells; j++) {
		f->weight[j] = w->omega[j] * exp(w->c * w->x[j]);
		f->cosine[j] = cos(step * w->x[j]);
		f->sine[j] = sin(step * w->x[j]);
		total += f->weight[j];
		m1 += f->weight[j] * w->x[j];
		f->largest = fmax(f->largest, fabs(w->x[j]));
		lo = fmin(lo, w->x[j]);
		hi = fmax(hi, w->x[j]);
	}
	f->total = total;
	f->scale_c = 1 / total;
	/* 1 - cos a >= 2 (a/pi)^2 for |a| <= pi, so |B/B(c)|^2 <= 1 - 4 (t/pi)^2 var while t (hi-lo) <=
	 * pi. */
	double decay = w->list->dummies * variance(f, w, 0, f->scale_c, m1);
	f->count = w->list->others;
	f->plain = f->once = f->both = 0;
	for (size_t i = 0; i < w->list->groups; i++) {
		const struct acct_group *g = &w->list->group[i];
		double scale = 1 / (g->rest + g->share * total), rest = g->rest * scale,
		       part = g->share * scale;

		if (rest > 0) {
			lo = fmin(lo, 0);
			hi = fmax(hi, 0);
		}
		decay += g->count * variance(f, w, rest, part, m1);
		f->plain += g->count * rest * rest;
		f->once += g->count * 2 * rest * part;
		f->both += g->count * part * part;
	}
	f->decay = decay;
	double normal = decay > 0 ? sqrt(2 * (w->left_out + 1) / decay) * (1 + 1e-9) : INFINITY,
	       half = acos(-1) / 4 * normal * (hi - lo);
	/* Up to pi/2 normal, 1 - cos a >= (a^2/2) (sin(half)/half)^2, and beyond that as above. */
	f->quiet_from = half > 0 && half < acos(-1) / 2 ? normal * (half / sin(half)) * (1 + 1e-9)
							: acos(-1) / 2 * normal;
	f->loud_to = sqrt(2 * (w->left_out + 1) / (decay + w->tau * w->tau)) * (1 - 1e-9);
	f->quiet_to = acos(-1) / (hi - lo) * (1 - 1e-9);
}

void acct_screen_aim(struct acct_screen *f, const struct acct_path *w, double t)
{
	acct_line_turn(w, t, f->weight, f->re, f->im);
}

/* log a <= a - 1.  The 1 added to left_out covers the rounding of the omegas.
 *
 * D(t) = sum of count (1 - |B/B(c)|^2) = 2 sum of count E sin^2(t d/2), d the difference of two tilted
 * messages: the square of a norm, so sqrt D changes by at most sqrt(2 sum of count E (d/2)^2) = sqrt(decay)
 * per unit of t. */
double acct_screen_next(struct acct_screen *f, const struct acct_path *w, double t)
{
	double re = 0, im = 0;

	for (size_t j = 0; j < w->cells; j++) {
		double a = f->re[j], b = f->im[j];

		re += a;
		im += b;
		f->re[j] = a * f->cosine[j] - b * f->sine[j];
		f->im[j] = a * f->sine[j] + b * f->cosine[j];
	}
	double square = re * re + im * im, c2 = square * f->scale_c * f->scale_c;
	double slack = 1e-13 + 8 * ACCT_ULP * t * f->largest;
	double drop = f->count * (1 - slack) - (f->plain + f->once * re + f->both * square) +
		      w->list->dummies * (1 - c2 - slack);
	double need = 2 * (w->left_out + 1) - w->tau * w->tau * t * t;

	if (drop <= need)
		return -1;
	if (need <= 0)
		return INFINITY;
	return (sqrt(drop) - sqrt(need)) / sqrt(f->decay) * (1 - 1e-9);
}
