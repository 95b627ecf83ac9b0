/* acct_bits_bound.c (acct_bits_sum.h) - bounds what any test achieves in a round of bits, for all numbers m
 * up to a given one.
 *
 * Bounds over theta.  The range [-P1, 1-P2] in which a maximum may lie is cut into cells of length h.  At a
 * cell's ends the function f (S or S_1) and its derivative are known.  The cubic with these values and
 * derivatives is off by at most h^4/384 of f's fourth derivative, which is at most the sum of moduli times
 * |s+it|^4.  A cubic lies between its Bernstein coefficients f(0), f(0) + h f'(0)/3, f(h) - h f'(h)/3,
 * f(h).  Near a maximum these exceed it by h^2/24 of the true second derivative, which is about f over the
 * variance of the tilted law; that and the fourth derivative choose h.  Any h is sound. */
#include <math.h>
#include <string.h>

#include "acct_bits_sum.h"
#include "acct_ends.h"
#include "acct_lane.h"

void acct_bits_search_at(struct acct_bits_search *s, double m)
{
	acct_bits_terms_at(s->f, m, &s->terms);
	s->spent += ACCT_BITS_NODE * (double)s->f->nodes;
}

/* Sums over the nodes of moduli, where |g phi| is the modulus of a node's term: |g phi| times 1, |s+it| and
 * |s+it|^4 (plain, first, fourth); the same times |lambda| (rise, rise_first, rise_fourth); and |g phi|
 * |lambda|^2 (bend). */
struct moduli {
	double plain, first, fourth, rise, rise_first, rise_fourth, bend;
};

static struct moduli add_up(const struct acct_bits_search *s)
{
	struct moduli b = { 0 };

	for (size_t k = 0; k < s->f->nodes; k++) {
		const struct acct_node *n = &s->f->node[k];
		double a = s->terms.size[k], l = a * n->lambda_size, four = n->length2 * n->length2;

		b.plain += a;
		b.first += a * n->length;
		b.fourth += a * four;
		b.rise += l;
		b.rise_first += l * n->length;
		b.rise_fourth += l * four;
		b.bend += l * n->lambda_size;
	}
	return b;
}

/* Four nodes that turn to the next theta side by side, since each turn has to wait for the one before.  re,
 * im: the terms; c, d: cosine and sine of the turn; up, across: the parts of lambda; t: the nodes. */
struct lanes {
	acct_lanes re, im, c, d, up, across, t;
};

/* The phases e^(i t_k theta) for one k after the other, where t_k = k t_1.  c, d: cosine and sine for the
 * current k; c1, d1: those for k = 1, by which the next is reached. */
struct phase {
	double c, d, c1, d1;
};

static struct phase phase_of(const struct acct_bits_search *s, double theta)
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

/* Set four nodes from number k on; those past the last node are zero. */
static void lanes_init(
	struct lanes *w, const struct acct_bits_search *s, size_t k, struct phase *first, struct phase *step)
{
	memset(w, 0, sizeof *w);
	for (size_t j = 0; j < ACCT_LANES && k + j < s->f->nodes; j++) {
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
		w->t[j] = n->t;
	}
}

/* S (s) and S_1 (rise) at one theta, and their derivatives with respect to theta (ds, drise). */
struct values {
	double s, ds, rise, drise;
};

static double sum_of(const acct_lanes *a)
{
	return ((*a)[0] + (*a)[1]) + ((*a)[2] + (*a)[3]);
}

/* Compute the values at `steps` + 1 thetas, `h` apart.  They still lack the factor e^(L - s theta), by
 * which settle() multiplies. */
static void scan(struct acct_bits_search *s, double from, double h, size_t steps, struct values *at)
{
	struct phase first = phase_of(s, from), step = phase_of(s, h);

	memset(at, 0, (steps + 1) * sizeof *at);
	for (size_t k = 0; k < s->f->nodes; k += ACCT_LANES) {
		struct lanes w;

		lanes_init(&w, s, k, &first, &step);
		for (size_t i = 0; i <= steps; i++) {
			acct_lanes down = w.t * w.im, rise = w.up * w.re - w.across * w.im,
				   turned = w.t * (w.up * w.im + w.across * w.re), re = w.re;

			at[i].s += sum_of(&re);
			at[i].ds += sum_of(&down);
			at[i].rise += sum_of(&rise);
			at[i].drise += sum_of(&turned);
			w.re = re * w.c + w.im * w.d;
			w.im = w.im * w.c - re * w.d;
		}
	}
	s->spent += (double)s->f->nodes * (ACCT_BITS_TURN + 6 * (double)steps);
}

