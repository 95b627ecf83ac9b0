/* acct_gdp.c - the Gaussian curve that lies above a round's, up to a defect. */
#include "acct_gdp.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "acct_invert.h"
#include "acct_law.h"
#include "acct_plan.h"

#define ULP        (0x1p-53)
#define RESOLUTION 0.01 /* chords lie above the curve as if its variance were a relative 1e-5 more */
#define MOST_NODES 8192.0
#define POINT_WORK 2e6 /* as acct_rung.c */
#define LAW_WORK   2e9
#define MOST_MU    100.0
#define WITHIN     1e-7 /* of mu, relative: what the bisection leaves */

/* One point of the Gaussian curve: H(y) in [value - error, value + error], nu(Y > y) = slope (1 +- relative).
 */
struct gauss {
	double value, error, slope, relative;
};

/* Phi(-z) = erfc(z/sqrt 2)/2.  z is off by at most 2 ulp of size = eps/mu + mu/2, hence Phi(-z) by a relative
 * (|z| + 1) of that, and erfc itself by a few ulp. */
static struct gauss gauss_at(double eps, double mu)
{
	double size = eps / mu + mu / 2, p = 0.5 * erfc((eps / mu - mu / 2) / sqrt(2)),
	       q = 0.5 * erfc(size / sqrt(2)), e = exp(-eps),
	       relative = (32 + 8 * (size + 1) * (size + 1)) * ULP;
	/* H = (p - e^eps q) / (1 + e^eps) */
	double value = (p * e - q) / (1 + e), error = relative * (p * e + q) + 1e-300;

	return (struct gauss){ value, error, (p + q) / 2, relative };
}

double acct_gdp_delta_above(double epsilon, double mu)
{
	if (!(mu > 0))
		return 0;
	struct gauss g = gauss_at(epsilon, mu);
	return fmin(1, (g.value + g.error) * (1 + exp(epsilon)) * (1 + 8 * ULP));
}

double acct_gdp_delta_below(double epsilon, double mu)
{
	if (!(mu > 0))
		return 0;
	struct gauss g = gauss_at(epsilon, mu);
	return fmax(0, (g.value - g.error) * (1 + exp(epsilon)) * (1 - 8 * ULP));
}

/* tanh(b/2) - tanh(a/2), a <= b. */
static double gap(double a, double b)
{
	return 2 * exp(-a) * -expm1(a - b) / ((1 + exp(-a)) * (1 + exp(-b)));
}

/* The round's curve from above: chords of hi[k] at loss[k], the last to y = 1 with value 0. */
struct chords {
	const struct acct_nodes *nodes;
	double shift;
};

/* The losses are moved up by what rounding of the cells may be worth; H(-shift) <= shift/2 + H(0). */
static double loss_of(const struct chords *c, size_t k)
{
	return k > 0 ? c->nodes->h * (double)k + c->shift : 0;
}

static double value_of(const struct chords *c, size_t k)
{
	double hi = fmax(c->nodes->way[0][k].hi, c->nodes->way[1][k].hi) * (1 + 1e-13);

	return k > 0 ? hi : hi + c->shift;
}

/* R(y) = d (1-y)/2 + (1-d) H_mu(y) is convex, so it lies above its tangent in the middle of the cell, and
 * that above the chord if it is so at both ends. */
static bool cell_holds(const struct chords *c, size_t k, double mu, double d)
{
	double a = loss_of(c, k), b = loss_of(c, k + 1), middle = (a + b) / 2;
	double down = gap(a, middle), up = gap(middle, b);
	/* Losses are off by an ulp each, their differences by as much of the losses. */
	double off = (32 + 8 * b / (b - a)) * ULP;
	struct gauss g = gauss_at(middle, mu);
	double at = (d * exp(-middle) / (1 + exp(-middle)) + (1 - d) * g.value) * (1 - 16 * ULP) - g.error;
	double slope = d / 2 + (1 - d) * g.slope, room = (g.relative + off + 16 * ULP) * slope;

	return at + (slope - room) * down >= value_of(c, k) && at - (slope + room) * up >= value_of(c, k + 1);
}

static bool holds(const struct chords *c, double mu, double d)
{
	for (size_t k = 0; k < c->nodes->last; k++)
		if (!cell_holds(c, k, mu, d))
			return false;
	return true;
}

/* Beyond the last node only the defect is used: a chord to (1, 0) under d (1-y)/2. */
static bool tail_holds(const struct chords *c, double d)
{
	double l = loss_of(c, c->nodes->last);

	return value_of(c, c->nodes->last) * (1 + exp(-l)) <= d * exp(-l) * (1 - 1e-12);
}

static double least_mu(const struct chords *c, double guess, double d)
{
	double low = 0, high = guess;

	if (!tail_holds(c, d))
		return INFINITY;
	while (!holds(c, high, d)) {
		low = high;
		high *= 1.25;
		if (high > MOST_MU)
			return INFINITY;
	}
	while (high > low * (1 + WITHIN)) {
		double middle = (low + high) / 2;

		if (holds(c, middle, d))
			high = middle;
		else
			low = middle;
	}
	return high;
}

static enum acct_rc of_curve(struct acct_curve *curve, double defect, double *mu)
{
	const struct acct_list *l = &curve->list;
	const struct acct_plan one = { .rounds = 1, .exponents = l->exponent };
	struct acct_work work = { 0, POINT_WORK };
	double deviation, range, nodes, spare;
	struct chords c = { .shift = acct_plan_blur(&one) };
	struct acct_nodes n;
	enum acct_rc rc;

	curve->work = &work;
	deviation = 2 * sqrt(2 * acos(-1)) * acct_curve_upper(curve, 0);
	if (l->lossless && !(deviation > 0)) {
		*mu = 0;
		return ACCT_OK;
	}
	deviation = fmax(deviation, 1e-12);
	*mu = INFINITY;
	spare = defect - fmax(l->infinite[0], l->infinite[1]);
	if (!(spare > 0))
		return ACCT_OK;
	range = acct_law_range(curve, spare / 8);
	nodes = curve->outcomes > 0 ? 2 * (double)curve->outcomes : acct_invert_least(l);
	nodes = fmin(MOST_NODES, fmax(256, LAW_WORK / (2 * nodes)));
	nodes = fmin(nodes, ceil(range / (RESOLUTION * deviation)));
	rc = acct_nodes_init(&n, curve, range / fmax(1, nodes), 1, range);
	if (!rc) {
		c.nodes = &n;
		*mu = least_mu(&c, deviation, defect);
	}
	acct_nodes_fini(&n);
	return rc;
}

enum acct_rc acct_gdp_round(const struct acct_round *round, double defect, double *mu)
{
	struct acct_curve curve;
	struct acct_list list;
	enum acct_rc rc = acct_list_init(&list, round, NULL);

	if (rc)
		return rc;
	if (!(defect > 0 && defect < 1))
		return ACCT_EDOMAIN;
	rc = acct_curve_init(&curve, &list);
	if (!rc)
		rc = of_curve(&curve, defect, mu);
	acct_curve_fini(&curve);
	return rc;
}
