/* acct_bits.c - the exact privacy curve of a round of bits, with a certificate: doc/binary.md. */
#include "acct_bits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_bits_classes.h"
#include "acct_bits_sum.h"
#include "acct_ends.h"
#include "acct_exact.h"

#define TOLERANCE 1e-4 /* relative width of delta at a point */
#define WIDEST    1e-2 /* the widest relative width of delta that a caller may allow instead */
/* at most so many of the numbers m, of others that hold 1, are tried one by one; blocks cover the rest */
#define MOST_LIST  4096
#define BLOCKS     64
#define FEW        128 /* up to this number of bits every m is tried */
#define MOST_PARTS 16
#define MOST_TERMS 100000.0
/* most work of one search, in the unit of struct acct_work; a search that reaches it is wider than
 * TOLERANCE */
#define MOST_WORK 4e6
#define TAIL      1e-60
/* 2 log(1/TAIL), rounded up, of which Bernstein's bound is computed in one_part() */
#define FAR 280.0

/* Try the test h_m(j) of acct_bits_sum.h, where m is that of the terms already computed. */
static void look(struct acct_bits_search *s, double j)
{
	struct acct_bits_value v;

	if (!(j >= 0 && j <= s->f->others + s->f->coins))
		return;
	v = acct_bits_value(s->f, &s->terms, j - s->terms.mean);
	s->spent += ACCT_BITS_TURN * (double)s->f->nodes;
	if (v.h - v.err > s->low) {
		s->low = v.h - v.err;
		s->best_m = s->terms.m;
		s->best_j = j;
	}
	s->high = fmax(s->high, v.h + v.err);
}

/* Try every j that may be best at m.  The best j is the mode of the tilted law, and the mode of a sum of
 * bits is within one of its mean (Darroch 1964).  The computed mean of 1e12 bits is off by less than
 * 1e-2. */
static void list(struct acct_bits_search *s, double m)
{
	double from;

	acct_bits_search_at(s, m);
	from = floor(s->terms.mean);
	for (double step = -1; step <= 2; step++)
		if (fabs(from + step - s->terms.mean) <= 1 + 1e-2)
			look(s, from + step);
}

/* The terms of the finite sum at one (m, j).  Multiplying them by fixed factors gives the terms at the next
 * m or j, which takes less work than computing them. */
struct walk {
	bool ready; /* the factors below have been set */
	double m, j, theta;
	/* the terms at m, multiplied by e^(-it theta), theta = j - mean */
	double re[ACCT_BITS_NODES], im[ACCT_BITS_NODES];
	/* the factors that lead from m to m - 1 at the same j */
	double down_re[ACCT_BITS_NODES], down_im[ACCT_BITS_NODES];
	/* cosine and sine of t, the factors that lead from j to j - 1 */
	double cosine[ACCT_BITS_NODES], sine[ACCT_BITS_NODES];
	double err; /* bound on the error of a sum, relative to its scale e^(L - s theta) */
};

static void turn_to(struct walk *w, size_t nodes, const double *c, const double *d)
{
	for (size_t k = 0; k < nodes; k++) {
		double re = w->re[k] * c[k] - w->im[k] * d[k];

		w->im[k] = w->re[k] * d[k] + w->im[k] * c[k];
		w->re[k] = re;
	}
}

static void walk_init(struct walk *w, const struct acct_bits_search *s)
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

/* Start at m and the whole number j that is closest to the tilted law's mean. */
static void walk_from(struct walk *w, struct acct_bits_search *s, double m)
{
	struct acct_bits_value at;

	acct_bits_search_at(s, m);
	w->m = m;
	w->j = floor(s->terms.mean + 0.5);
	w->theta = w->j - s->terms.mean;
	for (size_t k = 0; k < s->f->nodes; k++) {
		double a = s->f->node[k].t * w->theta, c = cos(a), d = sin(a);

		w->re[k] = s->terms.re[k] * c + s->terms.im[k] * d;
		w->im[k] = s->terms.im[k] * c - s->terms.re[k] * d;
	}
	/* the error at this m also bounds that at smaller m, where the transforms are smaller */
	at = acct_bits_value(s->f, &s->terms, w->theta);
	w->err = at.err / exp(s->terms.exponent - s->f->s * w->theta);
	s->spent += 2 * ACCT_BITS_TURN * (double)s->f->nodes;
}

