/* acct_filter.c - computes budgets and prices of the Gaussian and the Renyi filter. */
#include "acct_filter.h"

#include <math.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_gdp.h"
#include "acct_list.h"
#include "acct_renyi.h"

#define LEAST_DELTA 1e-15
#define DEFECTS     0.5 /* part of delta that defects may take; the rest is for the Gaussian curve */
/* a round's defect as a part of what all may take together: room for a million rounds */
#define ONE_DEFECT 1e-6
#define UP         (1 + 0x1p-50) /* a factor that rounds the result of a few operations up */

static const struct {
	enum acct_filter_kind kind;
	const char *name;
} kinds[] = { { ACCT_FILTER_GDP, "gdp" }, { ACCT_FILTER_RENYI, "renyi" } };

const char *acct_filter_name(enum acct_filter_kind kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return NULL;
}

enum acct_filter_kind acct_filter_named(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	return 0;
}

/* The largest mu with delta_GDP(epsilon; mu) <= delta, rounded down: B of acct_filter.h. */
static double largest_mu(double epsilon, double delta)
{
	double low = 0, high = 1;

	while (acct_gdp_delta_above(epsilon, high) <= delta)
		high *= 2;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (acct_gdp_delta_above(epsilon, middle) <= delta)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The largest divergence of this order that implies (epsilon, delta), rounded down. */
static double largest_divergence(enum acct_renyi_way way, double order, double epsilon, double delta)
{
	double low = 0, high = epsilon + 1, have;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (acct_renyi_convert(way, order, middle, delta, &have) == ACCT_OK && have <= epsilon)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The order of the Renyi filter: that at which the largest mu fits the budget, for Gaussian mechanisms,
 * whose divergence of an order is order mu^2 / 2. */
static double best_order(double epsilon, double delta)
{
	double best = 2, most = 0;

	for (double order = 1.05; order < ACCT_MOST_ORDER; order = 1 + (order - 1) * 1.05) {
		double fits = largest_divergence(ACCT_RENYI_CKS, order, epsilon, delta) / order;

		if (fits > most) {
			most = fits;
			best = order;
		}
	}
	return best;
}

enum acct_rc acct_filter_init(
	enum acct_filter_kind kind, double epsilon, double delta, struct acct_filter *out)
{
	struct acct_filter f = { .kind = kind, .epsilon = epsilon, .delta = delta };

	if (!acct_filter_name(kind) || !(epsilon > 0 && epsilon <= ACCT_FILTER_MOST_EPSILON) ||
		!(delta >= LEAST_DELTA && delta < 1))
		return ACCT_EDOMAIN;
	if (kind == ACCT_FILTER_GDP) {
		double b = largest_mu(epsilon, (1 - DEFECTS) * delta / UP);

		f.most = b * b / UP;
		f.defects = DEFECTS * delta;
		f.defect = ONE_DEFECT * f.defects;
	} else {
		f.order = best_order(epsilon, delta);
		f.most = largest_divergence(ACCT_RENYI_OPTIMAL, f.order, epsilon, delta);
	}
	if (!(f.most > 0))
		return ACCT_EPRECISION;
	*out = f;
	return ACCT_OK;
}

/* The Gaussian filter's price of a round: an infinite loss is charged to the defect, in addition to the
 * share that every round gets. */
static enum acct_rc gaussian_price(
	const struct acct_filter *f, const struct acct_round *round, struct acct_price *out)
{
	double count = (double)round->count, d, mu = INFINITY;
	struct acct_list list;
	enum acct_rc rc = acct_list_init(&list, round, NULL);

	if (rc)
		return rc;
	d = f->defect + fmax(list.infinite[0], list.infinite[1]) * (1 + 1e-6);
	if (d < f->defects)
		rc = acct_gdp_round(round, d, &mu);
	if (rc)
		return rc;
	out->loss = count * (mu * mu / f->most) * UP;
	out->defect = count * (d / f->defects) * UP;
	return ACCT_OK;
}

static enum acct_rc renyi_price(
	const struct acct_filter *f, const struct acct_round *round, struct acct_price *out)
{
	struct acct_bound rdp;
	enum acct_rc rc = acct_renyi(round, &f->order, 1, &rdp);

	if (rc)
		return rc;
	out->loss = rdp.upper / f->most * UP;
	out->defect = 0;
	return ACCT_OK;
}

enum acct_rc acct_filter_price(
	const struct acct_filter *f, const struct acct_round *round, struct acct_price *out)
{
	struct acct_price p;
	enum acct_rc rc =
		f->kind == ACCT_FILTER_GDP ? gaussian_price(f, round, &p) : renyi_price(f, round, &p);

	if (rc)
		return rc;
	if (isnan(p.loss) || isnan(p.defect))
		return ACCT_EPRECISION;
	*out = p;
	return ACCT_OK;
}

struct acct_price acct_price_add(struct acct_price a, struct acct_price b)
{
	return (struct acct_price){ (a.loss + b.loss) * UP, (a.defect + b.defect) * UP };
}

double acct_price_share(struct acct_price sum)
{
	return acct_larger(sum.loss, sum.defect);
}

bool acct_price_fits(struct acct_price sum)
{
	/* compare each, since fmax would hide a NaN */
	return sum.loss < 1 - 1e-12 && sum.defect < 1 - 1e-12;
}
