/* acct_named_sets.c - laws that are E times likelier on a set of reports: subsets, Hadamard response, square
 * waves; and noise on levels. */
#include <math.h>

#include "acct_named.h"

static enum acct_rc domain(const char **why, const char *text)
{
	*why = text;
	return ACCT_EDOMAIN;
}

/* k of d items, E times as likely with the input among them; as shares of the C(d,k) subsets. */
enum acct_rc acct_named_subset(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[0].x[0], k = arg[1].x[0], p = exp(arg[2].x[0]), z = (d - 1) * (p * k + d - k);

	if (!(k < d))
		return domain(why, "k must be below d");
	s->eps0 = arg[2].x[0];
	acct_named_two_level(&s->round, p, k * ((d - k) / z), k * ((k - 1) / z), (d - k) * ((d - k - 1) / z));
	return ACCT_OK;
}

/* log of the share of the k-subsets of d that contain none of m given items; -inf for none. */
static long double log_avoid(long double d, long double k, double m)
{
	long double sum = 0;

	for (long double i = 0; i < m && sum > -INFINITY; i++)
		sum += k < d - i ? log1pl(-k / (d - i)) : -INFINITY;
	return sum;
}

/* log of P(none of two disjoint sets of m) / P(none of one)^2, factor by factor. */
static long double log_avoid_both(long double d, long double k, double m)
{
	long double sum = 0;

	for (long double i = 0; i < m && sum > -INFINITY; i++) {
		long double less = k * m / ((d - i - k) * (d - i - m));

		sum += less < 1 ? log1pl(-less) : -INFINITY;
	}
	return sum;
}

/* k of d items, E times as likely when any of the input's s items is among them.  Disjoint inputs, or as
 * nearly so as d allows, have least in common.  Differences of nearly equal chances are formed by expm1. */
enum acct_rc acct_named_privset(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[0].x[0], k = arg[1].x[0], items = arg[2].x[0], p = exp(arg[3].x[0]);

	if (!(items + k <= d))
		return domain(why, "k + s must be at most d");
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
	acct_named_two_level(&s->round, p, (double)apart / z, (double)both / z, (double)(miss - apart) / z);
	return ACCT_OK;
}

/* The least power of two that is at least x >= 1. */
static double power_of_two(double x)
{
	double k = 1;

	while (k < x)
		k *= 2;
	return k;
}

/* K symbols, E times as likely where the input's row of the Hadamard matrix is +1.  Two rows have K/4 columns
 * of each kind; column 0 is +1 in all of them, so its blanket is E/Z and it tells nothing. */
static void one_block(double d, double p, struct acct_round *r)
{
	double k = power_of_two(d + 1), quarter = 0.5 / (p + 1), column = 2 / (k * (p + 1));

	acct_named_two_level(r, p, quarter, quarter - column, quarter + p * column);
}

/* blocks of b symbols, b - 1 inputs each: the half of its block where the input's row is +1.  The blanket is
 * 1/Z of every symbol; inputs of different blocks have nothing in common. */
enum acct_rc acct_named_hadamard(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[0].x[0], p = exp(arg[1].x[0]), blocks = arg[2].size > 0 ? arg[2].x[0] : 1;

	if (!(blocks <= d))
		return domain(why, "blocks must be at most d");
	s->eps0 = arg[1].x[0];
	if (blocks < 2) {
		one_block(d, p, &s->round);
		return ACCT_OK;
	}
	double half = power_of_two(ceil(d / blocks) + 1) / 2, rest = (2 * blocks - 1) * half,
	       z = half * p + rest;
	acct_named_two_level(&s->round, p, half / z, 0, (rest - half) / z);
	return ACCT_OK;
}

/* Level x of 0..b to 0..b+w-1: E times as likely in [x, x+w-1].  Reports that every window contains, w-b of
 * them, tell nothing; 0 and b have least in common otherwise. */
enum acct_rc acct_named_piecewise(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double b = arg[0].x[0], p = exp(arg[1].x[0]);
	double w = arg[2].size > 0 ? arg[2].x[0] : fmax(1, nearbyint(b * exp(-arg[1].x[0] / 2)));
	double z = w * p + b;

	(void)why;
	s->eps0 = arg[1].x[0];
	acct_named_two_level(&s->round, p, fmin(w, b) / z, 0, w > b ? (w - b) * (p / z) : (b - w) / z);
	return ACCT_OK;
}

/* Noise on levels: not shown that 0 and b are the worst pair, so the pair of the largest p, beta and q. */
static enum acct_rc noise(double eps0, double beta, struct acct_spec *s, const char **why)
{
	double p = exp(eps0);

	s->eps0 = eps0;
	return acct_cells_pair(p, fmin(beta, tanh(eps0 / 2)), p, p, &s->round, why);
}

/* Discrete Laplace, a = e^(-eps0/b): levels 0 and b differ by P(-b/2 <= noise < b/2). */
enum acct_rc acct_named_laplace(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double b = arg[0].x[0], eps0 = arg[1].x[0], a = exp(-eps0 / b);
	double below = -expm1(-eps0 * (floor(b / 2) / b)), above = -expm1(-eps0 * (ceil(b / 2) / b));

	return noise(eps0, (above + a * below) / (1 + a), s, why);
}

/* Noise z of chance e^(-eps0 i) c, i = 0 for |z| < r and one more every b from there.  As for Laplace. */
enum acct_rc acct_named_staircase(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double b = arg[0].x[0], eps0 = arg[1].x[0], drop = exp(-eps0);
	double r = arg[2].size > 0 ? arg[2].x[0] : fmax(1, nearbyint(b / (1 + exp(eps0 / 2))));

	if (!(r <= b))
		return domain(why, "r must be at most b");
	double half = (r + (b - r) * drop) / -expm1(-eps0); /* the noises z >= 0, in units of c */
	double high = fmin(floor(b / 2), r - 1) + fmin(ceil(b / 2), r);
	return noise(eps0, (high + (b - high) * drop) / (2 * half - 1), s, why);
}
