/* acct_bits_classes.c - the exact curve of a round of bits whose senders have several guarantees. */
#include "acct_bits_classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_bits_sum.h"
#include "acct_ends.h"
#include "acct_lane.h"

#define TOLERANCE  1e-4
#define WIDEST     1e-2
#define MOST_WAYS  2048.0 /* up to this number of vectors v all are tried */
#define NEAR       12.0   /* otherwise these first numbers v_c of each class */
#define BLOCKS     64
#define LEAST_EPS  1e-6 /* of a smaller guarantee lambda is too small to divide by */
#define MOST_CLASS (ACCT_MAX_LEVELS + 2)

struct kind {
	double count;
	double gamma;      /* 0: as good as nothing depends on v_c, as for fair coins */
	bool small;        /* the guarantee is next to nothing */
	double less, down; /* by which a bit of Q_c has a smaller exponent L, and a smaller tilted mean */
	double variance;   /* of the tilted bit of P_c */
	/* of each node: log of the transform of a bit of P_c, less that of a bit of Q_c; real and imaginary
	 * part, followed by those of lambda_c/gamma_c */
	double *re, *im, *up, *across;
};

struct work {
	struct acct_bits_sum f;
	struct acct_bits_search s;
	struct acct_bits_bound b, one;
	struct kind kind[MOST_CLASS];
	size_t classes;
	double exponent, mean, variance, end; /* of v = 0; end: the largest tau */
	double least;                         /* guarantees below this one are small */
	double slack; /* the slack of the header, without the factor e^(L - s theta) */
	double v[MOST_CLASS], best[MOST_CLASS];
	/* of each node: log of the transform where v = 0; Lambda; and the bounds low, rho and
	 * max |lambda_c/gamma_c| */
	double re[ACCT_BITS_NODES], im[ACCT_BITS_NODES];
	double up[ACCT_BITS_NODES], across[ACCT_BITS_NODES];
	double low[ACCT_BITS_NODES], rho[ACCT_BITS_NODES], most[ACCT_BITS_NODES];
	double size[ACCT_BITS_NODES]; /* |G| without the factor e^(L - s theta) */
	double *room;
};

/* Take a class's two bits, before there are nodes. */
static void add_class(
	struct work *w, double count, double eps, struct acct_bit bit[2], struct acct_bits_spread *all)
{
	double p = 1 / (1 + exp(-eps)), q = exp(-eps) / (1 + exp(-eps));

	acct_bits_tilt(&w->f, p, q, &bit[0]);
	acct_bits_tilt(&w->f, q, p, &bit[1]);
	w->kind[w->classes++] = (struct kind){ .count = count,
		.small = eps > 0 && eps < w->least,
		.less = fmax(0, bit[0].lost - bit[1].lost),
		.down = bit[0].one - bit[1].one,
		.variance = bit[0].variance };
	all->all += count;
	all->tilted += count * fmax(bit[0].variance, bit[1].variance);
	all->least += count * fmin(bit[0].variance, bit[1].variance);
	all->plain += count * p * q;
	all->shift += count * p * q * w->f.c / (1 + w->f.c * q);
	w->exponent += count * bit[0].lost;
	w->mean += count * bit[0].one;
	w->variance += count * bit[0].variance;
}

/* Compute the transforms of a class at all nodes. */
static void set_class(struct work *w, size_t c, const struct acct_bit bit[2])
{
	size_t nodes = w->f.nodes;
	struct kind *of = &w->kind[c];

	of->re = w->room + c * 4 * nodes;
	of->im = of->re + nodes;
	of->up = of->im + nodes;
	of->across = of->up + nodes;
	for (size_t k = 0; k < nodes; k++) {
		double one[2], zero[2];

		acct_bits_log(&bit[0], &w->f.node[k], one);
		acct_bits_log(&bit[1], &w->f.node[k], zero);
		w->re[k] += of->count * one[0];
		w->im[k] += of->count * one[1];
		of->re[k] = fmax(0, one[0] - zero[0]);
		of->im[k] = one[1] - zero[1];
	}
}

