/* acct_law.c - a round's privacy loss on a grid, from above: by chords of the curve. */
#include "acct_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_grid.h"

#define MOST_NODES 16384.0
#define FARTHEST   600.0 /* farthest loss; exp() of it is still a double */
#define CENTRE     0.25  /* deviations about the tilted law's mean at which nodes begin to be thinned */
#define FASTEST    1.25  /* growth of the distance from node to node, at most, once it is large */
#define LUMPY      0.3   /* a deviation beyond which losses are too few and too large to be normal */
#define HEAVY      1.25  /* how many times as far as a normal law's a tail may reach */

static bool within(const struct acct_curve *c, double loss, double tail)
{
	double infinite = fmax(c->list.infinite[0], c->list.infinite[1]);

	return acct_curve_about(c, loss) * (1 + exp(loss)) - infinite <= tail;
}

/* Every answer is sound, since losses beyond it count as infinite.  Were the loss normal, 0.9 times the first
 * guess would do. */
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
	/* The tilt moves the mean of a normal law by lean deviation^2. */
	bool normal = deviation <= LUMPY && range <= HEAVY * sqrt(-2 * log(tail)) * deviation;

	return normal ? (CENTRE + lean * deviation) * deviation : INFINITY;
}

/* The distance from a node at this loss to the next, in strides, where the last one was `by`. */
static double spacing(double loss, double by, double even, double deviation)
{
	double far = (loss - even) / deviation;

	return far > 0 ? fmin(floor(exp(fmin(far * far / 6, 40))), fmax(by + 1, FASTEST * by)) : 1;
}

/* Sets n->last, and n->at where nodes are thinned. */
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
			acct_curve_at(c, acct_grid_loss(n, k), way == 1, &n->way[way][k]);
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

enum acct_rc acct_grid_law(struct acct_law *law, const struct acct_nodes *n, double *mass[2], double infinite)
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
		double l = acct_grid_loss(n, k);

		law->at[i] = -acct_grid_place(n, k);
		law->p[i] = 2 * mass[1][k] / (1 + exp(l));
		law->at[2 * last - i] = -law->at[i];
		law->p[2 * last - i] = 2 * mass[0][k] / (1 + exp(-l));
		centre -= mass[0][k] + mass[1][k];
	}
	law->p[last] = centre < 0 ? 0 : centre; /* a NaN stays, and is refused later */
	return ACCT_OK;
}

enum acct_rc acct_grid_check(const struct acct_law *law)
{
	bool sound = law->infinite >= 0 && law->infinite < INFINITY;

	for (size_t i = 0; i < law->size; i++)
		sound = sound && law->p[i] >= 0 && law->p[i] < INFINITY;
	return sound ? ACCT_OK : ACCT_EPRECISION;
}

/* The lower convex hull of points at or above a convex function is, along its chords, at or above it too;
 * its corners are the atoms.  y = 1 with value 0 is always a corner, and its atom the infinite loss. */
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
		double y = tanh(acct_grid_loss(n, k) / 2);

		value[k] = acct_larger(n->way[0][k].hi, n->way[1][k].hi);
		if (k > 0) /* the mirrored curve must not fall faster than -1/2 at 0 */
			value[k] = acct_larger(value[k], value[0] - y / 2);
	}
	/* slope[i]: fall from corner[i] to the next corner (of the last one: to y = 1). */
	for (size_t k = last + 1; k-- > 0;) {
		double fall =
			top == 0 ? value[k] / acct_grid_to_one(n, k)
				 : (value[k] - value[corner[top - 1]]) / acct_grid_gap(n, k, corner[top - 1]);
		while (top > 0 && fall <= slope[top - 1]) {
			top--;
			fall = top == 0 ? value[k] / acct_grid_to_one(n, k)
					: (value[k] - value[corner[top - 1]]) /
						  acct_grid_gap(n, k, corner[top - 1]);
		}
		corner[top] = k;
		slope[top++] = fall;
	}
	for (size_t i = 0; i + 1 < top; i++)
		mass[corner[i]] = slope[i + 1] - slope[i];
	rc = acct_grid_law(law, n, (double *[2]){ mass, mass }, 0);
	if (!rc) { /* infinite loss: P-mass 2 nu(1); the mirrored atom at y = -1 has none */
		law->infinite = 2 * slope[0];
		law->p[last] = law->p[last] > 2 * slope[0] ? law->p[last] - 2 * slope[0] : 0;
		rc = acct_grid_check(law);
	}
out:
	free(value);
	free(mass);
	free(slope);
	free(corner);
	return rc;
}
