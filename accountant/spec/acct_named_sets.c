/* acct_named_sets.c (acct_named.h) - reports that are E times likelier on a set that the input decides:
 * subsets, Hadamard response, square waves; and noise on levels. */
#include <assert.h>
#include <math.h>

#include "acct_fault.h"
#include "acct_named.h"

/* A report is k of d items, E times as likely with the input among them.  Masses are shares of the C(d,k)
 * subsets. */
enum acct_rc acct_named_subset(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[0].x[0], k = arg[1].x[0], p = exp(arg[2].x[0]), z = (d - 1) * (p * k + d - k);

	if (!(k < d))
		return acct_fault(why, "k must be below d");
	s->eps0 = arg[2].x[0];
	s->third = d > 2;
	s->triple = d > 2 ? k * ((k - 1) / z) * ((k - 2) / (d - 2)) : 0;
	acct_named_sets(s);
	acct_named_two_level(&s->round, p, k * ((d - k) / z), k * ((k - 1) / z), (d - k) * ((d - k - 1) / z));
	return ACCT_OK;
}

/* The log of the share of the k-subsets of d that contain none of m given items; -inf: there are none. */
static long double log_avoid(long double d, long double k, double m)
{
	long double sum = 0;

	for (long double i = 0; i < m && sum > -INFINITY; i++)
		sum += k < d - i ? log1pl(-k / (d - i)) : -INFINITY;
	return sum;
}

/* The log of P(none of two disjoint sets of m is hit) / P(none of one is hit)^2, factor by factor. */
static long double log_avoid_both(long double d, long double k, double m)
{
	long double sum = 0;

	for (long double i = 0; i < m && sum > -INFINITY; i++) {
		long double less = k * m / ((d - i - k) * (d - i - m));

		sum += less < 1 ? log1pl(-less) : -INFINITY;
	}
	return sum;
}

/* A report is k of d items, E times as likely when any of the input's s items is among them.  Inputs that
 * are disjoint, or as nearly as d allows, have least in common.  Differences of nearly equal chances are
 * formed by expm1. */
enum acct_rc acct_named_privset(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[0].x[0], k = arg[1].x[0], items = arg[2].x[0], p = exp(arg[3].x[0]);

	if (!(items + k <= d))
		return acct_fault(why, "k + s must be at most d");
	long double miss = expl(log_avoid(d, k, items)), hit = -expm1l(log_avoid(d, k, items));
	long double apart = miss, both = 1 - 2 * miss;
	if (2 * items <= d) {
		apart = -miss * expm1l(log_avoid(d - items, k, items));
		both = hit * hit + miss * miss * expm1l(log_avoid_both(d, k, items));
	}
	if (k <= 1 && 2 * items <= d)
		both = 0;
	double z = (double)(p * hit + miss);
	s->eps0 = arg[3].x[0];
	/* the share of subsets that hit all of three disjoint sets; it is used only if its relative error
	 * is at most 1e-14 */
	long double three =
		k > 2 ? 1 - 3 * miss + 3 * expl(log_avoid(d, k, 2 * items)) - expl(log_avoid(d, k, 3 * items))
		      : 0;
	s->third = 3 * items <= fmin(d, 100) && (k <= 2 || three > 1e-3);
	s->triple = s->third ? (double)three / z : 0;
	acct_named_two_level(&s->round, p, (double)apart / z, (double)both / z, (double)(miss - apart) / z);
	/* the family takes at most 6 items, and gains nothing if k is 1 and 3 disjoint sets exist */
	if (items <= 6 && !(k <= 1 && 3 * items <= d))
		acct_named_shape(s, ACCT_DRAWS, d, k, items);
	return ACCT_OK;
}

/* The least power of two that is at least x, x >= 1. */
static double power_of_two(double x)
{
	double k = 1;

	while (k < x)
		k *= 2;
	return k;
}

/* A report is one of K symbols, E times as likely where the input's row of the Hadamard matrix is +1.  Two
 * rows have K/4 columns of each kind.  Column 0 is +1 in all of them, so its blanket is E/Z and it tells
 * nothing. */
static void one_block(double d, double p, struct acct_spec *s)
{
	double k = power_of_two(d + 1), quarter = 0.5 / (p + 1), column = 2 / (k * (p + 1));

	acct_named_two_level(&s->round, p, quarter, quarter - column, quarter + p * column);
	/* The product of two rows is a third row, +1 where both are alike. */
	s->third = d > 2;
	s->triple = quarter - column;
}