/* The same as look(), for a sum that is already known. */
static void take(struct acct_bits_search *s, double m, double j, double h, double err)
{
	if (h - err > s->low) {
		s->low = h - err;
		s->best_m = m;
		s->best_j = j;
	}
	s->high = acct_larger(s->high, h + err);
}

/* Try the two whole numbers beside the tilted law's mean at w->m, and go on to m - 1. */
static void walk_on(struct walk *w, struct acct_bits_search *s)
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

/* Try all m from `from` down to just above `end`.  Start anew often enough that the products do not lose
 * digits. */
static void list_all(struct acct_bits_search *s, struct walk *w, double from, double end)
{
	walk_init(w, s);
	while (from > end) {
		walk_from(w, s, from);
		for (int i = 0; i < 32 && w->m > end; i++)
			walk_on(w, s);
		from = w->m;
	}
}

/* Where there are very many others, theta changes slowly from m to m - 1.  So try the largest m at which
 * theta is about this phase. */
static void look_at_phase(struct acct_bits_search *s, double theta)
{
	double m = s->f->others, step = s->f->bit[0].one - s->f->bit[1].one, mean, far;
	bool slow = step < 0.5;

	/* from m to m - 1 the mean falls by this, or rises by it up to a whole number */
	step = slow ? step : s->f->bit[0].zero + s->f->bit[1].one;
	mean = m * s->f->bit[0].one + s->f->coins * s->f->bit[2].one;
	/* so many steps of that size lead from the mean at m to one with the phase theta */
	far = mean + theta - floor(mean + theta);
	far = slow || !(far > 0) ? far : 1 - far;
	if (step > 0 && far / step < m - 1)
		list(s, m - floor(far / step + 0.5));
}

/* Raise s->high to a bound that holds for every m from 1 to `m`.  Go down in blocks, each as long as the
 * bounds in b allow; b has the bounds at m. */
static void cover(struct acct_bits_search *s, double m, struct acct_bits_bound *b)
{
	for (int i = 0;; i++) {
		double target = fmax(b->sup + s->tolerance / 2 * s->low, s->low),
		       far = acct_bits_reach(b, target);

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
		acct_bits_bound_at(s, m, fmax(s->tolerance / 8 * s->low, (s->low - b->sup) / 8), b);
	}
}

/* Find the largest h over all m and j: try the last numbers m one by one, until blocks can do the rest. */
static void search(struct acct_bits_search *s, struct walk *w, struct acct_bits_bound *b)
{
	double m = s->f->others - 1, end;

	list(s, s->f->others);
	if (s->f->others > 0)
		list(s, 0);
	if (s->f->others <= FEW) {
		list_all(s, w, m, 0);
		return;
	}
	acct_bits_bound_at(s, m, s->tolerance / 8 * s->low, b);
	look_at_phase(s, b->theta);
	for (double more = 8;; more *= 2) {
		if (b->sup <= s->low * (1 + s->tolerance / 2) || more > MOST_LIST || s->spent > s->most) {
			cover(s, m, b);
			return;
		}
		end = fmax(m - more, 0);
		list_all(s, w, m, end);
		m = end;
		if (m < 1)
			return;
		acct_bits_bound_at(s, m, s->tolerance / 8 * s->low, b);
	}
}

/* Set the line of acct_point.h for the best test.  Its slope is the mean of the test's chances under both
 * inputs, (f + 2 G)/2, where f = h + c G. */
