/* pt_piecewise_analysis.c - derives the width of the window, and computes the scores of symbols and the
 * blanket outside all windows. */
#include "pt_piecewise.h"

#include <math.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_number_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_single_analysis.h"

/* Set the window's width w to the whole number next to b e^(-epsilon0/2): as b grows, it tells most about
 * the level. */
static void set(struct pt_randomizer *p, double epsilon0)
{
	double b = p->number.bins - 1;
	long double likely;

	if (p->number.size == 0)
		p->number.size = (uint32_t)fmax(1, floor(b * exp(-epsilon0 / 2) + 0.5));
	likely = p->number.size * expl((long double)epsilon0);
	p->number.keep =
		(uint64_t)floorl(ldexpl(likely / (likely + (long double)b), 64) - PT_THRESHOLD_MARGIN);
}

static double inside(const struct pt_randomizer *p)
{
	return (double)(pt_number_keep(p) / p->number.size);
}

static double outside(const struct pt_randomizer *p)
{
	return (double)(pt_number_drop(p) / (p->number.bins - 1));
}

static void law(const void *of, uint32_t level, double *chance)
{
	const struct pt_randomizer *p = of;

	for (uint32_t y = 0; y < pt_piecewise_symbols(p); y++)
		chance[y] = y >= level && y < level + p->number.size ? inside(p) : outside(p);
}

/* By how much a symbol inside the window is likelier than one outside, times b w: keep b - (1 - keep) w,
 * with keep as a chance; computed exactly and then rounded; 0 if it is no likelier. */
static double excess(const struct pt_randomizer *p)
{
	__extension__ typedef unsigned __int128 u128;
	u128 likely = (u128)p->number.keep * pt_piecewise_symbols(p), chance = (u128)p->number.size << 64;

	return likely > chance ? ldexp((double)(likely - chance), -64) : 0;
}

/* The scores follow from the moments of the symbol y.  With n = b + w symbols, E y = outside n (n-1)/2 +
 * (inside - outside) (w l + w (w-1)/2), where inside and outside are the chances of one symbol; the mean of
 * y^2 follows in the same way from sums of squares. */
static void scores(const void *of, double *first, double *second)
{
	const struct pt_randomizer *p = of;
	double n = pt_piecewise_symbols(p), w = p->number.size, out = outside(p);
	double more = excess(p) / (w * (p->number.bins - 1));
	double n1 = n * (n - 1) / 2, n2 = n1 * (2 * n - 1) / 3;
	double w1 = w * (w - 1) / 2, w2 = w1 * (2 * w - 1) / 3;

	for (uint32_t y = 0; y < pt_piecewise_symbols(p); y++) {
		first[y] = (y - out * n1 - more * w1) / (more * w);
		second[y] = ((double)y * y - out * n2 - more * w2) / (more * w) - (w - 1) * first[y];
	}
}

static const struct pt_number_law number = {
	.levels_max = PR_CATEGORIES_MAX, .sized = true, .law = law, .scores = scores, .set = set
};

/* If w <= b, each symbol is outside of some window, so the blanket omega is the chance of a symbol outside.
 * The windows of 0 and b are disjoint, so these are the worst pair. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double b = p->number.bins - 1, w = p->number.size, drop = pt_number_drop(p);
	struct pt_blanket blanket = { .one = drop * w / b,
		.neither = drop * (b - w) / b,
		.ratio = pt_ratio_value(pt_piecewise_ratio(p)) };

	/* otherwise a third window can lie in the symbols that those of 0 and b leave, and hides neither */
	if (2 * w > b) {
		blanket.family = ACCT_WINDOWS;
		blanket.shape[0] = (double)b;
		blanket.shape[1] = (double)w;
	}

	return pt_single_cells(p, participants, &blanket, out, err);
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	return pt_number_tally(pt_piecewise_symbols(p), record, counts, err);
}

const struct pt_protocol pt_row_piecewise = {
	.device = &pt_device_piecewise,
	.keys = PT_KEY_LEVELS | PT_KEY_SIZE,
	.tallies = pt_piecewise_symbols,
	.tally = tally,
	.number = &number,
	.cells = cells,
	PT_NUMBER_ANALYSIS,
};
