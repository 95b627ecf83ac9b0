/* acct_renyi_grid.c (acct_renyi_parts.h) - computes moments as integrals of the privacy curve.
 *
 * For real alpha > 1, with delta(l) the curve of (P, Q) and delta'(l) that of (Q, P),
 *     E_Q (P/Q)^alpha - 1 = alpha (alpha-1) [int_0^inf e^{(alpha-1) l} delta(l) dl
 *                                            + int_0^inf e^{-alpha l} delta'(l) dl]
 * since r^alpha - 1 - alpha (r-1) has the second derivative alpha (alpha-1) r^{alpha-2}, and E_Q (r-e)+ is
 * delta(log e).  Every term is positive.  delta is convex in e^l: chords of upper points are above it,
 * lines of tests below.
 *
 * Errors.  int e^{-a s} (linear in e^{+-s}) are six-point Gauss sums while exponents stay below 1
 * (remainder below 2e-16), else closed forms that lose at most 4 ulps times the order or divided by the
 * cell's width.  Rounding of the cells is equivalent to moving epsilon by at most b: delta(l) <= delta(l-b)
 * multiplies the integrals by at most e^{alpha b}, and below l = b adds at most 2 b delta(0).  Upper points
 * are made non-increasing, since H is.  Where a point has no bound, or only the 1e-300 that covers
 * underflow, acct_renyi_log_tail bounds H. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_renyi_parts.h"

#define MOST_NODES 1500u
/* work for all points, in steps of about a nanosecond; beyond it the bounds stay as wide as they are */
#define MOST_WORK 8e8
#define MOST_PASS 40
#define FARTHEST  690.0 /* largest loss of a node; exp() of it is a double */
/* Relative error of a weight from a closed form: at most 4 ulps times the order, or 4 ulps divided by the
 * cell's width. */
#define WEIGHT_ERROR 1e-10

static void put(struct acct_renyi_grid *g, size_t at, double loss)
{
	struct acct_renyi_node *n = &g->node[at];

	n->loss = loss;
	/* beyond the largest loss nothing is lost, and the curve is continuous there */
	if (loss >= g->curve.list.largest) {
		memset(n->way, 0, sizeof n->way);
		n->log_hi[0] = n->log_hi[1] = -INFINITY;
		return;
	}
	acct_curve_at(&g->curve, loss, false, &n->way[0]);
	n->way[1] = n->way[0];
	if (!g->curve.list.symmetric)
		acct_curve_at(&g->curve, loss, true, &n->way[1]);
	for (int way = 0; way < 2; way++) {
		const struct acct_point *p = &n->way[way];

		n->log_hi[way] = log(p->hi);
		if (!(p->lo > 0.5 * p->hi))
			n->log_hi[way] =
				fmin(n->log_hi[way], acct_renyi_log_tail(&g->curve.list, loss, way == 1));
	}
}

/* H falls, so the upper end of a point holds for all points after it, and its lower end for all before
 * it. */
static void make_monotone(struct acct_renyi_grid *g)
{
	for (int way = 0; way < 2; way++)
		for (size_t i = 1; i < g->nodes; i++)
			g->node[i].log_hi[way] = fmin(g->node[i].log_hi[way], g->node[i - 1].log_hi[way]);
}

enum acct_rc acct_renyi_grid_init(struct acct_renyi_grid *g, const struct acct_list *l, double goal)
{
	enum acct_rc rc;

	memset(g, 0, sizeof *g);
	rc = acct_curve_init(&g->curve, l);
	if (rc)
		return rc;
	g->goal = goal;
	g->work.per_point = MOST_WORK / 800;
	g->curve.work = &g->work;
	g->last = fmin(l->largest, FARTHEST);
	g->deviation = fmax(acct_curve_deviation(&g->curve), g->last * 1e-9);
	g->room = 64;
	g->node = calloc(g->room, sizeof *g->node);
	if (!g->node)
		return ACCT_ENOMEM;
	for (double at = 0; at < g->last && g->nodes + 1 < g->room;
		at = fmax(at + 0.5 * g->deviation, 1.15 * at))
		put(g, g->nodes++, at);
	put(g, g->nodes++, g->last);
	make_monotone(g);
	return ACCT_OK;
}

void acct_renyi_grid_fini(struct acct_renyi_grid *g)
{
	acct_curve_fini(&g->curve);
	free(g->node);
	memset(g, 0, sizeof *g);
}

/* Set the weights with which int_0^h e^{-rate s} x(s) ds = w[0] x(0) + w[1] x(h) for an x linear in e^{turn
 * s}, turn = 1 or -1.  Six Gauss points are exact to 2e-16 as long as exponents stay below 1. */