static void best_line(struct acct_bits_search *s, struct acct_point *at)
{
	struct acct_bits_value above, h;
	double theta;

	if (s->terms.m > s->best_m || s->terms.m < s->best_m)
		acct_bits_search_at(s, s->best_m);
	theta = s->best_j - s->terms.mean;
	h = acct_bits_value(s->f, &s->terms, theta);
	above = acct_bits_above(s->f, &s->terms, theta);
	at->slope = (h.h + (s->f->c + 2) * above.h) / 2;
	at->slope_err = (h.err + (s->f->c + 2) * above.err) / 2 + 1e-12 * at->slope;
}

struct all {
	struct acct_bits_sum f;
	struct acct_bits_search s;
	struct walk w;
	struct acct_bits_bound b;
};

/* The relative width of delta that moves epsilon by the relative `width`.  For a nearly normal law, log
 * delta falls by about 1 + s^2 times the variance while log epsilon rises by one. */
static double tolerance(const struct acct_bits_sum *f, double width)
{
	double variance = f->others * f->bit[1].variance + f->coins * f->bit[2].variance;

	return width > TOLERANCE ? fmin(WIDEST, width * (1 + f->s * f->s * variance)) : TOLERANCE;
}

/* Bounds of one point with `others` bits and `coins` fair coins, as acct_bits_curve_at: at->hi is at most the
 * trivial bound (1-y)/2, and at->lo >= 0. */
static double point(double others, double coins, double eps0, double eps, double most, double width,
	struct acct_point *at)
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
		w->s.tolerance = tolerance(&w->f, width);
		search(&w->s, &w->w, &w->b);
	} else if (acct_bits_sum_init(&w->f, others, coins, eps0, eps, true)) {
		/* with too many terms for the whole search, find only the lower end: that of m = others */
		list(&w->s, others);
		w->s.high = INFINITY;
	}
	w->s.spent += 3 * ACCT_BITS_NODE * (double)w->f.nodes;
	/* h of the best test gives H = delta/(1+E) = (P - E Q) h / (1 + E) */
	scale = w->f.scale * share;
	at->lo = scale * w->s.low * (1 - 1e-13);
	at->hi = w->s.high > 0 ? fmin(at->hi, scale * w->s.high * (1 + 1e-13)) : at->hi;
	if (at->lo > 0)
		best_line(&w->s, at);
	most = w->s.spent;
	free(w);
	return most;
}

/* Below: rounds in which messages count only by chance. */

/* A range of numbers of messages, least..most, and the chance that the number lies in it.  The loss is
 * computed for the ends of the range only. */
struct part {
	double chance, least, most;
};

struct acct_bits_mix {
	struct part part[MOST_PARTS];
	size_t parts;
	double missed;
};

/* Make one part of all numbers, for where the law has too many terms to list.  Its ends are so far from the
 * mean that by Bernstein's inequality for a sum of independent bits the chance of being outside is at most
 * 4 TAIL, which is charged.  The loss at the two ends differs by less than the tolerance. */
static void one_part(struct acct_bits_mix *x, const struct acct_bit_facts *b)
{
	double mean = 0, variance = 0, all = 0, far;

	for (size_t i = 0; i < b->levels; i++) {
		double n = (double)b->sent[i].count, p = b->sent[i].share;

		all += n;
		mean += n * p;
		variance += n * p * (1 - p);
	}
	far = FAR / 6 + sqrt(FAR * FAR / 36 + FAR * variance) + 1e-12 * mean + 1;
	x->part[0] = (struct part){ 1, fmax(0, floor(mean - far)), fmin(all, ceil(mean + far)) };
	x->parts = 1;
	x->missed = 4 * TAIL;
}

/* Where the parts end, in standard deviations from the mean.  In a part that is w deviations wide the loss
 * is uncertain by a relative w sd/(2n), where sd is the deviation and n the mean number of messages. */
static const double ends[MOST_PARTS - 1] = { -9, -6.5, -5, -3.8, -2.9, -2.2, -1.6, -1.1, -0.6, -0.2, 0.2, 0.7,
	1.3, 2.2, 4 };

