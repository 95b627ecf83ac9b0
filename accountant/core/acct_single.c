/* acct_single.c - delta and epsilon of one round, from single points of its curve. */
#include "acct_single.h"

#include <math.h>

#include "acct_ends.h"

#define ROUGH        1e5 /* work for a point that only leads to the next, and most steps so */
#define ROUGH_STEPS  12
#define NARROW_STEPS 16 /* of a bisection, at most, and the width at which it ends */
#define END_WIDTH    1e-5
#define NARROW       2e-4 /* relative width of an answer that is not narrowed */
#define WIDE_POINT   2.0  /* factor between the ends of a point whose middle says nothing */

void acct_single_delta(const struct acct_plan *p, double eps, struct acct_bound *delta, double *slope)
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
	/* d delta / d eps = -e^eps Q(test), and nu(test) = (P+Q)/2 with P - e^eps Q = delta. */
	double nu = b.lo > a.lo ? b.slope : a.slope;
	*slope = exp(eps) * fmax(0, 2 * nu - delta->lower) / (1 + exp(eps));
}

/* Near the largest loss delta is too small to compute, but it only falls with epsilon; beyond the largest
 * loss it is the mass of infinite loss. */
double acct_single_near_largest(const struct acct_plan *p, double eps, double shift)
{
	double largest = p->largest * (1 + 1e-12) + shift, upper = 1, slope;

	if (eps >= largest)
		return p->certain;
	if (!acct_plan_is_single(p) || eps < 0.9 * largest)
		return 1;
	for (int k = 1; k <= 2; k++) {
		double at = fmin(eps * (1 - 0.05 * k), ACCT_MOST_EPSILON);
		struct acct_bound before;

		if (at < shift)
			break;
		acct_single_delta(p, at - shift, &before, &slope);
		upper = fmin(upper, before.upper * (1 + 1e-10));
	}
	return upper;
}

/* One point, which tightens both ends of the answer. */
static void ask(struct acct_plan *p, double delta, double at, struct acct_bound *eps, struct acct_bound *d,
	double *slope)
{
	acct_single_delta(p, at, d, slope);
	if (d->upper <= delta)
		eps->upper = fmin(eps->upper, at);
	if (d->lower > delta)
		eps->lower = fmax(eps->lower, at);
}

/* Where points are wide, Newton leaves the ends apart by more than they need be: bisect for each inside what
 * is proved.  First for the lower end: near the largest loss only the upper ends of points are wide, and they
 * do not fall with epsilon, so a search for them alone may miss the root. */
static void narrow(struct acct_plan *p, double delta, struct acct_bound *eps)
{
	double most = fmin(p->part[0].curve.list.largest, ACCT_MOST_EPSILON);

	for (int end = 0; end < 2; end++) {
		double low = eps->lower, high = fmin(eps->upper, most), slope;
		struct acct_bound d;

		for (int i = 0; i < NARROW_STEPS && high > low * (1 + END_WIDTH) &&
				eps->upper > eps->lower * (1 + NARROW) && p->work.spent < ACCT_MOST_WORK / 2;
			i++) {
			double at = (low + high) / 2;

			ask(p, delta, at, eps, &d, &slope);
			if ((end == 0 ? d.lower : d.upper) > delta)
				low = at;
			else
				high = at;
		}
	}
}

/* Where delta probably is.  The lower end of a wide point is that of a test, which is mostly the best one. */
static double guess(const struct acct_bound *d)
{
	return d->lower > 0 && d->upper > WIDE_POINT * d->lower ? d->lower : (d->lower + d->upper) / 2;
}

/* Newton on log delta, kept inside a bracket.  Every evaluation tightens both ends of the answer.  Points are
 * rough until the step is small: where a precise one is cheap, there is no difference. */
void acct_single_epsilon(struct acct_plan *p, double delta, struct acct_bound *eps)
{
	double low = 0, high = fmin(p->part[0].curve.list.largest, ACCT_MOST_EPSILON), slope, at = 0;
	double precise = p->work.per_point;
	bool rough = precise > ROUGH;
	struct acct_bound d;

	*eps = (struct acct_bound){ 0, INFINITY };
	p->work.per_point = fmin(precise, ROUGH);
	for (int i = 0; i < 80; i++) {
		if (p->work.spent > ACCT_MOST_WORK)
			p->work.per_point = 0;
		ask(p, delta, at, eps, &d, &slope);
		double middle = guess(&d), rate = slope / middle;

		if (eps->upper <= eps->lower * (1 + 1e-7) || (at == 0 && d.upper <= delta))
			break;
		if (middle > delta)
			low = fmax(low, at);
		else
			high = fmin(high, at);
		double next = fmax(0, at + log(middle / delta) / rate);
		/* Near the root, step to either side of it by a distance that the width of delta
		 * determines. */
		double margin = 1.02 * (log(d.upper / d.lower) / rate + 1e-9 * at);
		bool near = fabs(next - at) <= fmax(1e-4 * at, margin) && margin * rate < 0.3;
		if (rough && (near || i >= ROUGH_STEPS || fabs(next - at) <= 1e-2 * at)) {
			rough = false;
			p->work.per_point = precise;
			low = eps->lower; /* what rough points said of the middle is forgotten */
			high = fmin(eps->upper, fmin(p->part[0].curve.list.largest, ACCT_MOST_EPSILON));
			at = next > low && next < high ? next : at;
			continue;
		}
		/* Guesses misled, or points are too wide for this: narrow() starts from what is proved. */
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
	narrow(p, delta, eps);
	if (!isfinite(eps->upper)) { /* the largest finite loss */
		acct_single_delta(p, fmin(p->part[0].curve.list.largest, ACCT_MOST_EPSILON), &d, &slope);
		if (d.upper <= delta)
			eps->upper = p->part[0].curve.list.largest;
	}
}
