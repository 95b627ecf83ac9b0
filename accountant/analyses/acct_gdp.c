/* acct_gdp.c - finds the Gaussian curve that lies above a round's curve, up to a defect. */
#include "acct_gdp.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "acct_ends.h"
#include "acct_law.h"
#include "acct_plan.h"

#define ULP (0x1p-53)
/* distance of nodes in deviations of the loss: chords then lie above the curve as if its variance were a
 * relative 1e-5 more */
#define RESOLUTION 0.01
#define MOST_NODES 4096.0
/* work for all points, in the unit of struct acct_work; it takes 0.2 s where few participants make the
 * curve rough */
#define WORK         2e8
#define MOST_MU      100.0
#define MOST_EPSILON 700.0
#define WITHIN       1e-7 /* relative width of mu at which the bisection ends */

/* One point of the Gaussian curve H_mu: H_mu(y) is in [value - error, value + error], and nu(Y > y) is
 * slope up to the relative error `relative`. */
struct gauss {
	double value, error, slope, relative;
};

/* Phi(-z) = erfc(z/sqrt 2)/2 is the chance that a standard normal number exceeds z.  z is off by at most 2
 * ulps of size = eps/mu + mu/2, hence Phi(-z) by a relative (|z| + 1) of that, and erfc itself by a few
 * ulps. */
static struct gauss gauss_at(double eps, double mu)
{
	double size = eps / mu + mu / 2, p = 0.5 * erfc((eps / mu - mu / 2) / sqrt(2)),
	       q = 0.5 * erfc(size / sqrt(2)), e = exp(-eps),
	       relative = (32 + 8 * (size + 1) * (size + 1)) * ULP;
	/* H = delta / (1 + e^eps) with delta = p - e^eps q */
	double value = (p * e - q) / (1 + e), error = relative * (p * e + q) + 1e-300;

	return (struct gauss){ value, error, (p + q) / 2, relative };
}

double acct_gdp_delta_above(double epsilon, double mu)
{
	if (mu <= 0)
		return 0;
	/* beyond it the error on H, multiplied by 1 + e^epsilon, is too large for any conclusion */
	if (!(epsilon <= MOST_EPSILON))
		return 1;
	struct gauss g = gauss_at(epsilon, mu);
	return acct_upper_end((g.value + g.error) * (1 + exp(epsilon)) * (1 + 8 * ULP), 1);
}

double acct_gdp_delta_below(double epsilon, double mu)
{
	if (!(mu > 0 && epsilon <= MOST_EPSILON))
		return 0;
	struct gauss g = gauss_at(epsilon, mu);
	return acct_lower_end((g.value - g.error) * (1 + exp(epsilon)) * (1 - 8 * ULP));
}

/* tanh(b/2) - tanh(a/2), for a <= b. */
static double gap(double a, double b)
{
	return 2 * exp(-a) * -expm1(a - b) / ((1 + exp(-a)) * (1 + exp(-b)));
}

/* An upper bound on the round's curve: chords in y = tanh(loss/2) from value[k] at loss[k] to the next
 * point, and from the last to y = 1 with value 0. */
struct chords {
	double *loss, *value;
	size_t last;
};

static void chords_fini(struct chords *c)
{
	free(c->loss);
	free(c->value);
}

/* Lower any point above a chord of two others to that chord, since the curve is convex.  Points near the
 * largest loss may have no bound at all. */
static enum acct_rc pull_down(struct chords *c)
{
	size_t *corner = calloc(c->last + 1, sizeof *corner), top = 0;

	if (!corner)
		return ACCT_ENOMEM;
	for (size_t k = 0; k <= c->last; k++) {
		while (top > 1) {
			size_t i = corner[top - 2], j = corner[top - 1];
			double left = gap(c->loss[i], c->loss[j]), right = gap(c->loss[j], c->loss[k]);

			if (c->value[j] * (left + right) < c->value[i] * right + c->value[k] * left)
				break;
			top--;
		}
		corner[top++] = k;
	}
	for (size_t t = 0; t + 1 < top; t++) {
		size_t i = corner[t], j = corner[t + 1];
		double whole = gap(c->loss[i], c->loss[j]);

		for (size_t k = i + 1; k < j; k++)
			c->value[k] = (c->value[i] * gap(c->loss[k], c->loss[j]) +
					      c->value[j] * gap(c->loss[i], c->loss[k])) /
				      whole * (1 + 1e-11);
	}
	free(corner);
	return ACCT_OK;
}

/* Make the chords from the points of the curve.  Losses are moved up by what rounding of the cells may
 * amount to (acct_plan_blur), where H(-shift) <= shift/2 + H(0).  From the largest finite loss on delta is
 * the mass of infinite loss. */
