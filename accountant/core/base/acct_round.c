/* acct_round.c - checks and compares rounds (acct_round_check and acct_round_equal of acct.h), and makes
 * those of acct_round.h. */
#include <float.h>
#include <math.h>

#include "acct_cells.h"
#include "acct_central.h"
#include "acct_family.h"
#include "acct_fault.h"

#define RATE_LEAST 1e-9 /* least chance with which participants take part */

/* Check the levels' shares, and that there are not too many reports in all. */
static enum acct_rc check_reports(const struct acct_round *r, double blanket, const char **why)
{
	uint64_t left = ACCT_MAX_REPORTS;

	if (r->others > left || r->dummies > left - r->others)
		return acct_fault(why, "others, levels and dummies must sum to at most 1e12");
	left -= r->others + r->dummies;
	for (size_t i = 0; i < r->levels; i++) {
		if (!(r->level[i].share > 0 && r->level[i].share * blanket <= 1 + ACCT_CELLS_SLACK))
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
		a->present != b->present || a->messages != b->messages || a->family != b->family ||
		a->event != b->event || a->shape[0] != b->shape[0] || a->shape[1] != b->shape[1] ||
		a->shape[2] != b->shape[2] || a->scale != b->scale || a->rate != b->rate ||
		!acct_profile_equal(a->profile, b->profile))
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

/* Are the cells those of the family, with the cell of silence? */
static bool fits_present(const struct acct_round *r)
{
	struct acct_round all = *r;
	const struct acct_cell *silence = &r->cell[r->cells - 1];

	if (r->cells < 2 || !acct_cells_close(silence->u, 1) || !acct_cells_close(silence->v, 1) ||
		!acct_cells_close(silence->omega, 1 - r->present))
		return false;
	all.present = 0;
	all.cells--;
	for (size_t j = 0; j < all.cells; j++)
		all.cell[j].omega /= r->present;
	return r->family->fits(&all);
}

static enum acct_rc check_family(const struct acct_round *r, const char **why)
{
	if (r->messages != ACCT_ANY_MESSAGES)
		return acct_fault(why, "messages are of a family or bits, not both");
	if (r->dummies > 0 || r->levels > 0)
		return acct_fault(why, "messages above 3 have no dummies and no levels");
	if (!(r->present > 0 ? fits_present(r) : r->family->fits(r)))
		return acct_fault(why, "the cells are not those of such messages");
	return ACCT_OK;
}

/* Are the cells those of binary response? */
static enum acct_rc check_bits(const struct acct_round *r, const char **why)
{
	const struct acct_cell *a = &r->cell[0], *b = &r->cell[1];

	if (r->messages != ACCT_BITS && r->messages != ACCT_BITS_OF_LEVELS &&
		r->messages != ACCT_LABELLED_BITS)
		return acct_fault(why, "there are no such messages");
	if (r->messages == ACCT_LABELLED_BITS && r->levels > 0)
		return acct_fault(why, "labelled bits have no levels");
	if (r->cells != 2 || !acct_cells_close(a->u, b->v) || !acct_cells_close(a->v, b->u) ||
		!acct_cells_close(fmin(a->u, a->v), 1) ||
		!acct_cells_close(a->omega, 1 / (1 + fmax(a->u, a->v))) ||
		!acct_cells_close(a->omega, b->omega))
		return acct_fault(why, "bits have two cells, of omega = 1/(1+E), (E, 1) and (1, E)");
	return ACCT_OK;
}

static enum acct_rc check_messages(const struct acct_round *r, const char **why)
{
	if (!(r->present >= 0 && r->present < 1))
		return acct_fault(why, "present must be above 0 and below 1, or 0");
	if (r->family)
		return check_family(r, why);
	if (r->present > 0)
		return acct_fault(why, "present is of a family");
	if (r->shape[0] != 0 || r->shape[1] != 0 || r->shape[2] != 0)
		return acct_fault(why, "shape is of a family");
	return r->messages == ACCT_ANY_MESSAGES ? ACCT_OK : check_bits(r, why);
}

/* Comparisons below are negated, so that NaN is refused as well. */
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

		/* Smaller omegas are refused, since a subnormal product omega * u would have a relative
		 * error of up to a half. */
		if (!(c->omega >= DBL_MIN && c->omega <= 1))
			return acct_fault(why, "omega of every cell must be in [2.3e-308, 1]");
		if (!(c->u >= 0 && c->u < INFINITY && c->v >= 0 && c->v < INFINITY))
			return acct_fault(why, "u and v of every cell must be finite and not negative");
		blanket += c->omega;
		mean_u += c->omega * c->u;
		mean_v += c->omega * c->v;
	}
	if (!(blanket <= 1 + ACCT_CELLS_SLACK))
		return acct_fault(why, "omega must sum to at most 1");
	if (!(fabs(mean_u - 1) <= ACCT_CELLS_SLACK))
		return acct_fault(why, "omega*u must sum to 1");
	if (!(fabs(mean_v - 1) <= ACCT_CELLS_SLACK))
		return acct_fault(why, "omega*v must sum to 1");
	if (check_messages(r, why))
		return ACCT_EDOMAIN;
	return check_reports(r, blanket, why);
}

/* Somebody who does not take part is silent.  Silence is a report that has the same law for everybody: a
 * cell with u = v = 1, which is all blanket.  So the blanket-cell theorem holds for the list with this
 * cell, and every other omega multiplied by the rate. */
enum acct_rc acct_round_poisson(struct acct_round *r, double rate, const char **why)
{
	if (!(rate >= RATE_LEAST && rate < 1))
		return acct_fault(why, "poisson must be from 1e-9 to below 1");
	if (r->event != ACCT_SHUFFLED)
		return acct_fault(why, "poisson is of shuffled reports");
	if (r->dummies > 0 || r->levels > 0)
		return acct_fault(why,
			"poisson with dummies or guarantees of the participants' own: they are "
			"not blanket in the proportions of those who may be silent");
	if (r->present > 0)
		return acct_fault(why, "poisson twice");
	if (r->sampling > 0)
		return acct_fault(why, "poisson or sampling, not both");
	if (r->cells >= ACCT_MAX_CELLS)
		return acct_fault(why, "poisson takes a cell more than there is room for");
	for (size_t j = 0; j < r->cells; j++)
		r->cell[j].omega *= rate;
	r->cell[r->cells++] = (struct acct_cell){ 1 - rate, 1, 1 };
	r->messages = ACCT_ANY_MESSAGES; /* silence is no bit */
	r->present = r->family ? rate : 0;
	return ACCT_OK;
}
