/* acct_law_below.c - a round's privacy loss on a grid, from below: by tangents of the curve, then
 * contraction. */
#include "acct_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_grid.h"

/* A line below the curve: `value` at y of node `at` (last+1: y = 1), falling by `slope`. */
struct line {
	size_t at;
	double value, slope;
};

/* The atoms of the upper envelope of lines, sorted into cells [y_k, y_k+1): mass and offset of the mean. */
struct half {
	double *mass, *offset; /* last+1 each */
	double infinite;       /* mass at y = 1 */
};

static double gap(const struct acct_nodes *n, size_t a, size_t b)
{
	return b > n->last ? acct_grid_to_one(n, a) : acct_grid_gap(n, a, b);
}

/* Where b crosses a, as an offset from y of a->at. */
static double crossing(const struct acct_nodes *n, const struct line *a, const struct line *b)
{
	return (a->value - b->value - b->slope * gap(n, a->at, b->at)) / (a->slope - b->slope);
}

/* The lines that make up the maximum on [0, 1], steepest first; the last is the mass of infinite loss. */
static size_t envelope(const struct acct_nodes *n, int way, struct line *line, double *cross)
{
	size_t top = 0;

	for (size_t k = 0; k <= n->last + 1; k++) {
		struct line b = { k, 0, n->infinite[way] * 0.5 * (1 - 1e-9) };

		if (k <= n->last) {
			const struct acct_point *p = &n->way[way][k];
			double y = tanh(acct_grid_loss(n, k) / 2), rest = acct_grid_to_one(n, k);

			/* Steeper than the test's own line, and lowered so that it is below on [0, y_k]; or
			 * flatter, and lowered so that it is below on [y_k, 1]. */
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
			double from = top == 1 ? -tanh(acct_grid_loss(n, a->at) / 2)
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
			e += acct_grid_gap(n, k - 1, k);
		for (; k < last && e >= acct_grid_gap(n, k, k + 1); k++)
			e -= acct_grid_gap(n, k, k + 1);
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

/* Move every cell's mass onto its left node, together with as much mass of the cells below, nearest first, as
 * keeps the mean: a contraction.  Where that is not enough the mean moves towards 0. */
static void contract(struct half *f, const struct acct_nodes *n)
{
	size_t from = n->last; /* cells from here up to the current one are empty */

	for (size_t k = n->last; k >= 1; k--) {
		double want = f->mass[k] * f->offset[k], moved = 0;

		if (from >= k)
			from = k - 1;
		while (want > 0) {
			double room = acct_grid_gap(n, from, k) - f->offset[from];

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
	f->mass[0] = 0; /* at y = 0, where both halves meet */
}

static double mean(const struct half *f, const struct acct_nodes *n)
{
	double sum = f->infinite;

	for (size_t k = 1; k <= n->last; k++)
		sum += f->mass[k] * tanh(acct_grid_loss(n, k) / 2);
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
	/* Y has mean 0: move mass of the heavier half to 0, which lowers the curve. */
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
	rc = acct_grid_law(law, n, (double *[2]){ up.mass, down.mass }, up.infinite);
	if (!rc) {
		law->p[n->last] = fmax(0, law->p[n->last] - down.infinite);
		rc = acct_grid_check(law);
	}
out:
	half_fini(&up);
	half_fini(&down);
	return rc;
}
