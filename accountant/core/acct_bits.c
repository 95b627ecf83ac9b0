/* acct_bits.c - the exact privacy curve of a round of bits, with a certificate: doc/binary.md. */
#include "acct_bits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_bits_sum.h"
#include "acct_ends.h"

#define TOLERANCE  1e-4 /* relative width of delta */
#define NODE_WORK  50.0 /* work of a node's terms at one m */
#define TURN_WORK  30.0 /* the same of its rotation to one theta */
#define MOST_LIST  4096 /* numbers m tried one by one */
#define MOST_STEPS 512  /* points of theta in a bound */
#define BLOCKS     64
#define FEW        128 /* so many others are always tried one by one */

struct search {
	const struct acct_bits_sum *f;
	struct acct_bits_terms terms;
	double low, high;      /* of the largest h so far: found, and not exceeded by the m that are done */
	double best_m, best_j; /* where low was found */
	double spent, most;
};

/* Bounds at one m, of S(m + u, theta) for all u <= 0, for theta in one of `cells` parts of its range. */
struct bounds {
	size_t cells;
	double sup;              /* the largest of most[] */
	double size;             /* of |S|, whatever theta */
	double most[MOST_STEPS]; /* of S at u = 0 */
	double rise[MOST_STEPS]; /* its least derivative */
	double bend[MOST_STEPS]; /* the largest second derivative */
};

/* Try h_m at j; the terms are those of m. */
static void look(struct search *s, double j)
{
	struct acct_bits_value v;

	if (!(j >= 0 && j <= s->f->others + s->f->coins))
		return;
	v = acct_bits_value(s->f, &s->terms, j - s->terms.mean);
	s->spent += TURN_WORK * (double)s->f->nodes;
	if (v.h - v.err > s->low) {
		s->low = v.h - v.err;
		s->best_m = s->terms.m;
		s->best_j = j;
	}
	s->high = fmax(s->high, v.h + v.err);
}

static void terms_at(struct search *s, double m)
{
	acct_bits_terms_at(s->f, m, &s->terms);
	s->spent += NODE_WORK * (double)s->f->nodes;
}

/* All j that may be best at m: the best is the mode of the tilted law, within one of its mean (Darroch 1964).
 * The mean of 1e12 bits is known to 1e-3. */
static void list(struct search *s, double m)
{
	double from;

	terms_at(s, m);
	from = floor(s->terms.mean);
	for (double step = -1; step <= 2; step++)
		if (fabs(from + step - s->terms.mean) <= 1 + 1e-2)
			look(s, from + step);
}

/* The terms of one (m, j), which turn to those of the next by products. */
struct walk {
	bool ready; /* down, cosine and sine are set */
	double m, j, theta;
	double re[ACCT_BITS_NODES], im[ACCT_BITS_NODES];           /* terms times e^(-it theta) */
	double down_re[ACCT_BITS_NODES], down_im[ACCT_BITS_NODES]; /* from m to m - 1, j the same */
	double cosine[ACCT_BITS_NODES], sine[ACCT_BITS_NODES];     /* of t: from j to j - 1 */
	double err;                                                /* of a sum */
};

static void turn_to(struct walk *w, size_t nodes, const double *c, const double *d)
{
	for (size_t k = 0; k < nodes; k++) {
		double re = w->re[k] * c[k] - w->im[k] * d[k];

		w->im[k] = w->re[k] * d[k] + w->im[k] * c[k];
		w->re[k] = re;
	}
}

static void walk_init(struct walk *w, const struct search *s)
{
	double step = s->f->bit[0].one - s->f->bit[1].one;

	if (w->ready)
		return;
	w->ready = true;
	for (size_t k = 0; k < s->f->nodes; k++) {
		const struct acct_node *n = &s->f->node[k];
		double e = exp(n->a[1][0] - n->a[0][0]), a = n->a[1][1] - n->a[0][1] - n->t * step;

		w->down_re[k] = e * cos(a);
		w->down_im[k] = e * sin(a);
		w->cosine[k] = cos(n->t);
		w->sine[k] = sin(n->t);
	}
}

