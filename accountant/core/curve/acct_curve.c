/* acct_curve.c - bounds the privacy curve of one round: lists the outcomes if they are few, else inverts;
 * then applies defect and sampling. */
#include "acct_curve.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_bounds.h"
#include "acct_cells.h"
#include "acct_central.h"
#include "acct_ends.h"
#include "acct_invert.h"

#define UNDERFLOW 1e-300
/* a point of a class whose ends differ by a larger factor is wide; and a point is near the curve's end from
 * this part of the largest loss on */
#define WIDE     1.01
#define NEAR_END 0.8
/* bounds the relative rounding error of the few operations that apply a defect or sampling */
#define ROUNDING 0x1p-49

/* Prepare the curve of each class: response on k symbols among its own participants. */
static enum acct_rc init_classes(struct acct_curve *c, const struct acct_list *l)
{
	struct acct_round *r = calloc(1, sizeof *r);
	struct acct_list *list = malloc(sizeof *list);
	enum acct_rc rc = r && list ? ACCT_OK : ACCT_ENOMEM;
	double k = l->shape[0];

	c->class = calloc(l->groups, sizeof *c->class);
	rc = c->class ? rc : ACCT_ENOMEM;
	for (size_t i = 0; i < l->groups && !rc; i++) {
		double p = acct_ratio(l->group[i].share), z = p + k - 1;

		*r = (struct acct_round){ .others = (uint64_t)l->group[i].count - 1, .count = 1 };
		r->cell[0] = (struct acct_cell){ 1 / z, p, 1 };
		r->cell[1] = (struct acct_cell){ 1 / z, 1, p };
		r->cell[2] = (struct acct_cell){ (k - 2) / z, 1, 1 };
		r->cells = k > 2 ? 3 : 2;
		r->messages = k > 2 ? ACCT_ANY_MESSAGES : ACCT_BITS;
		rc = acct_list_init(list, r, NULL);
		if (!rc)
			rc = acct_curve_init(&c->class[c->classes++], list);
	}
	free(list);
	free(r);
	return rc;
}

enum acct_rc acct_curve_init(struct acct_curve *c, const struct acct_list *l)
{
	memset(c, 0, sizeof *c);
	c->list = *l;
	if (l->event == ACCT_CLASSES_APART)
		return init_classes(c, l);
	if (l->event != ACCT_SHUFFLED)
		return acct_central_init(l, &c->hull);
	enum acct_rc rc = acct_bounds_new(l, &c->bounds);
	return rc || c->bounds ? rc : acct_exact_list(&c->exact, l);
}

void acct_curve_fini(struct acct_curve *c)
{
	for (size_t i = 0; i < c->classes; i++)
		acct_curve_fini(&c->class[i]);
	free(c->class);
	acct_exact_fini(&c->exact);
	acct_hull_free(c->hull);
	acct_bounds_free(c->bounds);
	memset(c, 0, sizeof *c);
}

enum acct_rc acct_curve_relist(struct acct_curve *c, double missed, size_t most)
{
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < c->classes && !rc; i++)
		if (c->class[i].list.bits.known)
			rc = acct_curve_relist(&c->class[i], missed, most);
	if (c->classes > 0)
		return rc;
	if (c->list.bits.known)
		return acct_bits_list(&c->list.bits, c->list.symmetric, &c->exact);
	return acct_exact_relist(&c->exact, &c->list, missed, most);
}

/* Lower the lower end by what may be wrong because a message may be missing: with the chance `missing`
 * delta may be lower by 1, so H by at most missing (1-y)/2, where (1-y)/2 is `share`. */
static void without_missing(double missing, double share, struct acct_point *at)
{
	at->lo -= missing * share * (1 + ROUNDING);
	at->slope -= missing / 2;
	at->slope_err += ROUNDING * (fabs(at->slope) + missing);
}

/* One point of a class.  Where its curve ends, at the largest loss, points are wide.  delta is convex in
 * e^eps, so there it is at most the chord from a point before to that end, where it is 0. */
static void class_at(const struct acct_curve *c, double eps, struct acct_point *at)
{
	double largest = c->list.largest, before = 0.95 * eps, share;
	struct acct_point first;

	*at = (struct acct_point){ 0, 0, 0, 0 };
	if (eps >= largest)
		return;
	acct_curve_at(c, eps, false, at);
	if (!(at->hi > WIDE * at->lo && eps > NEAR_END * largest))
		return;
	acct_curve_at(c, before, false, &first);
	/* (1 + e^before) / (1 + e^eps), since H = delta/(1 + e^eps) */
	share = exp(before - eps) * (1 + exp(-before)) / (1 + exp(-eps));
	at->hi = fmin(at->hi, first.hi * share * expm1(eps - largest) / expm1(before - largest) * (1 + 1e-9));
}

/* The largest of the classes' curves.  A line below one of them is below the largest, too.  The classes'
 * curves add their own work. */
static void largest_at(const struct acct_curve *c, double eps, struct acct_point *at)
{
	for (size_t i = 0; i < c->classes; i++) {
		struct acct_point one;
		double hi;

		c->class[i].work = c->work;
		class_at(&c->class[i], eps, &one);
		hi = fmax(at->hi, one.hi);
		if (one.lo > at->lo)
			*at = one;
		at->hi = hi;
	}
}