static void divide(struct acct_bits_mix *x, const struct acct_count *c, double mean, double deviation)
{
	size_t end = 0, n = 0;

	x->missed = c->missed;
	for (size_t i = 0; i < c->size; i++) {
		double at = c->first + (double)i;
		bool past = false;

		for (; end < MOST_PARTS - 1 && at > mean + ends[end] * deviation; end++)
			past = true;
		if (past && x->part[n].chance > 0)
			n++;
		if (!(x->part[n].chance > 0))
			x->part[n].least = at;
		x->part[n].chance += c->chance[i];
		x->part[n].most = at;
	}
	x->parts = n + 1;
}

/* Compute the law of the number of messages that count.  It is that of the number of blanket messages of a
 * list with these groups, which acct_exact_count.c computes. */
static enum acct_rc count(const struct acct_bit_facts *b, struct acct_bits_mix *x)
{
	struct acct_list *l = calloc(1, sizeof *l);
	struct acct_count c;
	double variance = 0, mean = 0;
	enum acct_rc rc;

	if (!l)
		return ACCT_ENOMEM;
	l->blanket = 1;
	for (size_t i = 0; i < b->levels; i++) {
		double p = b->sent[i].share, sent = (double)b->sent[i].count;

		l->group[l->groups++] = (struct acct_group){ p, sent, 1 - p };
		variance += sent * p * (1 - p);
		mean += sent * p;
	}
	rc = acct_count_init(&c, l, TAIL, MOST_TERMS);
	memset(x->part, 0, sizeof x->part);
	if (!rc && c.size > 0)
		divide(x, &c, mean, sqrt(variance));
	else if (!rc)
		one_part(x, b);
	acct_count_fini(&c);
	free(l);
	return rc;
}

enum acct_rc acct_bits_mix_new(const struct acct_bit_facts *b, struct acct_bits_mix **out)
{
	struct acct_bits_mix *x = calloc(1, sizeof *x);
	enum acct_rc rc = ACCT_OK;

	if (!x)
		return ACCT_ENOMEM;
	x->parts = 1;
	x->part[0].chance = 1;
	if (b->levels > 0)
		rc = count(b, x);
	*out = x;
	return rc;
}

void acct_bits_mix_free(struct acct_bits_mix *x)
{
	free(x);
}

/* Bound the loss for all numbers of messages in a part.  It falls with the number, so it is largest at the
 * least number and smallest at the largest. */
static double part_at(const struct acct_bit_facts *b, const struct part *p, double eps, double most,
	double width, struct acct_point *at)
{
	struct acct_point fewer;
	double work = point(b->others, b->coins + p->least, b->epsilon0, eps, most, width, at);

	if (!(p->most > p->least))
		return work;
	fewer = *at;
	work += point(b->others, b->coins + p->most, b->epsilon0, eps, most, width, at);
	at->hi = fewer.hi;
	return work;
}

double acct_bits_curve_at(const struct acct_bit_facts *b, const struct acct_bits_mix *x, double eps,
	double most, double width, struct acct_point *at)
{
	double work = 0, share = exp(-eps) / (1 + exp(-eps));

	if (b->classes > 0)
		return acct_bits_classes_at(b, eps, fmin(most, MOST_WORK), width, at);
	most = fmin(most, MOST_WORK) / (double)x->parts;
	*at = (struct acct_point){ 0, 0, 0, 0 };
	for (size_t i = 0; i < x->parts; i++) {
		struct acct_point one;
		double chance = x->part[i].chance;

		work += part_at(b, &x->part[i], eps, most, width, &one);
		at->lo += chance * one.lo;
		at->hi += chance * one.hi;
		at->slope += chance * one.slope;
		at->slope_err += chance * one.slope_err;
	}
	if (x->part[0].most > 0) { /* the chances are known to a relative error of 1e-10 */
		at->lo *= 1 - 1e-9;
		at->hi = at->hi * (1 + 1e-9) + share * x->missed;
		at->slope_err += 2e-9 * at->slope;
	}
	return work;
}
