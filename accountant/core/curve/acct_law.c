/* acct_law.c - puts a round's privacy loss on a grid: from above by chords of the curve; from below by its
 * tangents, and then a contraction. */
#include "acct_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_ends.h"

#define MOST_NODES 16384.0
#define FARTHEST   600.0 /* largest loss of a node; exp() of it is still a double */
/* a node's distance from the tilted law's mean, in standard deviations, from which on nodes may be
 * thinned */
#define CENTRE 0.25
/* the distance between nodes grows by at most this factor from one to the next, once it is large */
#define FASTEST 1.25
/* with a larger standard deviation losses are so few and large that their law is not nearly normal */
#define LUMPY 0.3
/* a tail counts as nearly normal if it reaches at most this many times as far as a normal one */
#define HEAVY 1.25

/* Distances in y = tanh(loss/2) between nodes, computed without cancellation: y_k belongs to node k. */

/* The loss of node k, in units of h. */
static long place_of(const struct acct_nodes *n, size_t k)
{
	return n->at ? n->at[k] : (long)k * n->stride;
}

static double loss_of(const struct acct_nodes *n, size_t k)
{
	return n->at ? n->h * (double)n->at[k] : n->h * (double)n->stride * (double)k;
}

/* y_b - y_a, for a <= b. */
static double gap_between(const struct acct_nodes *n, size_t a, size_t b)
{
	double la = loss_of(n, a), lb = loss_of(n, b);

	/* by tanh x - tanh z = sinh(x - z) / (cosh x cosh z), scaled so that it does not overflow */
	return 2 * exp(-la) * -expm1(la - lb) / ((1 + exp(-la)) * (1 + exp(-lb)));
}

/* 1 - y_k. */
static double to_one(const struct acct_nodes *n, size_t k)
{
	double l = loss_of(n, k);

	return 2 * exp(-l) / (1 + exp(-l));
}

static bool within(const struct acct_curve *c, double loss, double tail)
{
	double infinite = fmax(c->list.infinite[0], c->list.infinite[1]);

	return acct_curve_about(c, loss) * (1 + exp(loss)) - infinite <= tail;
}

/* Find the range by search.  Any answer is sound, since losses beyond it count as infinite.  For a normal
 * loss 0.9 times the first guess would be enough. */
double acct_law_range(const struct acct_curve *c, double tail)
{
	double most = fmin(c->list.largest, FARTHEST), near = 0,
	       far = fmin(most, fmax(1e-6, sqrt(-2 * log(tail)) * acct_curve_deviation(c)));

	if (far >= most || within(c, far, tail)) {
		for (double by = 1.25; far > 1e-6 && within(c, far / by, tail); by *= by)
			far /= by;
		near = far / 1.25;
	} else {
		for (near = far; far < most; near = far) {
			far = fmin(most, 1.5 * far);
			if (within(c, far, tail))
				break;
		}
	}
	for (int i = 0; i < 2 && far < most; i++) {
		double middle = (near + far) / 2;

		if (within(c, middle, tail))
			far = middle;
		else
			near = middle;
	}
	return far;
}

double acct_law_even(double deviation, double range, double tail, double lean)
{
	/* a tilt by lean moves the mean of a normal law by lean deviation^2 */
	bool normal = deviation <= LUMPY && range <= HEAVY * sqrt(-2 * log(tail)) * deviation;

	return normal ? (CENTRE + lean * deviation) * deviation : INFINITY;
}

/* The distance from a node at this loss to the next, in strides.  by: the distance before this node; even:
 * where thinning begins. */
static double spacing(double loss, double by, double even, double deviation)
{
	double far = (loss - even) / deviation;

	return far > 0 ? fmin(floor(exp(fmin(far * far / 6, 40))), fmax(by + 1, FASTEST * by)) : 1;
}

/* Set n->last, the number of the last node, and n->at if nodes are thinned. */
static enum acct_rc place(struct acct_nodes *n, double range, double even, double deviation)
{
	double step = n->h * (double)n->stride, last = ceil(range / step * (1 + 1e-12)), at = 0, by = 1;
	size_t k = 0;

