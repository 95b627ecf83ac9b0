/* acct_envelope.c - computes one list of cells that bounds every two inputs of a randomizer given by its
 * matrix. */
#include "acct_envelope.h"

#include <math.h>
#include <stdlib.h>

#include "acct_fault.h"

#define KNOTS ((ACCT_MAX_CELLS - 1) / 2)
/* the line's first slope takes at most this part of half the blanket, which leaves room for rounding */
#define PART   (1 - 1e-8)
#define HALVES 60 /* steps of the bisection for the first knot */
/* The first knot is at least this part of the last.  Then the line's first slope, which is a quotient by s,
 * is off by at most `slack` / s. */
#define LEAST 1e-5

struct matrix {
	const double *p;
	size_t inputs, outputs;
	double *omega;
	double blanket, most; /* blanket: W of acct_envelope.h; most: the largest s that any output has */
	double slack;         /* d of acct_envelope.h: what each chance may be off by */
};

static enum acct_rc read_matrix(struct matrix *m, double room, const char **why)
{
	m->most = m->blanket = 0;
	m->slack = room + 0x1p-46 + (double)m->outputs * 0x1p-52;
	for (size_t y = 0; y < m->outputs; y++) {
		double least = m->p[y], largest = m->p[y];

		for (size_t x = 1; x < m->inputs; x++) {
			least = fmin(least, m->p[x * m->outputs + y]);
			largest = fmax(largest, m->p[x * m->outputs + y]);
		}
		if (!(least > 0 && isfinite(largest / least)))
			return acct_fault(why, "every chance must be above 0");
		m->omega[y] = least * (1 - m->slack);
		m->blanket += m->omega[y];
		m->most = fmax(m->most, largest * (1 + m->slack) / m->omega[y] - 1);
	}
	return m->blanket < 1 - 2 * m->slack ? ACCT_OK : acct_fault(why, "all inputs have the same law");
}

/* G(s) of acct_envelope.h, rounded up; s > 0. */
static double above(const struct matrix *m, double s)
{
	double most = 0, up = 1 + m->slack;

	if (s >= m->most)
		return 0;
	for (size_t x = 0; x < m->inputs; x++) {
		double sum = 0;

		for (size_t y = 0; y < m->outputs; y++)
			sum += fmax(up * m->p[x * m->outputs + y] - (1 + s) * m->omega[y], 0);
		most = fmax(most, sum);
	}
	return most * up;
}

/* Find the least first knot for which both halves of the list fit in the blanket, with room for
 * rounding. */
static double first_knot(const struct matrix *m)
{
	double half = m->blanket / 2 * PART, low = 0, high = fmax(m->most, (1 - m->blanket) / half);

	if (high > m->most)
		return high;
	for (int i = 0; i < HALVES; i++) {
		double s = low + (high - low) / 2;

		if (1 - m->blanket - above(m, s) > s * half)
			low = s;
		else
			high = s;
	}
	return fmax(high, LEAST * m->most);
}

/* Drop points of G that lie above the line between their neighbours, which only rounding can cause: the
 * true G is below those lines.  Returns how many are left of s[1..knots]; s[0] is 0. */
static size_t make_convex(double *s, double *g, size_t knots)
{
	size_t n = 0;

	for (size_t k = 1; k <= knots; k++) {
		while (n > 0 && (g[n] - g[n - 1]) * (s[k] - s[n]) >= (g[k] - g[n]) * (s[n] - s[n - 1]))
			n--;
		n++;
		s[n] = s[k];
		g[n] = g[k];
	}
	return n;
}

/* Make the cells: two for every knot, whose weight is the change of the line's slope at the knot. */
static void set_cells(const struct matrix *m, double *s, size_t knots, struct acct_round *r)
{
	double g[KNOTS + 1] = { 1 - m->blanket }, used = 0;

	for (size_t k = 1; k < knots; k++)
		g[k] = above(m, s[k]);
	knots = make_convex(s, g, knots);
	/* Rounding may have made the first slope so steep that the two halves do not fit.  A single knot
	 * always fits. */
	if (knots > 1 && 2 * (g[0] - g[1]) >= s[1] * m->blanket) {
		s[1] = fmax(s[knots], g[0] / (m->blanket / 2 * PART));
		g[1] = 0;
		knots = 1;
	}
	r->cells = 0;
	for (size_t k = 1; k <= knots; k++) {
		double before = (g[k] - g[k - 1]) / (s[k] - s[k - 1]);
		double weight = k == knots ? -before : (g[k + 1] - g[k]) / (s[k + 1] - s[k]) - before;

		if (!(weight > 0)) /* by rounding, the knot lies on the line between its neighbours */
			continue;
		r->cell[r->cells++] = (struct acct_cell){ weight, 1 + s[k], 1 };
		r->cell[r->cells++] = (struct acct_cell){ weight, 1, 1 + s[k] };
		used += 2 * weight;
	}
	if (m->blanket > used)
		r->cell[r->cells++] = (struct acct_cell){ m->blanket - used, 1, 1 };
}

/* Choose the knots s[1..knots], which grow by equal factors from the first to the last. */
static void set_knots(const struct matrix *m, double *s, size_t *knots)
{
	double first = first_knot(m), last = fmax(first, m->most);

	*knots = first < last ? KNOTS : 1;
	s[0] = 0;
	for (size_t k = 1; k < *knots; k++)
		s[k] = first * pow(last / first, (double)(k - 1) / (double)(*knots - 1));
	s[*knots] = last;
}

enum acct_rc acct_cells_envelope(
	const double *p, size_t inputs, size_t outputs, double room, struct acct_round *r, const char **why)
{
	struct matrix m = { .p = p, .inputs = inputs, .outputs = outputs };
	double s[KNOTS + 1];
	size_t knots = 0;
	enum acct_rc rc;

	if (inputs < 2 || outputs < 2 || inputs > 65536 || outputs > 65536)
		return acct_fault(why, "a matrix has 2 to 65536 inputs and outputs");
	if (!(room >= 0 && room <= 0.01))
		return acct_fault(why, "the room for rounding must be from 0 to 0.01");
	m.omega = calloc(outputs, sizeof *m.omega);
	if (!m.omega)
		return ACCT_ENOMEM;
	rc = read_matrix(&m, room, why);
	if (!rc) {
		set_knots(&m, s, &knots);
		set_cells(&m, s, knots, r);
	}
	free(m.omega);
	return rc;
}
