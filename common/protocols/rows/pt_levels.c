/* pt_levels.c - level bins: the mean of a bounded number, which each device rounds to one level. */
#include "pt_levels.h"

#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

/* The number of levels: all bins except the last one, if that is the symbol of none. */
static uint32_t levels_of(const struct qy_query *q, const struct pt_randomizer *p)
{
	return p->mixbins.bins - qy_query_symbols(q);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	if (!qy_is_mean(q) && q->kind != QY_QUANTILES)
		return cm_fail(err, CM_EPROTO, "%s: answers means, sums and quantiles only", p->row->name);
	if (p->mixbins.bins < 2 + qy_query_symbols(q))
		return cm_fail(err, CM_EPROTO, "%s: %u bins are no two levels", p->row->name,
			(unsigned)p->mixbins.bins);
	return pt_mixbins_check(p, err);
}

/* Constant time: one draw, and a comparison by subtraction, whatever the value is. */
uint64_t pt_levels_round(uint64_t x, uint32_t b, const struct cr_rng *rng)
{
	uint64_t t = x * b, part = t & UINT32_MAX, draw = cr_rng_u64(rng) >> 32;

	return (t >> 32) + ((draw - part) >> 63);
}

void pt_levels_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t levels = levels_of(q, p), level = pt_levels_round(value->x, (uint32_t)levels - 1, rng);

	(void)room;
	/* Only in a query with the symbol of none can the value be that symbol. */
	pt_mixbins_encode(
		&p->mixbins, pt_choose(pt_equal_mask(value->x, QY_NUMBER_NONE), levels, level), rng, records);
}

const struct pt_device pt_device_levels = {
	.name = "levels",
	.summary = "level bins: the mean of a bounded number from one rounded level each",
	.parameters = &pt_mixbins_layout,
	.kinds = QY_MEAN | QY_SUM | QY_QUANTILES,
	.none_symbol = QY_MEAN | QY_SUM | QY_QUANTILES,
	.check = check,
	.dummy = pt_mixbins_dummy,
	.encode = pt_levels_encode,
	.rare_dummy = true,
	PT_MIXBINS_DEVICE,
};
