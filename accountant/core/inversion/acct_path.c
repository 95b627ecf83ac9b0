/* acct_path.c - prepares the blanket variable at one epsilon, and the line c + it along which its transform
 * is inverted. */
#include "acct_path.h"

#include <math.h>
#include <string.h>

/* Choose how to bound 1/M, for M blanket messages, by what is smallest on average: M is at least 1 + the
 * blanket messages of one group, and at least 1 + dummies. */
static void settle_more(struct acct_path *w, const struct acct_list *l)
{
	double least = 1 + l->dummies;

	w->per_message = l->blanket / least;
	w->more_rest = 0;
	w->more_scale = 1 / l->blanket;
	for (size_t i = 0; i < l->groups; i++) {
		const struct acct_group *g = &l->group[i];
		double messages = (g->count + 1) * g->share;

		if (messages * l->blanket <= least)
			continue;
		least = messages * l->blanket;
		w->per_message = 1 / messages;
		w->more_rest = g->rest;
		w->more_scale = g->share;
	}
}

void acct_path_init(struct acct_path *w, const struct acct_list *l, double eps, bool swap)
{
	double a = exp(-eps) / (1 + exp(-eps)), b = 1 / (1 + exp(-eps)), gain = expm1(eps);

	memset(w, 0, sizeof *w);
	w->list = l;
	w->cells = l->cells;
	w->y = tanh(eps / 2);
	for (size_t j = 0; j < l->cells; j++) {
		double u = swap ? l->cell[j].v : l->cell[j].u, v = swap ? l->cell[j].u : l->cell[j].v;

		w->x[j] = eps < 1 ? a * ((u - v) - gain * v) : a * u - b * v;
		w->omega[j] = l->cell[j].omega;
		w->both[j] = (u + v) / 2;
	}
	settle_more(w, l);
}

/* Compute K(c), the log of prod B_i^count_i C^(dummies+1), and its derivatives K'(c) and K''(c).  Sets
 * grown and gained to those of c.  All are INFINITY when one is out of range. */
static void cumulant(struct acct_path *w, double c, double k[3])
{
	double s = 0, s1 = 0, s2 = 0, blanket = w->list->blanket, d = w->list->dummies + 1;

	for (size_t j = 0; j < w->cells; j++) {
		double gain = expm1(c * w->x[j]), grown = acct_path_exp(c * w->x[j], gain),
		       e = w->omega[j] * grown;

		w->gained[j] = gain;
		w->grown[j] = grown;
		s += w->omega[j] * gain;
		s1 += e * w->x[j];
		s2 += e * w->x[j] * w->x[j];
	}
	double m = blanket + s;
	k[0] = d * log1p(s / blanket);
	k[1] = d * s1 / m;
	k[2] = d * (s2 / m - s1 / m * (s1 / m));
	for (size_t i = 0; i < w->list->groups; i++) {
		double o = w->list->group[i].count, share = w->list->group[i].share;
		double f = share / (1 + share * s);

		k[0] += o * log1p(share * s);
		k[1] += o * s1 * f;
		k[2] += o * (s2 * f - s1 * f * (s1 * f));
	}
	if (!(k[0] < INFINITY && k[1] < INFINITY && k[2] < INFINITY))
		k[0] = k[1] = k[2] = INFINITY;
}

#define WITHIN 1.03 /* the saddle, the c that is searched, is found within this factor */
/* The search leaves its first guess by the factor FIRST; each step is the square of the one before, up to
 * FARTHEST. */
#define FIRST    1.05
#define FARTHEST 16.0

/* The root of c (K' + c K'') = 2, with the derivatives at 0: the saddle if S were normal. */
static double normal_saddle(const double k[3])
{
	double c = k[2] > 0 ? (sqrt(k[1] * k[1] + 8 * k[2]) - k[1]) / (2 * k[2]) : 1;

	return c > 0 && c < INFINITY ? c : 1;
}

/* Choose the c > 0 that minimises K(c) - 2 log c: there the integrand turns least, so its terms cancel
 * least.  Any c > 0 is sound. */
bool acct_path_saddle(struct acct_path *w)
{
	double k[3], low = 0, high, c, step = FIRST;

	cumulant(w, 0, k);
	c = normal_saddle(k);
	for (high = c;; high *= step, step = fmin(step * step, FARTHEST)) {
		cumulant(w, high, k);
		if (!(high * k[1] < 2))
			break;
		low = high;
		if (high > 1e300)
			return false;
	}
	step = FIRST;
	for (int i = 0; i < 400; i++) {
		c = low > 0 ? sqrt(low * high) : high / step;
		step = fmin(step * step, FARTHEST);
		cumulant(w, c, k);
		if (c * k[1] < 2)
			low = c;
		else
			high = c;
		if (low > 0 && high < WITHIN * low && k[0] < INFINITY)
			break;
	}
	w->c = c;
	w->top = k[0];
	w->width = sqrt(fmax(k[2], 0.01 / (c * c)));
	/* Later code squares c, and computes nodes some thousand times as far out, which must stay in
	 * range. */
	return k[0] < INFINITY && k[2] >= 0 && c > 1e-140 && c < 1e140;
}

