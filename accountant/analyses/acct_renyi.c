/* acct_renyi.c - computes Renyi divergences of rounds: checks them, chooses between grid and sums,
 * composes. */
#include "acct_renyi.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_pair.h"
#include "acct_renyi_parts.h"

/* Relative widths of a moment that are good enough: FINE if the moment is the answer, COARSE if it only
 * serves to find an epsilon. */
#define FINE   1e-4
#define COARSE 5e-4

double acct_power_excess(double alpha, double z)
{
	double x = log1p(z), term = 1, sum = 0;

	if (fabs(alpha * x) > 0.5)
		return expm1(alpha * x) - alpha * z;
	/* for a small x: e^{alpha x} - 1 - alpha (e^x - 1) = sum over k >= 2 of (alpha^k - alpha) x^k /
	 * k! */
	for (int k = 2; k < 24; k++) {
		term = k == 2 ? x * x / 2 : term * x / k;
		sum += term * alpha * expm1((k - 1) * log(alpha));
	}
	return sum;
}

/* Can the loss be infinite?  The cells decide, since the mass of infinite loss may be below the range of a
 * double. */
static bool has_infinite(const struct acct_round *r, const struct acct_list *l)
{
	if (l->infinite[0] > 0 || l->infinite[1] > 0)
		return true;
	for (size_t j = 0; j < r->cells; j++)
		if ((r->cell[j].u > 0) != (r->cell[j].v > 0))
			return true;
	return r->defect > 0;
}

/* What is needed to compute divergences of one repetition of a round.  infinite: all of them are; pair:
 * acct_pair.h computes them; otherwise `grid` does. */
struct source {
	const struct acct_round *round;
	struct acct_list list;
	bool infinite, pair;
	/* normal noise without sampling: the divergence of order alpha is alpha / 2 times the squared
	 * distance */
	bool gaussian;
	double share; /* part of the work that one sum of acct_pair.h may take */
	struct acct_renyi_grid grid;
};

/* orders: how many divergences will be asked for; 0: their number is not known, and the grid is used in any
 * case. */
static enum acct_rc source_init(struct source *s, const struct acct_round *r, size_t orders)
{
	enum acct_rc rc = acct_list_init(&s->list, r, NULL);

	s->round = r;
	memset(&s->grid, 0, sizeof s->grid);
	if (rc)
		return rc;
	s->gaussian = r->event == ACCT_GAUSSIAN && !(r->rate < 1) && !(r->sampling > 0);
	/* for sampled normal noise no divergence is computed: its losses have no bound, which the grid
	 * needs */
	s->infinite = has_infinite(r, &s->list) || (r->event == ACCT_GAUSSIAN && !s->gaussian);
	s->share = orders > 1 ? 0.25 / (double)orders : 1;
	s->pair = orders > 0 && !s->infinite && acct_pair_is(r, &s->list);
	if (s->infinite || s->list.lossless || s->pair || s->gaussian)
		return ACCT_OK;
	return acct_renyi_grid_init(&s->grid, &s->list, orders > 0 ? FINE : COARSE);
}

/* An upper bound on the loss of one repetition, with the rounding of the cells (acct_plan_blur). */
static double most_loss(const struct source *s)
{
	return s->list.largest + 1e-14 + (128 + 8 * s->list.exponent) * DBL_EPSILON;
}

static enum acct_rc source_at(struct source *s, double alpha, struct acct_bound *rdp)
{
	struct acct_bound log_s;
	enum acct_rc rc = ACCT_OK;

	*rdp = (struct acct_bound){ INFINITY, INFINITY };
	if (s->infinite)
		return ACCT_OK;
	*rdp = (struct acct_bound){ 0, 0 };
	if (s->list.lossless)
		return ACCT_OK;
	if (s->gaussian) {
		double exact = (double)s->round->count * alpha / (2 * s->round->scale * s->round->scale);

		*rdp = (struct acct_bound){ exact * (1 - 8 * DBL_EPSILON), exact * (1 + 8 * DBL_EPSILON) };
		return ACCT_OK;
	}
	if (s->pair)
		acct_pair_moment(&s->list, alpha, s->share, &log_s);
	else
		rc = acct_renyi_grid_at(&s->grid, alpha, &log_s);
	if (rc)
		return rc;
	double count = (double)s->round->count / (alpha - 1);
	/* fmin leaves out a NaN, and the bound by the largest loss stays */
	rdp->upper = fmin(acct_log_one(log_s.upper) * count, (double)s->round->count * most_loss(s)) *
		     (1 + 16 * DBL_EPSILON);
	rdp->lower = acct_lower_end(acct_log_one(log_s.lower) * count * (1 - 16 * DBL_EPSILON));
	rdp->lower = fmin(rdp->upper, rdp->lower);
	return ACCT_OK;
}

static bool is_order(double alpha)
{
	return alpha > 1 && alpha <= ACCT_MOST_ORDER;
}

enum acct_rc acct_renyi(const struct acct_round *round, const double *alpha, size_t n, struct acct_bound *rdp)
{
	struct acct_bound *out;
	struct source s;
	enum acct_rc rc;

	for (size_t i = 0; i < n; i++)
		if (!is_order(alpha[i]))
			return ACCT_EDOMAIN;
	if (n == 0)
		return ACCT_EDOMAIN;
	out = calloc(n, sizeof *out);
	rc = source_init(&s, round, n);
	if (!out)
		rc = ACCT_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++)
		rc = source_at(&s, alpha[i], &out[i]);
	for (size_t i = 0; i < n && !rc; i++)
		rdp[i] = out[i];
	acct_renyi_grid_fini(&s.grid);
	free(out);
	return rc;
}

struct rounds {
	struct source *source;
	size_t size;
};

static enum acct_rc composed(void *user, double alpha, double *rdp)
{
	struct rounds *r = user;
	enum acct_rc rc = ACCT_OK;

	*rdp = 0;
	for (size_t i = 0; i < r->size && !rc; i++) {
		struct acct_bound one;

		rc = source_at(&r->source[i], alpha, &one);
		*rdp += one.upper;
	}
	*rdp *= 1 + (double)r->size * DBL_EPSILON;
	return rc;
}

enum acct_rc acct_renyi_epsilon(
	const struct acct_round *rounds, size_t n, double delta, double *eps, double *order)
{
	struct rounds r = { NULL, n };
	double most = 0, best = INFINITY, at = INFINITY;
	enum acct_rc rc = ACCT_OK;

	if (n == 0 || !(delta > 0 && delta < 1))
		return ACCT_EDOMAIN;
	if (n > 1024)
		return ACCT_ELIMIT;
	r.source = calloc(n, sizeof *r.source);
	if (!r.source)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++) {
		rc = source_init(&r.source[i], &rounds[i], 0);
		most += r.source[i].infinite ? INFINITY : (double)rounds[i].count * most_loss(&r.source[i]);
	}
	if (!rc)
		rc = acct_renyi_minimise(
			composed, &r, false, ACCT_MOST_ORDER, ACCT_RENYI_OPTIMAL, delta, &best, &at);
	/* the divergence of order infinity: the loss is at most the sum of the largest losses */
	if (!rc) {
		*eps = fmin(best, most * (1 + ((double)n + 16) * DBL_EPSILON));
		if (order)
			*order = best <= most ? at : INFINITY;
	}
	for (size_t i = 0; i < n; i++)
		acct_renyi_grid_fini(&r.source[i].grid);
	free(r.source);
	return rc;
}
