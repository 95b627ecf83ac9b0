/* acct_renyi_convert.c (acct_renyi.h) - computes epsilon at delta from a divergence of one order.
 *
 * The best conversion: for 0 <= u <= 1 let T(r) = r^alpha - u^alpha - alpha u^{alpha-1} (r-u).  T >= 0 is
 * convex with its minimum 0 at u.  If c T has slope 1 at v, it lies above its tangent r - v + c T(v), hence
 * above r - E with E = v - c T(v).  So delta(log E) <= c E_Q T = c (m - A), where m = e^{(alpha-1) rdp} and
 * A = u^alpha + alpha u^{alpha-1} (1-u).  Given delta, c = delta/(m - A), and with q = 1/(alpha c),
 * v^{alpha-1} = u^{alpha-1} + q and E = (1 - 1/alpha) (v + (u^{alpha-1}/q) (v - u)).  Every u is valid; u =
 * 0 is ACCT_RENYI_CKS. */
#include <float.h>
#include <math.h>

#include "acct_ends.h"
#include "acct_renyi.h"
#include "acct_renyi_parts.h"

#define GOLDEN 0.6180339887498949

/* The log of 1 - A (see above), rounded up; w = 1 - u. */
static double log_excess(double alpha, double w)
{
	if (!(w < 1))
		return 0;
	double a = (alpha - 1) * log1p(-w), b = log1p((alpha - 1) * w);

	return log(-expm1(a + b) + 8 * DBL_EPSILON * (b - a + w));
}

static double with_tangent(double alpha, double rdp, double delta, double w)
{
	double grown = (alpha - 1) * rdp, power = w < 1 ? (alpha - 1) * log1p(-w) : -INFINITY;
	/* log(m - A), where m - 1 and 1 - A are both positive */
	double log_m = grown > 40 ? grown : log(expm1(grown)),
	       log_q = acct_log_add(log_m, w > 0 ? log_excess(alpha, w) : -INFINITY) - log(alpha) -
		       log(delta);
	double lean = power - log_q, log_v = acct_log_add(power, log_q) / (alpha - 1);
	/* (u^{alpha-1}/q)(1 - u/v) */
	double more = lean > -INFINITY ? exp(lean) * -expm1(-acct_log_one(-lean) / (alpha - 1)) : 0;
	double eps = log1p(-1 / alpha) + log_v + log1p(more);
	double err = 16 * DBL_EPSILON *
		     (1 + (fabs(log_m) + fabs(log_q) + log(alpha) - log(delta)) / (alpha - 1) + fabs(eps));

	return acct_larger(0, eps + err);
}

/* The least epsilon over u.  The search assumes that it has one minimum in log(1-u). */
static double optimal(double alpha, double rdp, double delta)
{
	double best = with_tangent(alpha, rdp, delta, 1), low = log(1e-12), high = 0;
	double at[2] = { high - GOLDEN * (high - low), low + GOLDEN * (high - low) }, value[2];

	for (int i = 0; i < 2; i++)
		value[i] = with_tangent(alpha, rdp, delta, exp(at[i]));
	for (int i = 0; i < 40; i++) {
		int worse = value[0] <= value[1];

		best = fmin(best, value[1 - worse]);
		if (worse) {
			high = at[1];
			at[1] = at[0];
			value[1] = value[0];
			at[0] = high - GOLDEN * (high - low);
		} else {
			low = at[0];
			at[0] = at[1];
			value[0] = value[1];
			at[1] = low + GOLDEN * (high - low);
		}
		value[1 - worse] = with_tangent(alpha, rdp, delta, exp(at[1 - worse]));
	}
	return best;
}

