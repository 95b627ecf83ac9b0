/* acct_girgis_special.c (acct_girgis_parts.h) - computes moments of special pairs by sums over counts. */
#include <float.h>
#include <math.h>

#include "acct_binomial.h"
#include "acct_girgis_parts.h"
#include "acct_renyi_parts.h"

#define PRECISE 1e-10 /* part of a sum that may be left out; a bound on it is added */
/* rows, one for each number of reports, are grouped until their moments differ by this part */
#define GROUP 1e-3

struct special {
	double gain;   /* e^eps0 - e^-eps0 */
	double chance; /* chance of a one: 1/(e^eps0 + 1) */
	double n, l;
};

/* r - 1 = gain (k/n - chance), whose mean is exactly 0 */
static double excess(const struct special *s, double k)
{
	return s->gain * ((k - s->n * s->chance) / s->n);
}

/* log((1+z)^l - 1 - l z), where z = r - 1 at k ones */
static double log_summand(const struct special *s, double k)
{
	double z = excess(s, k), grown = s->l * log1p(z);

	return grown > 40 ? grown + log1p(-(1 + s->l * z) * exp(-grown)) : log(acct_power_excess(s->l, z));
}

struct acct_bound acct_girgis_moment(double eps0, double n, double l)
{
	struct special s = { 2 * sinh(eps0), exp(-eps0) / (1 + exp(-eps0)), n, l };
	double mode = fmin(n, floor((n + 1) * s.chance)), sum = -INFINITY, rest = -INFINITY, err = 0;

	/* Go up from the mode.  The summand is below (1+z)^l, whose product with the chance has falling
	 * ratios: they bound what is left out. */
	for (double k = mode; k <= n; k++) {
		double chance = acct_binomial_log(n, s.chance, k), now = chance + log_summand(&s, k);

		sum = acct_log_add(sum, now);
		err = fmax(err, now > sum - 20 ? acct_binomial_error(n, s.chance, k) : 0);
		if (k + 1 > n)
			break;
		double step = log(acct_binomial_ratio(n, s.chance, k)) +
			      l * log1p((excess(&s, k + 1) - excess(&s, k)) / (1 + excess(&s, k)));
		double tail = chance + l * log1p(excess(&s, k)) + step - log(-expm1(fmin(step, 0)));
		if (step < 0 && tail < sum + log(PRECISE)) {
			rest = tail;
			break;
		}
	}
	/* Go down from the mode.  There z <= 0, and the summand is at most C(l, 2) z^2, z^2 <= 1. */
	for (double k = mode - 1; k >= 0; k--) {
		double chance = acct_binomial_log(n, s.chance, k), now = chance + log_summand(&s, k);
		double ratio = k > 0 ? 1 / acct_binomial_ratio(n, s.chance, k - 1) : 0,
		       tail = chance + log(ratio / (1 - ratio)) + log(l * (l - 1) / 2);

		sum = acct_log_add(sum, now);
		err = fmax(err, now > sum - 20 ? acct_binomial_error(n, s.chance, k) : 0);
		if (ratio < 1 && tail < sum + log(PRECISE)) {
			rest = acct_log_add(rest, tail);
			break;
		}
	}
	/* Add what the summands may be off by: (1+z)^l is known to l ulps of the argument, and z to sqrt(n)
	 * ulps of itself where it matters. */
	err += 1e-11 + 8 * DBL_EPSILON * (l * (1 + eps0) + sqrt(n)) + 4 * DBL_EPSILON * fabs(sum);
	return (struct acct_bound){ sum - err, acct_log_add(sum, rest) + err };
}

/* The moment falls as messages are added, so a group of rows counts with its first. */
double acct_girgis_special(double eps0, double n, double l)
{
	double others = n - 1, clone = exp(-eps0), one = acct_girgis_moment(eps0, 1, l).upper;
	double sum;
	struct acct_bound middle = acct_girgis_moment(eps0, 1 + floor(n * clone), l);

	if (others < 1)
		return one;
	double need = middle.lower + log(PRECISE),
	       first = others - acct_binomial_last(others, 1 - clone, need - one),
	       last = acct_binomial_last(others, clone, need - middle.upper);
	/* the rows left out below the first are charged `need`, and so are those above the last */
	sum = need;
	for (double k = first; k <= last;) {
		double end = fmin(last, k + floor(GROUP * (1 + k))), log_mass = -INFINITY;

		for (double i = k; i <= end; i++)
			log_mass = acct_log_add(log_mass,
				acct_binomial_log(others, clone, i) + acct_binomial_error(others, clone, i));
		sum = acct_log_add(sum, log_mass + acct_girgis_moment(eps0, 1 + k, l).upper);
		k = end + 1;
	}
	return acct_log_add(sum, need);
}