void acct_path_chernoff(const struct acct_path *w, double theta, double log_bound[3])
{
	double s = 0, value = 0, mass = 0, size = 0, blanket = w->list->blanket;
	bool at_c = theta >= w->c && theta <= w->c;

	for (size_t j = 0; j < w->cells; j++) {
		double a = theta * w->x[j], gain = at_c ? w->gained[j] : expm1(a),
		       e = at_c ? w->grown[j] : acct_path_exp(a, gain);

		size += w->omega[j] * fabs(a) * fmax(1, e);
		s += w->omega[j] * gain;
		value += w->omega[j] * fabs(w->x[j]) * e;
		mass += w->omega[j] * w->both[j] * e;
	}
	/* `off` bounds the error of s: both logarithms are taken of s + a multiple of it */
	double off = size * ACCT_ULP;
	double k = w->tau * w->tau * theta * theta / 2;
	for (size_t i = 0; i < w->list->groups; i++) {
		double share = w->list->group[i].share;

		k += w->list->group[i].count * log1p(share * (s + off * acct_path_off(w, share)));
	}
	if (w->list->dummies > 0)
		k += w->list->dummies * log1p((s + off * acct_path_off(w, 1)) / blanket);
	k += 1e-9 + 16 * ACCT_ULP * fabs(k);
	log_bound[0] = k + log(value);
	log_bound[1] = k + log(mass);
	log_bound[2] = k;
	if (!(log_bound[0] < INFINITY && log_bound[1] < INFINITY))
		log_bound[0] = log_bound[1] = log_bound[2] = INFINITY;
}

#define TRIES 13

/* Chernoff's bounds on the mass to the right (0) and to the left (1), for exponents c + mu and c - mu,
 * computed when they are asked for.  A small mu bounds the long tail of a skewed S, a large one the
 * middle. */
struct tails {
	bool known[2][TRIES];
	double mu[2][TRIES], log_bound[2][TRIES][3];
};

/* log2 of the numbers mu to try, in units of 1/width; those come first that are best where S is nearly
 * normal */
static const int tries[TRIES] = { 3, 2, 4, 1, 0, 5, -2, -4, 6, -6, -8, -10, -12 };

static void tail_at(struct tails *f, const struct acct_path *w, int side, int i)
{
	double mu = ldexp(1, tries[i]) / w->width + (side ? w->c : 0);

	f->known[side][i] = true;
	f->mu[side][i] = mu;
	acct_path_chernoff(w, side ? w->c - mu : w->c + mu, f->log_bound[side][i]);
}

/* Bound what the aliases, the copies of the measure a period apart that the trapezoid rule adds, do to
 * value and slope.  Stops on each side at the first bound that is within half of the goal. */
static void aliases(struct tails *f, const struct acct_path *w, const double goal[2], double err[2])
{
	err[0] = err[1] = 0;
	for (int side = 0; side < 2; side++) {
		double best[2] = { INFINITY, INFINITY };

		for (int i = 0; i < TRIES && !(best[0] <= goal[0] && best[1] <= goal[1]); i++) {
			if (!f->known[side][i])
				tail_at(f, w, side, i);
			double fade = f->mu[side][i] * w->period, series = -fade - log(-expm1(-fade));

			for (int k = 0; k < 2; k++)
				best[k] = fmin(best[k], f->log_bound[side][i][k] + series);
		}
		for (int k = 0; k < 2; k++)
			err[k] += exp(best[k]);
	}
}

void acct_path_period(struct acct_path *w, double scale, double err[2])
{
	/* the goal of each, in logarithms: that of the slope is c times that of the value, as the slope
	 * is */
	double half = log(0.5e-11 * scale), goal[2] = { half, half + log(w->c) };
	struct tails tails;

	memset(tails.known, 0, sizeof tails.known);
	w->period = 8.5 * w->width + 4 / w->c;
	for (int i = 0; i < 18; i++) {
		aliases(&tails, w, goal, err);
		if (err[0] <= 1e-11 * scale)
			break;
		w->period *= i < 2 ? 1.15 : 1.4;
	}
}
