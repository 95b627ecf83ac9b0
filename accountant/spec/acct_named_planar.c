/* acct_named_planar.c (acct_named.h) - reports that are a cell of a grid: planar Laplace noise on a torus
 * about the grid, and then the nearest cell of the grid.
 *
 * An axis of w cells is the first part of a circle of T = 2w - (w mod 2) places.  The noise of a report is
 * a place z of the torus, with a chance proportional to e^(-a d), where d is the distance of z from the
 * origin around the torus, in cells, rounded up to 1/1024.  Places outside the grid that are nearer to its
 * end count as its end, the others as its beginning.  a is the number for which the two inputs that are
 * furthest apart are exactly eps0 apart.
 *
 * Rounding.  A weight e^(-a d) has a relative error of 2^-53 (2 + a d), and a sum of k weights one of 2^-53
 * k more.  So a chance, which is a quotient of two sums, has a relative error of 2^-53 (2 far + 2 places +
 * 8), where far is the largest a d (`rounding`).  A ratio of two chances has twice that error.  So if the
 * inputs computed for a (1 - off) are nearer than eps0 by more than that, and those for a (1 + off)
 * further, the relative error of a is at most off.  The log of a chance changes with a by one mean of
 * distances less another, so by at most off far. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_envelope.h"
#include "acct_fault.h"
#include "acct_named.h"

#define UNIT    1024.0 /* distances are rounded up to this part of a cell */
#define MOST    256    /* most cells of a grid */
#define HALVES  200
#define LEAST   1e-14 /* `a` is searched until it is known to this relative error */
#define WEIGHTS 387   /* largest (w + 1)(h + 1), for w h at most 256 and neither below 2 */

struct grid {
	unsigned size[2], circle[2];
	size_t cells;
	double *p;   /* p[x * cells + y] is the chance that cell x is reported as cell y */
	double far;  /* the largest a d of the torus, for the chances p */
	double room; /* every true chance is within a factor 1 +- room of its p; set by solve() */
};

static unsigned place(const struct grid *g, int axis, unsigned z)
{
	unsigned w = g->size[axis], outside = g->circle[axis] - w;

	return z < w ? z : z < w + outside / 2 ? w - 1 : 0;
}

static unsigned around(const struct grid *g, int axis, unsigned a, unsigned b)
{
	unsigned d = a > b ? a - b : b - a;

	return d < g->circle[axis] - d ? d : g->circle[axis] - d;
}

/* Set weight[i + (w + 1) j] to e^(-a d), where d is the distance, around the torus, of a place that is i
 * and j away along the axes. */
static void set_weights(struct grid *g, double a, double *weight)
{
	g->far = 0;
	for (unsigned j = 0; j <= g->circle[1] / 2; j++)
		for (unsigned i = 0; i <= g->circle[0] / 2; i++) {
			double distance = a * ceil(UNIT * sqrt((double)i * i + (double)j * j));

			weight[i + (g->size[0] + 1) * j] = exp(-distance);
			g->far = fmax(g->far, distance);
		}
}

static void fill(struct grid *g, double a)
{
	double weight[WEIGHTS];

	set_weights(g, a, weight);
	for (size_t x = 0; x < g->cells; x++) {
		double *row = g->p + x * g->cells, sum = 0;

		for (size_t y = 0; y < g->cells; y++)
			row[y] = 0;
		for (unsigned j = 0; j < g->circle[1]; j++)
			for (unsigned i = 0; i < g->circle[0]; i++) {
				unsigned across = around(g, 0, i, (unsigned)(x % g->size[0]));
				unsigned up = around(g, 1, j, (unsigned)(x / g->size[0]));
				double chance = weight[across + (g->size[0] + 1) * up];

				row[place(g, 0, i) + (size_t)g->size[0] * place(g, 1, j)] += chance;
				sum += chance;
			}
		for (size_t y = 0; y < g->cells; y++)
			row[y] /= sum;
	}
}

static double rounding(const struct grid *g)
{
	return (2 * g->far + 2.0 * g->circle[0] * g->circle[1] + 8) * 0x1p-53;
}