/* Start at m and the whole number closest to its mean. */
static void walk_from(struct walk *w, struct search *s, double m)
{
	struct acct_bits_value at;

	terms_at(s, m);
	w->m = m;
	w->j = floor(s->terms.mean + 0.5);
	w->theta = w->j - s->terms.mean;
	for (size_t k = 0; k < s->f->nodes; k++) {
		double a = s->f->node[k].t * w->theta, c = cos(a), d = sin(a);

		w->re[k] = s->terms.re[k] * c + s->terms.im[k] * d;
		w->im[k] = s->terms.im[k] * c - s->terms.re[k] * d;
	}
	/* Transforms only fall as m does. */
	at = acct_bits_value(s->f, &s->terms, w->theta);
	w->err = at.err / exp(s->terms.exponent - s->f->s * w->theta);
	s->spent += 2 * TURN_WORK * (double)s->f->nodes;
}

/* As look(), of a sum that is known. */
static void take(struct search *s, double m, double j, double h, double err)
{
	if (h - err > s->low) {
		s->low = h - err;
		s->best_m = m;
		s->best_j = j;
	}
	s->high = acct_larger(s->high, h + err);
}

/* The two whole numbers beside the mean at w->m, and on to m - 1. */
static void walk_on(struct walk *w, struct search *s)
{
	const struct acct_bits_sum *f = s->f;
	double rest = f->others - w->m, sum = 0, other = 0, side = w->theta > 0 ? 1 : -1, top, next;
	double exponent = w->m * f->bit[0].lost + rest * f->bit[1].lost + f->coins * f->bit[2].lost;

	for (size_t k = 0; k < f->nodes; k++) {
		sum += w->re[k];
		other += w->re[k] * w->cosine[k] - side * w->im[k] * w->sine[k];
	}
	top = exp(exponent - f->s * w->theta);
	next = top * exp(side * f->s);
	take(s, w->m, w->j, top * sum + f->folded, top * w->err);
	take(s, w->m, w->j - side, next * other + f->folded, next * w->err);
	turn_to(w, f->nodes, w->down_re, w->down_im);
	w->m--;
	w->theta += f->bit[0].one - f->bit[1].one;
	if (w->theta > 0.5) {
		turn_to(w, f->nodes, w->cosine, w->sine);
		w->theta--;
		w->j--;
	}
	s->spent += 5 * (double)f->nodes + 50;
}

/* All m from `from` down to above `end`; begins anew often enough that the products do not lose digits. */
static void list_all(struct search *s, struct walk *w, double from, double end)
{
	walk_init(w, s);
	while (from > end) {
		walk_from(w, s, from);
		for (int i = 0; i < 32 && w->m > end; i++)
			walk_on(w, s);
		from = w->m;
	}
}

/* Where the number of the others ends, phases repeat slowly: look at those places near the end where the mean
 * is close to a whole number. */
static void look_at_phases(struct search *s)
{
	double m = s->f->others, step = s->f->bit[0].one - s->f->bit[1].one, mean;

	step = step < 0.5 ? step : s->f->bit[0].zero + s->f->bit[1].one; /* per m, up to whole numbers */
	mean = m * s->f->bit[0].one + s->f->coins * s->f->bit[2].one;
	for (int k = -1; k <= 2; k++) {
		double want = (double)k / 4, far = mean - floor(mean);

		/* of m - i the mean is lower by i step, or higher by it */
		far = s->f->bit[0].one - s->f->bit[1].one < 0.5 ? far - want : want - far;
		far = far - floor(far);
		if (step > 0 && far / step < m - 1)
			list(s, m - floor(far / step + 0.5));
	}
}

struct sums {
	double plain, length, rise, bend,
		both; /* of |g phi| times 1, |s+it|^2, |lambda|, |lambda|^2, and both */
};

static struct sums add_up(const struct search *s)
{
	struct sums b = { 0 };

	for (size_t k = 0; k < s->f->nodes; k++) {
		const struct acct_node *n = &s->f->node[k];
		double a = s->terms.size[k], l = n->lambda_size;

		b.plain += a;
		b.length += a * n->length2;
		b.rise += a * l;
		b.bend += a * l * l;
		b.both += a * l * n->length2;
	}
	return b;
}

#define LANES 4u /* nodes that turn side by side, since a turn waits for the one before */

struct lanes {
	double re[LANES], im[LANES], c[LANES], d[LANES], up[LANES], across[LANES];
};