	if (!(even < range)) {
		n->last = last > 1 ? (size_t)fmin(last, MOST_NODES) : 1;
		return last <= MOST_NODES ? ACCT_OK : ACCT_ELIMIT;
	}
	n->last = (size_t)fmin(last, MOST_NODES);
	n->at = calloc(n->last + 1, sizeof *n->at);
	if (!n->at)
		return ACCT_ENOMEM;
	while (k < n->last && at < last) {
		by = spacing(at * step, by, even, deviation);
		at += floor(by);
		n->at[++k] = n->stride * (long)at;
	}
	n->last = k;
	return at < last ? ACCT_ELIMIT : ACCT_OK;
}

enum acct_rc acct_nodes_init(
	struct acct_nodes *n, const struct acct_curve *c, double h, long stride, double range)
{
	return acct_nodes_thinned(n, c, h, stride, range, INFINITY, 1);
}

enum acct_rc acct_nodes_thinned(struct acct_nodes *n, const struct acct_curve *c, double h, long stride,
	double range, double even, double deviation)
{
	enum acct_rc rc;

	memset(n, 0, sizeof *n);
	n->h = h;
	n->stride = stride;
	rc = place(n, range, even, deviation);
	if (rc)
		return rc;
	for (int way = 0; way < (c->list.symmetric ? 1 : 2); way++) {
		n->way[way] = calloc(n->last + 1, sizeof *n->way[way]);
		if (!n->way[way])
			return ACCT_ENOMEM;
		for (size_t k = 0; k <= n->last; k++)
			acct_curve_at(c, loss_of(n, k), way == 1, &n->way[way][k]);
	}
	if (c->list.symmetric)
		n->way[1] = n->way[0];
	for (int way = 0; way < 2; way++)
		n->infinite[way] = acct_list_certain(&c->list, way);
	return ACCT_OK;
}

void acct_nodes_fini(struct acct_nodes *n)
{
	if (n->way[1] != n->way[0])
		free(n->way[1]);
	free(n->way[0]);
	free(n->at);
	memset(n, 0, sizeof *n);
}

void acct_law_fini(struct acct_law *law)
{
	free(law->at);
	free(law->p);
	memset(law, 0, sizeof *law);
}

/* Make the law of the loss from its masses under nu = (P+Q)/2: mass[0][k] at +loss_k and mass[1][k] at
 * -loss_k (k >= 1), `infinite` at y = 1 and the rest at 0. */
static enum acct_rc law_of(struct acct_law *law, const struct acct_nodes *n, double *mass[2], double infinite)
{
	size_t last = n->last, i = 0;
	double centre = 1 - infinite;

	memset(law, 0, sizeof *law);
	law->at = calloc(2 * last + 1, sizeof *law->at);
	law->p = calloc(2 * last + 1, sizeof *law->p);
	if (!law->at || !law->p) {
		acct_law_fini(law);
		return ACCT_ENOMEM;
	}
	law->size = 2 * last + 1;
	law->infinite = 2 * infinite;
	for (size_t k = last; k >= 1; k--, i++) {
		double l = loss_of(n, k);

		law->at[i] = -place_of(n, k);
		law->p[i] = 2 * mass[1][k] / (1 + exp(l));
		law->at[2 * last - i] = -law->at[i];
		law->p[2 * last - i] = 2 * mass[0][k] / (1 + exp(-l));
		centre -= mass[0][k] + mass[1][k];
	}
	law->p[last] = centre < 0 ? 0 : centre; /* a NaN stays, and is refused later */
	return ACCT_OK;
}

/* ACCT_EPRECISION if a mass is NaN or infinite: the composition might read it as no mass. */
static enum acct_rc check(const struct acct_law *law)
{
	bool sound = law->infinite >= 0 && law->infinite < INFINITY;

	for (size_t i = 0; i < law->size; i++)
		sound = sound && law->p[i] >= 0 && law->p[i] < INFINITY;
	return sound ? ACCT_OK : ACCT_EPRECISION;
}

/* The convex hull of points at or above a convex curve is, along its chords, at or above it; its corners
 * are the atoms.  y = 1 with value 0 is always a corner, and its atom is the infinite loss. */
enum acct_rc acct_law_above(struct acct_law *law, const struct acct_nodes *n)
{
	size_t last = n->last, top = 0;
	double *value = calloc(last + 1, sizeof *value), *mass = calloc(last + 1, sizeof *mass);
	double *slope = calloc(last + 1, sizeof *slope);
	size_t *corner = calloc(last + 1, sizeof *corner);
	enum acct_rc rc = ACCT_ENOMEM;