static void weights(double rate, double turn, double h, double w[2])
{
	static const double node[3] = { 0.2386191860831969, 0.6612093864662645, 0.9324695142031521 },
			    weight[3] = { 0.4679139345726910, 0.3607615730481386, 0.1713244923791704 };
	double all = expm1(turn * h);

	w[0] = w[1] = 0;
	if (h <= 1 && rate * h <= 1) {
		for (int i = 0; i < 6; i++) {
			double s = h / 2 * (1 + (i < 3 ? node[i] : -node[i - 3])),
			       e = h / 2 * weight[i % 3] * exp(-rate * s), far = expm1(turn * s) / all;

			w[1] += e * far;
			w[0] += e * (1 - far);
		}
		return;
	}
	double plain = rate > 0 ? -expm1(-rate * h) / rate : h, lean = turn - rate;
	double tilted = fabs(lean) > 0 ? expm1(lean * h) / lean : h;

	w[1] = fmax(0, (tilted - plain) / all);
	w[0] = fmax(0, plain - w[1]);
}

/* log of int_{from}^{from+h} e^{slope l} d(l) dl for a d that is linear in e^l, from d0 to d1. */
static double piece(double slope, double from, double h, double d0, double d1)
{
	double w[2], sum;

	if (!(h > 0))
		return -INFINITY;
	if (slope > 0) {
		weights(slope, -1, h, w);
		sum = w[0] * d1 + w[1] * d0;
		from += h;
	} else {
		weights(-slope, 1, h, w);
		sum = w[0] * d0 + w[1] * d1;
	}
	return sum <= 0 ? -INFINITY : slope * from + log(sum); /* a NaN passes this test, and stays */
}

/* y_b - y_a with y = tanh(loss/2), without cancellation. */
static double gap(double a, double b)
{
	return 2 * exp(-a) * -expm1(a - b) / ((1 + exp(-a)) * (1 + exp(-b)));
}

static double piece_above(const struct acct_renyi_node *a, int way, double slope)
{
	const struct acct_renyi_node *b = a + 1;

	double from = log(1 + exp(a->loss)) + a->log_hi[way], to = log(1 + exp(b->loss)) + b->log_hi[way],
	       top = fmax(from, to);

	if (!(top > -INFINITY))
		return top;
	return top + piece(slope, a->loss, b->loss - a->loss, exp(from - top), exp(to - top));
}

/* A lower bound on the integral over one cell: that of the larger of the two lines that the tests at its
 * ends give.  The line of the right end is flat at worst, so it is never negative. */
static double piece_below(const struct acct_renyi_node *a, int way, double slope)
{
	const struct acct_renyi_node *b = a + 1;
	const struct acct_point *p = &a->way[way], *q = &b->way[way];
	double h = b->loss - a->loss, y = gap(a->loss, b->loss), ea = 1 + exp(a->loss), eb = 1 + exp(b->loss);
	double left[2] = { ea * p->lo, eb * (p->lo - (p->slope + p->slope_err) * y) };
	double right[2] = { ea * (q->lo + fmax(0, q->slope - q->slope_err) * y), eb * q->lo };

	if (right[0] >= left[0])
		return piece(slope, a->loss, h, right[0], right[1]);
	if (left[1] >= right[1])
		return piece(slope, a->loss, h, left[0], left[1]);
	double t = (left[0] - right[0]) / ((left[0] - right[0]) + (right[1] - left[1])),
	       meet = fmin(h, log1p(t * expm1(h))), both = right[0] + (right[1] - right[0]) * t;

	return acct_log_add(piece(slope, a->loss, meet, left[0], both),
		piece(slope, a->loss + meet, h - meet, both, right[1]));
}

struct total {
	double above, below; /* logarithms of an upper and of a lower bound */
};

/* The integrals of one direction, from above and from below, over one cell, or over all if cell is NULL. */
static struct total cell_total(const struct acct_renyi_node *n, int way, double alpha)
{
	return (struct total){
		acct_log_add(piece_above(n, way, alpha - 1), piece_above(n, 1 - way, -alpha)),
		acct_log_add(piece_below(n, way, alpha - 1), piece_below(n, 1 - way, -alpha)),
	};
}

static struct total whole(const struct acct_renyi_grid *g, int way, double alpha)
{
	struct total t = { -INFINITY, -INFINITY };

