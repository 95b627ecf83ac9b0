/* pt_digits.c - the mean of a bounded number from its digits, each in a slot of MIXBINS. */
#include "pt_digits.h"

#include "pt_exact.h"
#include "pt_levels.h"
#include "pt_rows.h"
#include "pt_slots.h"

uint32_t pt_digits_bits(uint32_t v)
{
	return v >= 2 && (v & (v - 1)) == 0 ? (uint32_t)__builtin_ctz(v) : 0;
}

uint32_t pt_digits_base(const struct qy_query *q, const struct pt_randomizer *p)
{
	return p->slots.slot[0].each.bins - qy_query_symbols(q);
}

uint32_t pt_digits_top(const struct qy_query *q, const struct pt_randomizer *p)
{
	return (1u << (pt_digits_bits(pt_digits_base(q, p)) * p->slots.kinds)) - 1;
}

enum cm_rc pt_digits_kind(const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	return q->kind == QY_MEAN || q->kind == QY_SUM
		       ? CM_OK
		       : cm_fail(err, code, "%s: answers means and sums only", pt_device_digits.name);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_digits_kind(q, CM_EPROTO, err);
	uint32_t bits;

	if (rc == CM_OK)
		rc = pt_slots_check(p, err);
	if (rc != CM_OK)
		return rc;
	bits = p->slots.slot[0].each.bins > qy_query_symbols(q) ? pt_digits_bits(pt_digits_base(q, p)) : 0;
	if (bits == 0 || p->slots.kinds < 2 || bits * p->slots.kinds > 12)
		return cm_fail(err, CM_EPROTO, "%s: digits of base %u that make no levels", p->row->name,
			(unsigned)p->slots.slot[0].each.bins - qy_query_symbols(q));
	for (uint32_t i = 0; i < p->slots.kinds; i++)
		if (p->slots.slot[i].count != 1 || p->slots.slot[i].groups != 1 ||
			p->slots.slot[i].each.bins != p->slots.slot[0].each.bins)
			return cm_fail(err, CM_EPROTO, "%s: slot %u is not its digit's", p->row->name, i + 1);
	return CM_OK;
}

/* value->x is the level here, since it is rounded once for all digits.  The symbol of none is itself in
 * every digit. */
static uint64_t word(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room)
{
	uint32_t base = pt_digits_base(q, p), bits = pt_digits_bits(base);

	(void)group;
	(void)rng;
	(void)room;
	return pt_choose(pt_equal_mask(value->x, QY_NUMBER_NONE), base,
		value->x >> (bits * (p->slots.kinds - 1 - i)) & (base - 1));
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t rounded = pt_levels_round(value->x, pt_digits_top(q, p), rng);
	const struct qy_value level = { .x = pt_choose(pt_equal_mask(value->x, QY_NUMBER_NONE),
						QY_NUMBER_NONE, rounded) };

	pt_slots_encode(q, p, &level, word, rng, records, room);
}

const struct pt_device pt_device_digits = {
	.name = "digits",
	.summary = "a slot of mixbins for each digit: the mean or sum of a bounded number",
	.parameters = &pt_slots_layout,
	.kinds = QY_MEAN | QY_SUM,
	.none_symbol = QY_MEAN | QY_SUM,
	.check = check,
	.encode = encode,
	PT_SLOTS_DEVICE,
};
