/* acct_cells.c - blanket cells: what a round may be, and the cells of the two standard pairs. */
#include "acct_cells.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SLACK   1e-9 /* sums of up to 64 rounded products; beyond it the list is not a pair of laws */
#define NOTHING (2 * DBL_EPSILON) /* of omega left over: rounding of the omegas */

static enum acct_rc domain(const char **why, const char *text)
{
	if (why)
		*why = text;
	return ACCT_EDOMAIN;
}

/* Negated comparisons below refuse NaN as well. */
enum acct_rc acct_round_check(const struct acct_round *r, const char **why)
{
	double blanket = 0, mean_u = 0, mean_v = 0;

	if (r->cells == 0)
		return domain(why, "a round needs at least one cell");
	if (r->cells > ACCT_MAX_CELLS)
		return domain(why, "a round has at most 64 cells");
	if (r->count == 0)
		return domain(why, "count must be at least 1");
	if (r->count > ACCT_MAX_COUNT)
		return domain(why, "count must be at most 1000000");
	if (r->others > ACCT_MAX_REPORTS || r->dummies > ACCT_MAX_REPORTS ||
		r->others + r->dummies > ACCT_MAX_REPORTS)
		return domain(why, "others and dummies must sum to at most 1e12");
	if (r->levels != 0 || r->defect != 0 || r->sampling != 0)
		return domain(why, "levels, defect and sampling are not available");
	for (size_t j = 0; j < r->cells; j++) {
		const struct acct_cell *c = &r->cell[j];

		if (!(c->omega > 0 && c->omega <= 1))
			return domain(why, "omega of every cell must be in (0, 1]");
		if (!(c->u >= 0 && c->u < INFINITY && c->v >= 0 && c->v < INFINITY))
			return domain(why, "u and v of every cell must be finite and not negative");
		blanket += c->omega;
		mean_u += c->omega * c->u;
		mean_v += c->omega * c->v;
	}
	if (!(blanket <= 1 + SLACK))
		return domain(why, "omega must sum to at most 1");
	if (!(fabs(mean_u - 1) <= SLACK))
		return domain(why, "omega*u must sum to 1");
	if (!(fabs(mean_v - 1) <= SLACK))
		return domain(why, "omega*v must sum to 1");
	return ACCT_OK;
}

/* A difference this small moves epsilon by less than acct_solve.c widens every answer. */
static bool same(double a, double b)
{
	return fabs(a - b) <= 16 * DBL_EPSILON * fmax(fabs(a), fabs(b));
}

static bool is_symmetric(const struct acct_list *l)
{
	for (size_t i = 0; i < l->cells; i++) {
		bool found = false;

		for (size_t j = 0; j < l->cells && !found; j++)
			found = same(l->cell[i].u, l->cell[j].v) && same(l->cell[i].v, l->cell[j].u) &&
				same(l->cell[i].omega, l->cell[j].omega);
		if (!found)
			return false;
	}
	return true;
}

/* Q vanishes iff every blanket message lies in a cell with v = 0.  That chance is raised to a huge power: it
 * is formed from its complement where that is the smaller, hence the accurate one. */
static double infinite_mass(const struct acct_list *l, bool swap)
{
	double seen = 0, cover = 0, victim = 0, lost = 0;

	for (size_t j = 0; j < l->cells; j++) {
		double u = swap ? l->cell[j].v : l->cell[j].u, v = swap ? l->cell[j].u : l->cell[j].v;

		if (v > 0) {
			seen += l->cell[j].omega;
		} else {
			cover += l->cell[j].omega;
			victim += l->cell[j].omega * u;
		}
	}
	if (victim == 0) /* NOLINT: a sum of zeros */
		return 0;
	if (l->others > 0)
		lost += l->others * (seen < 0.5 ? log1p(-seen) : log(l->rest + cover));
	if (l->dummies > 0)
		lost += l->dummies *
			(seen < 0.5 * l->blanket ? log1p(-seen / l->blanket) : log(cover / l->blanket));
	return fmin(1, victim * exp(fmin(0, lost)));
}

/* |log(u/v)|, from above: the quotient keeps what the difference of two large logarithms would lose. */
static double log_ratio(double u, double v)
{
	double r = u / v;

	if (r > DBL_MIN && r < INFINITY)
		return fabs(log(r)) + 2 * DBL_EPSILON;
	return fabs(log(u) - log(v));
}

/* The loss is log(sum N u / sum N v): at most (largest u, on all messages) over (smallest positive v, on
 * one). */
static double largest_loss(const struct acct_list *l)
{
	double top = 0, small = INFINITY, ratio = 0;
	bool zero = false;

	for (size_t j = 0; j < l->cells; j++) {
		double u = l->cell[j].u, v = l->cell[j].v;

		top = fmax(top, fmax(u, v));
		if (u > 0)
			small = fmin(small, u);
		if (v > 0)
			small = fmin(small, v);
		if ((u > 0) != (v > 0))
			zero = true;
		else if (u > 0)
			ratio = fmax(ratio, log_ratio(u, v));
	}
	if (zero)
		ratio = log(top) - log(small) + log(1 + l->others + l->dummies);
	return ratio * (1 + 1e-12);
}