/* There are blocks of b symbols with b - 1 inputs each.  A symbol is likelier in the half of the input's
 * block where the input's row is +1.  The blanket is 1/Z for every symbol; inputs of different blocks have
 * nothing in common. */
enum acct_rc acct_named_hadamard(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[0].x[0], p = exp(arg[1].x[0]), blocks = arg[2].size > 0 ? arg[2].x[0] : 1;

	if (!(blocks <= d))
		return acct_fault(why, "blocks must be at most d");
	s->eps0 = arg[1].x[0];
	if (blocks < 2) {
		one_block(d, p, s);
		return ACCT_OK;
	}
	double half = power_of_two(ceil(d / blocks) + 1) / 2, rest = (2 * blocks - 1) * half,
	       z = half * p + rest;
	acct_named_two_level(&s->round, p, half / z, 0, (rest - half) / z);
	s->third = ceil(d / ceil(d / blocks)) >= 3; /* an input of a third block exists */
	return ACCT_OK;
}

/* Level x of 0..b sends one of 0..b+w-1, E times as likely in [x, x+w-1].  The w-b reports that every
 * window contains tell nothing (if w > b); apart from these, 0 and b have least in common. */
enum acct_rc acct_named_piecewise(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double b = arg[0].x[0], p = exp(arg[1].x[0]);
	double w = arg[2].size > 0 ? arg[2].x[0] : fmax(1, nearbyint(b * exp(-arg[1].x[0] / 2)));
	double z = w * p + b;

	(void)why;
	s->eps0 = arg[1].x[0];
	acct_named_two_level(&s->round, p, fmin(w, b) / z, 0, w > b ? (w - b) * (p / z) : (b - w) / z);
	if (2 * w > b)
		acct_named_shape(s, ACCT_WINDOWS, b, w, 0);
	/* the window that begins at w shares nothing with the first window or the last */
	s->third = 2 * w <= b;
	return ACCT_OK;
}

/* e^(eps0 * part).  The exponent is computed in long double, since rounding it would be multiplied by
 * eps0. */
static double power(double eps0, long double part)
{
	return (double)expl(eps0 * part);
}

#define SIDE 32 /* number of cells on either side of the middle that stay as nodes */
static_assert(2u * SIDE <= ACCT_MAX_CELLS, "a list has room for both sides");

/* The share of the mass between a node and the next, `gap` away, that goes to the node when it is split
 * such that the mean of u is kept.  The blanket rises as a^-y, so it is a(1 - a^(gap-1))/(1 + a^gap), by
 * geometric sums. */
static double split_share(double a, double step, double gap)
{
	return a * -expm1(-step * (gap - 1)) / (1 + exp(-step * gap));
}

/* Discrete Laplace noise, a = e^(-eps0/b).  The blanket of levels 0 and b is the smaller of their laws: up
 * to b/2 level b's, a^(b-y)(1-a)/(1+a), where u = a^(2y-b), v = 1; what is below 0 joins 0.  Beyond 64
 * cells only some remain as nodes.  What lies between two nodes is split between both with the mean of u
 * kept: a spread for every E, since v = 1 there and x is linear in u.
 *
 * Claim: 0 and b are the worst inputs.  R_x(y) = K a^|y-x|, K = (1-a)/(1+a), on all integers y; omega =
 * min(R_0, R_b) is the least law; g_x = R_x/omega >= 1.  For all levels s, t and every E, x_st = g_s - E
 * g_t is below f = g_0 - E g_b in convex order under omega.
 *
 * Reductions.  Order (t, s) is the same claim at 1/E: x_ts = -E (g_s - g_t/E).  Reflection y -> b-y
 * exchanges (s, t) and (b-t, b-s) with the order reversed.  So assume s <= t and s <= b/2.  For z <= b/2,
 * g_z is a^(z-b) up to z, falls as a^(2y-b-z) up to b/2 and stays at a^-z; for z >= b/2 it is the mirror
 * image, and rises.  f falls.
 *
 * Case t >= b/2.  x_st and x_sb fall.  Let g, f have equal means, g falling and f - g changing sign once,
 * from + to -.  Then phi(f) - phi(g) >= phi'(g) (f - g) for convex phi, and phi'(g) falls too, so the
 * integral is not negative: g is below f.  f - x_sb = (R_0 - R_s)/omega changes sign once, at s/2, and x_sb
 * - x_st = E (R_t - R_b)/omega once, at (t+b)/2.
 *
 * Case t < b/2.  x_st is constant up to s, falls up to t, is (a^-s - E a^-t) a^(2y-b) up to b/2 and
 * constant again: it falls throughout if E <= a^(t-s), else it rises after t.  For each level set A = {x_st
 * > c} and the initial piece P of the line with omega(P) = omega(A), splitting a point if need be, show
 * R_s(A) - E R_t(A) <= R_0(P) - E R_b(P); between level sets the left side is linear in omega(A) and the
 * right side concave.  Totals agree, so with the complement I of A, and the initial piece P' with omega(P')
 * = omega(I), the mirror image of the complement of P: R_s(I) - E R_t(I) >= R_b(P') - E R_0(P').
 * - A is an initial piece: P = A, R_s(A) <= R_0(A), R_t(A) >= R_b(A).
 * - I is an initial piece: P' = I, R_s(I) >= R_b(I), R_t(I) <= R_0(I).
 * - Else I = [i, k], s < i <= t <= k <= b/2.  Left of b/2 omega = R_b, so R_b(P') = omega(I) <= R_s(I).  It
 *   remains that R_t(I) <= R_0(P').  Let m be the last point that is whole in P'; m <= k.  If m < t: g_0
 *   falls, so its mean over P' is at least that over all points up to m+1, which is (1+a-a^(m+2)) a^(m+1-b)
 *   >= a^(t-b) >= g_t (for m+1 <= 0 it is a^-b), hence R_0(P') >= a^(t-b) omega(I) >= R_t(I).  If m >= t:
 *   R_0(P') >= 1 - a^(m+1)/(1+a), R_t(I) = 1 - (a^(t-i+1) + a^(k-t+1))/(1+a), and a^m <= a^t <= a^(t-i).
 *   QED */
