/* acct_central.c - computes the privacy curves of Gaussian and Laplace noise and of profiles, and checks
 * central events. */
#include "acct_central.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_fault.h"

#define ULP          0x1p-53
#define MOST_EPSILON 690.0
#define WORK         500.0

static enum acct_rc check_profile(const struct acct_profile *p, const char **why)
{
	if (!p || p->points < 1 || p->points > ACCT_MAX_POINTS)
		return acct_fault(why, "a profile has 1 to 1000000 points");
	for (size_t i = 0; i < p->points; i++) {
		if (!(p->epsilon[i] >= 0 && p->epsilon[i] <= MOST_EPSILON))
			return acct_fault(why, "every epsilon of a profile must be from 0 to 690");
		if (i > 0 && !(p->epsilon[i] > p->epsilon[i - 1]))
			return acct_fault(why, "the epsilons of a profile must increase");
		for (int way = 0; way < (p->delta[1] ? 2 : 1); way++) {
			double d = p->delta[way][i];

			if (!(d >= 0 && d <= 1))
				return acct_fault(why, "every delta of a profile must be from 0 to 1");
			if (i > 0 && !(d <= p->delta[way][i - 1]))
				return acct_fault(why, "the deltas of a profile must not increase");
		}
	}
	return ACCT_OK;
}

static enum acct_rc check_classes(const struct acct_round *r, const char **why)
{
	if (!(r->shape[0] >= 2 && r->shape[0] <= 1e12 && r->shape[0] == floor(r->shape[0])))
		return acct_fault(why, "classes respond on 2 to 1e12 symbols");
	if (r->levels < 1 || r->levels > ACCT_MAX_LEVELS)
		return acct_fault(why, "a round has 1 to 64 classes");
	if (r->sampling > 0)
		return acct_fault(
			why, "sampling with classes: a sample's guarantees are not known beforehand");
	for (size_t i = 0; i < r->levels; i++) {
		if (!(r->level[i].share > 0 && r->level[i].share < 700))
			return acct_fault(why, "the guarantee of every class must be above 0 and below 700");
		if (r->level[i].count < 1 || r->level[i].count > ACCT_MAX_REPORTS)
			return acct_fault(why, "every class has 1 to 1e12 participants");
	}
	return ACCT_OK;
}

enum acct_rc acct_central_check(const struct acct_round *r, const char **why)
{
	if (r->cells > 0 || r->others > 0 || r->dummies > 0 ||
		(r->levels > 0 && r->event != ACCT_CLASSES_APART) || r->messages != ACCT_ANY_MESSAGES ||
		r->family)
		return acct_fault(why, "a central event has neither cells nor messages");
	switch (r->event) {
	case ACCT_GAUSSIAN:
		if (!(r->scale >= 0.125 && r->scale <= 1e6))
			return acct_fault(why, "the scale of normal noise must be from 0.125 to 1e6");
		if (!(r->rate >= 1e-9 && r->rate <= 1))
			return acct_fault(why, "the rate must be from 1e-9 to 1");
		return ACCT_OK;
	case ACCT_LAPLACE:
		if (!(r->scale >= 0.002 && r->scale <= 1e6))
			return acct_fault(why, "the scale of Laplace noise must be from 0.002 to 1e6");
		return ACCT_OK;
	case ACCT_PROFILE:
		return check_profile(r->profile, why);
	case ACCT_CLASSES_APART:
		return check_classes(r, why);
	default:
		return acct_fault(why, "there is no such event");
	}
}

/* Half the distance between the centres of the two laws, divided by the noise's standard deviation.  In a
 * sampled sum a record shifts the law by 1, and its replacement shifts it by at most 1 in the opposite
 * direction. */
static double half_distance(const struct acct_list *l)
{
	return l->rate < 1 ? 1 / l->scale : 0.5 / l->scale;
}