	if (!value || !mass || !slope || !corner)
		goto out;
	for (size_t k = 0; k <= last; k++) {
		double y = tanh(loss_of(n, k) / 2);

		value[k] = acct_larger(n->way[0][k].hi, n->way[1][k].hi);
		/* a slope below -1/2 at 0 would give the mirrored curve a concave corner there */
		if (k > 0)
			value[k] = acct_larger(value[k], value[0] - y / 2);
	}
	/* slope[i] is the fall from corner[i] to the next corner, and from the last one to y = 1. */
	for (size_t k = last + 1; k-- > 0;) {
		double fall =
			top == 0 ? value[k] / to_one(n, k)
				 : (value[k] - value[corner[top - 1]]) / gap_between(n, k, corner[top - 1]);
		while (top > 0 && fall <= slope[top - 1]) {
			top--;
			fall = top == 0 ? value[k] / to_one(n, k)
					: (value[k] - value[corner[top - 1]]) /
						  gap_between(n, k, corner[top - 1]);
		}
		corner[top] = k;
		slope[top++] = fall;
	}
	for (size_t i = 0; i + 1 < top; i++)
		mass[corner[i]] = slope[i + 1] - slope[i];
	rc = law_of(law, n, (double *[2]){ mass, mass }, 0);
	if (!rc) { /* P is twice nu at infinite loss, and 0 at the mirrored atom y = -1 */
		law->infinite = 2 * slope[0];
		law->p[last] = law->p[last] > 2 * slope[0] ? law->p[last] - 2 * slope[0] : 0;
		rc = check(law);
	}
out:
	free(value);
	free(mass);
	free(slope);
	free(corner);
	return rc;
}

/* A line below the curve: it has `value` at the y of node `at` (last+1 stands for y = 1), and falls by
 * `slope` per unit of y. */
struct line {
	size_t at;
	double value, slope;
};

/* The atoms of the largest of some lines, gathered into cells [y_k, y_k+1): the mass in each cell, and how
 * far its mean is from y_k. */
struct half {
	double *mass, *offset; /* arrays of last+1 numbers */
	double infinite;       /* mass at y = 1, the infinite loss */
};

static double gap(const struct acct_nodes *n, size_t a, size_t b)
{
	return b > n->last ? to_one(n, a) : gap_between(n, a, b);
}

/* Where line b crosses line a, as a distance from the y of node a->at. */
static double crossing(const struct acct_nodes *n, const struct line *a, const struct line *b)
{
	return (a->value - b->value - b->slope * gap(n, a->at, b->at)) / (a->slope - b->slope);
}

/* Find the lines that make up the maximum on [0, 1], steepest first, and where each crosses the next.  The
 * last is that of the mass of infinite loss. */
static size_t envelope(const struct acct_nodes *n, int way, struct line *line, double *cross)
{
	size_t top = 0;

	for (size_t k = 0; k <= n->last + 1; k++) {
		struct line b = { k, 0, n->infinite[way] * 0.5 * (1 - 1e-9) };

		if (k <= n->last) {
			const struct acct_point *p = &n->way[way][k];
			double y = tanh(loss_of(n, k) / 2), rest = to_one(n, k);

			/* The slope is uncertain.  Make the line steeper, and lower it so that it is below
			 * the curve on [0, y_k]; or make it flatter, and lower it so that it is below the
			 * curve on [y_k, 1]: whichever lowers it less. */
			b.slope = p->slope + (y < rest ? 1 : -1) * p->slope_err;
			b.value = p->lo - 2 * p->slope_err * fmin(y, rest);
			if (!(b.value > 0 && b.slope > 0))
				continue;
		}
		bool hidden = false;
		while (top > 0) {
			struct line *a = &line[top - 1];
			double there = a->value - a->slope * gap(n, a->at, b.at);

			if (b.slope >= a->slope) {
				hidden = there >= b.value;
				if (hidden)
					break;
				top--;
				continue;
			}
			double e = crossing(n, a, &b);
			double from = top == 1 ? -tanh(loss_of(n, a->at) / 2)
					       : cross[top - 2] - gap(n, line[top - 2].at, a->at);
			if (e > from) {
				cross[top - 1] = e;
				break;
			}
			top--;
		}
		if (!hidden)
			line[top++] = b;
	}
	return top;
}

