/* pt_piecewise.c - the square wave: symbols in a window that begins at the level are likelier. */
#include "pt_piecewise.h"

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_levels.h"
#include "pt_record.h"
#include "pt_rows.h"

/* Li, Wang, Lopuhaa-Zwakenberg, Skoric, Li, "Estimating numerical distributions under local differential
 * privacy", SIGMOD 2020, on levels: level x of 0..b is sent as a symbol of the window x..x+w-1 with chance
 * keep, else as one of the b other symbols of 0..b+w-1, uniformly in either case. */

struct pt_ratio pt_piecewise_ratio(const struct pt_randomizer *p)
{
	return pt_ratio_of(p->number.keep, p->number.bins - 1, p->number.size);
}

uint32_t pt_piecewise_symbols(const struct pt_randomizer *p)
{
	return p->number.bins - 1 + p->number.size;
}

static double epsilon0(const struct pt_randomizer *p)
{
	struct pt_ratio r = pt_piecewise_ratio(p);

	return cm_wide_below(r.under, r.over) ? pt_ratio_log(r, 1) : 0;
}

/* The time is constant in the level and in what was drawn: masks only, and always the same three draws. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t level = pt_levels_round(value->x, p->number.bins - 1, rng);
	uint64_t keep = UINT64_C(0) - cr_rng_bernoulli(rng, p->number.keep);
	uint64_t in = cr_rng_below(rng, p->number.size), out = cr_rng_below(rng, p->number.bins - 1);

	(void)q;
	(void)room;
	/* Skip the window: map 0..b-1 onto the other symbols. */
	out += p->number.size & ~pt_below_mask(out, level);
	pt_record_put(records, pt_choose(keep, level + in, out));
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	return pt_number_check(q, p, PR_CATEGORIES_MAX, true, err);
}

const struct pt_device pt_device_piecewise = {
	.name = "piecewise",
	.summary = "square wave: the mean of a bounded number from one near it each",
	.parameters = &pt_number_layout,
	.check = check,
	.epsilon0 = epsilon0,
	.encode = encode,
	PT_NUMBER_DEVICE,
};
