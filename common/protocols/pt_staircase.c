/* pt_staircase.c - discrete staircase noise on the level, folded to a few symbols. */
#include <math.h>

#include "pt_exact.h"
#include "pt_levels.h"
#include "pt_number.h"
#include "pt_rows.h"

/* Geng, Kairouz, Oh, Viswanath, "The staircase mechanism in differential privacy", IEEE JSTSP 9(7), 2015, on
 * integers: level x becomes Y = x + z, where a noise of |z| = k b + t, 0 <= t < b, has a chance in proportion
 * to drop^k for t below the step r and drop^(k+1) from there on; drop = 1 - keep / 2^64, exactly.  Y below -b
 * is moved up by multiples of b into -b..-1, and likewise above 2b down into b+1..2b; symbol y is Y + b.
 *
 * Folding loses nothing: how many multiples of b is geometric whatever x is. */

static const char name[] = "staircase";

#define LEVELS_MAX 1024u

static uint32_t symbols(const struct pt_params *p)
{
	return 3 * (p->bins - 1) + 1;
}

/* drop >= e^-epsilon0.  The r of least total overlap, b / (1 + e^(epsilon0/2)). */
static void set(struct pt_params *p, double epsilon0)
{
	if (p->size == 0)
		p->size = (uint32_t)fmax(1, floor((p->bins - 1) / (1 + exp(epsilon0 / 2)) + 0.5));
	p->keep =
		(uint64_t)fmaxl(floorl(ldexpl(-expm1l(-(long double)epsilon0), 64) - PT_THRESHOLD_MARGIN), 0);
}

static double epsilon0(const struct pt_params *p)
{
	return pt_round_up(-log1pl(-pt_number_keep(p)) * (1 + 4 * LDBL_EPSILON));
}

/* All noises' weights, those of |z| < r being 1, times keep. */
static long double whole(const struct pt_params *p)
{
	long double b = p->bins - 1, r = p->size;

	return 2 * r - 1 + (2 * (b - r) + 1) * pt_number_drop(p);
}

/* Beyond the levels the multiples of b add up to 1 / keep. */
static void law(const struct pt_params *p, uint32_t level, double *chance)
{
	uint32_t b = p->bins - 1;
	double drop = (double)pt_number_drop(p), stop = (double)pt_number_keep(p), all = (double)whole(p);
	const double power[] = { 1, drop, drop * drop, drop * drop * drop };

	for (uint32_t y = 0; y < symbols(p); y++) {
		uint32_t far = y > level + b ? y - level - b : level + b - y;
		uint32_t times = (far >= b ? 1u : 0u) + (far >= 2 * b ? 1u : 0u);
		uint32_t falls = times + (far - times * b >= p->size ? 1u : 0u);

		chance[y] = (y < b || y > 2 * b ? 1 : stop) / all * power[falls];
	}
}

/* Variance of the noise: over t and k, the k of every t geometric. */
static double noise(const struct pt_params *p)
{
	double b = p->bins - 1, drop = (double)pt_number_drop(p), stop = (double)pt_number_keep(p), sum = 0;

	for (uint32_t t = 0; t < p->bins - 1; t++) {
		double square =
			b * b * drop * (1 + drop) / (stop * stop) + 2 * b * t * drop / stop + (double)t * t;

		sum += 2 * square * (t < p->size ? 1 : drop);
	}
	return sum / (double)whole(p);
}

/* The means of Y and Y^2 - v given the symbol. */
static void scores(const struct pt_params *p, double *first, double *second)
{
	double b = p->bins - 1, drop = (double)pt_number_drop(p), stop = (double)pt_number_keep(p);
	double times = drop / stop, square = drop * (1 + drop) / (stop * stop), v = noise(p);

	for (uint32_t i = 0; i < symbols(p); i++) {
		double y = i - b, away = y < 0 ? -b : y > b ? b : 0;

		first[i] = y + away * times;
		second[i] = y * y + 2 * y * away * times + away * away * square - v;
	}
}

static const struct pt_number row = { .name = name,
	.levels_max = LEVELS_MAX,
	.sized = true,
	.rule = { .symbols = symbols, .law = law, .scores = scores },
	.set = set,
	.epsilon0 = epsilon0 };

PT_NUMBER_FUNCTIONS(row)

/* Between levels at most b apart every law is 1 or 1/drop times the lesser of those of 0 and b, which have
 * least in common (doc/accounting.md).  Level 0 is likelier up to 0, and at `wins` symbols between 0 and b;
 * elsewhere between them both are high or both low. */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double b = p->bins - 1, r = p->size, drop = pt_number_drop(p), keep = pt_number_keep(p);
	long double wins = fminl(r - 1, b - r), all = whole(p);
	long double high = fmaxl(0, 2 * r - 1 - b), low = fmaxl(0, b - 2 * r + 1);
	struct pt_blanket blanket = { .one = drop * (r + (b - r) * drop + wins * keep) / all,
		.neither = keep * (high + low * drop) / all,
		.ratio = 1 / drop };

	return pt_single_cells(p, participants, &blanket, out, err);
}

/* One noise.  t is uniform, and taken from r on with chance drop only; noise 0 of either sign would count
 * twice, so one is drawn again.  Two multiples of b end beyond the levels from everywhere, so that more of
 * them fold to the same symbol.  0: to be drawn again. */
static uint64_t draw(const struct pt_params *p, const struct cm_rng *rng, uint64_t *size, uint64_t *minus)
{
	uint64_t b = p->bins - 1, drop = pt_complement(p->keep), t = cm_rng_below(rng, b);
	uint64_t lower = cm_rng_bernoulli(rng, drop), one = cm_rng_bernoulli(rng, drop);
	uint64_t two = one & cm_rng_bernoulli(rng, drop);

	*minus = cm_rng_below(rng, 2);
	*size = (one + two) * b + t;
	return (lower | (pt_below_mask(t, p->size) & 1)) & ~(*minus & pt_equal_mask(*size, 0));
}

/* What was thrown away says nothing of what is sent, and nothing but the sum and its folding, by masks,
 * depends on the level: the running time tells nothing. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t b = p->bins - 1, level = pt_levels_round(value->x, (uint32_t)b, rng), size, minus, y;

	(void)q;
	while (draw(p, rng, &size, &minus) == 0)
		;
	/* 3b up, so that nothing is below zero. */
	y = level + 3 * b + pt_choose(UINT64_C(0) - minus, UINT64_C(0) - size, size);
	for (int twice = 0; twice < 2; twice++) {
		y += b & pt_below_mask(y, 2 * b);
		y -= b & pt_below_mask(5 * b, y);
	}
	pt_record_put(records, y - 2 * b);
}

const struct pt_protocol pt_row_staircase = {
	.name = name,
	.summary = "staircase noise: the mean of a bounded number from one symbol each",
	.tallies = symbols,
	.epsilon0 = epsilon0,
	.cells = cells,
	.encode = encode,
	PT_NUMBER_COLUMNS,
};
