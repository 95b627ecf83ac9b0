/* acct_basic.c - composes guarantees, and makes the cells of clones. */
#include "acct_basic.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "acct_cells.h"
#include "acct_fault.h"

#define MOST_COUNT 1e15

static bool is_guarantee(const struct acct_guarantee *g)
{
	return g->epsilon >= 0 && g->delta >= 0 && g->delta <= 1 && g->count >= 1 && g->count <= MOST_COUNT &&
	       floor(g->count) >= g->count;
}

/* Round up a sum of n terms that are not negative: it may be off by an ulp for each addition, and each term
 * by a few. */
static double up(double sum, size_t n)
{
	return sum * (1 + ((double)n + 16) * DBL_EPSILON);
}

enum acct_rc acct_basic_sum(const struct acct_guarantee *g, size_t n, double *epsilon, double *delta)
{
	double e = 0, d = 0;

	if (n == 0)
		return ACCT_EDOMAIN;
	for (size_t i = 0; i < n; i++) {
		if (!is_guarantee(&g[i]))
			return ACCT_EDOMAIN;
		e += g[i].count * g[i].epsilon;
		d += g[i].count * g[i].delta;
	}
	*epsilon = up(e, n);
	*delta = fmin(1, up(d, n));
	return ACCT_OK;
}

enum acct_rc acct_basic_advanced(
	const struct acct_guarantee *g, size_t n, double slack, double *epsilon, double *delta)
{
	double sum, lost, drift = 0, squares = 0;
	enum acct_rc rc;

	if (!(slack > 0 && slack < 1))
		return ACCT_EDOMAIN;
	rc = acct_basic_sum(g, n, &sum, &lost);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		drift += g[i].count * g[i].epsilon * tanh(g[i].epsilon / 2);
		squares += g[i].count * g[i].epsilon * g[i].epsilon;
	}
	double reach = fmin(-log(slack), log(exp(1) + sqrt(squares) / slack));
	*epsilon = fmin(sum, up(drift + sqrt(2 * reach * squares), n));
	*delta = fmin(1, up(lost + slack, n));
	return ACCT_OK;
}

enum acct_rc acct_basic_epsilon(
	enum acct_basic_way way, const struct acct_round *rounds, size_t n, double delta, double *eps)
{
	double total = 0, share = way == ACCT_BASIC_SUM ? delta : delta / 2, out, ignored;
	struct acct_guarantee *g;
	enum acct_rc rc = ACCT_OK;

	if (n == 0 || !(delta > 0 && delta < 1))
		return ACCT_EDOMAIN;
	for (size_t i = 0; i < n && !rc; i++) {
		rc = acct_round_check(&rounds[i], NULL);
		total += (double)rounds[i].count;
	}
	if (rc)
		return rc;
	g = calloc(n, sizeof *g);
	if (!g)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++) {
		struct acct_round one = rounds[i];
		struct acct_bound bound;

		one.count = 1;
		/* Give each round slightly less than its part, so that rounding does not make the parts
		 * exceed the whole. */
		rc = acct_epsilon(&one, 1, share / total * (1 - 1e-12), &bound);
		if (!rc)
			g[i] = (struct acct_guarantee){ bound.upper, 0, (double)rounds[i].count };
	}
	if (!rc)
		rc = way == ACCT_BASIC_SUM ? acct_basic_sum(g, n, &out, &ignored)
					   : acct_basic_advanced(g, n, share, &out, &ignored);
	if (!rc)
		*eps = out;
	free(g);
	return rc;
}

enum acct_rc acct_basic_clone(double epsilon0, struct acct_round *r, const char **why)
{
	if (!(epsilon0 > 0 && epsilon0 < 350))
		return acct_fault(why, "eps0 must be above 0 and below 350");
	/* the cells of clones: R_i >= e^-eps0 (Q0 + Q1)/2, where R0 = (p Q0 + Q1)/(p+1), and R1 is the same
	 * with Q0 and Q1 exchanged; p = e^eps0 */
	double low = exp(-epsilon0), large = 2 * acct_ratio(epsilon0) / (1 + low), small = 2 / (1 + low);

	r->cells = 2;
	r->cell[0] = (struct acct_cell){ low / 2, large, small };
	r->cell[1] = (struct acct_cell){ low / 2, small, large };
	return ACCT_OK;
}

/* A factor that rounds the result of a dozen operations up. */
#define ROUNDING (1 + 64 * DBL_EPSILON)

enum acct_rc acct_basic_clones_closed(double epsilon0, uint64_t n, double delta, double *eps)
{
	if (!(epsilon0 > 0 && epsilon0 < 350 && n >= 1 && delta > 0 && delta < 1))
		return ACCT_EDOMAIN;
	double messages = (double)n * exp(-epsilon0) * (1 - 4 * DBL_EPSILON);

	if (!(messages >= 16 * log(2 / delta) * ROUNDING))
		return ACCT_EDOMAIN;
	*eps = log1p(tanh(epsilon0 / 2) * (8 * sqrt(log(4 / delta) / messages) + 8 / messages)) * ROUNDING;
	return ACCT_OK;
}

enum acct_rc acct_basic_erlingsson(double epsilon0, uint64_t n, double delta, double *eps)
{
	if (!(epsilon0 > 0 && epsilon0 < 0.5 && n >= 1000 && delta > 0 && delta < 0.01))
		return ACCT_EDOMAIN;
	*eps = 12 * epsilon0 * sqrt(-log(delta) / (double)n) * ROUNDING;
	return ACCT_OK;
}

static bool is_pair(double p, double beta, double q, uint64_t n, double delta)
{
	return p > 1 && p < INFINITY && beta > 0 && beta <= (p - 1) / (p + 1) * (1 + 1e-12) &&
	       q >= (1 + beta) * (1 - 1e-12) && q < INFINITY && n >= 2 && delta > 0 && delta < 1;
}

enum acct_rc acct_basic_closed_tight(double p, double beta, double q, uint64_t n, double delta, double *eps)
{
	if (!is_pair(p, beta, q, n, delta))
		return ACCT_EDOMAIN;
	double a = beta / (p - 1), r = a * p / q, rest = fmax(0, 1 - a - a * p), others = (double)n - 1,
	       l = log(4 / delta), special = 2 * r * others - sqrt(fmin(6 * r, 0.5) * others * l);
	double least = (2 * p * (beta + 1 + (beta - 1) * p) * others + beta) /
		       (q + p * (beta - 1 + (beta + 1) * p) - p * q);
	double left = rest > 0 ? rest * r / (1 - 2 * r) : 0;

	if (!(special > 0 && (p + 1) * a / 2 > left && special > least))
		return ACCT_EDOMAIN;
	double spread = sqrt(special * l / 2),
	       cover = a * special + beta * (special / 2 - spread) + left * (others - special);
	if (!(cover > 0))
		return ACCT_EDOMAIN;
	*eps = log1p(beta * (2 * spread + 1) / cover);
	return ACCT_OK;
}

enum acct_rc acct_basic_closed(double p, double beta, double q, uint64_t n, double delta, double *eps)
{
	if (!is_pair(p, beta, q, n, delta))
		return ACCT_EDOMAIN;
	double r = beta * p / ((p - 1) * q), c = fmax(0, 4 * (1 - 3 * r) / (9 * (1 - 2 * r))),
	       rest = r * ((double)n - 1);

	*eps = log(p);
	if ((double)n > 8 * log(4 / delta) / r)
		*eps = log1p(beta / ((1 - c) * (p + 1) * beta / (p - 1) + c) *
			     (sqrt(16 * log(4 / delta) / rest) + 2 / rest));
	return ACCT_OK;
}
