/* acct_labels_sum.c - the largest loss of places whose chances are known, but not which one is the victim's.
 *
 * With X_l = (R1 - E R0)(y_l) / K_l(y_l), K_l the law of place l, delta = (1/N) E(X_1 + .. + X_N)+.  At p
 * places X is a/P with chance P and -b/Q else, at the others a/Q with chance Q and -b/P else; a = P - EQ, b =
 * EP - Q.  A dummy's place has 2a or -2b, with equal chance.
 *
 * E(S)+ <= E(S + U)+, U normal (Jensen).  V = S + U.  The function g(x) = max(x, 0) e^(-cx) is nowhere above
 * the sum of its copies at distance T, whose Fourier series is that of the trapezoid rule:
 *     E(V)+ = E e^(cV) g(V) <= (1/T) sum_k M(c + 2 pi i k/T) / (c + 2 pi i k/T)^2,   M(z) = E e^(zV),
 * for every c, T > 0.  M is an exponential of p, so the sum between two values of p exceeds both ends by at
 * most h^2/8 of its second derivative. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "acct_labels.h"

#define NODES     4096
#define INTERVALS 128
#define TOLERANCE 1e-2 /* relative, of delta: a few 1e-4 of epsilon */
#define NEGLECTED 46.0 /* nodes below e^-NEGLECTED of the top are charged, not added */
#define SMOOTH    24.0 /* deviation of S over that of U: epsilon rises by about 1/(2 SMOOTH^2) */
#define ULP       0x1p-53

/* A place: X is `up` with chance `one`, else -down. */
struct place {
	double one, zero, up, down;
	/* Tilted by c: log E e^cX, chance of a one, mean and variance. */
	double log_m, w, mean, variance;
};

struct sum {
	struct place place[3]; /* of chance P, of chance Q, fair */
	double n, fair;        /* places of the first two kinds together, and of the third */
	double tau, c, period;
	double *work, most;
};

static void tilt(struct place *x, double c)
{
	double range = x->up + x->down, one;

	x->log_m = log1p(x->one * expm1(c * x->up) + x->zero * expm1(-c * x->down));
	one = x->one * exp(c * x->up);
	x->w = one / (one + x->zero * exp(-c * x->down));
	x->mean = x->w * x->up - (1 - x->w) * x->down;
	x->variance = x->w * (1 - x->w) * range * range;
}

/* The least of log E e^cV - 2 log c; any c is sound.  c range < 300. */
static void choose_c(struct sum *s, double p)
{
	double low = -80,
	       high = log(300 / fmax(s->place[0].up + s->place[0].down, s->place[1].up + s->place[1].down));

	for (int i = 0; i < 48; i++) {
		double middle = (low + high) / 2, c = exp(middle);

		for (int k = 0; k < 3; k++)
			tilt(&s->place[k], c);
		if (p * s->place[0].mean + (s->n - p) * s->place[1].mean + s->fair * s->place[2].mean +
				s->tau * s->tau * c >
			2 / c)
			high = middle;
		else
			low = middle;
	}
	s->c = exp(low);
	for (int k = 0; k < 3; k++)
		tilt(&s->place[k], s->c);
}

/* log E e^cV. */
static double log_moment(const struct sum *s, double p)
{
	return p * s->place[0].log_m + (s->n - p) * s->place[1].log_m + s->fair * s->place[2].log_m +
	       s->tau * s->tau * s->c * s->c / 2;
}

/* Copies at distance T must add little; any T is sound. */
static void choose_period(struct sum *s, double p)
{
	double variance = p * s->place[0].variance + (s->n - p) * s->place[1].variance +
			  s->fair * s->place[2].variance + s->tau * s->tau;
	double deviation = sqrt(variance + 2 / (s->c * s->c)), power = log_moment(s, p);

	/* E(V)+ is about e^power / (c^2 deviation), the first copy below adds at most T e^-cT. */
	s->period = fmax(9 * deviation, (16 - fmin(0, power) + log(1 + s->c * deviation)) / s->c);
}

/* The angle of a place's transform at c + it. */
static double turn(const struct place *x, double t)
{
	double angle = t * (x->up + x->down), w = x->w;

	return t * x->mean + atan2(w * sin((1 - w) * angle) - (1 - w) * sin(w * angle),
				     w * cos((1 - w) * angle) + (1 - w) * cos(w * angle));
}

/* log of its modulus over that at c: at most 0.  e^-60 is less than what is charged for a node left out. */
static double shrink(const struct place *x, double t)
{
	double half = sin(t * (x->up + x->down) / 2);

	return fmax(-60, 0.5 * log1p(fmax(-1, -4 * x->w * (1 - x->w) * half * half)));
}

/* Upper bounds at both ends of [p1, p2] and between: sums of terms relative to their top. */
struct ends {
	double value[2], size[2], bend, rest;
};

