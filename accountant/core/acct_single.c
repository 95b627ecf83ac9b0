/* acct_single.c - finds delta and epsilon of one round from single points of its curve. */
#include "acct_single.h"

#include <math.h>

#include "acct_ends.h"

/* work allowed for a point that only leads the search to the next one, and the most steps with such
 * points */
#define ROUGH       1e5
#define ROUGH_STEPS 12
/* most steps of a bisection in narrow(), and the relative width at which it ends */
#define NARROW_STEPS 16
#define END_WIDTH    1e-5
#define NARROW       2e-4 /* an answer of this relative width is good enough: narrow() leaves it alone */
/* acct_single_near_largest tries at most this number of points, each closer to eps */
#define CHORDS 20
/* least delta from which a chord is drawn: the omegas are off by a few ulps, which is far below it */
#define LEAST_CHORD 1e-10
#define CHORD_WIDTH 5e-3 /* an interval of at most this relative width needs no chord */
/* if the ends of a point's interval differ by a larger factor, points even closer to eps are no better */
#define WIDE_CHORD 1.02
/* if the ends of a point's interval differ by a larger factor, its middle says nothing about delta */
#define WIDE_POINT 2.0

/* Compute one point in both directions: bounds on delta, the larger of the two.  *better becomes the
 * direction whose lower end is the larger. */
static void both_ways(
	const struct acct_plan *p, double eps, struct acct_bound *delta, struct acct_point *better)
{
	struct acct_point a, b;
	const struct acct_curve *c = &p->part[0].curve;

	acct_curve_at(c, eps, false, &a);
	b = a;
	if (!c->list.symmetric)
		acct_curve_at(c, eps, true, &b);
	delta->lower = acct_lower_end(fmax(a.lo, b.lo) * (1 + exp(eps)) * (1 - 1e-12));
	/* A record that is not drawn loses nothing, so delta is at most the sampled fraction. */
	delta->upper =
		acct_upper_end(acct_larger(a.hi, b.hi) * (1 + exp(eps)) * (1 + 1e-12), c->list.sampling);
	*better = b.lo > a.lo ? b : a;
}

/* The derivative of delta by eps, negated: e^eps Q(A), where A is the point's test.  The test has P(A) -
 * e^eps Q(A) = delta and (P(A) + Q(A))/2 = slope. */
static double slope_of(double eps, const struct acct_bound *delta, const struct acct_point *test)
{
	return exp(eps) * fmax(0, 2 * test->slope - delta->lower) / (1 + exp(eps));
}

void acct_single_delta(const struct acct_plan *p, double eps, struct acct_bound *delta, double *slope)
{
	struct acct_point test;

	both_ways(p, eps, delta, &test);
	*slope = slope_of(eps, delta, &test);
}

/* An upper bound on delta at eps from one point before it, where delta is at most `upper`.  delta is convex
 * in E = e^eps, and from the largest loss on it equals the mass of infinite loss.  So at eps it is at most
 * the chord from that point to the curve's end there.  Rounded up. */
static double on_chord(const struct acct_plan *p, double before, double upper, double eps, double largest)
{
	/* (E_largest - E) / (E_largest - E_before), the share of the chord that is left at eps; E =
	 * e^eps */
	double part = expm1(eps - largest) / expm1(before - largest) * (1 + 1e-12);

	return (p->certain + fmin(1, part) * fmax(0, upper - p->certain)) * (1 + 1e-12);
}

/* An upper bound on delta at eps from the point at `at`, which is before eps.  *wide: whether that point is
 * too wide for a closer one to be better. */
static double from_before(const struct acct_plan *p, double at, double eps, double shift, bool *wide)
{
	double largest = p->largest * (1 + 1e-12) + shift, slope;
	struct acct_bound before;

	acct_single_delta(p, at - shift, &before, &slope);
	*wide = before.upper > before.lower * WIDE_CHORD || before.upper < LEAST_CHORD;
	if (before.upper < LEAST_CHORD)
		return before.upper * (1 + 1e-10);
	return fmin(before.upper * (1 + 1e-10), on_chord(p, at, before.upper * (1 + 1e-10), eps, largest));
}

