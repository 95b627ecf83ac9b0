/* acct_screen.c (acct_path.h) - finds the nodes of the inversion that are negligible, without logarithms
 * and exponentials.
 *
 * Test of a node.  Let D(t) = sum_c count_c (1-|B_c/B_c(c)|^2) + dummies (1-|C/C(c)|^2), and q the path's
 * left_out.  A node with D(t) + tau^2 t^2 > 2 (q + 1) is below e^-(q+1) of the top, since log a <= a-1.  It
 * is charged at e^-q, which also covers rounded omegas.
 *
 * Near 0: for |t| <= pi/(max x - min x), 1-cos a >= 2(a/pi)^2 gives |B_c/B_c(c)|^2 <= 1 - 4 t^2 var_c/pi^2,
 * with the variance summed about its mean.  So a whole stretch is skipped without a look, from pi/2 times
 * the t at which a normal law's transform is negligible.  Before that, 1 - cos a >= (a^2/2) (sin h/h)^2 for
 * |a| <= 2h, so most of that is skipped, too.
 *
 * Still nearer: D(t) <= t^2 sum n_i Var_i, as 1 - cos a <= a^2/2.  So no node with (sum n_i Var_i + tau^2)
 * t^2 <= 2 (q + 1) is found negligible, and none is tested.
 *
 * Elsewhere: with n_i messages of group i, and d_i the difference of two messages of the tilted law, D(t) =
 * sum n_i E(1 - cos t d_i) = 2 sum n_i E sin^2(t d_i/2), which is twice the square of a norm of t -> sin(t
 * d/2).  Since |sin a - sin b| <= |a - b| and E d^2 = 2 Var, sqrt(D) changes by at most sqrt(sum n_i Var_i)
 * per unit of t.  From a node with D(t) > need = 2 (q + 1) - tau^2 t^2, every node less than (sqrt(D) -
 * sqrt(need)) / sqrt(sum n_i Var_i) further on is negligible, too, as need only falls.  D is taken at its
 * lower end: for each message it is off by 1e-13 + 12 ulp |t x|, since t is rounded, t x is, and beyond 1e6
 * its sine is off by 3 ulp |t x| more, and a square doubles that.  The quotient is multiplied by 1 -
 * 1e-9. */

#include <math.h>
#include <string.h>

#include "acct_path.h"

/* The variance of x under the tilted law of one message: x is 0 with chance `rest`, else that of cell j
 * with chance weight[j] * scale.  m1 is the sum of weight[j] x_j. */
static double variance(
	const struct acct_screen *f, const struct acct_path *w, double rest, double scale, double m1)
{
	double mean = m1 * scale, sum = rest * mean * mean;

	for (size_t j = 0; j < w->cells; j++)
		sum += scale * f->weight[j] * (w->x[j] - mean) * (w->x[j] - mean);
	return sum;
}

/* Set cosine and sine of 0, 1, 2 and 3 times the angle. */
static void rotations(double angle, acct_lanes *cosine, acct_lanes *sine)
{
	double c = cos(angle), s = sin(angle), c2 = c * c - s * s, s2 = 2 * s * c;

	*cosine = (acct_lanes){ 1, c, c2, c2 * c - s2 * s };
	*sine = (acct_lanes){ 0, s, s2, c2 * s + s2 * c };
}

