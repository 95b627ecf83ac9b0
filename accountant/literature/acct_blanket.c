/* acct_blanket.c - bounds one shuffled round by Hoeffding's and Bennett's inequalities.
 *
 * With L_i = (R0 - e^eps R1)/omega at iid blanket samples, and a = e^eps - 1 = -E L,
 *     delta(eps) <= 1/(gamma n) E_{m ~ Bin(n, gamma)} E(L_1 + ... + L_m)+
 *                = 1/(gamma n) E_m int_0^inf P(sum L >= s) ds,
 * and the tail is bounded by Hoeffding (L has a range of length b) or Bennett (L <= top, E L^2 <=
 * square). */
#include "acct_blanket.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "acct_binomial.h"

#define MOST_EPS0 50.0
#define MOST_K    1e9
#define MOST_SUM  1000000000u /* most reports for BENNETT_FIRST, which sums over counts */
/* Relative error of a bound: a product of a dozen rounded factors and an exponential of at most 700, to 4
 * ulps each. */
#define ROUNDING 1e-11

struct moments {
	double gamma, top, range, square;
};

/* gamma: chance of being blanket; top, range, square: bounds on L, on its range, and on E L^2.  Differences
 * are computed so that they lose no digits when eps and eps0 are small. */
static struct moments moments(const struct acct_blanket *b, double eps)
{
	double e = exp(eps), e0 = b->eps0, a = expm1(eps);

	switch (b->mechanism) {
	case ACCT_BLANKET_KRR: {
		double gamma = b->k / (expm1(e0) + b->k), rest = expm1(e0) / (expm1(e0) + b->k);

		return (struct moments){ gamma, gamma * (expm1(e0) - a), rest * b->k * (e + 1),
			gamma * (2 - gamma) * a * a + rest * rest * b->k * (e * e + 1) };
	}
	case ACCT_BLANKET_LAPLACE: {
		/* for Laplace noise, with e = e^eps, e0 = eps0 and g = e^{e0/2}: x = E (R0/omega)^2 and y =
		 * E R0 R1/omega^2 give square = (e^2+1) x - 2 e y = a^2 x + 2 e (x-y), where x - y = 2/3
		 * e^-e0 (g-1)^2 (g+2) */
		double g = exp(e0 / 2), grown = expm1(e0 / 2);

		return (struct moments){ 1 / g, -g * expm1(eps - e0), (e + 1) * 2 * sinh(e0 / 2),
			a * a * (2 * g + exp(-e0)) / 3 + e * 4 / 3 * exp(-e0) * grown * grown * (g + 2) };
	}
	case ACCT_BLANKET_GENERIC:
		return (struct moments){ exp(-e0), -exp(e0) * expm1(eps - 2 * e0), (e + 1) * 2 * sinh(e0),
			exp(e0) * (a * a - 2 * e * expm1(-4 * e0)) };
	}
	return (struct moments){ NAN, NAN, NAN, NAN };
}

/* log E_m e^{-m t}, for m ~ Bin(n, gamma) */
static double log_transform(double gamma, double t, double n)
{
	return n * log1p(gamma * expm1(-t));
}

/* Hoeffding's bound on delta, which uses int exp(-2 m (a + s/m)^2 / b^2) ds <= b^2/(4a) e^{-2 m a^2/b^2}, b
 * the range. */
static double hoeffding(const struct moments *m, double a, double n)
{
	double b2 = m->range * m->range;

	return b2 / (4 * a * m->gamma * n) * exp(log_transform(m->gamma, 2 * a * a / b2, n));
}

/* (1+u) log(1+u) - u of Bennett's inequality, from below: the series ends before a positive term. */
static double phi(double u)
{
	return u < 1e-3 ? u * u / 2 * (1 - u / 3 + u * u / 6 - u * u * u / 10) : (1 + u) * log1p(u) - u;
}

/* E_m[1/m; m >= 1] e^{-m t}, from above.  Under the tilt by e^-t, m is Bin(n, g), g = gamma
 * e^-t/(1-gamma+gamma e^-t). */
static double mean_inverse(double gamma, double t, double n)
{
	double tilted = gamma * exp(-t) / (1 + gamma * expm1(-t)), sum = 0;
	double first = n - acct_binomial_last(n, 1 - tilted, -45), last = acct_binomial_last(n, tilted, -45);

	for (double m = fmax(1, first); m <= last; m++)
		sum += exp(acct_binomial_log(n, tilted, m)) / m;
	return (sum + 2 * exp(-45)) * exp(log_transform(gamma, t, n));
}

/* Bennett's bound on delta: P(sum L >= s) <= exp(-m square/top^2 phi(top (a + s/m)/square)), where phi lies
 * above its tangent, whose slope is log(1+u).  first: with the factor 1/(a m) of the first publication. */
static double bennett(const struct moments *m, double a, double n, bool first)
{
	double u = a * m->top / m->square, t = m->square / (m->top * m->top) * phi(u);
	double head = m->top / log1p(u) / (m->gamma * n);
	/* The sum starts at m = 1, since nothing is lost if nobody is in the blanket. */
	double none = n * log1p(-m->gamma), all = log_transform(m->gamma, t, n);

	if (first)
		return head / a * mean_inverse(m->gamma, t, n);
	return head * exp(all) * -expm1(none - all);
}

static bool is_fine(const struct acct_blanket *b)
{
	if (!(b->eps0 > 0 && b->eps0 <= MOST_EPS0 && b->n >= 1 && b->n <= ACCT_MAX_REPORTS))
		return false;
	return b->mechanism != ACCT_BLANKET_KRR || (b->k >= 2 && b->k <= MOST_K && floor(b->k) >= b->k);
}

enum acct_rc acct_blanket_delta(
	enum acct_blanket_bound bound, const struct acct_blanket *b, double epsilon, double *delta)
{
	if (!(is_fine(b) && epsilon >= 0 && epsilon < INFINITY) ||
		(bound == ACCT_BLANKET_BENNETT_FIRST && b->n > MOST_SUM))
		return ACCT_EDOMAIN;
	double a = expm1(epsilon), n = (double)b->n;

	*delta = 0;
	if (epsilon >= b->eps0) /* the local guarantee holds after shuffling too, so delta is 0 */
		return ACCT_OK;
	*delta = 1;
	if (!(a > 0))
		return ACCT_OK;
	struct moments m = moments(b, epsilon);
	double d = bound == ACCT_BLANKET_HOEFFDING ? hoeffding(&m, a, n)
						   : bennett(&m, a, n, bound == ACCT_BLANKET_BENNETT_FIRST);
	if (d < 1)                                              /* written so that a NaN counts as 1 */
		*delta = fmin(1, d * (1 + ROUNDING) + DBL_MIN); /* DBL_MIN covers underflow */
	return ACCT_OK;
}

enum acct_rc acct_blanket_epsilon(
	enum acct_blanket_bound bound, const struct acct_blanket *b, double delta, double *epsilon)
{
	double low = 0, high = b->eps0, d;

	if (!(is_fine(b) && delta > 0 && delta < 1))
		return ACCT_EDOMAIN;
	/* The bound has been evaluated at the returned epsilon, so it holds even if it is not monotone. */
	for (int i = 0; i < 200 && high - low > 1e-9 * high; i++) {
		double middle = low > 0 ? sqrt(low * high) : high / 2;
		enum acct_rc rc = acct_blanket_delta(bound, b, middle, &d);

		if (rc)
			return rc;
		if (d <= delta)
			high = middle;
		else
			low = middle;
	}
	*epsilon = high;
	return ACCT_OK;
}
