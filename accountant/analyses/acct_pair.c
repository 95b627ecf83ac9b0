/* acct_pair.c - sums over the two counts of a round of cells (w: a, b), (w: b, a): omega w, and the ratios
 * u, v exchanged.
 *
 * Given M messages in the blanket, the base law of their first cell's count is Bin(M, 1/2), and the loss of
 * counts (a, b) is log((p a + b)/(a + p b)).  M - 1 - dummies is Bin(others, 2w).  Dropping a message is
 * post-processing, so moments fall with M (a mean of M iid variables is a reverse martingale).  So rows may
 * be taken in groups: from above at their first row, from below at their last.  A row is the sum for one
 * M. */
#include "acct_pair.h"

#include <float.h>

#include "acct_binomial.h"
#include "acct_renyi_parts.h"

#define MOST_WORK   4e7 /* most terms of one sum, each of about 30 ns */
#define MOST_OTHERS 1e7 /* most others, since rows are visited one by one */
/* rows and terms that together are less than this part of a sum may be left out; a bound on them is
 * added */
#define LEAST_SHARE 1e-10

bool acct_pair_is(const struct acct_round *r, const struct acct_list *l)
{
	/* beyond a largest loss of 600 a row could not be scaled into the range of a double */
	return l->cells == 2 && l->symmetric && l->cell[0].u > 0 && l->cell[0].v > 0 && l->largest < 600 &&
	       fabs(l->cell[0].u - l->cell[0].v) > 1e-6 * l->cell[0].u &&
	       l->others + l->dummies <= MOST_OTHERS && r->levels == 0 && !(r->defect > 0) &&
	       !(r->sampling > 0);
}

struct pair {
	double ip;   /* the smaller likelihood ratio divided by the larger */
	double gain; /* 1 - ip */
	/* alpha - 1 */
	double power;
	double most; /* log of an upper bound on the summands of a row: (alpha-1) times the largest loss */
	double work; /* number of terms that all rows together may have */
};

/* Bound the relative error of a row: that of the chance it starts from, and three roundings for each step
 * to the next term. */
static double row_error(double m, double first, long steps)
{
	return acct_binomial_error(m, 0.5, first) + DBL_EPSILON * (64 + 4 * (double)steps);
}

/* The log moment of M messages: the mean over Bin(M, 1/2) of 2 sinh^2(z/2) + tanh(l/2) sinh z, z =
 * (alpha-1) l.  The summand is s/2 (s + tanh(l/2) (2-s)) e^z, s = 1 - e^-z, and at most e^z. */
static struct acct_bound moment_row(const struct pair *p, double m)
{
	double a = floor(m / 2) + 1, chance = 1, sum = 0, kappa = p->gain / (1 + p->ip), tail = 0;
	/* chances are kept in units of e^unit0, and the sum in units of e^(base - unit), so that both stay
	 * in the range of a double */
	double first = a, base = acct_binomial_log(m, 0.5, a) + log(2), unit = 0, unit0 = 0;
	long i = 1;

	for (; a <= m; a++, i++) {
		double b = m - a, ratio = b / (a + 1);
		double z = p->power * log1p(p->gain * (a - b) / (p->ip * a + b)), s = -expm1(-z);

		while (z + unit0 + unit > 600) {
			sum *= 0x1p-700;
			unit -= 700 * log(2);
		}
		sum += chance * s / 2 * (s + kappa * (a - b) / m * (2 - s)) * exp(z + unit0 + unit);
		if (i % 16 == 0 && ratio < 1) {
			tail = log(chance) + log(ratio / (1 - ratio)) + p->most + unit0 + unit;
			if (sum > 0 && tail < log(sum) + log(LEAST_SHARE / 8))
				break;
		}
		if (a + 1 > m) {
			tail = -INFINITY;
			break;
		}
		chance *= ratio;
		if (chance < 0x1p-700) {
			chance *= 0x1p700;
			unit0 -= 700 * log(2);
		}
	}
	/* z is known to a relative error of a few ulps, and is at most p->most. */
	double low = base - unit + (sum > 0 ? log(sum) : -INFINITY),
	       err = row_error(m, first, i) + 8 * DBL_EPSILON * p->most;

	return (struct acct_bound){ low - err, acct_log_add(low, base - unit + tail) + err };
}

static double group_size(const struct acct_list *l, double reach, const struct pair *p)
{
	double rows = 1 + 2 * reach * sqrt(l->others * l->blanket * (1 - l->blanket)),
	       columns = 16 + sqrt(2 * (p->most + 21)) / 2 * sqrt(1 + l->dummies + l->others * l->blanket);

	return fmax(1, ceil(fmin(rows, l->others + 1) * columns / p->work));
}

/* The mean of moment_row() over the number of others in the blanket, Bin(others, 2w), for 0 < 2w < 1. */
static struct acct_bound rows(const struct acct_list *l, const struct pair *p)
{
	double n = l->others, w = l->blanket, fixed = 1 + l->dummies;
	struct acct_bound sum = { -INFINITY, -INFINITY }, one = moment_row(p, fixed),
			  middle = moment_row(p, fixed + floor((n + 1) * w));
	/* Rows with fewer messages than those summed count at most as if there were no other blanket
	 * message, rows with more at most like the middle row: sum so many that both together are below
	 * this. */
	double need = log(LEAST_SHARE / 8) + middle.lower,
	       first = n - acct_binomial_last(n, 1 - w, need - one.upper),
	       last = acct_binomial_last(n, w, need - middle.upper),
	       size = group_size(l, sqrt(2 * fmax(1, one.upper - need)), p);
	struct acct_bound at = moment_row(p, fixed + first);

	for (double k = first; k <= last; k += size) {
		double end = fmin(last, k + size - 1), log_mass = -INFINITY,
		       err = fmax(acct_binomial_error(n, w, k), acct_binomial_error(n, w, end));
		struct acct_bound to = at;

		for (double i = k; i <= end; i++)
			log_mass = acct_log_add(log_mass, acct_binomial_log(n, w, i));
		if (end > k)
			to = moment_row(p, fixed + end);
		sum.upper = acct_log_add(sum.upper, log_mass + err + at.upper);
		sum.lower = acct_log_add(sum.lower, log_mass - err + to.lower);
		if (end < last)
			at = moment_row(p, fixed + end + 1);
	}
	if (first > 0)
		sum.upper = acct_log_add(sum.upper, need);
	if (last < n)
		sum.upper = acct_log_add(sum.upper, need);
	return sum;
}

void acct_pair_moment(const struct acct_list *l, double alpha, double share, struct acct_bound *log_s)
{
	double big = fmax(l->cell[0].u, l->cell[0].v), small = fmin(l->cell[0].u, l->cell[0].v);
	struct pair p = { .ip = small / big,
		.gain = (big - small) / big,
		.power = alpha - 1,
		.most = (alpha - 1) * -log(small / big),
		.work = share * MOST_WORK };
	/* The two ratios of the cells, their difference and w are known to a few ulps. */
	double err = 1e-14 * (alpha + l->largest * alpha) + 64 * DBL_EPSILON / p.gain;

	*log_s = l->blanket < 1 && l->others > 0 ? rows(l, &p) : moment_row(&p, 1 + l->dummies + l->others);
	log_s->lower -= err;
	log_s->upper += err;
}