/* Since delta is convex, a point gives a better bound the closer it is to eps, unless its interval is
 * wide. */
double acct_single_near_largest(
	const struct acct_plan *p, double eps, double shift, const struct acct_bound *known)
{
	double largest = p->largest * (1 + 1e-12) + shift, upper = 1, last = fmin(eps, ACCT_MOST_EPSILON), at;
	bool wide = false;

	if (eps >= largest)
		return p->certain;
	if (!acct_plan_is_single(p) || eps < 0.9 * largest)
		return 1;
	for (int k = 2; k >= 1; k--) {
		at = fmin(eps * (1 - 0.05 * k), ACCT_MOST_EPSILON);
		if (at >= shift)
			upper = fmin(upper, from_before(p, at, eps, shift, &wide));
	}
	for (int k = 0; k < CHORDS && !wide && known->upper > known->lower * (1 + CHORD_WIDTH) &&
			p->work.spent < ACCT_MOST_WORK / 2;
		k++) {
		at = (at + last) / 2;
		if (at >= shift)
			upper = fmin(upper, from_before(p, at, eps, shift, &wide));
	}
	return upper;
}

/* An answer that is being tightened.  eps: the interval of epsilon found so far; beyond: an interval that
 * follows from points elsewhere. */
struct answer {
	struct acct_bound eps, beyond;
};

/* Tighten *beyond by one point.  At every eps, delta is at most the chord from this point to the curve's
 * end at the largest loss (on_chord), and at least what this point's test A achieves: P(A) - e^eps Q(A),
 * where
 *     Q(A) = s (1-y) - lo,   P(A) = s (1+y) + lo
 * follow from the line lo - s (y' - y) below H (acct_point.h). */
static void look_beyond(const struct acct_plan *p, double delta, double at, const struct acct_bound *d,
	const struct acct_point *test, struct acct_bound *beyond)
{
	double largest = p->largest * (1 + 1e-12), share = exp(-at) / (1 + exp(-at)),
	       s = test->slope + (d->lower > delta ? 1 : -1) *
					 test->slope_err, /* use the end of the slope's interval that is sound
							     on epsilon's side of this point */
		lo = test->lo * (1 - 1e-12), q = 2 * s * share * (1 + 1e-14) - lo,
	       rest = (2 * s * (1 - share) + lo) * (1 - 1e-14) - delta;

	if (d->upper > fmax(delta, LEAST_CHORD) && delta > p->certain && largest > at) {
		double part = (delta - p->certain) / (d->upper - p->certain) * (1 - 1e-12);

		beyond->upper =
			fmin(beyond->upper, largest + log1p(part * expm1(at - largest)) + 1e-13 * largest);
	}
	if (lo > 0 && s > 0 && q > 0 && rest > q)
		beyond->lower = fmax(beyond->lower, log(rest / q) * (1 - 1e-13) - 1e-13);
}

/* Compute one point, which tightens both ends of the answer. */
static void ask(
	struct acct_plan *p, double delta, double at, struct answer *a, struct acct_bound *d, double *slope)
{
	struct acct_point test;

	both_ways(p, at, d, &test);
	*slope = slope_of(at, d, &test);
	if (d->upper <= delta)
		a->eps.upper = fmin(a->eps.upper, at);
	if (d->lower > delta)
		a->eps.lower = fmax(a->eps.lower, at);
	look_beyond(p, delta, at, d, &test, &a->beyond);
}

/* Where points are wide, Newton's method leaves the two ends further apart than necessary, so bisect for
 * each end inside what is proved.  The lower end comes first: near the largest loss only the upper ends of
 * points are wide, and they do not fall with epsilon, so a search for them alone may miss the root. */
static void narrow(struct acct_plan *p, double delta, struct answer *a)
{
	struct acct_bound *eps = &a->eps;
	double most = fmin(p->part[0].curve.list.largest, ACCT_MOST_EPSILON);

	for (int end = 0; end < 2; end++) {
		double low = eps->lower, high = fmin(eps->upper, most), slope;
		struct acct_bound d;

		for (int i = 0; i < NARROW_STEPS && high > low * (1 + END_WIDTH) &&
				eps->upper > eps->lower * (1 + NARROW) && p->work.spent < ACCT_MOST_WORK / 2;
			i++) {
			double at = (low + high) / 2;

			ask(p, delta, at, a, &d, &slope);
			if ((end == 0 ? d.lower : d.upper) > delta)
				low = at;
			else
				high = at;
		}
	}
}

