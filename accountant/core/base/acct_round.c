/* acct_round.c - checks and compares rounds: acct_round_check and acct_round_equal of acct.h. */
#include <float.h>
#include <math.h>

#include "acct_central.h"
#include "acct_fault.h"
#include "acct_triples.h"

#define SLACK 1e-9 /* sums of up to 64 rounded products; beyond it the list is not a pair of laws */

/* Checks shares, and the number of all reports. */
static enum acct_rc check_reports(const struct acct_round *r, double blanket, const char **why)
{
	uint64_t left = ACCT_MAX_REPORTS;

	if (r->others > left || r->dummies > left - r->others)
		return acct_fault(why, "others, levels and dummies must sum to at most 1e12");
	left -= r->others + r->dummies;
	for (size_t i = 0; i < r->levels; i++) {
		if (!(r->level[i].share > 0 && r->level[i].share * blanket <= 1 + SLACK))
			return acct_fault(
				why, "share of every level must be above 0 and at most 1/sum(omega)");
		if (r->level[i].count > left)
			return acct_fault(why, "others, levels and dummies must sum to at most 1e12");
		left -= r->level[i].count;
	}
	return ACCT_OK;
}

bool acct_round_equal(const struct acct_round *a, const struct acct_round *b)
{
	if (a->cells != b->cells || a->others != b->others || a->dummies != b->dummies ||
		a->levels != b->levels || a->defect != b->defect || a->sampling != b->sampling ||
		a->messages != b->messages || a->triple != b->triple || a->event != b->event ||
		a->shape[0] != b->shape[0] || a->shape[1] != b->shape[1] || a->shape[2] != b->shape[2] ||
		a->scale != b->scale || a->rate != b->rate || !acct_profile_equal(a->profile, b->profile))
		return false;
	for (size_t i = 0; i < a->cells; i++)
		if (a->cell[i].omega != b->cell[i].omega || a->cell[i].u != b->cell[i].u ||
			a->cell[i].v != b->cell[i].v)
			return false;
	for (size_t i = 0; i < a->levels; i++)
		if (a->level[i].share != b->level[i].share || a->level[i].count != b->level[i].count)
			return false;
	return true;
}

static bool close_to(double a, double b)
{
	return fabs(a - b) <= SLACK * fabs(b);
}

/* (p, 1) and (1, p) of one mass; of the rest (p, p) and (1, 1). */
static bool are_sets(const struct acct_round *r)
{
	double p = 1, apart[2] = { 0, 0 }, both = 0;

	for (size_t j = 0; j < r->cells; j++)
		p = fmax(p, r->cell[j].u);
	for (size_t j = 0; j < r->cells; j++) {
		const struct acct_cell *c = &r->cell[j];

		if (!(close_to(c->u, 1) || close_to(c->u, p)) || !(close_to(c->v, 1) || close_to(c->v, p)))
			return false;
		if (close_to(c->u, 1) != close_to(c->v, 1))
			apart[close_to(c->u, 1)] += c->omega;
		else if (!close_to(c->u, 1))
			both += c->omega;
	}
	return r->triple >= 0 && r->triple <= both * (1 + SLACK) && r->cells <= 4 && p > 1 && apart[0] > 0 &&
	       close_to(apart[0], apart[1]);
}

static bool are_words(const struct acct_round *r)
{
	double s = (double)r->cells - 1, g = pow(r->cell[0].u, 1 / s), chance = pow(1 + g, -s);

	for (size_t j = 0; j < r->cells; j++) {
		double k = (double)j;

		if (!close_to(r->cell[j].u, pow(g, s - k)) || !close_to(r->cell[j].v, pow(g, k)) ||
			!close_to(r->cell[j].omega, chance))
			return false;
		chance *= (s - k) / (k + 1);
	}
	return s >= 1 && g > 1;
}

static bool are_ladder(const struct acct_round *r)
{
	double b = (double)r->cells - 1, most = 1, a;

	for (size_t j = 0; j < r->cells; j++)
		most = fmax(most, r->cell[j].u);
	a = pow(most, -1 / b);
	for (double y = 0; y <= b; y++) {
		double omega = (y > 0 && y < b ? 1 - a : 1) / (1 + a) * pow(a, fmax(y, b - y));
		bool found = false;

		for (size_t j = 0; j < r->cells && !found; j++)
			found = close_to(r->cell[j].u, fmax(1, pow(a, 2 * y - b))) &&
				close_to(r->cell[j].v, fmax(1, pow(a, b - 2 * y))) &&
				close_to(r->cell[j].omega, omega);
		if (!found)
			return false;
	}
	return most > 1;
}

