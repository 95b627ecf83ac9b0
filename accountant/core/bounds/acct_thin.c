/* acct_thin.c - chooses L, and computes what is charged where nobody is thin. */
#include "acct_thin.h"

#include <math.h>
#include <stdlib.h>

#include "acct_ends.h"
#include "acct_invert.h"

#define COARSE  1e-2  /* relative width allowed to a bound that is only about a thousandth of the whole */
#define CERTAIN 250.0 /* a chance of e^-CERTAIN is negligible */

/* The least whole r with P(N >= r) <= e^-exponent, by Chernoff's bound for a Poisson number N with this
 * mean.  The number of thin participants has this mean, and reaches r with no larger chance. */
static double beyond(double mean, double exponent)
{
	double r = ceil(mean) + 1;

	while (r * log(r / mean) - r + mean < exponent)
		r++;
	return r;
}

/* The bound on delta with this L, which is `mean`.  *left is the part of it that falls when L grows: the
 * chance that none or too many are thin, times what is charged then. */
static double thinned(double n, double mean, acct_thin_fn *bounds, void *ctx, double *left)
{
	struct acct_thin t = { mean, mean / n, beyond(mean, mean), beyond(mean, CERTAIN) };
	double good, bad;

	*left = 1;
	if (!(t.many < n / 2) || !bounds(ctx, &t, &good, &bad))
		return 1;
	*left = (exp((n - 1) * log1p(-t.eta)) + exp(-mean)) * bad * (1 + 1e-9) + exp(-CERTAIN);
	return acct_upper_end(good + *left, 1);
}

struct acct_guess acct_thin_guess(
	const struct acct_point *held, const struct acct_point *cells, double blanket, double eps)
{
	double ratio = cells->hi / held->lo, grow = (1 + held->slope * tanh(eps / 2) / held->lo) / blanket;

	return (struct acct_guess){ ratio >= 1 && ratio < INFINITY ? ratio : 1,
		grow >= 1 && grow < 1e9 ? grow : 1 };
}

double acct_thin_least(
	double n, struct acct_guess guess, acct_thin_fn *bounds, void *ctx, double most, const double *work)
{
	/* A larger L uses more of the blanket, so `good` grows with it, while `left` falls.  Aim at a
	 * `left` that is e^-margin of the rest. */
	double margin = fmax(3, log(n / 1.5) - log(guess.grow)), few = exp(-margin), best = 1,
	       mean = fmin(200, log(2 * guess.ratio) + margin);

	for (int i = 0; i < 3 && *work < most; i++) {
		double left, delta = thinned(n, mean, bounds, ctx, &left), rest = delta - left;

		best = fmin(best, delta);
		if (!(rest > 0) || mean > 200 ||
			(left <= 4 * few * rest && (i > 0 || left >= few / 100 * rest)))
			break;
		mean = fmax(4, mean + log(fmax(left / rest, 1e-12)) + margin);
	}
	return best;
}

double acct_thin_cells(struct acct_round *r, double n, double eps, double most, double *work)
{
	double share = exp(-eps) / (1 + exp(-eps));
	struct acct_list *l = malloc(sizeof *l);
	struct acct_point at = { .hi = share };

	r->others = (uint64_t)n - 1;
	r->count = 1;
	if (l && !acct_list_init(l, r, NULL))
		*work += acct_invert_within(l, eps, false, most, COARSE, &at);
	free(l);
	return acct_upper_end(at.hi / share, 1); /* the bound on H as one on delta */
}