/* e^(i t_k theta), k after k: t_k = k t_1. */
struct phase {
	double c, d, c1, d1;
};

static struct phase phase_of(const struct search *s, double theta)
{
	double a = s->f->nodes > 0 ? s->f->node[0].t * theta : 0;

	return (struct phase){ 1, 0, cos(a), sin(a) };
}

static void phase_next(struct phase *p)
{
	double c = p->c * p->c1 - p->d * p->d1;

	p->d = p->c * p->d1 + p->d * p->c1;
	p->c = c;
}

/* From node k on; what is not there is zero. */
static void lanes_init(
	struct lanes *w, const struct search *s, size_t k, struct phase *first, struct phase *step)
{
	memset(w, 0, sizeof *w);
	for (size_t j = 0; j < LANES && k + j < s->f->nodes; j++) {
		const struct acct_node *n = &s->f->node[k + j];
		double a = s->terms.re[k + j], b = s->terms.im[k + j];

		phase_next(first);
		phase_next(step);
		w->c[j] = step->c;
		w->d[j] = step->d;
		w->re[j] = a * first->c + b * first->d;
		w->im[j] = b * first->c - a * first->d;
		w->up[j] = n->lambda[0];
		w->across[j] = n->lambda[1];
	}
}

/* S and its derivative at `steps` + 1 values of theta, the scale e^(L - s theta) apart. */
static void scan(struct search *s, double from, double h, size_t steps, double *value, double *slope)
{
	struct phase first = phase_of(s, from), step = phase_of(s, h);
	struct lanes w;

	memset(value, 0, (steps + 1) * sizeof *value);
	memset(slope, 0, (steps + 1) * sizeof *slope);
	for (size_t k = 0; k < s->f->nodes; k += LANES) {
		lanes_init(&w, s, k, &first, &step);
		for (size_t i = 0; i <= steps; i++) {
			double sum = 0, rise = 0;

			for (size_t j = 0; j < LANES; j++) {
				double re = w.re[j], im = w.im[j];

				sum += re;
				rise += w.up[j] * re - w.across[j] * im;
				w.re[j] = re * w.c[j] + im * w.d[j];
				w.im[j] = im * w.c[j] - re * w.d[j];
			}
			value[i] += sum;
			slope[i] += rise;
		}
	}
	s->spent += (double)s->f->nodes * (TURN_WORK + 3 * (double)steps);
}

/* The range of theta in which a maximum may lie is [-P1, 1-P2].  Between two points a function exceeds both
 * by at most h^2/8 of its second derivative, which may be about `allowed`. */
static void bound(struct search *s, double m, double allowed, struct bounds *b)
{
	const struct acct_bits_sum *f = s->f;
	double far = 1e-12 + 1e-15 * (f->others + f->coins), from = -f->bit[0].one - far,
	       length = f->bit[0].one + f->bit[1].zero + 2 * far, top, h, rest, value[MOST_STEPS + 1],
	       slope[MOST_STEPS + 1];
	struct sums sum;

	terms_at(s, m);
	sum = add_up(s);
	top = exp(s->terms.exponent - f->s * from);
	h = sqrt(8 * allowed / (top * sum.length));
	b->cells = (size_t)fmin(MOST_STEPS, fmax(4, ceil(length / fmax(h, 1e-6 * length))));
	h = length / (double)b->cells;
	scan(s, from, h, b->cells, value, slope);
	rest = acct_bits_rest(f, &s->terms, from);
	b->sup = -INFINITY;
	b->size = top * sum.plain * (1 + ACCT_BITS_ERROR) + rest;
	for (size_t i = 0; i < b->cells; i++) {
		double left = top * exp(-f->s * h * (double)i), right = left * exp(-f->s * h);
		double more = left * (h * h / 8 * sum.length + ACCT_BITS_ERROR * sum.plain);

		b->most[i] = acct_larger(left * value[i], right * value[i + 1]) + more + rest;
		b->rise[i] = fmin(left * slope[i], right * slope[i + 1]) -
			     left * (h * h / 8 * sum.both + ACCT_BITS_ERROR * sum.rise);
		b->bend[i] = left * sum.bend;
		b->sup = acct_larger(b->sup, b->most[i]);
	}
}

