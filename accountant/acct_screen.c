/* acct_screen.c - nodes of the inversion that cannot matter, found with rotations instead of exponentials. */
#include "acct_screen.h"

#include <math.h>

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
	f->rest = w->list->rest;
	f->scale_b = 1 / (f->rest + total);
	f->scale_c = 1 / total;
	if (f->rest > 0) {
		lo = fmin(lo, 0);
		hi = fmax(hi, 0);
	}
	/* 1 - cos a >= 2 (a/pi)^2 for |a| <= pi, so |B/B(c)|^2 <= 1 - 4 (t/pi)^2 var while t (hi-lo) <= pi.
	 */
	double mb = m1 * f->scale_b, mc = m1 * f->scale_c;
	double vb = f->rest * mb * mb, vc = 0;
	for (size_t j = 0; j < w->cells; j++) {
		vb += f->weight[j] * (w->x[j] - mb) * (w->x[j] - mb);
		vc += f->weight[j] * (w->x[j] - mc) * (w->x[j] - mc);
	}
	double decay = w->list->others * vb * f->scale_b + w->list->dummies * vc * f->scale_c;
	f->quiet_from =
		decay > 0 ? acos(-1) / 2 * sqrt(2 * (ACCT_NEGLIGIBLE + 1) / decay) * (1 + 1e-9) : INFINITY;
	f->quiet_to = acos(-1) / (hi - lo) * (1 - 1e-9);
}

void acct_screen_aim(struct acct_screen *f, const struct acct_path *w, double t)
{
	for (size_t j = 0; j < w->cells; j++) {
		f->re[j] = f->weight[j] * cos(t * w->x[j]);
		f->im[j] = f->weight[j] * sin(t * w->x[j]);
	}
}

/* log a <= a - 1.  The 1 added to ACCT_NEGLIGIBLE covers the rounding of the omegas. */
bool acct_screen_next(struct acct_screen *f, const struct acct_path *w, double t)
{
	double re = 0, im = 0;

	for (size_t j = 0; j < w->cells; j++) {
		double a = f->re[j], b = f->im[j];

		re += a;
		im += b;
		f->re[j] = a * f->cosine[j] - b * f->sine[j];
		f->im[j] = a * f->sine[j] + b * f->cosine[j];
	}
	double b2 = ((re + f->rest) * (re + f->rest) + im * im) * f->scale_b * f->scale_b;
	double c2 = (re * re + im * im) * f->scale_c * f->scale_c;
	double slack = 1e-13 + 8 * ACCT_ULP * t * f->largest;
	return w->list->others * (1 - b2 - slack) + w->list->dummies * (1 - c2 - slack) +
		       w->tau * w->tau * t * t >
	       2 * (ACCT_NEGLIGIBLE + 1);
}
