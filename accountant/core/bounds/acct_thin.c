/* acct_thin.c - chooses stages, and computes what is charged where nobody is thin. */
#include "acct_thin.h"

#include <math.h>
#include <stdlib.h>

#include "acct_ends.h"
#include "acct_invert.h"

#define COARSE  1e-2  /* relative width allowed to a bound that is only about a thousandth of the whole */
#define CERTAIN 250.0 /* a chance of e^-CERTAIN is negligible */
/* most stages, and the part of the bound that the length of one stage may cost */
#define STAGES    24u
#define TOLERANCE 0.02
#define PLACES    80.0 /* fewest places for which acct_places.h and acct_labels.h promise a bound */
#define MOST_PART 0.9  /* the most of the blanket that thin participants use */

/* The least whole r with P(N >= r) <= e^-exponent, by Chernoff's bound for a Poisson number N with this
 * mean.  The number of thin participants has this mean, and reaches r with no larger chance. */
static double beyond(double mean, double exponent)
{
	double r = ceil(mean) + 1;

	while (r * log(r / mean) - r + mean < exponent)
		r++;
	return r;
}

/* Choose the stages: the expected number of thin participants after each, of which the last is `last`.  What
 * is thinned in a stage makes the bound grow e^growth times for each thin participant, though the stage ends
 * with the first of them; a stage is as long as costs TOLERANCE of the whole.  Returns how many there are. */
static size_t choose_stages(double last, double growth, double *end)
{
	size_t stages = 0;
	double at = 0;

	while (stages + 1 < STAGES) {
		double weight = growth * exp(-fmax(0, 1 - growth) * at),
		       step = fmax(sqrt(2 * TOLERANCE / weight), (last - at) / (double)(STAGES - stages));

		if (!(at + step < last))
			break;
		at += step;
		end[stages++] = at;
	}
	end[stages++] = last;
	return stages;
}

struct asked {
	double n;
	acct_thin_fn *bounds;
	void *ctx;
	double most; /* beyond this *work no further stage is begun */
	const double *work;
};

/* The bound on delta with these stages.  *left is the part of it that falls when the last of them grows: the
 * chance that none or too many are thin, times what is charged then. */
static double thinned(const struct asked *q, const double *end, size_t stages, double *left)
{
	double n = q->n;
	struct acct_thin t = { .many = 0 };
	double none = 1, over = 0, sum = 0, last = end[stages - 1] + 2, good, bad = 1;

	*left = 1;
	for (size_t i = 0; i < stages; i++) {
		double before = t.eta, after, mean;

		t.eta = end[i] / n;
		mean = n * (t.eta - before) / (1 - before);
		t.few = fmin(n - 1, beyond(mean, last) - 1);
		t.many = fmin(n - 1, fmax(t.many, beyond(mean, CERTAIN) - 1));
		if (n - t.few < PLACES || *q->work > q->most)
			return 1;
		if (!q->bounds(q->ctx, &t, &good, i + 1 == stages ? &bad : NULL))
			return 1;
		after = exp((n - 1) * log1p(-t.eta));
		sum += (none - after) * good;
		over += none * exp(-last);
		none = after;
	}
	*left = (none + over) * bad * (1 + 1e-9) + (double)stages * exp(-CERTAIN);
	return acct_upper_end(sum + *left, 1);
}

struct acct_guess acct_thin_guess(
	const struct acct_point *held, const struct acct_point *cells, double blanket, double eps)
{
	double ratio = cells->hi / held->lo, grow = (1 + held->slope * tanh(eps / 2) / held->lo) / blanket;

	return (struct acct_guess){ ratio >= 1 && ratio < INFINITY ? ratio : 1,
		grow >= 1 && grow < 1e9 ? grow : 1 };
}

double acct_thin_least(double n, double blanket, struct acct_guess guess, acct_thin_fn *bounds, void *ctx,
	double most, const double *work)
{
	/* A larger L uses more of the blanket, so what is charged in the last stage grows with it, while
	 * `left` falls.  Aim at a `left` that is e^-margin of the rest. */
	double margin = fmax(3, log(n / 1.5) - log(guess.grow)), few = exp(-margin), best = 1,
	       all = fmin(200, MOST_PART * blanket * n), mean = fmin(all, log(2 * guess.ratio) + margin),
	       end[STAGES];

	struct asked q = { n, bounds, ctx, most, work };

	for (int i = 0; i < 3 && *work < most; i++) {
		size_t stages = choose_stages(mean, guess.grow / n, end);
		double left, delta = thinned(&q, end, stages, &left), rest = delta - left, next;

		best = fmin(best, delta);
		if (!(rest > 0) || (left <= 4 * few * rest && (i > 0 || left >= few / 100 * rest)))
			break;
		next = fmin(all, fmax(fmin(4, mean), mean + log(fmax(left / rest, 1e-12)) + margin));
		if (fabs(next - mean) < 0.1)
			break;
		mean = next;
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