static enum acct_rc chords_init(struct chords *c, const struct acct_nodes *n, const struct acct_list *l)
{
	const struct acct_plan one = { .rounds = 1, .exponents = l->exponent };
	double shift = acct_plan_blur(&one), infinite = fmax(l->infinite[0], l->infinite[1]) * (1 + 1e-6);

	c->last = n->last;
	c->loss = calloc(n->last + 1, sizeof *c->loss);
	c->value = calloc(n->last + 1, sizeof *c->value);
	if (!c->loss || !c->value)
		return ACCT_ENOMEM;
	for (size_t k = 0; k <= n->last; k++) {
		double at = n->h * (double)k,
		       hi = acct_larger(n->way[0][k].hi, n->way[1][k].hi) * (1 + 1e-13);

		if (at >= l->largest)
			hi = fmin(hi, infinite * exp(-at) / (1 + exp(-at)));
		c->loss[k] = k > 0 ? at + shift : 0;
		c->value[k] = k > 0 ? hi : hi + shift;
	}
	return pull_down(c);
}

/* Is the mu-GDP curve with defect d above chord k?  The curve R(y) = d (1-y)/2 + (1-d) H_mu(y) is convex,
 * so it lies above its tangent in the middle of the cell.  That tangent lies above the chord if it does at
 * both ends. */
static bool cell_holds(const struct chords *c, size_t k, double mu, double d)
{
	double a = c->loss[k], b = c->loss[k + 1], middle = (a + b) / 2;
	double down = gap(a, middle), up = gap(middle, b);
	/* each loss is off by an ulp of itself, and so the difference of two losses by an ulp of the
	 * larger */
	double off = (32 + 8 * b / (b - a)) * ULP;
	struct gauss g = gauss_at(middle, mu);
	double at = (d * exp(-middle) / (1 + exp(-middle)) + (1 - d) * g.value) * (1 - 16 * ULP) - g.error;
	double slope = d / 2 + (1 - d) * g.slope, room = (g.relative + off + 16 * ULP) * slope;

	return at + (slope - room) * down >= c->value[k] && at - (slope + room) * up >= c->value[k + 1];
}

static bool holds(const struct chords *c, double mu, double d)
{
	for (size_t k = 0; k < c->last; k++)
		if (!cell_holds(c, k, mu, d))
			return false;
	return true;
}

/* Is the curve above the last chord, which goes to (1, 0)?  There only the defect is used: the chord must
 * be below d (1-y)/2. */
static bool tail_holds(const struct chords *c, double d)
{
	double l = c->loss[c->last];

	return c->value[c->last] * (1 + exp(-l)) <= d * exp(-l) * (1 - 1e-12);
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
	double deviation, range, nodes, spare = defect - fmax(l->infinite[0], l->infinite[1]);
	struct acct_nodes n = { 0 };
	struct chords c = { 0 };
	enum acct_rc rc;

	deviation = 2 * sqrt(2 * acos(-1)) * acct_curve_upper(curve, 0);
	*mu = l->lossless && !(deviation > 0) ? 0 : INFINITY;
	if (!(*mu > 0) || !(spare > 0))
		return ACCT_OK;
	deviation = fmax(deviation, 1e-12);
	range = acct_law_range(curve, spare / 8);
	nodes = fmax(1, fmin(MOST_NODES, ceil(range / (RESOLUTION * deviation))));
	curve->work->per_point = WORK / nodes;
	rc = acct_nodes_init(&n, curve, range / nodes, 1, range);
	if (!rc)
		rc = chords_init(&c, &n, l);
	if (!rc)
		*mu = least_mu(&c, deviation, defect);
	chords_fini(&c);
	acct_nodes_fini(&n);
	return rc;
}

enum acct_rc acct_gdp_round(const struct acct_round *round, double defect, double *mu)
{
	struct acct_work work = { .per_point = WORK / 64 };
	struct acct_curve curve;
	struct acct_list list;
	enum acct_rc rc = acct_list_init(&list, round, NULL);

	if (rc)
		return rc;
	if (!(defect > 0 && defect < 1))
		return ACCT_EDOMAIN;
	if (round->event == ACCT_GAUSSIAN && !(round->rate < 1) && !(round->sampling > 0) &&
		!(round->defect > defect)) {
		*mu = 1 / round->scale * (1 + 4 * ULP);
		return ACCT_OK;
	}
	rc = acct_curve_init(&curve, &list);
	curve.work = &work;
	if (!rc)
		rc = of_curve(&curve, defect, mu);
	acct_curve_fini(&curve);
	return rc;
}