/* Choose gamma_c, so that the lambda_c/gamma_c of all classes are about alike. */
static void scale_class(struct work *w, struct kind *c)
{
	double sum = 0;

	for (size_t k = 0; k < w->f.nodes; k++) {
		c->up[k] = c->less + c->re[k];
		c->across[k] = c->im[k];
		sum += w->size[k] * (c->up[k] * c->up[k] + c->across[k] * c->across[k]);
		if (c->small)
			w->slack += w->size[k] * c->count * hypot(c->up[k], c->across[k]);
	}
	c->gamma = sum > 0 && !c->small ? sqrt(sum) : 0;
	for (size_t k = 0; k < w->f.nodes && c->gamma > 0; k++) {
		c->up[k] /= c->gamma;
		c->across[k] /= c->gamma;
	}
	w->end += c->count * c->gamma;
}

/* Set Lambda and the bounds on the distance from it. */
static void set_means(struct work *w)
{
	for (size_t k = 0; k < w->f.nodes; k++) {
		for (size_t i = 0; i < w->classes && w->end > 0; i++) {
			const struct kind *c = &w->kind[i];
			double part = c->count * c->gamma / w->end;

			w->up[k] += part * c->up[k];
			w->across[k] += part * c->across[k];
		}
		w->low[k] = w->up[k];
		for (size_t i = 0; i < w->classes; i++) {
			const struct kind *c = &w->kind[i];

			if (!(c->gamma > 0))
				continue;
			w->low[k] = fmin(w->low[k], c->up[k]);
			w->most[k] = fmax(w->most[k], hypot(c->up[k], c->across[k]));
			w->rho[k] = fmax(w->rho[k], hypot(c->up[k] - w->up[k], c->across[k] - w->across[k]));
		}
	}
}

/* Set the terms of the sum from the logarithms in terms.re and terms.im. */
static void set_terms(struct work *w)
{
	struct acct_bits_terms *t = &w->s.terms;

	acct_lane_polar(w->f.nodes, t->re, t->im, t->re, t->im, t->size);
	for (size_t k = 0; k < w->f.nodes; k++) {
		const struct acct_node *n = &w->f.node[k];
		double re = t->re[k], im = t->im[k];

		t->re[k] = n->g[0] * re - n->g[1] * im;
		t->im[k] = n->g[0] * im + n->g[1] * re;
		t->size[k] *= n->size;
	}
	w->s.spent += ACCT_BITS_NODE * (double)w->f.nodes;
}

/* Set the terms for w->v. */
static void terms_at(struct work *w)
{
	struct acct_bits_terms *t = &w->s.terms;

	t->exponent = w->exponent;
	t->mean = w->mean;
	t->variance = w->variance;
	memcpy(t->re, w->re, w->f.nodes * sizeof *t->re);
	memcpy(t->im, w->im, w->f.nodes * sizeof *t->im);
	for (size_t i = 0; i < w->classes; i++) {
		const struct kind *c = &w->kind[i];

		if (!(w->v[i] > 0))
			continue;
		t->exponent -= w->v[i] * c->less;
		t->mean -= w->v[i] * c->down;
		for (size_t k = 0; k < w->f.nodes; k++) {
			t->re[k] -= w->v[i] * c->re[k];
			t->im[k] -= w->v[i] * c->im[k];
		}
	}
	set_terms(w);
}

/* Try every test that may be best at w->v. */
static void look(struct work *w)
{
	double from;

	terms_at(w);
	from = floor(w->s.terms.mean);
	for (double j = from - 1; j <= from + 2; j++) {
		struct acct_bits_value v;

		if (!(fabs(j - w->s.terms.mean) <= 1 + 1e-2 && j >= 0 && j <= w->f.all))
			continue;
		v = acct_bits_value(&w->f, &w->s.terms, j - w->s.terms.mean);
		w->s.spent += ACCT_BITS_TURN * (double)w->f.nodes;
		w->s.high = acct_larger(w->s.high, v.h + v.err);
		if (v.h - v.err > w->s.low) {
			w->s.low = v.h - v.err;
			w->s.best_j = j;
			memcpy(w->best, w->v, sizeof w->best);
		}
	}
}