static enum acct_rc half_init(struct half *f, const struct acct_nodes *n, int way)
{
	size_t last = n->last, lines;
	struct line *line = calloc(last + 2, sizeof *line);
	double *cross = calloc(last + 2, sizeof *cross);
	enum acct_rc rc = ACCT_ENOMEM;

	memset(f, 0, sizeof *f);
	f->mass = calloc(last + 1, sizeof *f->mass);
	f->offset = calloc(last + 1, sizeof *f->offset);
	if (!line || !cross || !f->mass || !f->offset)
		goto out;
	lines = envelope(n, way, line, cross);
	for (size_t i = 0; i + 1 < lines; i++) {
		double mass = line[i].slope - line[i + 1].slope, e = cross[i];
		size_t k = line[i].at;

		for (; e < 0 && k > 0; k--)
			e += gap_between(n, k - 1, k);
		for (; k < last && e >= gap_between(n, k, k + 1); k++)
			e -= gap_between(n, k, k + 1);
		e = fmax(0, e);
		double both = f->mass[k] + mass;
		if (both > 0)
			f->offset[k] = (f->mass[k] * f->offset[k] + mass * e) / both;
		f->mass[k] = both;
	}
	f->infinite = lines > 0 && line[lines - 1].at > last ? line[lines - 1].slope : 0;
	rc = ACCT_OK;
out:
	free(line);
	free(cross);
	return rc;
}

static void half_fini(struct half *f)
{
	free(f->mass);
	free(f->offset);
}

/* Move every cell's mass to its left node, together with as much mass of the cells below, nearest first, as
 * keeps the mean.  This is a contraction.  Where the cells below do not have enough mass, the mean moves
 * towards 0. */
static void contract(struct half *f, const struct acct_nodes *n)
{
	size_t from = n->last; /* the cells from here up to the current one are empty */

	for (size_t k = n->last; k >= 1; k--) {
		double want = f->mass[k] * f->offset[k], moved = 0;

		if (from >= k)
			from = k - 1;
		while (want > 0) {
			double room = gap_between(n, from, k) - f->offset[from];

			if (f->mass[from] > 0 && room > 0) {
				double take = fmin(f->mass[from], want / room);

				want = take < f->mass[from] ? 0 : want - take * room;
				f->mass[from] = take < f->mass[from] ? f->mass[from] - take : 0;
				moved += take;
			}
			if (!(want > 0) || from == 0)
				break;
			from--;
		}
		f->mass[k] += moved;
		f->offset[k] = 0;
	}
	f->mass[0] = 0; /* what is left at y = 0 is not stored: both halves meet there */
}

static double mean(const struct half *f, const struct acct_nodes *n)
{
	double sum = f->infinite;

	for (size_t k = 1; k <= n->last; k++)
		sum += f->mass[k] * tanh(loss_of(n, k) / 2);
	return sum;
}

static void scale(struct half *f, const struct acct_nodes *n, double by)
{
	f->infinite *= by;
	for (size_t k = 0; k <= n->last; k++)
		f->mass[k] *= by;
}

static double total(const struct half *f, const struct acct_nodes *n)
{
	double sum = f->infinite;

	for (size_t k = 1; k <= n->last; k++)
		sum += f->mass[k];
	return sum;
}

enum acct_rc acct_law_below(struct acct_law *law, const struct acct_nodes *n, int way)
{
	struct half up, down;
	enum acct_rc rc = half_init(&up, n, way), rc2 = half_init(&down, n, 1 - way);

	if (rc || rc2) {
		rc = rc ? rc : rc2;
		goto out;
	}
	contract(&up, n);
	contract(&down, n);
	/* A law's Y must have mean 0: move mass of the half with the larger mean to 0, which lowers the
	 * curve. */
	double a = mean(&up, n), b = mean(&down, n);
	if (a > b)
		scale(&up, n, b / a);
	else if (b > a)
		scale(&down, n, a / b);
	double both = total(&up, n) + total(&down, n);
	if (both > 1) {
		scale(&up, n, 1 / both);
		scale(&down, n, 1 / both);
	}
	rc = law_of(law, n, (double *[2]){ up.mass, down.mass }, up.infinite);
	if (!rc) {
		law->p[n->last] = fmax(0, law->p[n->last] - down.infinite);
		rc = check(law);
	}
out:
	half_fini(&up);
	half_fini(&down);
	return rc;
}
