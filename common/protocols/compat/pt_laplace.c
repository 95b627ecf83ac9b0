/* pt_laplace.c - adds discrete Laplace noise to the level, and clamps the sum to the levels. */
#include "pt_exact.h"
#include "pt_levels.h"
#include "pt_number.h"
#include "pt_ratio.h"
#include "pt_record.h"
#include "pt_rows.h"

/* The two-sided geometric mechanism of Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing
 * privacy mechanisms", STOC 2009: level x becomes x + z with chance (1-a)/(1+a) a^|z|; then a number below
 * 0 becomes 0, and one above b becomes b.  a = 1 - keep / 2^64, exactly.
 *
 * Clamping does not change the guarantee: how far beyond an end x + z falls is geometric, whatever x is. */

/* The local guarantee in nats, -b ln a. */
static double epsilon0(const struct pt_randomizer *p)
{
	const struct pt_ratio step = { .over = { .high = 1 },
		.under = { .low = pt_complement(p->number.keep) } };

	return pt_ratio_log(step, p->number.bins - 1);
}

/* |z| is the number of draws that succeed before the first that fails.  b draws are enough, since anything
 * beyond b is clamped.  Noise 0 with either sign would count twice, so one of its signs is drawn again.
 * Rejected draws say nothing about the message, and only the last sum depends on the level, so the running
 * time reveals nothing. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t b = p->number.bins - 1, level = pt_levels_round(value->x, (uint32_t)b, rng), size, minus, y;

	(void)q;
	(void)room;
	do {
		uint64_t going = 1;

		size = 0;
		for (uint64_t i = 0; i < b; i++) {
			going &= cr_rng_bernoulli(rng, pt_complement(p->number.keep));
			size += going;
		}
		minus = cr_rng_below(rng, 2);
	} while ((minus & pt_equal_mask(size, 0)) != 0);
	/* Add b, so that nothing is below zero. */
	y = level + b + pt_choose(UINT64_C(0) - minus, UINT64_C(0) - size, size);
	y = pt_choose(pt_below_mask(y, b), b, y);
	y = pt_choose(pt_below_mask(2 * b, y), 2 * b, y);
	pt_record_put(records, y - b);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	return pt_number_check(q, p, PT_LAPLACE_LEVELS_MAX, false, err);
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, number.bins), PT_FIELD_U32 },
	{ "keep", offsetof(struct pt_randomizer, number.keep), PT_FIELD_CHANCE },
};
static const struct pt_layout parameters = { .field = fields, .fields = sizeof fields / sizeof *fields };

const struct pt_device pt_device_laplace = {
	.name = "laplace-levels",
	.summary = "discrete Laplace noise: the mean of a bounded number from one level each",
	.parameters = &parameters,
	.check = check,
	.epsilon0 = epsilon0,
	.encode = encode,
	PT_NUMBER_DEVICE,
};