void acct_central_list(struct acct_list *l, const struct acct_round *r)
{
	double largest = ACCT_NO_LARGEST, infinite[2] = { 0, 0 };

	l->event = r->event;
	l->scale = r->scale;
	l->rate = r->rate;
	l->profile = r->profile;
	l->blanket = 1;
	l->symmetric = true;
	l->defect = r->defect;
	l->sampling = r->sampling > 0 ? r->sampling : 1;
	if (r->event == ACCT_LAPLACE)
		largest = 1 / r->scale;
	for (size_t i = 0; i < r->levels; i++) {
		const struct acct_level *c = &r->level[i];

		largest = i == 0 ? c->share : fmax(largest, c->share);
		l->group[l->groups++] = (struct acct_group){ c->share, (double)c->count, 0 };
	}
	l->shape[0] = r->shape[0];
	if (r->event == ACCT_PROFILE) {
		const struct acct_profile *p = r->profile;

		largest = p->epsilon[p->points - 1];
		for (int way = 0; way < 2; way++)
			infinite[way] = p->delta[p->delta[1] ? way : 0][p->points - 1];
		l->symmetric = !p->delta[1] ||
			       memcmp(p->delta[0], p->delta[1], p->points * sizeof *p->delta[0]) == 0;
	}
	acct_list_losses(l, largest, infinite);
	/* only losses within 38 deviations count: beyond them chances underflow */
	if (r->event == ACCT_GAUSSIAN) {
		double h = half_distance(l);

		l->exponent = fmin(l->exponent, 2 * (2 * h * h + 76 * h));
	}
}

/* Phi(-z), the chance that a standard normal number exceeds z */
static double beyond(double z)
{
	return 0.5 * erfc(z / sqrt(2));
}

/* Normal noise, in units of its deviation: P = (1-q) N(0) + q N(h), Q = (1-q) N(0) + q N(-h), where q is
 * the chance that the record takes part and h half the distance.  P/Q rises with x, and is e^eps where 2 h
 * x = eps + 2 asinh((1-q)/q e^(h^2/2) sinh(eps/2)).  The threshold x is known up to `slip`.  Every
 * threshold is a test, which gives a lower bound; for the upper bound each mass is taken at the worse
 * end. */
static void gaussian(const struct acct_list *l, double eps, struct acct_point *at)
{
	double h = half_distance(l), q = l->rate, e = exp(-eps);
	double x = (eps / 2 + asinh((1 - q) / q * exp(h * h / 2) * sinh(eps / 2))) / h;
	double slip = (h * h + 32) * ULP * x, size = x + h + 1, off = (64 + 8 * size * size) * ULP;
	double more = q * e * beyond(x - h), less = q * beyond(x + h) - (1 - q) * expm1(-eps) * beyond(x);
	double most = q * e * beyond(x - slip - h),
	       least = q * beyond(x + slip + h) - (1 - q) * expm1(-eps) * beyond(x + slip);

	at->lo = (more * (1 - off) - less * (1 + off)) / (1 + e);
	at->hi = (most * (1 + off) - least * (1 - off)) / (1 + e);
	at->slope = (1 - q) * beyond(x) + q * (beyond(x - h) + beyond(x + h)) / 2;
	at->slope_err = off * at->slope;
}

/* P/Q of Laplace(0) and Laplace(d), d = 1/scale, is e^(d - 2x) for x in [0, d].  It is e^eps at x = (d -
 * eps) / 2. */
static void laplace(const struct acct_list *l, double eps, struct acct_point *at)
{
	double d = 1 / l->scale, x = (d - eps) / 2, off = 4 * ULP * (d + eps), e = exp(-eps);

	*at = (struct acct_point){ 0, 0, 0, 0 };
	if (x + off > 0)
		at->hi = -expm1(-(x + off)) * e / (1 + e) * (1 + 16 * ULP);
	if (!(x - off > 0))
		return;
	at->lo = -expm1(-(x - off)) * e / (1 + e) * (1 - 16 * ULP);
	at->slope = (1 - exp(-x) / 2 + exp(x - d) / 2) / 2;
	at->slope_err = (16 * ULP + 2 * off) * at->slope;
}

/* bounds the relative error of H at a corner of a profile, and of a mean of two such values with weights
 * from gap() */
#define OFF (64 * ULP)

/* The curve H of a profile is straight in y = tanh(eps/2) between its corners: those of the lower convex
 * hull of its points and of the point (1, 0), where every curve ends. */

/* The corners of one direction: the loss of each, rising from 0, and the value of H there. */
struct chain {
	double *loss, *value;
	size_t size;
};

struct acct_hull {
	struct chain way[2];
	/* true: way[1] has the corners with the two inputs exchanged; false: way[0] serves both
	 * directions */
	bool both;
	bool exact;
};

static bool same_numbers(const double *a, const double *b, size_t n)
{
	return a == b || (a && b && memcmp(a, b, n * sizeof *a) == 0);
}

bool acct_profile_equal(const struct acct_profile *a, const struct acct_profile *b)
{
	if (a == b || !a || !b)
		return a == b;
	return a->points == b->points && a->exact == b->exact &&
	       same_numbers(a->epsilon, b->epsilon, a->points) &&
	       same_numbers(a->delta[0], b->delta[0], a->points) &&
	       same_numbers(a->delta[1], b->delta[1], a->points);
}