void acct_screen_init(struct acct_screen *f, const struct acct_path *w, double step)
{
	double total = 0, m1 = 0, lo = INFINITY, hi = -INFINITY;

	memset(&f->x[w->cells / ACCT_LANES % ACCT_SCREEN_LANES], 0, sizeof f->x[0]);
	memset(&f->weights[w->cells / ACCT_LANES % ACCT_SCREEN_LANES], 0, sizeof f->weights[0]);
	f->largest = 0;
	f->step = step;
	for (size_t j = 0; j < w->cells; j++) {
		f->weight[j] = w->omega[j] * w->grown[j];
		f->x[j / ACCT_LANES][j % ACCT_LANES] = w->x[j];
		f->weights[j / ACCT_LANES][j % ACCT_LANES] = f->weight[j];
		rotations(step * w->x[j], &f->cosine[j], &f->sine[j]);
		total += f->weight[j];
		m1 += f->weight[j] * w->x[j];
		f->largest = fmax(f->largest, fabs(w->x[j]));
		lo = fmin(lo, w->x[j]);
		hi = fmax(hi, w->x[j]);
	}
	f->total = total;
	f->scale_c = 1 / total;
	/* 1 - cos a >= 2 (a/pi)^2 for |a| <= pi, so |B/B(c)|^2 <= 1 - 4 (t/pi)^2 var while t (hi-lo) <= pi:
	 * `decay` is the sum of these variances. */
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
	f->per_root = (1 - 1e-9) / sqrt(decay);
	double normal = decay > 0 ? sqrt(2 * (w->left_out + 1) / decay) * (1 + 1e-9) : INFINITY,
	       half = acos(-1) / 4 * normal * (hi - lo);
	/* `normal` is the t at which a normal law of this variance becomes negligible.  Up to pi/2 times it
	 * use 1 - cos a >= (a^2/2) (sin(half)/half)^2, and otherwise the bound above. */
	f->quiet_from = half > 0 && half < acos(-1) / 2 ? normal * (half / sin(half)) * (1 + 1e-9)
							: acos(-1) / 2 * normal;
	f->loud_to = sqrt(2 * (w->left_out + 1) / (decay + w->tau * w->tau)) * (1 - 1e-9);
	f->quiet_to = acos(-1) / (hi - lo) * (1 - 1e-9);
}

/* Sum the weights times e^(i t x), at the node t and the three that follow. */
ACCT_INLINED void sums(
	const struct acct_screen *f, const struct acct_path *w, double t, struct acct_turned *out)
{
	acct_lanes zero = { 0 }, re = zero, im = zero;

	for (size_t j = 0; j < w->cells; j += ACCT_LANES) {
		acct_lanes x = t * f->x[j / ACCT_LANES], c, s;

		acct_lane_turn_any(&x, &s, &c);
		c *= f->weights[j / ACCT_LANES];
		s *= f->weights[j / ACCT_LANES];
		for (size_t i = 0; i < ACCT_LANES && j + i < w->cells; i++) {
			re += c[i] * f->cosine[j + i] - s[i] * f->sine[j + i];
			im += c[i] * f->sine[j + i] + s[i] * f->cosine[j + i];
		}
	}
	out->re = re;
	out->square = re * re + im * im;
}

static void sums_plain(
	const struct acct_screen *f, const struct acct_path *w, double t, struct acct_turned *out)
{
	sums(f, w, t, out);
}

ACCT_AVX2 static void sums_avx2(
	const struct acct_screen *f, const struct acct_path *w, double t, struct acct_turned *out)
{
	sums(f, w, t, out);
}

/* `drop` is D(t) and `need` is 2 (q + 1) - tau^2 t^2; the head of this file proves both the test of a node
 * and how far the nodes behind it are negligible, too. */
double acct_screen_look(
	const struct acct_screen *f, const struct acct_path *w, double t, bool negligible[ACCT_LANES])
{
	const struct acct_list *l = w->list;
	struct acct_turned at = { { 0 }, { 0 } };
	double reach = 0;

	(acct_lane_has_avx2() ? sums_avx2 : sums_plain)(f, w, t, &at);
	for (int i = 0; i < ACCT_LANES; i++) {
		double node = t + i * f->step, slack = 1e-13 + 16 * ACCT_ULP * f->largest * node;
		double square = at.square[i];
		double drop = f->count * (1 - slack) - (f->plain + f->once * at.re[i] + f->both * square) +
			      l->dummies * (1 - square * (f->scale_c * f->scale_c) - slack);
		double need = 2 * (w->left_out + 1) - w->tau * w->tau * node * node;

		negligible[i] = drop > need;
		if (i + 1 < ACCT_LANES || !negligible[i])
			continue;
		reach = need > 0 ? (sqrt(drop) - sqrt(need)) * f->per_root : INFINITY;
	}
	return reach;
}