/* The largest log of a ratio of two inputs' chances of the same cell. */
static double furthest(const struct grid *g)
{
	double ratio = 1;

	for (size_t y = 0; y < g->cells; y++) {
		double least = 1, most = 0;

		for (size_t x = 0; x < g->cells; x++) {
			least = fmin(least, g->p[x * g->cells + y]);
			most = fmax(most, g->p[x * g->cells + y]);
		}
		ratio = fmax(ratio, most / least);
	}
	return log(ratio);
}

/* Compare the inputs that are furthest apart with eps0: -1 nearer, 1 further, 0 hidden by rounding. */
static int side(struct grid *g, double a, double eps0)
{
	fill(g, a);
	double most = furthest(g), off = 2 * rounding(g) + 0x1p-50 * (1 + eps0);

	return most + off < eps0 ? -1 : most - off > eps0 ? 1 : 0;
}

static enum acct_rc solve(struct grid *g, double eps0, const char **why)
{
	double low = 0, high = 4 * eps0 / UNIT, off = LEAST;

	for (int i = 0; i < HALVES && high - low > LEAST * high; i++) {
		double a = low + (high - low) / 2;

		fill(g, a);
		if (furthest(g) > eps0)
			high = a;
		else
			low = a;
	}
	while (off < 1 && (side(g, low * (1 - off), eps0) >= 0 || side(g, low * (1 + off), eps0) <= 0))
		off *= 2;
	if (off >= 1)
		return acct_fault(why, "eps0 is too small: rounding hides it");
	fill(g, low);
	g->room = rounding(g) + expm1(off * g->far);
	return ACCT_OK;
}

/* Find the largest ratio and the largest total variation of two input cells that are at most `distance`
 * apart. */
static void between(const struct grid *g, double distance, double *p, double *beta)
{
	*p = 1;
	*beta = 0;
	for (size_t x = 0; x < g->cells; x++)
		for (size_t z = 0; z < g->cells; z++) {
			size_t above = x / g->size[0], below = z / g->size[0];
			double across = (double)(x % g->size[0]) - (double)(z % g->size[0]), sum = 0;
			double up = (double)above - (double)below;

			if (x == z || across * across + up * up > distance * distance)
				continue;
			for (size_t y = 0; y < g->cells; y++) {
				double one = g->p[x * g->cells + y], two = g->p[z * g->cells + y];

				*p = fmax(*p, one / two);
				sum += fmax(one - two, 0);
			}
			*beta = fmax(*beta, sum);
		}
}

/* How much the reports of these three inputs tell: the sum of (R0 - R1)^2 / R, where R is the law of the
 * others' input z.  With many participants the loss grows with it. */
static double told(const struct grid *g, size_t x0, size_t x1, size_t z)
{
	const double *a = g->p + x0 * g->cells, *b = g->p + x1 * g->cells, *c = g->p + z * g->cells;
	double sum = 0;

	for (size_t y = 0; y < g->cells; y++)
		sum += (a[y] - b[y]) * (a[y] - b[y]) / c[y];
	return sum;
}

/* Find the inputs of the victim, near each other, and of everybody else that tell most.  The grid is its
 * own mirror image, so it is enough to look for the victim's first input in one quarter. */
static void worst_inputs(const struct grid *g, double near, size_t x[3])
{
	double most = -1;
	size_t w = g->size[0];

	for (size_t a = 0; a < g->cells; a++)
		for (size_t b = 0; b < g->cells && 2 * (a % w) <= w && 2 * (a / w) <= g->size[1]; b++) {
			size_t row = a / w, other = b / w;
			double across = (double)(a % w) - (double)(b % w), up = (double)row - (double)other;
			double sum = across * across + up * up > near * near ? -1 : told(g, a, b, a);

			if (sum > most) {
				most = sum;
				x[0] = x[2] = a;
				x[1] = b;
			}
		}
	for (size_t z = 0; z < g->cells; z++) {
		double sum = told(g, x[0], x[1], z);

		if (sum > most) {
			most = sum;
			x[2] = z;
		}
	}
}