static void add_node(
	const struct sum *s, double t, double weight, const double *re, const double p[2], struct ends *e)
{
	const struct place *x = s->place;
	double im[2] = { turn(&x[0], t), turn(&x[1], t) }, fair = s->fair * turn(&x[2], t),
	       z2 = s->c * s->c + t * t, turned = -2 * atan2(t, s->c), most = 0, apart, size[2];

	for (int i = 0; i < 2; i++) {
		double q = s->n - p[i];

		size[i] = weight / z2 * exp(re[i]);
		e->value[i] +=
			size[i] * cos(p[i] * im[0] + q * im[1] + fair + s->tau * s->tau * s->c * t + turned);
		/* Errors of the exponent: of the angles, which are off by ulps of t times the range, of
		 * their multiples, and of log_m. */
		e->size[i] += size[i] * 64 * ULP *
			      ((s->n + s->fair) * (t + s->c) * (x[0].up + x[0].down + x[1].up + x[1].down) +
				      fabs(re[i]) + 64);
		most = fmax(most, exp(re[i]));
	}
	apart = hypot(shrink(&x[0], t) + x[0].log_m - shrink(&x[1], t) - x[1].log_m, im[0] - im[1]);
	e->bend += weight / z2 * most * apart * apart;
}

/* false: too many nodes. */
static bool add_up(const struct sum *s, const double p[2], struct ends *e)
{
	double step = 2 * acos(-1) / s->period, far = sqrt(2 * NEGLECTED) / s->tau, top[2], most;
	size_t last = (size_t)fmin(2.0 * NODES, ceil(far / step)), kept = 0;

	if (last > NODES)
		return false;
	*e = (struct ends){ 0 };
	for (int i = 0; i < 2; i++)
		top[i] = log_moment(s, p[i]);
	most = fmax(top[0], top[1]);
	for (size_t k = 0; k <= last; k++) {
		double t = (double)k * step, re[2], one = shrink(&s->place[0], t),
		       two = shrink(&s->place[1], t), smooth = s->tau * s->tau * t * t / 2;

		if (s->fair > 0)
			smooth -= s->fair * shrink(&s->place[2], t);
		for (int i = 0; i < 2; i++) {
			double q = s->n - p[i];

			re[i] = top[i] - most - smooth;
			re[i] += (p[i] > 0 ? p[i] * one : 0) + (q > 0 ? q * two : 0);
		}
		if (fmax(re[0], re[1]) < -NEGLECTED)
			continue;
		add_node(s, t, k > 0 ? 2 : 1, re, p, e);
		kept++;
	}
	/* What is left out: nodes up to `last`, and beyond it sum 2/t^2 <= 2/(step^2 last). */
	e->rest = 2 * exp(-NEGLECTED) *
		  ((double)last / (s->c * s->c) + 1 / (step * step * fmax(1, (double)last)));
	*s->work += 60 * (double)last + 400 * (double)kept + 2e4;
	for (int i = 0; i < 2; i++)
		e->value[i] =
			(e->value[i] + e->size[i] + e->rest) * exp(most) / (s->period * (s->n + s->fair));
	e->bend *= exp(most) / (s->period * (s->n + s->fair));
	return true;
}

/* The larger end, and a bound between. */
static bool over(struct sum *s, double from, double to, double *ends, double *between)
{
	const double p[2] = { from, to };
	struct ends e;

	choose_c(s, (from + to) / 2);
	choose_period(s, (from + to) / 2);
	if (!add_up(s, p, &e))
		return false;
	*ends = e.value[0] >= e.value[1] ? e.value[0] : e.value[1];
	*between = *ends + e.bend * (to - from) * (to - from) / 8;
	return e.value[0] < INFINITY && e.value[1] < INFINITY && *between < INFINITY;
}

/* The bound is largest near p = n: halve from there, the upper half first. */
static double search(struct sum *s)
{
	double from[INTERVALS + 2] = { 0 }, to[INTERVALS + 2] = { s->n }, best = 0, most = 0;
	size_t open = 1, done = 0;
	double ends, between;

	if (!over(s, s->n, s->n, &best, &between))
		return INFINITY;
	while (open > 0) {
		double low = from[open - 1], high = to[open - 1], middle = floor((low + high) / 2);

		if (!over(s, low, high, &ends, &between) || *s->work > s->most)
			return INFINITY;
		/* c and T are those of the middle: far from it the sum is above the value. */
		if (high - low <= s->n / 64)
			best = fmax(best, ends);
		done++;
		if (between <= best * (1 + TOLERANCE) || high - low < 2 || done + open >= INTERVALS) {
			most = fmax(most, high - low <= 1 ? ends : between);
			open--;
			continue;
		}
		to[open - 1] = middle;
		from[open] = middle;
		to[open++] = high;
	}
	return most;
}

double acct_labels_largest(double places, double fair, double eps0, double eps, double most, double *work)
{
	double p = 1 / (1 + exp(-eps0)), q = exp(-eps0) / (1 + exp(-eps0));
	double a = q * exp(eps) * expm1(eps0 - eps), b = q * expm1(eps0 + eps);
	struct sum s = { .n = places, .fair = fair, .work = work, .most = most };

	if (!(a > 0 && places >= 1))
		return places >= 1 ? 0 : INFINITY;
	s.place[0] = (struct place){ .one = p, .zero = q, .up = a / p, .down = b / q };
	s.place[1] = (struct place){ .one = q, .zero = p, .up = a / q, .down = b / p };
	s.place[2] = (struct place){ .one = 0.5, .zero = 0.5, .up = 2 * a, .down = 2 * b };
	s.tau = sqrt(places * p * q) * (a / p + b / q) / SMOOTH;
	return search(&s) * (1 + 1e-12);
}