/* A guess of delta from its interval.  Where the interval is wide take the lower end: it comes from a test,
 * which is nearly always the best one. */
static double guess(const struct acct_bound *d)
{
	return d->lower > 0 && d->upper > WIDE_POINT * d->lower ? d->lower : (d->lower + d->upper) / 2;
}

/* Newton's method on log delta, kept inside a bracket.  Every evaluation tightens both ends of the answer.
 * Points are rough until the step is small; where a precise point is cheap, both cost the same. */
static void search(struct acct_plan *p, double delta, struct answer *a)
{
	struct acct_bound *eps = &a->eps;
	double low = 0, high = fmin(p->part[0].curve.list.largest, ACCT_MOST_EPSILON), slope, at = 0;
	double precise = p->work.per_point;
	bool rough = precise > ROUGH;
	struct acct_bound d;

	p->work.per_point = fmin(precise, ROUGH);
	for (int i = 0; i < 80; i++) {
		if (p->work.spent > ACCT_MOST_WORK)
			p->work.per_point = 0;
		ask(p, delta, at, a, &d, &slope);
		double middle = guess(&d), rate = slope / middle;

		if (eps->upper <= eps->lower * (1 + 1e-7) || (at == 0 && d.upper <= delta))
			break;
		if (middle > delta)
			low = fmax(low, at);
		else
			high = fmin(high, at);
		double next = fmax(0, at + log(middle / delta) / rate);
		/* Near the root, the next two points are on either side of it, at a distance that the width
		 * of delta determines: so both ends of the answer are found. */
		double margin = 1.02 * (log(d.upper / d.lower) / rate + 1e-9 * at);
		bool near = fabs(next - at) <= fmax(1e-4 * at, margin) && margin * rate < 0.3;
		if (rough && (near || i >= ROUGH_STEPS || fabs(next - at) <= 1e-2 * at)) {
			rough = false;
			p->work.per_point = precise;
			/* rough points may have misled the bracket: start it anew from what is proved */
			low = eps->lower;
			high = fmin(eps->upper, fmin(p->part[0].curve.list.largest, ACCT_MOST_EPSILON));
			at = next > low && next < high ? next : at;
			continue;
		}
		/* The guesses misled, or the points are too wide for this method: narrow() starts from what
		 * is proved. */
		bool stuck = !near && high <= low * (1 + 1e-6) && eps->upper > eps->lower * (1 + END_WIDTH);
		if (stuck || (near && i > 60))
			break;
		if (near && !(eps->upper < next + 3 * margin))
			next += margin;
		else if (near && !(eps->lower > next - 3 * margin))
			next = fmax(0, next - margin);
		else if (near)
			break;
		else if (!(next > low && next < high))
			next = i == 0 ? high : (low + high) / 2;
		at = next;
	}
	if (rough)
		p->work.per_point = precise;
}

void acct_single_epsilon(struct acct_plan *p, double delta, struct acct_bound *eps)
{
	struct answer a = { { 0, INFINITY }, { 0, INFINITY } };
	double slope;
	struct acct_bound d;

	search(p, delta, &a);
	if (!(fmin(a.eps.upper, a.beyond.upper) <= fmax(a.eps.lower, a.beyond.lower) * (1 + END_WIDTH)))
		narrow(p, delta, &a);
	*eps = (struct acct_bound){ fmax(a.eps.lower, a.beyond.lower), fmin(a.eps.upper, a.beyond.upper) };
	if (!isfinite(eps->upper)) { /* the largest finite loss */
		acct_single_delta(p, fmin(p->part[0].curve.list.largest, ACCT_MOST_EPSILON), &d, &slope);
		if (d.upper <= delta)
			eps->upper = p->part[0].curve.list.largest;
	}
}