static int by_gain(const void *a, const void *b)
{
	const struct acct_cell *x = a, *y = b;

	return (x->u - x->v > y->u - y->v) - (x->u - x->v < y->u - y->v);
}

/* Join neighbouring cells until there is room for them, first those that lose least by it.  Returns their
 * number. */
static size_t join(struct acct_cell *c, size_t n)
{
	while (n > ACCT_MAX_CELLS) {
		double least = INFINITY;
		size_t at = 0;

		for (size_t i = 0; i + 1 < n; i++) {
			double far = c[i + 1].u - c[i + 1].v - c[i].u + c[i].v,
			       all = c[i].omega + c[i + 1].omega;
			double loss = c[i].omega * (c[i + 1].omega / all) * far * far;

			if (loss < least) {
				least = loss;
				at = i;
			}
		}
		double all = c[at].omega + c[at + 1].omega;

		c[at].u += c[at + 1].omega / all * (c[at + 1].u - c[at].u);
		c[at].v += c[at + 1].omega / all * (c[at + 1].v - c[at].v);
		c[at].omega = all;
		n--;
		memmove(&c[at + 1], &c[at + 2], (n - at - 1) * sizeof *c);
	}
	return n;
}

/* Set the data set in which everybody else holds one input.  Anybody may join cells of reports, so what is
 * still lost after joining is lost by the reports. */
static void hold_place(const struct grid *g, double near, struct acct_spec *s)
{
	struct acct_cell cell[MOST] = { 0 };
	size_t x[3] = { 0 };

	worst_inputs(g, near, x);
	for (size_t y = 0; y < g->cells; y++) {
		double z = g->p[x[2] * g->cells + y];

		cell[y] =
			(struct acct_cell){ z, g->p[x[0] * g->cells + y] / z, g->p[x[1] * g->cells + y] / z };
	}
	qsort(cell, g->cells, sizeof *cell, by_gain);
	s->held = s->round;
	s->held.cells = join(cell, g->cells);
	memcpy(s->held.cell, cell, s->held.cells * sizeof *cell);
	s->rounding = g->room + 8 * MOST * 0x1p-53; /* at most MOST joins, each of few operations */
}

static enum acct_rc settle(
	struct grid *g, const struct acct_arg *distance, struct acct_spec *s, const char **why)
{
	bool near = distance->size > 0;
	enum acct_rc rc = solve(g, s->eps0, why);

	if (rc)
		return rc;
	between(g, near ? distance->x[0] : INFINITY, &s->p, &s->beta);
	/* A ratio is off by at most twice room.  beta, half a sum of differences, is off by room in either
	 * direction, and the sum of up to 256 numbers by less than a third of room. */
	s->p *= 1 + 3 * g->room;
	s->beta = fmin(s->beta + 3 * g->room, (s->p - 1) / (s->p + 1));
	s->q = fmax(exp(s->eps0) * (1 + 1e-14), 1 + s->beta);
	/* the cells bound the laws from above, and are not two laws of the randomizer */
	s->no_inputs = true;
	if (near && s->round.sampling > 0)
		return acct_fault(
			why, "sampling with distance: two records that may be drawn are further apart");
	hold_place(g, near ? distance->x[0] : INFINITY, s);
	if (!near)
		return acct_cells_envelope(g->p, g->cells, g->cells, g->room, &s->round, why);
	return acct_cells_pair(s->p, s->beta, s->q, s->q, &s->round, why);
}

enum acct_rc acct_named_planar(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	struct grid g = { .size = { (unsigned)arg[0].x[0], (unsigned)arg[1].x[0] } };
	enum acct_rc rc;

	g.cells = (size_t)g.size[0] * g.size[1];
	if (g.cells > MOST)
		return acct_fault(why, "w times h must be at most 256");
	for (int axis = 0; axis < 2; axis++)
		g.circle[axis] = 2 * g.size[axis] - g.size[axis] % 2;
	s->eps0 = arg[2].x[0];
	g.p = calloc(g.cells * g.cells, sizeof *g.p);
	if (!g.p)
		return ACCT_ENOMEM;
	rc = settle(&g, &arg[3], s, why);
	free(g.p);
	return rc;
}