	for (size_t i = 0; i + 1 < g->nodes; i++) {
		struct total c = cell_total(&g->node[i], way, alpha);

		t.above = acct_log_add(t.above, c.above);
		t.below = acct_log_add(t.below, c.below);
	}
	/* beyond the last node delta is at most what it is there */
	double rest = g->curve.list.largest - g->last;
	if (rest > 0)
		for (int half = 0; half < 2; half++) {
			double slope = half ? -alpha : alpha - 1;
			double hi =
				g->node[g->nodes - 1].log_hi[half ? 1 - way : way] + log(1 + exp(g->last));

			t.above = acct_log_add(t.above, hi + piece(slope, g->last, rest, 1, 1));
		}
	return t;
}

/* Split the cells of whose bounds the gap matters and can be narrowed by points closer together.  Returns
 * false if there are none. */
static bool refine(struct acct_renyi_grid *g, int way, double alpha, double log_share, enum acct_rc *rc)
{
	bool *split = calloc(g->nodes, sizeof *split);
	size_t more = 0;

	*rc = split ? ACCT_OK : ACCT_ENOMEM;
	for (size_t i = 0; split && i + 1 < g->nodes; i++) {
		const struct acct_renyi_node *n = &g->node[i];

		for (int half = 0; half < 2; half++) {
			double slope = half ? -alpha : alpha - 1, above = piece_above(n, half ^ way, slope);
			const struct acct_point *p = &n->way[half ^ way];
			double noise = p->lo > 0.5 * p->hi ? 1 - p->lo / p->hi : 0,
			       width = -expm1(piece_below(n, half ^ way, slope) - above);

			split[i] = split[i] || (above + log(width) > log_share && width > 3 * noise);
		}
		split[i] = split[i] && n[1].loss - n->loss > 1e-9 * n[1].loss;
		more += split[i];
	}
	if (more > 0 && g->nodes + more <= MOST_NODES && g->work.spent < MOST_WORK) {
		struct acct_renyi_node *old = g->node, *new = calloc(g->nodes + more, sizeof *new);
		size_t size = g->nodes, k = 0;

		*rc = new ? ACCT_OK : ACCT_ENOMEM;
		for (size_t i = 0; new &&i < size; i++) {
			new[k++] = old[i];
			if (!split[i])
				continue;
			g->node = new;
			put(g, k++, (old[i].loss + old[i + 1].loss) / 2);
		}
		if (new) {
			g->node = new;
			g->nodes = k;
			free(old);
			make_monotone(g);
		}
	} else
		more = 0;
	free(split);
	return more > 0 && !*rc;
}

enum acct_rc acct_renyi_grid_at(struct acct_renyi_grid *g, double alpha, struct acct_bound *log_s)
{
	enum acct_rc rc = ACCT_OK;
	double scale = log(alpha) + log(alpha - 1);
	/* how far rounding of the cells may move epsilon (acct_plan_blur) */
	double blur = 1e-14 + (128 + 8 * g->curve.list.exponent) * DBL_EPSILON;
	/* delta at epsilon -blur is at most delta(0) + blur, here rounded up */
	double flat = 1.1 * (acct_curve_upper(&g->curve, 0) * 2 + blur);

	*log_s = (struct acct_bound){ -INFINITY, -INFINITY };
	for (int way = 0; way < (g->curve.list.symmetric ? 1 : 2); way++) {
		struct total t = whole(g, way, alpha);

		for (int pass = 0; pass < MOST_PASS && !rc; pass++) {
			double share = t.above + log(g->goal / 2 / (double)g->nodes);

			if (-expm1(t.below - t.above) <= g->goal || !refine(g, way, alpha, share, &rc))
				break;
			t = whole(g, way, alpha);
		}
		if (rc)
			return rc;
		/* upper points are those of a curve moved by blur: delta(l) <= delta(l - blur), and below l
		 * = blur it is at most delta(-blur) */
		double moved = alpha * (blur + 4 * DBL_EPSILON) + WEIGHT_ERROR;
		t.above = acct_log_add(t.above + moved, log(2 * blur * flat));
		double lost = exp(log(2 * blur * flat) - t.below);
		t.below = lost < 1 ? t.below + log1p(-lost) - moved : -INFINITY;
		/* if there is no lower bound its logarithm is -INFINITY: adding to it could give inf -
		 * inf */
		double above = t.above <= -INFINITY ? t.above : scale + t.above + 1e-13 * fabs(t.above);
		log_s->upper = acct_larger(log_s->upper, above);
		log_s->lower = fmax(log_s->lower, scale + t.below - 1e-13 * fabs(t.below));
	}
	return ACCT_OK;
}
