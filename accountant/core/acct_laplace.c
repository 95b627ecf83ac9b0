/* acct_laplace.c - cuts the two legs of the Laplace randomizer into cells.
 *
 * acct_laplace.h defines the legs; s is the likelihood ratio along a leg.  With t = sqrt(s) the blanket
 * puts the mass (g/2)(1/t1 - 1/t2), g = e^{-epsilon0/2}, on the stretch t1..t2 of a leg, and
 * e^{-epsilon0}/2 on the leg's end; the mean of s over a stretch is t1 t2.  Of all ways to cut a leg,
 * stretches of equal length in t add the least variance. */
#include "acct_laplace.h"

#include <math.h>

#include "acct_cells.h"
#include "acct_fault.h"

/* up to here e^{-epsilon0} and the square of e^{epsilon0/2} stay far inside the range of a double */
#define MOST_EPSILON 300.0

/* The largest numbers of stretches that one leg can be cut into with ACCT_MAX_CELLS cells. */
#define ABOVE_STRETCHES ((ACCT_MAX_CELLS - 1) / 2) /* for two legs, which share the corner's cell */
#define HALF_STRETCHES  (ACCT_MAX_CELLS - 1)       /* for one leg */
#define BELOW_STRETCHES (ACCT_MAX_CELLS / 2 - 1)   /* for two legs whose ends are cells, too */

/* A leg that is cut into stretches. */
struct leg {
	double blanket;   /* e^{-epsilon0/2} */
	double end, tail; /* end: likelihood ratio at the leg's end; tail: the blanket's mass there */
	double step;      /* length of a stretch in t = sqrt(s) */
	size_t stretches;
};

static enum acct_rc leg_init(struct leg *l, double epsilon0, size_t stretches, const char **why)
{
	if (!(epsilon0 > 0 && epsilon0 <= MOST_EPSILON))
		return acct_fault(why, "epsilon0 must be above 0 and at most 300");
	l->blanket = exp(-epsilon0 / 2);
	l->end = acct_ratio(epsilon0);
	l->tail = exp(-epsilon0) / 2;
	l->step = expm1(epsilon0 / 2) / (double)stretches;
	l->stretches = stretches;
	return ACCT_OK;
}

static double node(const struct leg *l, size_t i)
{
	return 1 + l->step * (double)i;
}

static double ratio(const struct leg *l, size_t i)
{
	return i == l->stretches ? l->end : node(l, i) * node(l, i);
}

/* The mass of node i.  Every stretch moves its mass to the nodes at its two ends, divided so that the mean
 * of s is kept. */
static double mass_at(const struct leg *l, size_t i)
{
	double t = node(l, i), mass = 0;

	if (i > 0)
		mass += l->blanket / 2 * l->step / (t * (node(l, i - 1) + t));
	if (i < l->stretches)
		mass += l->blanket / 2 * l->step / (t * (node(l, i + 1) + t));
	return i == l->stretches ? mass + l->tail : mass;
}

enum acct_rc acct_laplace_coarse(double epsilon0, size_t stretches, struct acct_round *r, const char **why)
{
	struct leg l;
	enum acct_rc rc = leg_init(&l, epsilon0, stretches, why);

	if (rc)
		return rc;
	if (stretches == 0 || stretches > ABOVE_STRETCHES)
		return acct_fault(why, "stretches must be from 1 to 31");
	r->cells = 0;
	r->cell[r->cells++] = (struct acct_cell){ 2 * mass_at(&l, 0), 1, 1 };
	for (size_t i = 1; i <= l.stretches; i++) {
		r->cell[r->cells++] = (struct acct_cell){ mass_at(&l, i), ratio(&l, i), 1 };
		r->cell[r->cells++] = (struct acct_cell){ mass_at(&l, i), 1, ratio(&l, i) };
	}
	return ACCT_OK;
}

enum acct_rc acct_laplace_above(double epsilon0, struct acct_round *r, const char **why)
{
	return acct_laplace_coarse(epsilon0, ABOVE_STRETCHES, r, why);
}

enum acct_rc acct_laplace_below(double epsilon0, struct acct_round *r, const char **why)
{
	struct leg l;
	enum acct_rc rc = leg_init(&l, epsilon0, BELOW_STRETCHES, why);

	if (rc)
		return rc;
	r->cells = 0;
	for (size_t i = 0; i <= l.stretches; i++) {
		double mean = i < l.stretches ? node(&l, i) * node(&l, i + 1) : l.end;
		double mass = i < l.stretches ? l.blanket / 2 * l.step / mean : l.tail;

		r->cell[r->cells++] = (struct acct_cell){ mass, mean, 1 };
		r->cell[r->cells++] = (struct acct_cell){ mass, 1, mean };
	}
	return ACCT_OK;
}

enum acct_rc acct_laplace_half(double epsilon0, size_t stretches, struct acct_round *r, const char **why)
{
	struct leg l;
	enum acct_rc rc = leg_init(&l, epsilon0, stretches, why);

	if (rc)
		return rc;
	if (stretches == 0 || stretches > HALF_STRETCHES)
		return acct_fault(why, "stretches must be from 1 to 63");
	r->cells = 0;
	for (size_t i = 0; i <= stretches; i++) {
		/* where the other leg begins, s is 1: both legs share this corner */
		double other = i == 0 ? l.blanket / 2 : 0;

		r->cell[r->cells++] =
			(struct acct_cell){ mass_at(&l, i) + other, ratio(&l, i), exp(epsilon0 / 2) };
	}
	return ACCT_OK;
}