/* 1 - sum(omega) with one rounding (Neumaier's sum). */
static double left_over(const struct acct_list *l)
{
	double sum = 1, low = 0;

	for (size_t j = 0; j < l->cells; j++) {
		double w = l->cell[j].omega, next = sum - w;

		low += fabs(sum) >= w ? (sum - next) - w : sum - (next + w);
		sum = next;
	}
	return sum + low;
}

/* Settle blanket and rest; more than all is scaled down to all. */
static void settle_blanket(struct acct_list *l)
{
	l->rest = left_over(l);
	l->blanket = 1 - l->rest;
	if (l->rest < -NOTHING)
		for (size_t j = 0; j < l->cells; j++)
			l->cell[j].omega /= l->blanket;
	if (l->rest <= NOTHING) {
		l->rest = 0;
		l->blanket = 1;
	}
	if (l->blanket < 0.5) { /* there the sum itself is the accurate one */
		l->blanket = 0;
		for (size_t j = 0; j < l->cells; j++)
			l->blanket += l->cell[j].omega;
	}
}

enum acct_rc acct_list_init(struct acct_list *l, const struct acct_round *r, const char **why)
{
	enum acct_rc rc = acct_round_check(r, why);
	double mean_u = 0, mean_v = 0;

	if (rc)
		return rc;
	memset(l, 0, sizeof *l);
	l->lossless = true;
	for (size_t j = 0; j < r->cells; j++) {
		size_t k = 0;

		while (k < l->cells &&
			!(same(l->cell[k].u, r->cell[j].u) && same(l->cell[k].v, r->cell[j].v)))
			k++;
		if (k == l->cells)
			l->cell[l->cells++] = r->cell[j];
		else
			l->cell[k].omega += r->cell[j].omega;
		l->lossless = l->lossless && r->cell[j].u >= r->cell[j].v && r->cell[j].u <= r->cell[j].v;
	}
	settle_blanket(l);
	for (size_t j = 0; j < l->cells; j++) {
		mean_u += l->cell[j].omega * l->cell[j].u;
		mean_v += l->cell[j].omega * l->cell[j].v;
	}
	for (size_t j = 0; j < l->cells; j++) {
		l->cell[j].u /= mean_u;
		l->cell[j].v /= mean_v;
	}
	l->others = (double)r->others;
	l->dummies = (double)r->dummies;
	l->symmetric = is_symmetric(l);
	l->infinite[0] = infinite_mass(l, false);
	l->infinite[1] = infinite_mass(l, true);
	l->largest = largest_loss(l);
	return ACCT_OK;
}

bool acct_list_equal(const struct acct_list *a, const struct acct_list *b)
{
	if (a->cells != b->cells || a->others != b->others || a->dummies != b->dummies)
		return false;
	for (size_t j = 0; j < a->cells; j++)
		if (a->cell[j].omega != b->cell[j].omega || a->cell[j].u != b->cell[j].u ||
			a->cell[j].v != b->cell[j].v)
			return false;
	return true;
}

enum acct_rc acct_cells_pair(
	double p, double beta, double q, double q2, struct acct_round *r, const char **why)
{
	if (!(p > 1))
		return domain(why, "p must be above 1 (inf is allowed)");
	double ip = 1 / p, most = (1 - ip) / (1 + ip);
	if (!(beta > 0 && beta <= most * (1 + 1e-12)))
		return domain(why, "beta must be above 0 and at most (p-1)/(p+1)");
	if (!(q >= (1 + beta) * (1 - 1e-12) && q < INFINITY))
		return domain(why, "q must be finite and at least 1 + beta");
	if (!(q2 > 0 && q2 <= q * (1 + 1e-12)))
		return domain(why, "q2 must be above 0 and at most q");

	double pa = beta / (1 - ip), rest = 1 - pa * (1 + ip);
	if (rest < 1e-14) {
		rest = 0;
		pa = 1 / (1 + ip);
	}
	if (!(2 * pa / q + rest / q2 <= 1 + 1e-12))
		return domain(why, "q2 is too small: the three blanket cells would sum to more than 1");
	r->cells = rest > 0 ? 3 : 2;
	r->cell[0] = (struct acct_cell){ pa / q, q, q * ip };
	r->cell[1] = (struct acct_cell){ pa / q, q * ip, q };
	if (rest > 0)
		r->cell[2] = (struct acct_cell){ rest / q2, q2, q2 };
	return ACCT_OK;
}

enum acct_rc acct_cells_generic(double epsilon0, struct acct_round *r, const char **why)
{
	if (!(epsilon0 > 0 && epsilon0 < 700))
		return domain(why, "eps0 must be above 0 and below 700");
	return acct_cells_pair(exp(epsilon0), tanh(epsilon0 / 2), exp(epsilon0), exp(epsilon0), r, why);
}
