/* acct_kinds_sum.c - the largest loss of places whose laws are known, but not which one is the victim's.
 *
 * As in acct_labels_sum.c, delta = (1/N) E(X_1 + .. + X_N)+ is at most a sum over nodes z of M(z)/z^2, where
 * M is the product of the places' transforms, hence the exponential of a linear function of the numbers of
 * the kinds.  Two bounds hold for all numbers at once.  (1) The sum of moduli is convex in the numbers, so it
 * is largest where all places are of one kind.  (2) On the simplex a sum of exponentials is at most its
 * largest value at a corner, and half the largest second derivative times the square of the radius; exponents
 * are in the plane, where the square of the radius is at most a third of that of the diameter (Jung). */
#include <math.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_kinds.h"
#include "acct_lane.h"

#define NODES     4096
#define NEGLECTED 46.0
#define SMOOTH    16.0
#define ULP       0x1p-53

#define LANES ((ACCT_ATOMS + ACCT_LANES - 1) / ACCT_LANES)

/* A kind, tilted by c. */
struct tilted {
	size_t atoms;
	double p[ACCT_ATOMS], x[ACCT_ATOMS], w[ACCT_ATOMS];
	acct_lanes far[LANES], weight[LANES]; /* x - mean and w, four by four; the rest is 0 */
	double log_m, mean, variance;
	double value, moduli, error; /* sums over the nodes so far */
	double re, im;               /* log of the transform at a node */
};

struct sum {
	size_t kinds;
	struct tilted kind[ACCT_KINDS];
	double n, tau, c, period, range;
};

static void tilt(struct tilted *k, double c)
{
	double sum = 0, square = 0, more = 0, all = 0;

	for (size_t i = 0; i < k->atoms; i++) {
		more += k->p[i] * expm1(c * k->x[i]);
		k->w[i] = k->p[i] * exp(c * k->x[i]);
		all += k->w[i];
	}
	for (size_t i = 0; i < k->atoms; i++) {
		k->w[i] /= all;
		sum += k->w[i] * k->x[i];
	}
	for (size_t i = 0; i < k->atoms; i++)
		square += k->w[i] * (k->x[i] - sum) * (k->x[i] - sum);
	k->log_m = log1p(more);
	k->mean = sum;
	k->variance = square;
}

/* For the nodes, once c is known. */
static void set_lanes(struct tilted *k)
{
	memset(k->far, 0, sizeof k->far);
	memset(k->weight, 0, sizeof k->weight);
	for (size_t i = 0; i < k->atoms; i++) {
		k->far[i / ACCT_LANES][i % ACCT_LANES] = k->x[i] - k->mean;
		k->weight[i / ACCT_LANES][i % ACCT_LANES] = k->w[i];
	}
}

/* The least of log E e^cV - 2 log c for one kind; returns it. */
static double choose_c(struct sum *s, struct tilted *k)
{
	double low = -80, high = log(300 / s->range), c = 1;

	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;

		c = exp(middle);
		tilt(k, c);
		if (s->n * k->mean + s->tau * s->tau * c > 2 / c)
			high = middle;
		else
			low = middle;
	}
	s->c = exp(low);
	tilt(k, s->c);
	return s->n * k->log_m + s->tau * s->tau * s->c * s->c / 2 - 2 * low;
}

static void set_kinds(struct sum *s, const struct acct_kinds *k, double eps)
{
	double widest = 0, low = 0, high = 0;

	s->kinds = k->kinds;
	for (size_t i = 0; i < s->kinds; i++) {
		const struct acct_kind *from = &k->kind[i];
		struct tilted *to = &s->kind[i];
		double all = 0;

		*to = (struct tilted){ .atoms = from->atoms };
		for (size_t j = 0; j < from->atoms; j++)
			all += from->atom[j].mass;
		for (size_t j = 0; j < from->atoms; j++) {
			const struct acct_atom *a = &from->atom[j];

			to->p[j] = a->mass / all;
			to->x[j] = (a->u - a->v) - expm1(eps) * a->v;
			low = fmin(low, to->x[j]);
			high = fmax(high, to->x[j]);
		}
		tilt(to, 0);
		widest = fmax(widest, to->variance);
	}
	s->range = high - low;
	s->tau = sqrt(s->n * widest) / SMOOTH;
}

/* c and T for the kind that loses most; any are sound for all. */
static void choose(struct sum *s)
{
	double most = -INFINITY, best = 1, deviation, power;
	struct tilted *worst = &s->kind[0];

	for (size_t i = 0; i < s->kinds; i++) {
		double value = choose_c(s, &s->kind[i]);

		if (value > most) {
			most = value;
			best = s->c;
			worst = &s->kind[i];
		}
	}
	s->c = best;
	for (size_t i = 0; i < s->kinds; i++) {
		tilt(&s->kind[i], best);
		set_lanes(&s->kind[i]);
	}
	power = s->n * worst->log_m + s->tau * s->tau * best * best / 2;
	deviation = sqrt(s->n * worst->variance + s->tau * s->tau + 2 / (best * best));
	s->period = fmax(9 * deviation, (16 - fmin(0, power) + log(1 + best * deviation)) / best);
}

