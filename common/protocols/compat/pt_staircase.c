/* pt_staircase.c - adds discrete staircase noise to the level, and folds the sum to a few symbols. */
#include "pt_exact.h"
#include "pt_levels.h"
#include "pt_number.h"
#include "pt_ratio.h"
#include "pt_record.h"
#include "pt_rows.h"

/* Geng, Kairouz, Oh, Viswanath, "The staircase mechanism in differential privacy", IEEE JSTSP 9(7), 2015,
 * on integers: level x becomes Y = x + z, where a noise of |z| = k b + t, 0 <= t < b, has a chance
 * proportional to drop^k for t below the step r, and to drop^(k+1) from there on; drop = 1 - keep / 2^64,
 * exactly.  Y below -b is moved up by multiples of b into -b..-1, and Y above 2b down into b+1..2b; the
 * symbol is Y + b.
 *
 * Folding does not change the guarantee: the number of multiples of b is geometric, whatever x is. */

static double epsilon0(const struct pt_randomizer *p)
{
	const struct pt_ratio step = { .over = { .high = 1 },
		.under = { .low = pt_complement(p->number.keep) } };

	return pt_ratio_log(step, 1);
}

/* Draw one noise.  t is uniform, and from r on is accepted only with chance drop.  Noise 0 with either sign
 * would count twice, so one of its signs is rejected.  Two multiples of b lead beyond the levels from
 * everywhere, so more of them fold to the same symbol.  Returns 0 if the noise must be drawn again. */
static uint64_t draw(const struct pt_randomizer *p, const struct cr_rng *rng, uint64_t *size, uint64_t *minus)
{
	uint64_t b = p->number.bins - 1, drop = pt_complement(p->number.keep), t = cr_rng_below(rng, b);
	uint64_t lower = cr_rng_bernoulli(rng, drop), one = cr_rng_bernoulli(rng, drop);
	uint64_t two = one & cr_rng_bernoulli(rng, drop);

	*minus = cr_rng_below(rng, 2);
	*size = (one + two) * b + t;
	return (lower | (pt_below_mask(t, p->number.size) & 1)) & ~(*minus & pt_equal_mask(*size, 0));
}

/* Rejected draws say nothing about the message, and only the sum and its folding, by masks, depend on the
 * level, so the running time reveals nothing. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t b = p->number.bins - 1, level = pt_levels_round(value->x, (uint32_t)b, rng), size, minus, y;

	(void)q;
	(void)room;
	while (draw(p, rng, &size, &minus) == 0)
		;
	/* Add 3b, so that nothing is below zero. */
	y = level + 3 * b + pt_choose(UINT64_C(0) - minus, UINT64_C(0) - size, size);
	for (int twice = 0; twice < 2; twice++) {
		y += b & pt_below_mask(y, 2 * b);
		y -= b & pt_below_mask(5 * b, y);
	}
	pt_record_put(records, y - 2 * b);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	return pt_number_check(q, p, PT_STAIRCASE_LEVELS_MAX, true, err);
}

const struct pt_device pt_device_staircase = {
	.name = "staircase",
	.summary = "staircase noise: the mean of a bounded number from one symbol each",
	.parameters = &pt_number_layout,
	.check = check,
	.epsilon0 = epsilon0,
	.encode = encode,
	PT_NUMBER_DEVICE,
};
