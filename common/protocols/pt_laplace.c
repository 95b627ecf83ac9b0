/* pt_laplace.c - discrete Laplace noise on the level, clamped to the levels. */
#include <math.h>

#include "pt_exact.h"
#include "pt_levels.h"
#include "pt_number.h"
#include "pt_rows.h"

/* The two-sided geometric mechanism of Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing
 * privacy mechanisms", STOC 2009: level x becomes x + z with chance (1-a)/(1+a) a^|z|, then what is below 0
 * becomes 0 and what is above b becomes b.  a = 1 - keep / 2^64, exactly.
 *
 * Clamping loses nothing: how far beyond an end x + z fell is geometric whatever x is. */

static const char name[] = "laplace-levels";

#define LEVELS_MAX 64u /* a cell for each */
_Static_assert(LEVELS_MAX <= ACCT_MAX_CELLS, "the accountant has room for the cells");

static uint32_t symbols(const struct pt_params *p)
{
	return p->bins;
}

/* a >= e^(-epsilon0/b). */
static void set(struct pt_params *p, double epsilon0)
{
	long double stop = -expm1l(-(long double)epsilon0 / (p->bins - 1));

	p->keep = (uint64_t)fmaxl(floorl(ldexpl(stop, 64) - PT_THRESHOLD_MARGIN), 0);
}

/* -b ln a. */
static double epsilon0(const struct pt_params *p)
{
	return pt_round_up((p->bins - 1) * -log1pl(-pt_number_keep(p)) * (1 + 4 * LDBL_EPSILON));
}

/* Chance of symbol y less its power of a. */
static long double factor(const struct pt_params *p, uint32_t y)
{
	long double a = pt_number_drop(p);

	return (y == 0 || y == p->bins - 1 ? 1 : pt_number_keep(p)) / (1 + a);
}

static void law(const struct pt_params *p, uint32_t level, double *chance)
{
	for (uint32_t y = 0; y < p->bins; y++)
		chance[y] =
			(double)(factor(p, y) * powl(pt_number_drop(p), y < level ? level - y : y - level));
}

/* Without clamping Y has mean l and variance v = 2a/(1-a)^2, so the scores are the means of Y and Y^2 - v
 * given what is left of it: beyond an end Y is K away, P(K = k) = (1-a) a^k. */
static void scores(const struct pt_params *p, double *first, double *second)
{
	double a = (double)pt_number_drop(p), stop = (double)pt_number_keep(p), b = p->bins - 1;
	double beyond = a / stop, square = a * (1 + a) / (stop * stop), v = 2 * a / (stop * stop);

	for (uint32_t y = 0; y < p->bins; y++) {
		first[y] = y;
		second[y] = (double)y * y - v;
	}
	first[0] = -beyond;
	second[0] = square - v;
	first[p->bins - 1] = b + beyond;
	second[p->bins - 1] = b * b + 2 * b * beyond + square - v;
}

static const struct pt_number row = { .name = name,
	.levels_max = LEVELS_MAX,
	.rule = { .symbols = symbols, .law = law, .scores = scores },
	.set = set,
	.epsilon0 = epsilon0 };

PT_NUMBER_FUNCTIONS(row)

/* omega is the lesser of the laws of 0 and b, the worst pair (doc/accounting.md). */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double a = pt_number_drop(p);
	uint32_t b = p->bins - 1;

	if (participants < 1 || participants > ACCT_MAX_REPORTS)
		return cm_fail(err, CM_EPROTO, "%s: participants out of the accountant's range", name);
	*out = (struct acct_round){ .others = participants - 1, .count = 1, .cells = p->bins };
	for (uint32_t y = 0; y <= b; y++) {
		uint32_t far = y > b - y ? y : b - y;
		double omega = nextafter((double)(factor(p, y) * powl(a, far)), 0);
		double ratio = nextafter((double)powl(a, -(long double)(2 * far - b)), INFINITY);

		out->cell[y] = (struct acct_cell){
			.omega = omega, .u = 2 * y >= b ? 1 : ratio, .v = 2 * y <= b ? 1 : ratio
		};
	}
	return CM_OK;
}

/* |z| is the number of draws that go on before the first that does not; b of them are enough, for what is
 * beyond b is clamped.  Noise 0 of either sign would count twice: one sign is drawn again.  What was thrown
 * away says nothing of what is sent, and nothing here but the last sum depends on the level: the running time
 * tells nothing. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t b = p->bins - 1, level = pt_levels_round(value->x, (uint32_t)b, rng), size, minus, y;

	(void)q;
	do {
		uint64_t going = 1;

		size = 0;
		for (uint64_t i = 0; i < b; i++) {
			going &= cm_rng_bernoulli(rng, pt_complement(p->keep));
			size += going;
		}
		minus = cm_rng_below(rng, 2);
	} while ((minus & pt_equal_mask(size, 0)) != 0);
	/* b up, so that nothing is below zero. */
	y = level + b + pt_choose(UINT64_C(0) - minus, UINT64_C(0) - size, size);
	y = pt_choose(pt_below_mask(y, b), b, y);
	y = pt_choose(pt_below_mask(2 * b, y), 2 * b, y);
	pt_record_put(records, y - b);
}

const struct pt_protocol pt_row_laplace = {
	.name = name,
	.summary = "discrete Laplace noise: the mean of a bounded number from one level each",
	.tallies = symbols,
	.epsilon0 = epsilon0,
	.cells = cells,
	.encode = encode,
	PT_NUMBER_COLUMNS,
};