enum acct_rc acct_renyi_convert(enum acct_renyi_way way, double alpha, double rdp, double delta, double *eps)
{
	if (!(alpha > 1 && alpha <= ACCT_MOST_ORDER && rdp >= 0 && delta > 0 && delta < 1))
		return ACCT_EDOMAIN;
	if (!(rdp < INFINITY)) {
		*eps = INFINITY;
		return ACCT_OK;
	}
	if (!(rdp > 0)) {
		*eps = 0;
		return ACCT_OK;
	}
	switch (way) {
	case ACCT_RENYI_CLASSIC:
		*eps = (rdp - log(delta) / (alpha - 1)) * (1 + 8 * DBL_EPSILON);
		return ACCT_OK;
	case ACCT_RENYI_CKS: {
		double gain = log1p(-1 / alpha), cost = -(log(delta) + log(alpha)) / (alpha - 1);

		*eps = acct_larger(0, rdp + gain + cost + 8 * DBL_EPSILON * (rdp - gain + fabs(cost)) +
					      8 * DBL_EPSILON * -log(delta) / (alpha - 1));
		return ACCT_OK;
	}
	case ACCT_RENYI_OPTIMAL:
		*eps = optimal(alpha, rdp, delta);
		return ACCT_OK;
	}
	return ACCT_EDOMAIN;
}

struct search {
	acct_renyi_curve *curve;
	void *user;
	bool integers;
	enum acct_renyi_way way;
	double most, delta, eps, order;
};

/* Compute epsilon at the order 1 + e^x, rounded if orders must be integers. */
static enum acct_rc probe(struct search *s, double x, double *value)
{
	double alpha = fmin(s->most, 1 + exp(x)), rdp, eps;
	enum acct_rc rc;

	if (s->integers)
		alpha = fmax(2, fmin(floor(s->most), round(alpha)));
	rc = s->curve(s->user, alpha, &rdp);
	if (!rc)
		rc = acct_renyi_convert(s->way, alpha, rdp, s->delta, &eps);
	if (rc)
		return rc;
	if (eps < s->eps || s->order < 1) {
		s->eps = eps;
		s->order = alpha;
	}
	*value = eps;
	return ACCT_OK;
}

/* Try a row of orders, and search around the best by golden section. */
static enum acct_rc search(struct search *s)
{
	double last = log(s->most - 1), step = log(2), value, at = s->integers ? 0 : log(1 / 64.0), best = at,
	       least = INFINITY;
	enum acct_rc rc = ACCT_OK;

	for (int since = 0; at < last + step && since < 4 && !rc; at += step, since++) {
		rc = probe(s, fmin(at, last), &value);
		if (!rc && value < least) {
			least = value;
			best = fmin(at, last);
			since = 0;
		}
		if (!rc && !(value < INFINITY))
			since = 0;
	}
	double low = fmax(s->integers ? 0 : log(1 / 64.0), best - step), high = fmin(last, best + step);
	double x[2] = { high - GOLDEN * (high - low), low + GOLDEN * (high - low) }, y[2];
	for (int i = 0; i < 2 && !rc; i++)
		rc = probe(s, x[i], &y[i]);
	for (int i = 0; i < 20 && !rc; i++) {
		int up = y[0] > y[1];

		if (up) {
			low = x[0];
			x[0] = x[1];
			y[0] = y[1];
			x[1] = low + GOLDEN * (high - low);
		} else {
			high = x[1];
			x[1] = x[0];
			y[1] = y[0];
			x[0] = high - GOLDEN * (high - low);
		}
		rc = probe(s, x[up], &y[up]);
	}
	return rc;
}

enum acct_rc acct_renyi_minimise(acct_renyi_curve *curve, void *user, bool integers, double most,
	enum acct_renyi_way way, double delta, double *eps, double *order)
{
	struct search s = { curve, user, integers, way, most, delta, INFINITY, 0 };
	enum acct_rc rc;

	if (!(delta > 0 && delta < 1 && most >= 2 && most <= ACCT_MOST_ORDER))
		return ACCT_EDOMAIN;
	rc = search(&s);
	if (rc)
		return rc;
	*eps = s.eps;
	if (order)
		*order = s.order;
	return ACCT_OK;
}