/* The transform of a kind at a node, about its mean. */
ACCT_INLINED void turned(const struct tilted *k, double t, double *re, double *im)
{
	acct_lanes a = { 0 }, b = { 0 };

	for (size_t i = 0; i * ACCT_LANES < k->atoms; i++) {
		acct_lanes angle = t * k->far[i], s, c;

		acct_lane_turn_any(&angle, &s, &c);
		a += k->weight[i] * c;
		b += k->weight[i] * s;
	}
	*re = (a[0] + a[1]) + (a[2] + a[3]);
	*im = (b[0] + b[1]) + (b[2] + b[3]);
}

static void turned_plain(const struct tilted *k, double t, double *re, double *im)
{
	turned(k, t, re, im);
}

ACCT_AVX2 static void turned_avx2(const struct tilted *k, double t, double *re, double *im)
{
	turned(k, t, re, im);
}

/* Is a node worth adding?  Sets its logs. */
static bool set_node(struct sum *s, double t, double top, double *rest)
{
	double most = -INFINITY;
	bool wide = acct_lane_has_avx2();

	for (size_t i = 0; i < s->kinds; i++) {
		struct tilted *k = &s->kind[i];
		double re = 1, im = 0;

		(wide ? turned_avx2 : turned_plain)(k, t, &re, &im);
		k->re = k->log_m + fmax(-60, 0.5 * log(re * re + im * im));
		k->im = t * k->mean + atan2(im, re);
		most = fmax(most, s->n * k->re);
	}
	*rest = s->tau * s->tau * (s->c * s->c - t * t) / 2 - top;
	return most + *rest >= -NEGLECTED;
}

/* Returns the part of the second derivative. */
static double add_node(struct sum *s, double t, double weight, double rest)
{
	double turn = s->tau * s->tau * s->c * t - 2 * atan2(t, s->c), most = 0,
	       re[2] = { INFINITY, -INFINITY }, im[2] = { INFINITY, -INFINITY };

	weight /= s->c * s->c + t * t;
	for (size_t i = 0; i < s->kinds; i++) {
		struct tilted *k = &s->kind[i];
		double size = weight * exp(s->n * k->re + rest);

		k->moduli += size;
		k->value += size * cos(s->n * k->im + turn);
		k->error += size * 64 * ULP *
			    (s->n * (1 + (t + s->c) * s->range) + fabs(s->n * k->re) + fabs(rest) + 64);
		most = fmax(most, size);
		re[0] = fmin(re[0], k->re);
		re[1] = fmax(re[1], k->re);
		im[0] = fmin(im[0], k->im);
		im[1] = fmax(im[1], k->im);
	}
	return most * ((re[1] - re[0]) * (re[1] - re[0]) + (im[1] - im[0]) * (im[1] - im[0]));
}

/* Of `nodes` nodes. */
static double work_of(double nodes, size_t atoms, size_t kinds)
{
	return (nodes + 200) * (20 * (double)atoms + 60 * (double)kinds);
}

double acct_kinds_work(const struct acct_kinds *k)
{
	size_t atoms = 0;

	for (size_t i = 0; i < k->kinds; i++)
		atoms += k->kind[i].atoms;
	return work_of(0, atoms, k->kinds);
}

static double add_up(struct sum *s, double most_work, double *work)
{
	double step = 2 * acos(-1) / s->period, top = -INFINITY, bend = 0, largest = 0, moduli = 0, rest;
	size_t last = (size_t)fmin(2.0 * NODES, ceil(sqrt(2 * NEGLECTED) / s->tau / step)), atoms = 0;

	for (size_t i = 0; i < s->kinds; i++) {
		top = fmax(top, s->n * s->kind[i].log_m + s->tau * s->tau * s->c * s->c / 2);
		atoms += s->kind[i].atoms;
	}
	*work += work_of((double)last, atoms, s->kinds);
	if (last > NODES || *work > most_work)
		return INFINITY;
	for (size_t k = 0; k <= last; k++)
		if (set_node(s, (double)k * step, top, &rest))
			bend += add_node(s, (double)k * step, k > 0 ? 2 : 1, rest);
	for (size_t i = 0; i < s->kinds; i++) {
		largest = acct_larger(largest, s->kind[i].value + s->kind[i].error);
		moduli = acct_larger(moduli, s->kind[i].moduli + s->kind[i].error);
	}
	/* What is left out: nodes up to `last`, and beyond it sum 2/t^2 <= 2/(step^2 last). */
	rest = 2 * exp(-NEGLECTED) *
	       ((double)last / (s->c * s->c) + 1 / (step * step * fmax(1, (double)last)));
	largest = fmin(largest + s->n * s->n * bend / 6, moduli) + rest;
	return largest * exp(top) / (s->period * s->n);
}

double acct_kinds_largest(const struct acct_kinds *k, double places, double eps, double most, double *work)
{
	struct sum s = { .n = places };

	if (!(places >= 1) || k->kinds == 0)
		return INFINITY;
	set_kinds(&s, k, eps);
	if (!(s.range > 0 && s.tau > 0))
		return INFINITY;
	choose(&s);
	return add_up(&s, most, work) * (1 + 1e-12);
}
