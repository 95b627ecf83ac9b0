/* pt_laplace_analysis.c - computes the law of clamped discrete Laplace noise, its blanket, and unbiased
 * scores of the levels. */
#include <math.h>

#include "acct_families.h"
#include "pt_exact.h"
#include "pt_number.h"
#include "pt_number_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"

static uint32_t symbols(const struct pt_randomizer *p)
{
	return p->number.bins;
}

/* Set keep so that 1 - a = keep / 2^64, rounded down: then a >= e^(-epsilon0/b). */
static void set(struct pt_randomizer *p, double epsilon0)
{
	long double stop = -expm1l(-(long double)epsilon0 / (p->number.bins - 1));

	p->number.keep = (uint64_t)fmaxl(floorl(ldexpl(stop, 64) - PT_THRESHOLD_MARGIN), 0);
}

/* The chance of symbol y from level x is this factor times a^|x - y|. */
static long double factor(const struct pt_randomizer *p, uint32_t y)
{
	long double a = pt_number_drop(p);

	return (y == 0 || y == p->number.bins - 1 ? 1 : pt_number_keep(p)) / (1 + a);
}

static void law(const void *of, uint32_t level, double *chance)
{
	const struct pt_randomizer *p = of;

	for (uint32_t y = 0; y < p->number.bins; y++)
		chance[y] =
			(double)(factor(p, y) * powl(pt_number_drop(p), y < level ? level - y : y - level));
}

/* The scores of the symbols, whose means under level l are l and l^2.  Without clamping the sent number Y
 * has mean l and variance v = 2a/(1-a)^2.  So the scores are the means of Y and Y^2 - v given the clamped
 * symbol: beyond an end, Y is K away from it, P(K = k) = (1-a) a^k. */
static void scores(const void *of, double *first, double *second)
{
	const struct pt_randomizer *p = of;
	double a = (double)pt_number_drop(p), stop = (double)pt_number_keep(p), b = p->number.bins - 1;
	double beyond = a / stop, square = a * (1 + a) / (stop * stop), v = 2 * a / (stop * stop);

	for (uint32_t y = 0; y < p->number.bins; y++) {
		first[y] = y;
		second[y] = (double)y * y - v;
	}
	first[0] = -beyond;
	second[0] = square - v;
	first[p->number.bins - 1] = b + beyond;
	second[p->number.bins - 1] = b * b + 2 * b * beyond + square - v;
}

_Static_assert(PT_LAPLACE_LEVELS_MAX <= ACCT_MAX_CELLS, "the accountant has room for the cells");

static const struct pt_number_law number = {
	.levels_max = PT_LAPLACE_LEVELS_MAX, .sized = false, .law = law, .scores = scores, .set = set
};

/* The blanket omega is the lesser of the laws of levels 0 and b, which are the worst pair (accountant:
 * acct_named_laplace). */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double a = pt_number_drop(p);
	uint32_t b = p->number.bins - 1;

	if (participants < 1 || participants > ACCT_MAX_REPORTS)
		return cm_fail(
			err, CM_EPROTO, "%s: participants out of the accountant's range", p->row->name);
	*out = (struct acct_round){ .others = participants - 1, .count = 1, .cells = p->number.bins };
	for (uint32_t y = 0; y <= b; y++) {
		uint32_t far = y > b - y ? y : b - y;
		double omega = nextafter((double)(factor(p, y) * powl(a, far)), 0);
		double ratio = nextafter((double)powl(a, -(long double)(2 * far - b)), INFINITY);

		out->cell[y] = (struct acct_cell){
			.omega = omega, .u = 2 * y >= b ? 1 : ratio, .v = 2 * y <= b ? 1 : ratio
		};
	}
	if (out->cell[0].u > 1 + 1e-6 && b > 1)
		acct_family_set(out, ACCT_LADDER, NULL);
	else if (out->cell[0].u > 1 + 1e-6)
		out->messages = ACCT_BITS;
	return CM_OK;
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	return pt_number_tally(symbols(p), record, counts, err);
}

const struct pt_protocol pt_row_laplace = {
	.device = &pt_device_laplace,
	.keys = PT_KEY_LEVELS,
	.tallies = symbols,
	.tally = tally,
	.number = &number,
	.cells = cells,
	PT_NUMBER_ANALYSIS,
};