enum acct_rc acct_named_laplace(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double b = arg[0].x[0], eps0 = arg[1].x[0], step = eps0 / b, a = exp(-step), last = floor(b / 2);
	double nodes = fmin(last + 1, SIDE), before = 0;
	enum acct_rc rc = ACCT_OK;

	(void)why;
	s->eps0 = eps0;
	s->no_inputs = nodes < last + 1;
	for (double i = 0, y = 0; i < nodes && !rc; i++) {
		double next = i + 1 < nodes ? floor((i + 1) * last / (nodes - 1)) : y;
		double share = i > 0 ? -expm1(-step) + split_share(a, step, y - before) : 1;

		if (next > y)
			share += split_share(a, step, next - y);
		else if (2 * y >= b)
			share += i > 0 ? split_share(a, step, y - before) : 0;
		double omega = share * power(-eps0, (long double)(b - y) / b) / (1 + a),
		       u = power(eps0, (long double)(b - 2 * y) / b);
		rc = acct_named_add(&s->round, omega, u, 1);
		if (!rc && 2 * y < b)
			rc = acct_named_add(&s->round, omega, 1, u);
		before = y;
		y = next;
	}
	if (rc || s->no_inputs || !(eps0 > ACCT_NAMED_LEAST))
		return rc;
	if (b > 1)
		acct_family_set(&s->round, ACCT_LADDER, NULL);
	else
		s->round.messages = ACCT_BITS;
	return rc;
}

/* Noise z has the chance drop^i c, drop = 1/E, where i is 0 for |z| < r and grows by one with every b from
 * there.  Laws are 1 or E times the smaller of the laws of levels 0 and b, so these two have least in
 * common.  Level 0 is E times likelier up to 0 and at `wins` reports 0 < y < min(r, b-r+1).  At the other
 * reports between 0 and b the two are equal, both 1 or both drop. */
enum acct_rc acct_named_staircase(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double b = arg[0].x[0], eps0 = arg[1].x[0], drop = exp(-eps0), fall = -expm1(-eps0);
	double r = arg[2].size > 0 ? arg[2].x[0] : fmax(1, nearbyint(b / (1 + exp(eps0 / 2))));

	if (!(r <= b))
		return acct_fault(why, "r must be at most b");
	double wins = fmin(r - 1, b - r), high = fmax(0, 2 * r - 1 - b), low = fmax(0, b - 2 * r + 1);
	/* chances of z >= 0 and of all z together, in units of c */
	double half = r + (b - r) * drop, all = 2 * r - 1 + (2 * (b - r) + 1) * drop;
	s->eps0 = eps0;
	acct_named_two_level(
		&s->round, exp(eps0), drop * (half + wins * fall) / all, 0, fall * (high + low * drop) / all);
	acct_named_shape(s, ACCT_STAIRS, b, r, 0);
	return ACCT_OK;
}
