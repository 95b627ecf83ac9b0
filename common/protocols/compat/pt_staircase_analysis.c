/* pt_staircase_analysis.c - computes the folded staircase law, the width of its steps, and the scores of
 * its symbols. */
#include <math.h>

#include "pt_exact.h"
#include "pt_number.h"
#include "pt_number_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_single_analysis.h"

static uint32_t symbols(const struct pt_randomizer *p)
{
	return 3 * (p->number.bins - 1) + 1;
}

/* Set keep, with drop = 1 - keep / 2^64 >= e^-epsilon0, and the step r to the number with which the laws
 * overlap least in all, b / (1 + e^(epsilon0/2)). */
static void set(struct pt_randomizer *p, double epsilon0)
{
	if (p->number.size == 0)
		p->number.size =
			(uint32_t)fmax(1, floor((p->number.bins - 1) / (1 + exp(epsilon0 / 2)) + 0.5));
	p->number.keep =
		(uint64_t)fmaxl(floorl(ldexpl(-expm1l(-(long double)epsilon0), 64) - PT_THRESHOLD_MARGIN), 0);
}

/* The sum of all noises' weights, where those of |z| < r are 1, times keep. */
static long double whole(const struct pt_randomizer *p)
{
	long double b = p->number.bins - 1, r = p->number.size;

	return 2 * r - 1 + (2 * (b - r) + 1) * pt_number_drop(p);
}

/* beyond the levels, noises fold to the same symbol: their multiples of b add up to a factor of 1 / keep */
static void law(const void *of, uint32_t level, double *chance)
{
	const struct pt_randomizer *p = of;
	uint32_t b = p->number.bins - 1;
	double drop = (double)pt_number_drop(p), stop = (double)pt_number_keep(p), all = (double)whole(p);
	const double power[] = { 1, drop, drop * drop, drop * drop * drop };

	for (uint32_t y = 0; y < symbols(p); y++) {
		uint32_t far = y > level + b ? y - level - b : level + b - y;
		uint32_t times = (far >= b ? 1u : 0u) + (far >= 2 * b ? 1u : 0u);
		uint32_t falls = times + (far - times * b >= p->number.size ? 1u : 0u);

		chance[y] = (y < b || y > 2 * b ? 1 : stop) / all * power[falls];
	}
}

/* The variance of the noise: the sum over t and k, where k is geometric for every t. */
static double noise(const struct pt_randomizer *p)
{
	double b = p->number.bins - 1, drop = (double)pt_number_drop(p), stop = (double)pt_number_keep(p),
	       sum = 0;

	for (uint32_t t = 0; t < p->number.bins - 1; t++) {
		double square =
			b * b * drop * (1 + drop) / (stop * stop) + 2 * b * t * drop / stop + (double)t * t;

		sum += 2 * square * (t < p->number.size ? 1 : drop);
	}
	return sum / (double)whole(p);
}

/* The scores are the means of Y and Y^2 - v given the symbol, where Y = level + noise and v is the noise's
 * variance. */
static void scores(const void *of, double *first, double *second)
{
	const struct pt_randomizer *p = of;
	double b = p->number.bins - 1, drop = (double)pt_number_drop(p), stop = (double)pt_number_keep(p);
	double times = drop / stop, square = drop * (1 + drop) / (stop * stop), v = noise(p);

	for (uint32_t i = 0; i < symbols(p); i++) {
		double y = i - b, away = y < 0 ? -b : y > b ? b : 0;

		first[i] = y + away * times;
		second[i] = y * y + 2 * y * away * times + away * away * square - v;
	}
}

static const struct pt_number_law number = {
	.levels_max = PT_STAIRCASE_LEVELS_MAX, .sized = true, .law = law, .scores = scores, .set = set
};

/* Between levels at most b apart every law is 1 or 1/drop times the lesser of the laws of 0 and b, which
 * have least in common (accountant: acct_named_staircase).  Level 0 is likelier up to 0, and at `wins`
 * symbols between 0 and b; at the other symbols between them both are high or both low. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double b = p->number.bins - 1, r = p->number.size, drop = pt_number_drop(p),
		    keep = pt_number_keep(p);
	long double wins = fminl(r - 1, b - r), all = whole(p);
	long double high = fmaxl(0, 2 * r - 1 - b), low = fmaxl(0, b - 2 * r + 1);
	struct pt_blanket blanket = { .one = drop * (r + (b - r) * drop + wins * keep) / all,
		.neither = keep * (high + low * drop) / all,
		.ratio = 1 / drop,
		.family = ACCT_STAIRS,
		.shape = { (double)b, (double)r } };

	return pt_single_cells(p, participants, &blanket, out, err);
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	return pt_number_tally(symbols(p), record, counts, err);
}

const struct pt_protocol pt_row_staircase = {
	.device = &pt_device_staircase,
	.keys = PT_KEY_LEVELS | PT_KEY_SIZE,
	.tallies = symbols,
	.tally = tally,
	.number = &number,
	.cells = cells,
	PT_NUMBER_ANALYSIS,
};