/* How far below m no part exceeds `target`. */
static double reach(const struct bounds *b, double target)
{
	double least = INFINITY;

	for (size_t i = 0; i < b->cells; i++) {
		double rise = b->rise[i], bend = b->bend[i], slack = target - b->most[i];
		double far = (rise + sqrt(rise * rise + 2 * bend * slack)) / bend;

		if (!(far >= 0)) /* a NaN has shown nothing */
			return 0;
		least = fmin(least, far);
	}
	return least * (1 - 1e-9);
}

/* Raise s->high to a bound for every m from 1 to `m`, block by block downwards.  b: bounds at m. */
static void cover(struct search *s, double m, struct bounds *b)
{
	for (int i = 0;; i++) {
		double target = fmax(b->sup + TOLERANCE / 2 * s->low, s->low), far = reach(b, target);

		if (b->size <= s->low)
			return;
		if (i == BLOCKS || s->spent > s->most || !(far > 0)) {
			s->high = acct_larger(s->high, b->size);
			return;
		}
		s->high = acct_larger(s->high, target);
		m -= far;
		if (m < 1)
			return;
		bound(s, m, fmax(TOLERANCE / 8 * s->low, (s->low - b->sup) / 8), b);
	}
}

/* The largest h over all m and j: list the last numbers m until blocks can do the rest. */
static void search(struct search *s, struct walk *w, struct bounds *b)
{
	double m = s->f->others - 1, end;

	list(s, s->f->others);
	if (s->f->others > 0)
		list(s, 0);
	if (s->f->others <= FEW) {
		list_all(s, w, m, 0);
		return;
	}
	look_at_phases(s);
	for (double more = 8;; more *= 2) {
		bound(s, m, TOLERANCE / 8 * s->low, b);
		if (b->sup <= s->low * (1 + TOLERANCE / 2) || more > MOST_LIST || s->spent > s->most) {
			cover(s, m, b);
			return;
		}
		end = fmax(m - more, 0);
		list_all(s, w, m, end);
		m = end;
		if (m < 1)
			return;
	}
}

/* The line of the best test: nu of the test is (f + 2 G)/2 with f = h + c G. */
static void best_line(struct search *s, struct acct_point *at)
{
	struct acct_bits_value above, h;
	double theta;

	terms_at(s, s->best_m);
	theta = s->best_j - s->terms.mean;
	h = acct_bits_value(s->f, &s->terms, theta);
	above = acct_bits_above(s->f, &s->terms, theta);
	at->slope = (h.h + (s->f->c + 2) * above.h) / 2;
	at->slope_err = (h.err + (s->f->c + 2) * above.err) / 2 + 1e-12 * at->slope;
}

struct all {
	struct acct_bits_sum f;
	struct search s;
	struct walk w;
	struct bounds b;
};

double acct_bits_at(double others, double coins, double eps0, double eps, double most, struct acct_point *at)
{
	double share = exp(-eps) / (1 + exp(-eps)), scale;
	struct all *w;

	*at = (struct acct_point){ 0, share, 0, 0 };
	if (eps >= eps0) {
		at->hi = 0;
		return 100;
	}
	w = malloc(sizeof *w);
	if (!w)
		return 100;
	w->s.f = &w->f;
	w->s.low = w->s.high = w->s.best_m = w->s.best_j = w->s.spent = 0;
	w->s.most = most;
	w->w.ready = false;
	if (acct_bits_sum_init(&w->f, others, coins, eps0, eps, false)) {
		search(&w->s, &w->w, &w->b);
	} else if (acct_bits_sum_init(&w->f, others, coins, eps0, eps, true)) {
		list(&w->s, others); /* a lower end alone */
		w->s.high = INFINITY;
	}
	w->s.spent += 3 * NODE_WORK * (double)w->f.nodes;
	/* delta/(1+E) = (P - E Q) h / (1 + E) */
	scale = w->f.scale * share;
	at->lo = scale * w->s.low * (1 - 1e-13);
	at->hi = w->s.high > 0 ? fmin(at->hi, scale * w->s.high * (1 + 1e-13)) : at->hi;
	if (at->lo > 0)
		best_line(&w->s, at);
	most = w->s.spent;
	free(w);
	return most;
}