/* 1 - y at a loss, where y = tanh(loss/2), without cancellation. */
static double to_one(double loss)
{
	return 2 * exp(-loss) / (1 + exp(-loss));
}

/* y_b - y_a for losses a <= b, without cancellation. */
static double gap(double a, double b)
{
	return 2 * exp(-a) * -expm1(a - b) / ((1 + exp(-a)) * (1 + exp(-b)));
}

/* The slope, per unit of y, at which a line falls from corner i to the point (loss, value). */
static double fall(const struct chain *c, size_t i, double loss, double value)
{
	return (c->value[i] - value) / gap(c->loss[i], loss);
}

/* Add a point, and drop corners that now lie above the hull. */
static void add_corner(struct chain *c, double loss, double value)
{
	while (c->size >= 2 && fall(c, c->size - 2, loss, value) >=
				       fall(c, c->size - 2, c->loss[c->size - 1], c->value[c->size - 1]))
		c->size--;
	c->loss[c->size] = loss;
	c->value[c->size++] = value;
}

static enum acct_rc chain_init(struct chain *c, const double *epsilon, const double *delta, size_t n)
{
	c->loss = calloc(n + 1, sizeof *c->loss);
	c->value = calloc(n + 1, sizeof *c->value);
	if (!c->loss || !c->value)
		return ACCT_ENOMEM;
	if (epsilon[0] > 0)
		add_corner(c, 0, 0.5);
	for (size_t i = 0; i < n; i++)
		add_corner(c, epsilon[i], delta[i] * to_one(epsilon[i]) / 2);
	/* Drop a corner that lies above the line from the one before it to (1, 0). */
	while (c->size >= 2 && c->value[c->size - 1] * to_one(c->loss[c->size - 2]) >=
				       c->value[c->size - 2] * to_one(c->loss[c->size - 1]))
		c->size--;
	return ACCT_OK;
}

void acct_hull_free(struct acct_hull *hull)
{
	for (int way = 0; hull && way < 2; way++) {
		free(hull->way[way].loss);
		free(hull->way[way].value);
	}
	free(hull);
}

static enum acct_rc hull_new(const struct acct_profile *p, struct acct_hull **hull)
{
	struct acct_hull *h = calloc(1, sizeof *h);
	enum acct_rc rc = ACCT_OK;

	*hull = h;
	if (!h)
		return ACCT_ENOMEM;
	h->both = p->delta[1] != NULL;
	h->exact = p->exact;
	for (int way = 0; way < (h->both ? 2 : 1) && !rc; way++)
		rc = chain_init(&h->way[way], p->epsilon, p->delta[way], p->points);
	return rc;
}

/* The last corner at or below eps. */
static size_t corner_before(const struct chain *c, double eps)
{
	size_t low = 0, high = c->size;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->loss[middle] <= eps)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void hull_at(const struct acct_hull *hull, double eps, bool swap, struct acct_point *at)
{
	const struct chain *c = &hull->way[swap && hull->both ? 1 : 0];
	size_t i = corner_before(c, eps);
	bool last = i + 1 == c->size;
	double whole = last ? to_one(c->loss[i]) : gap(c->loss[i], c->loss[i + 1]);
	double next = last ? 0 : c->value[i + 1],
	       left = (last ? to_one(eps) : gap(eps, c->loss[i + 1])) / whole;
	double value = left * c->value[i] + (last ? 0 : gap(c->loss[i], eps) / whole * next);

	*at = (struct acct_point){ .hi = value * (1 + OFF) };
	if (!hull->exact)
		return;
	at->lo = value * (1 - OFF);
	at->slope = (c->value[i] - next) / whole;
	at->slope_err = OFF * (c->value[i] + next) / whole;
}

enum acct_rc acct_central_init(const struct acct_list *l, struct acct_hull **hull)
{
	return l->event == ACCT_PROFILE ? hull_new(l->profile, hull) : ACCT_OK;
}

double acct_central_at(
	const struct acct_list *l, const struct acct_hull *hull, double eps, bool swap, struct acct_point *at)
{
	if (l->event == ACCT_GAUSSIAN)
		gaussian(l, eps, at);
	else if (l->event == ACCT_LAPLACE)
		laplace(l, eps, at);
	else
		hull_at(hull, eps, swap, at);
	return WORK;
}