/* The curve that follows from the cells alone. */
static void cells_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at)
{
	/* (1-y)/2; never 0, which would be read as "no loss" where exp() underflows. */
	double most = fmax(exp(-eps) / (1 + exp(-eps)), DBL_MIN);

	double work = acct_exact_work(&c->exact), allowed = c->work ? c->work->per_point : INFINITY,
	       width = c->work && c->work->width > 0 ? c->work->width : ACCT_INVERT_WIDTH;

	*at = (struct acct_point){ 0, 0, 0, 0 };
	if (c->list.lossless)
		return;
	if (c->classes > 0) {
		largest_at(c, eps, at);
		return;
	}
	if (c->list.event != ACCT_SHUFFLED)
		work = acct_central_at(&c->list, c->hull, eps, swap, at);
	else if (c->exact.outcomes > 0)
		acct_exact_at(&c->exact, eps, swap, at);
	else if (c->bounds)
		work = acct_bounds_at(&c->list, c->bounds, eps, swap, allowed, width, at);
	else
		work = acct_invert_within(&c->list, eps, swap, allowed, width, at);
	if (c->work)
		c->work->spent += work;
	/* products may have underflowed: keep a margin; at eps = 0 nothing is scaled down */
	if (eps > 0) {
		at->lo -= UNDERFLOW;
		at->hi += UNDERFLOW;
	}
	if (c->list.missing > 0)
		without_missing(c->list.missing, most, at);
	/* If rounding made the bounds contradict each other, discard both. */
	bool sound = at->lo <= at->hi && at->hi >= 0;
	if (!sound || !(at->lo > 0 && at->slope_err < INFINITY)) {
		at->lo = 0;
		at->slope = 0;
		at->slope_err = 0;
	}
	if (!sound || !(at->hi <= most))
		at->hi = most;
	if (at->lo > at->hi)
		at->lo = at->hi;
}

/* Apply the defect: with chance d the loss is infinite in both directions, so H = d (1-y)/2 + (1-d)
 * H_cells. */
static void give_away(double d, double eps, struct acct_point *at)
{
	double most = exp(-eps) / (1 + exp(-eps));

	at->lo = (d * most + (1 - d) * at->lo) * (1 - ROUNDING);
	at->hi = (d * most + (1 - d) * at->hi) * (1 + ROUNDING);
	at->slope = d / 2 + (1 - d) * at->slope;
	at->slope_err = (1 - d) * at->slope_err + ROUNDING * at->slope;
}

/* log(1 + (e^eps - 1)/g), with a relative error of a few ulps: the epsilon without sampling that sampling
 * with rate g turns into eps. */
static double before_sampling(double g, double eps)
{
	return eps < 30 ? log1p(expm1(eps) / g) : eps - log(g) + log1p(-(1 - g) * exp(-eps));
}

/* Apply sampling with rate g: H(y) = a H_all(y/a), a = g + (1-g) y, where H_all is the curve without
 * sampling.  A line lo - s (y' - y0) below H_all becomes a line below H, which has the value a lo at y = a
 * y0 and the slope k s - (1-g) lo, k = 1 - (1-g) y0.  An atom at y0 moves to g y0/k and keeps the part k of
 * its mass; the rest gathers at 0.  `before` is the epsilon at y0 = y/a. */
static void sample(double g, double eps, double before, struct acct_point *at)
{
	double a = g + (1 - g) * tanh(eps / 2), k = g + (1 - g) * 2 * exp(-before) / (1 + exp(-before));

	at->slope_err = k * at->slope_err + ROUNDING * (k * fabs(at->slope) + at->lo);
	at->slope = k * at->slope - (1 - g) * at->lo;
	at->lo *= a * (1 - ROUNDING);
	at->hi *= a * (1 + ROUNDING);
}

void acct_curve_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at)
{
	double g = c->list.sampling, d = c->list.defect, before = g < 1 ? before_sampling(g, eps) : eps;

	cells_at(c, before, swap, at);
	if (d > 0)
		give_away(d, before, at);
	if (g < 1)
		sample(g, eps, before, at);
}

double acct_curve_upper(const struct acct_curve *c, double eps)
{
	struct acct_point a, b;

	acct_curve_at(c, eps, false, &a);
	if (c->list.symmetric)
		return a.hi;
	acct_curve_at(c, eps, true, &b);
	return acct_larger(a.hi, b.hi);
}

double acct_curve_about(const struct acct_curve *c, double eps)
{
	struct acct_point at = { 0, 0, 0, 0 };
	double width = c->work && c->work->width > 0 ? c->work->width : ACCT_INVERT_WIDTH,
	       most = c->work ? c->work->per_point : INFINITY, work;

	if (!acct_list_is_loose(&c->list) || c->list.defect > 0 || c->list.sampling < 1)
		return acct_curve_upper(c, eps);
	work = acct_bounds_held_at(&c->list, c->bounds, eps, most, width, &at);
	if (c->work)
		c->work->spent += work;
	return at.hi > 0 && at.hi < INFINITY ? at.hi : acct_curve_upper(c, eps);
}

double acct_curve_deviation(const struct acct_curve *c)
{
	double whole = acct_curve_about(c, 0), infinite = fmin(c->list.infinite[0], c->list.infinite[1]) / 2;

	/* for a normal loss H(0) is deviation / (2 sqrt(2 pi)) */
	return 2 * sqrt(2 * acos(-1)) * fmax(whole - infinite, 1e-8 * whole);
}
