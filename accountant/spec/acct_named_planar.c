/* acct_named_planar.c - reports that are a cell of a grid: planar Laplace noise on a torus about the grid,
 * and the nearest cell of the grid.
 *
 * An axis of w cells is the first of T = 2w - (w mod 2) places of a circle.  A report's noise is a place z of
 * the torus with a chance in proportion to e^(-a d), d the distance of z from the origin around the torus in
 * cells, rounded up to 1/1024; of the places outside the grid those nearer to its end are the end, the others
 * its beginning.  a is the largest for which no two inputs are further apart than eps0. */
#include <math.h>
#include <stdlib.h>

#include "acct_envelope.h"
#include "acct_fault.h"
#include "acct_named.h"

#define UNIT    1024.0 /* parts of a cell that distances are rounded up to */
#define MOST    256    /* cells */
#define HALVES  200
#define ROUNDED 1e-12

struct grid {
	unsigned size[2], circle[2];
	size_t cells;
	double *p; /* of cell x to be cell y: p[x * cells + y] */
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

static void fill(const struct grid *g, double a)
{
	for (size_t x = 0; x < g->cells; x++) {
		double *row = g->p + x * g->cells, sum = 0;

		for (size_t y = 0; y < g->cells; y++)
			row[y] = 0;
		for (unsigned j = 0; j < g->circle[1]; j++)
			for (unsigned i = 0; i < g->circle[0]; i++) {
				double across = around(g, 0, i, (unsigned)(x % g->size[0]));
				double up = around(g, 1, j, (unsigned)(x / g->size[0]));
				double chance = exp(-a * ceil(UNIT * sqrt(across * across + up * up)));

				row[place(g, 0, i) + (size_t)g->size[0] * place(g, 1, j)] += chance;
				sum += chance;
			}
		for (size_t y = 0; y < g->cells; y++)
			row[y] /= sum;
	}
}

/* The largest log of a ratio of two inputs' chances of one cell. */
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

static void solve(const struct grid *g, double eps0)
{
	double low = 0, high = 4 * eps0 / UNIT;

	for (int i = 0; i < HALVES && high - low > 1e-14 * high; i++) {
		double a = low + (high - low) / 2;

		fill(g, a);
		if (furthest(g) > eps0)
			high = a;
		else
			low = a;
	}
	fill(g, low);
}

/* Of cells at most so far apart: the largest ratio, and the largest total variation. */
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

static enum acct_rc settle(
	const struct grid *g, const struct acct_arg *distance, struct acct_spec *s, const char **why)
{
	bool near = distance->size > 0;

	solve(g, s->eps0);
	between(g, near ? distance->x[0] : INFINITY, &s->p, &s->beta);
	s->q = exp(s->eps0);
	s->no_inputs = true; /* the cells are above the laws, not of two of them */
	if (near && s->round.sampling > 0)
		return acct_fault(
			why, "sampling with distance: two records that may be drawn are further apart");
	if (!near)
		return acct_cells_envelope(g->p, g->cells, g->cells, &s->round, why);
	/* a is known to 1e-14 of itself and a chance, a quotient of sums of up to 1024, to 3e-13. */
	s->p *= 1 + ROUNDED * (1 + s->eps0);
	s->beta = fmin(s->beta + ROUNDED * (1 + s->eps0), (s->p - 1) / (s->p + 1));
	s->q = fmax(s->q * (1 + 1e-14), 1 + s->beta);
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
