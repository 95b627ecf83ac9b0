/* acct_central.c - the privacy curves of Gaussian and Laplace noise, and the checks of central events. */
#include "acct_central.h"

#include <math.h>
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

enum acct_rc acct_central_check(const struct acct_round *r, const char **why)
{
	if (r->cells > 0 || r->others > 0 || r->dummies > 0 || r->levels > 0 ||
		r->messages != ACCT_ANY_MESSAGES)
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
	default:
		return acct_fault(why, "there is no such event");
	}
}

/* Half the distance of the two laws in deviations: of a sampled sum a record shifts the law by 1, its
 * replacement at most as far the other way. */
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
	if (r->event == ACCT_PROFILE) {
		const struct acct_profile *p = r->profile;

		largest = p->epsilon[p->points - 1];
		for (int way = 0; way < 2; way++)
			infinite[way] = p->delta[p->delta[1] ? way : 0][p->points - 1];
		l->symmetric = !p->delta[1] ||
			       memcmp(p->delta[0], p->delta[1], p->points * sizeof *p->delta[0]) == 0;
	}
	acct_list_losses(l, largest, infinite);
	if (r->event == ACCT_GAUSSIAN) { /* the losses within 38 deviations, all that a double can tell */
		double h = half_distance(l);

		l->exponent = fmin(l->exponent, 2 * (2 * h * h + 76 * h));
	}
}

/* Phi(-z) */
static double beyond(double z)
{
	return 0.5 * erfc(z / sqrt(2));
}

/* P = (1-q) N(0) + q N(h), Q = (1-q) N(0) + q N(-h), in deviations.  P/Q rises with x, and is e^eps where
 * 2 h x = eps + 2 asinh((1-q)/q e^(h^2/2) sinh(eps/2)).  The threshold x is known to `slip`: every threshold
 * has a test, which is a lower bound; upwards each mass is taken at the worst end. */
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

/* P/Q of Laplace(0) and Laplace(d), d = 1/scale, is e^(d - 2x) for x in [0, d]: e^eps where x is the half of
 * d - eps. */
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

enum acct_rc acct_central_init(const struct acct_list *l, struct acct_hull **hull)
{
	return l->event == ACCT_PROFILE ? acct_hull_new(l->profile, hull) : ACCT_OK;
}

double acct_central_at(
	const struct acct_list *l, const struct acct_hull *hull, double eps, bool swap, struct acct_point *at)
{
	if (l->event == ACCT_GAUSSIAN)
		gaussian(l, eps, at);
	else if (l->event == ACCT_LAPLACE)
		laplace(l, eps, at);
	else
		acct_hull_at(hull, eps, swap, at);
	return WORK;
}