/* Of the blanket, what is likelier under one input alone, and under both: (p, 1) and (1, p), (p, p). */
static bool are_triples(const struct acct_round *r)
{
	double p = 1, had[4] = { 0, 0, 0, 0 }, meant[4] = { 0, 0, 0, 0 };
	struct acct_triple t;

	for (size_t j = 0; j < r->cells; j++)
		p = fmax(p, r->cell[j].u);
	if (!(p > 1 && acct_triples_shape(r->messages, r->shape)))
		return false;
	t = acct_triples_first(r->messages, r->shape, p);
	for (unsigned i = 0; i < ACCT_CLASSES; i++)
		meant[i & 3] += t.mass[i];
	for (size_t j = 0; j < r->cells; j++) {
		double u = r->cell[j].u, v = r->cell[j].v;

		if (!(close_to(u, 1) || close_to(u, p)) || !(close_to(v, 1) || close_to(v, p)))
			return false;
		had[(close_to(u, 1) ? 0 : 1) + (close_to(v, 1) ? 0 : 2)] += r->cell[j].omega;
	}
	for (int i = 0; i < 4; i++)
		if (!(fabs(had[i] - meant[i]) <= SLACK * (had[i] + 1e-3)))
			return false;
	return true;
}

static bool are_kinds(const struct acct_round *r)
{
	if (acct_are_triples(r->messages))
		return are_triples(r);
	return r->messages == ACCT_SETS    ? are_sets(r)
	       : r->messages == ACCT_WORDS ? are_words(r)
					   : are_ladder(r);
}

static enum acct_rc check_kinds(const struct acct_round *r, const char **why)
{
	if (r->dummies > 0 || r->levels > 0)
		return acct_fault(why, "messages above 3 have no dummies and no levels");
	if (!are_kinds(r))
		return acct_fault(why, "the cells are not those of such messages");
	return ACCT_OK;
}

/* Are the cells those of binary response? */
static enum acct_rc check_bits(const struct acct_round *r, const char **why)
{
	const struct acct_cell *a = &r->cell[0], *b = &r->cell[1];

	if (r->messages != ACCT_SETS && !(r->triple >= 0 && r->triple <= 0))
		return acct_fault(why, "triple is of sets");
	if (!acct_are_triples(r->messages) && (r->shape[0] != 0 || r->shape[1] != 0 || r->shape[2] != 0))
		return acct_fault(why, "shape is of messages above 6");
	if (r->messages == ACCT_ANY_MESSAGES)
		return ACCT_OK;
	if (r->messages >= ACCT_SETS && r->messages <= ACCT_SIGNS)
		return check_kinds(r, why);
	if (r->messages != ACCT_BITS && r->messages != ACCT_BITS_OF_LEVELS &&
		r->messages != ACCT_LABELLED_BITS)
		return acct_fault(why, "messages must be 0, 1, .. or 10");
	if (r->messages == ACCT_LABELLED_BITS && r->levels > 0)
		return acct_fault(why, "labelled bits have no levels");
	if (r->cells != 2 || !close_to(a->u, b->v) || !close_to(a->v, b->u) ||
		!close_to(fmin(a->u, a->v), 1) || !close_to(a->omega, 1 / (1 + fmax(a->u, a->v))) ||
		!close_to(a->omega, b->omega))
		return acct_fault(why, "bits have two cells, of omega = 1/(1+E), (E, 1) and (1, E)");
	return ACCT_OK;
}

/* Negated comparisons below refuse NaN as well. */
enum acct_rc acct_round_check(const struct acct_round *r, const char **why)
{
	double blanket = 0, mean_u = 0, mean_v = 0;

	if (r->event != ACCT_SHUFFLED && acct_central_check(r, why))
		return ACCT_EDOMAIN;
	if (r->cells == 0 && r->event == ACCT_SHUFFLED)
		return acct_fault(why, "a round needs at least one cell");
	if (r->cells > ACCT_MAX_CELLS)
		return acct_fault(why, "a round has at most 64 cells");
	if (r->count == 0)
		return acct_fault(why, "count must be at least 1");
	if (r->count > ACCT_MAX_COUNT)
		return acct_fault(why, "count must be at most 1000000");
	if (r->levels > ACCT_MAX_LEVELS)
		return acct_fault(why, "a round has at most 64 levels");
	if (!(r->defect >= 0 && r->defect < 1))
		return acct_fault(why, "defect must be at least 0 and below 1");
	if (!(r->sampling >= 0 && r->sampling < 1))
		return acct_fault(why, "sampling must be above 0 and below 1, or 0 for none");
	if (r->event != ACCT_SHUFFLED)
		return ACCT_OK;
	for (size_t j = 0; j < r->cells; j++) {
		const struct acct_cell *c = &r->cell[j];

		/* A subnormal product would be off by up to a half. */
		if (!(c->omega >= DBL_MIN && c->omega <= 1))
			return acct_fault(why, "omega of every cell must be in [2.3e-308, 1]");
		if (!(c->u >= 0 && c->u < INFINITY && c->v >= 0 && c->v < INFINITY))
			return acct_fault(why, "u and v of every cell must be finite and not negative");
		blanket += c->omega;
		mean_u += c->omega * c->u;
		mean_v += c->omega * c->v;
	}
	if (!(blanket <= 1 + SLACK))
		return acct_fault(why, "omega must sum to at most 1");
	if (!(fabs(mean_u - 1) <= SLACK))
		return acct_fault(why, "omega*u must sum to 1");
	if (!(fabs(mean_v - 1) <= SLACK))
		return acct_fault(why, "omega*v must sum to 1");
	if (check_bits(r, why))
		return ACCT_EDOMAIN;
	return check_reports(r, blanket, why);
}