/* The largest v_c that is of interest. */
static double most_of(const struct kind *c)
{
	return c->gamma > 0 || c->small ? c->count : 0;
}

static double ways(const struct work *w)
{
	double n = 1;

	for (size_t i = 0; i < w->classes; i++)
		n *= 1 + most_of(&w->kind[i]);
	return n;
}

/* Try every vector, as an odometer counts. */
static void look_at_all(struct work *w)
{
	size_t i;

	memset(w->v, 0, sizeof w->v);
	do {
		look(w);
		for (i = 0; i < w->classes && w->v[i] >= most_of(&w->kind[i]); i++)
			w->v[i] = 0;
		if (i < w->classes)
			w->v[i]++;
	} while (i < w->classes);
}

static void look_near(struct work *w)
{
	memset(w->v, 0, sizeof w->v);
	look(w);
	for (size_t i = 0; i < w->classes && w->s.spent < w->s.most / 2; i++) {
		for (double n = 1; n <= fmin(NEAR, most_of(&w->kind[i])); n++) {
			w->v[i] = n;
			look(w);
		}
		w->v[i] = 0;
	}
}

/* Compute the bounds that hold from tau on. */
static void bound_from(struct work *w, double tau, double allowed)
{
	struct acct_bits_terms *t = &w->s.terms;
	double far = 1e-12 + 1e-15 * w->f.all, top = exp(w->exponent + w->f.s * (1 + far)), loose = 0,
	       size = 0;
	size_t cells = 0;

	t->exponent = w->exponent;
	t->variance = w->variance;
	for (size_t k = 0; k < w->f.nodes; k++) {
		double left = w->size[k] * exp(-tau * w->low[k]);

		t->re[k] = w->re[k] - tau * w->up[k];
		t->im[k] = w->im[k] - tau * w->across[k];
		loose += left * fmin(2, tau * w->rho[k]);
		size += left;
		w->f.node[k].lambda_size = w->most[k];
	}
	set_terms(w);
	for (size_t i = 0; i < w->classes; i++) {
		struct acct_bits_bound *b = cells == 0 ? &w->b : &w->one;

		if (!(w->kind[i].gamma > 0))
			continue;
		for (size_t k = 0; k < w->f.nodes; k++) {
			w->f.node[k].lambda[0] = w->kind[i].up[k];
			w->f.node[k].lambda[1] = w->kind[i].across[k];
		}
		acct_bits_bound_of(&w->s, -1 - far, 2 + 2 * far, cells, allowed, b);
		cells = b->cells;
		for (size_t k = 0; k < cells; k++)
			w->b.rise[k] = fmin(w->b.rise[k], b->rise[k]);
	}
	/* Where no class has a slope, the sum itself has bounds all the same. */
	if (cells == 0) {
		for (size_t k = 0; k < w->f.nodes; k++)
			w->f.node[k].lambda[0] = w->f.node[k].lambda[1] = 0;
		acct_bits_bound_of(&w->s, -1 - far, 2 + 2 * far, 0, allowed, &w->b);
		cells = w->b.cells;
	}
	loose = top * (loose * (1 + ACCT_BITS_ERROR) + ACCT_BITS_ERROR * size);
	for (size_t k = 0; k < cells; k++)
		w->b.most[k] += loose;
	w->b.sup += loose;
	w->b.size = top * size * (1 + ACCT_BITS_ERROR) + acct_bits_rest(&w->f, t, -1 - far);
}

