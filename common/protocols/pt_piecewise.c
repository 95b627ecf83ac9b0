/* pt_piecewise.c - the square wave: likely symbols in a window that begins at the level. */
#include <math.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_levels.h"
#include "pt_number.h"
#include "pt_rows.h"

/* Li, Wang, Lopuhaa-Zwakenberg, Skoric, Li, "Estimating numerical distributions under local differential
 * privacy", SIGMOD 2020, on levels: level x of 0..b goes to a symbol of the window x..x+w-1 with chance keep,
 * else to one of the b others of 0..b+w-1, uniform either way. */

static const char name[] = "piecewise";

__extension__ typedef unsigned __int128 u128;

static uint32_t symbols(const struct pt_params *p)
{
	return p->bins - 1 + p->size;
}

/* w next to b e^(-epsilon0/2) has the largest information as b grows. */
static void set(struct pt_params *p, double epsilon0)
{
	double b = p->bins - 1;
	long double likely;

	if (p->size == 0)
		p->size = (uint32_t)fmax(1, floor(b * exp(-epsilon0 / 2) + 0.5));
	likely = p->size * expl((long double)epsilon0);
	p->keep = (uint64_t)floorl(ldexpl(likely / (likely + (long double)b), 64) - PT_THRESHOLD_MARGIN);
}

/* Of a symbol inside the window to one outside. */
static long double ratio(const struct pt_params *p)
{
	return pt_number_keep(p) * (p->bins - 1) / (pt_number_drop(p) * p->size);
}

/* Of a symbol inside, how much likelier than one outside, times b w 2^64: keep b - (2^64 - keep) w; 0 if no
 * likelier. */
static u128 excess(const struct pt_params *p)
{
	u128 likely = (u128)p->keep * symbols(p), chance = (u128)p->size << 64;

	return likely > chance ? likely - chance : 0;
}

static double epsilon0(const struct pt_params *p)
{
	return excess(p) > 0 ? pt_log_up(ratio(p)) : 0;
}

static double inside(const struct pt_params *p)
{
	return (double)(pt_number_keep(p) / p->size);
}

static double outside(const struct pt_params *p)
{
	return (double)(pt_number_drop(p) / (p->bins - 1));
}

static void law(const struct pt_params *p, uint32_t level, double *chance)
{
	for (uint32_t y = 0; y < symbols(p); y++)
		chance[y] = y >= level && y < level + p->size ? inside(p) : outside(p);
}

/* With n = b + w symbols, E y = outside n (n-1)/2 + (inside - outside) (w l + w (w-1)/2), and likewise the
 * mean of y^2 from sums of squares. */
static void scores(const struct pt_params *p, double *first, double *second)
{
	double n = symbols(p), w = p->size, out = outside(p);
	double more = ldexp((double)excess(p), -64) / (w * (p->bins - 1));
	double n1 = n * (n - 1) / 2, n2 = n1 * (2 * n - 1) / 3;
	double w1 = w * (w - 1) / 2, w2 = w1 * (2 * w - 1) / 3;

	for (uint32_t y = 0; y < symbols(p); y++) {
		first[y] = (y - out * n1 - more * w1) / (more * w);
		second[y] = ((double)y * y - out * n2 - more * w2) / (more * w) - (w - 1) * first[y];
	}
}

static const struct pt_number row = { .name = name,
	.levels_max = PR_CATEGORIES_MAX,
	.sized = true,
	.rule = { .symbols = symbols, .law = law, .scores = scores },
	.set = set,
	.epsilon0 = epsilon0 };

PT_NUMBER_FUNCTIONS(row)

/* w <= b: some window leaves each symbol out, so omega is that of a symbol outside; the windows of 0 and b
 * are disjoint, the worst pair. */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double b = p->bins - 1, w = p->size, drop = pt_number_drop(p);
	struct pt_blanket blanket = { .one = drop * w / b, .neither = drop * (b - w) / b, .ratio = ratio(p) };

	return pt_single_cells(p, participants, &blanket, out, err);
}

/* Constant time in the level and in what was drawn: masks only, the same three draws. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t level = pt_levels_round(value->x, p->bins - 1, rng);
	uint64_t keep = UINT64_C(0) - cm_rng_bernoulli(rng, p->keep);
	uint64_t in = cm_rng_below(rng, p->size), out = cm_rng_below(rng, p->bins - 1);

	(void)q;
	/* Skip the window: 0..b-1 onto the others. */
	out += p->size & ~pt_below_mask(out, level);
	pt_record_put(records, pt_choose(keep, level + in, out));
}

const struct pt_protocol pt_row_piecewise = {
	.name = name,
	.summary = "square wave: the mean of a bounded number from one near it each",
	.tallies = symbols,
	.epsilon0 = epsilon0,
	.cells = cells,
	.encode = encode,
	PT_NUMBER_COLUMNS,
};