/* Multiply by the factor e^(L - s theta), `scale`, and make the derivatives those of the product, times h/3
 * as the Bernstein coefficients need them. */
static void settle(struct values *v, double scale, double s, double h)
{
	v->ds = scale * (v->ds - s * v->s) * h / 3;
	v->drise = scale * (v->drise - s * v->rise) * h / 3;
	v->s *= scale;
	v->rise *= scale;
}

static double cell_length(
	const struct acct_bits_search *s, double top, double allowed, double length, const struct moduli *sum)
{
	double four = pow(384 * allowed / (top * sum->fourth), 0.25),
	       two = sqrt(12 * allowed / s->low * s->terms.variance);

	return fmax(fmin(four, two), 1e-6 * length);
}

void acct_bits_bound_at(struct acct_bits_search *s, double m, double allowed, struct acct_bits_bound *b)
{
	const struct acct_bits_sum *f = s->f;
	double far = 1e-12 + 1e-15 * f->all;

	acct_bits_search_at(s, m);
	acct_bits_bound_of(s, -f->bit[0].one - far, f->bit[0].one + f->bit[1].zero + 2 * far, 0, allowed, b);
}

void acct_bits_bound_of(struct acct_bits_search *s, double from, double length, size_t cells, double allowed,
	struct acct_bits_bound *b)
{
	const struct acct_bits_sum *f = s->f;
	double top, h, rest, scale;
	struct values at[ACCT_BITS_STEPS + 1];
	struct moduli sum = add_up(s);

	top = scale = exp(s->terms.exponent - f->s * from);
	b->cells = cells;
	if (cells == 0)
		b->cells = (size_t)fmin(
			ACCT_BITS_STEPS, fmax(4, ceil(length / cell_length(s, top, allowed, length, &sum))));
	h = length / (double)b->cells;
	scan(s, from, h, b->cells, at);
	rest = acct_bits_rest(f, &s->terms, from);
	b->sup = -INFINITY;
	b->size = top * sum.plain * (1 + ACCT_BITS_ERROR) + rest;
	settle(&at[0], scale, f->s, h);
	for (size_t i = 0; i < b->cells; i++) {
		const struct values *l = &at[i], *r = &at[i + 1];
		double h4 = h * h * h * h / 384, before = scale;

		scale = top * exp(-f->s * h * (double)(i + 1));
		settle(&at[i + 1], scale, f->s, h);
		b->most[i] = acct_larger(acct_larger(l->s, l->s + l->ds), acct_larger(r->s, r->s - r->ds)) +
			     before * (h4 * sum.fourth + ACCT_BITS_ERROR * (sum.plain + h * sum.first)) +
			     rest;
		b->rise[i] =
			fmin(fmin(l->rise, l->rise + l->drise), fmin(r->rise, r->rise - r->drise)) -
			before * (h4 * sum.rise_fourth + ACCT_BITS_ERROR * (sum.rise + h * sum.rise_first));
		b->bend[i] = before * sum.bend;
		if (b->most[i] > b->sup)
			b->theta = from + h * ((double)i + 0.5);
		b->sup = acct_larger(b->sup, b->most[i]);
	}
}

double acct_bits_reach(const struct acct_bits_bound *b, double target)
{
	double least = INFINITY;

	for (size_t i = 0; i < b->cells; i++) {
		double rise = b->rise[i], bend = b->bend[i], slack = target - b->most[i];
		double far = (rise + sqrt(rise * rise + 2 * bend * slack)) / bend;

		if (!(far >= 0)) /* comparing this way also refuses a NaN, which proves nothing */
			return 0;
		least = fmin(least, far);
	}
	return least * (1 - 1e-9);
}