/* Raise s.high to a bound that holds for every vector. */
static void cover(struct work *w)
{
	struct acct_bits_search *s = &w->s;
	double tau = 0, allowed = s->tolerance / 8 * s->low;

	for (int i = 0;; i++) {
		double target, far;

		bound_from(w, tau, allowed);
		if (!(w->end > 0)) {
			s->high = acct_larger(s->high, w->b.sup);
			return;
		}
		target = fmax(w->b.sup + s->tolerance / 2 * s->low, s->low);
		far = acct_bits_reach(&w->b, target);
		if (w->b.size <= s->low)
			return;
		if (i == BLOCKS || s->spent > s->most || !(far > 0)) {
			s->high = acct_larger(s->high, w->b.size);
			return;
		}
		s->high = acct_larger(s->high, target);
		tau += far;
		if (tau > w->end * (1 + 1e-9))
			return;
		allowed = fmax(s->tolerance / 8 * s->low, (s->low - w->b.sup) / 8);
	}
}

/* The line of acct_point.h for the best test: its slope is the mean of the test's chances under both
 * inputs. */
static void best_line(struct work *w, struct acct_point *at)
{
	struct acct_bits_value above, h;
	double theta;

	memcpy(w->v, w->best, sizeof w->v);
	terms_at(w);
	theta = w->s.best_j - w->s.terms.mean;
	h = acct_bits_value(&w->f, &w->s.terms, theta);
	above = acct_bits_above(&w->f, &w->s.terms, theta);
	at->slope = (h.h + (w->f.c + 2) * above.h) / 2;
	at->slope_err = (h.err + (w->f.c + 2) * above.err) / 2 + 1e-12 * at->slope;
}

/* Set everything of v = 0.  Returns false if the sum has too many nodes, or there is no memory. */
static bool open(struct work *w, const struct acct_bit_facts *b, double eps)
{
	struct acct_bit bit[MOST_CLASS][2];
	struct acct_bits_spread all = { 0 };

	if (!acct_bits_sum_tilt(&w->f, b->epsilon0, eps))
		return false;
	w->least = fmin(LEAST_EPS, b->epsilon0);
	if (b->others > 0)
		add_class(w, b->others, b->epsilon0, bit[w->classes], &all);
	if (b->coins > 0)
		add_class(w, b->coins, 0, bit[w->classes], &all);
	for (size_t i = 0; i < b->classes; i++)
		add_class(w, b->class[i].count, b->class[i].epsilon, bit[w->classes], &all);
	if (!acct_bits_sum_open(&w->f, &all))
		return false;
	w->room = calloc(4 * w->classes * (w->f.nodes + 1), sizeof *w->room);
	if (!w->room)
		return false;
	for (size_t i = 0; i < w->classes; i++)
		set_class(w, i, bit[i]);
	terms_at(w);
	memcpy(w->size, w->s.terms.size, sizeof w->size);
	for (size_t i = 0; i < w->classes; i++)
		scale_class(w, &w->kind[i]);
	set_means(w);
	return true;
}

double acct_bits_classes_at(
	const struct acct_bit_facts *b, double eps, double most, double width, struct acct_point *at)
{
	double share = exp(-eps) / (1 + exp(-eps)), scale, spent = 100;
	struct work *w;

	*at = (struct acct_point){ 0, share, 0, 0 };
	if (eps >= b->epsilon0) {
		at->hi = 0;
		return spent;
	}
	w = calloc(1, sizeof *w);
	if (!w)
		return spent;
	w->s.f = &w->f;
	w->s.most = most;
	if (open(w, b, eps)) {
		w->s.tolerance = width > TOLERANCE ? fmin(WIDEST, width * (1 + w->f.s * w->f.s * w->variance))
						   : TOLERANCE;
		if (ways(w) <= MOST_WAYS) {
			look_at_all(w);
		} else {
			look_near(w);
			cover(w);
			/* theta is at least -1 */
			w->s.high = acct_larger(
				w->s.high, w->s.high + w->slack * exp(w->exponent + 1.01 * w->f.s) * 1.01);
		}
		scale = w->f.scale * share;
		at->lo = scale * w->s.low * (1 - 1e-13);
		if (w->s.high > 0)
			at->hi = fmin(share, scale * w->s.high * (1 + 1e-13));
		if (at->lo > 0)
			best_line(w, at);
	}
	spent += w->s.spent + ACCT_BITS_NODE * (double)(w->f.nodes * (2 * w->classes + 3));
	free(w->room);
	free(w);
	return spent;
}
