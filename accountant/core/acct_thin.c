/* acct_thin.c - the choice of L, and what is charged where nobody is thin. */
#include "acct_thin.h"

#include <math.h>
#include <stdlib.h>

#include "acct_ends.h"
#include "acct_invert.h"

#define CERTAIN 250.0 /* e^-CERTAIN has no weight */

/* The least whole r with P(Poisson(mean) >= r) <= e^-exponent (Chernoff); so many participants are thin, of a
 * mean number, with no larger chance. */
static double beyond(double mean, double exponent)
{
	double r = ceil(mean) + 1;

	while (r * log(r / mean) - r + mean < exponent)
		r++;
	return r;
}

/* The bound on delta with this L; `left` is the part of it that falls with L. */
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

double acct_thin_least(double n, acct_thin_fn *bounds, void *ctx, double most, const double *work)
{
	double mean = 16, best = 1;

	/* L is enough where what is left is a thousandth. */
	for (int i = 0; i < 3 && *work < most; i++) {
		double left, delta = thinned(n, mean, bounds, ctx, &left), rest = delta - left;

		best = fmin(best, delta);
		if (!(rest > 0) || mean > 200 || (left <= 1e-3 * rest && (i > 0 || left >= 1e-6 * rest)))
			break;
		mean = fmax(4, mean + log(fmax(left / rest, 1e-12)) + 9);
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
		*work += acct_invert_at(l, eps, false, most, &at);
	free(l);
	return acct_upper_end(at.hi / share, 1); /* of delta */
}
