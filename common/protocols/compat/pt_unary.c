/* pt_unary.c - unary encoding: draws one bit per category, each independently. */
#include "pt_unary.h"

#include "pt_bits.h"
#include "pt_exact.h"

struct pt_ratio pt_unary_ratio(const struct pt_randomizer *p)
{
	return (struct pt_ratio){ .over = cm_wide_product(p->unary.keep, pt_complement(p->unary.other)),
		.under = cm_wide_product(p->unary.other, pt_complement(p->unary.keep)) };
}

enum cm_rc pt_unary_bounds(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err)
{
	if (p->unary.keep == 0 || p->unary.other == 0)
		return cm_fail(err, code, "%s: two probabilities are wanted", p->row->name);
	return pt_single_guarantee(p, pt_unary_ratio(p), code, err);
}

enum cm_rc pt_unary_flips_check(const struct pt_randomizer *p, struct cm_err *err)
{
	if (p->unary.other != pt_complement(p->unary.keep))
		return cm_fail(err, CM_EPROTO, "%s: the two probabilities must sum to 1", p->row->name);
	return pt_unary_bounds(p, CM_EPROTO, err);
}

uint32_t pt_unary_record_len(const struct pt_randomizer *p)
{
	return pt_bits_len(p->unary.bins);
}

double pt_unary_epsilon0(const struct pt_randomizer *p)
{
	return pt_ratio_log(pt_unary_ratio(p), 1);
}

/* The time is constant in the value and in what was drawn: the value passes only through masks, and every
 * bit takes one draw and one write at a public place. */
void pt_unary_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	(void)q;
	(void)room;
	pt_bits_clear(records, p->unary.bins);
	for (uint32_t i = 0; i < p->unary.bins; i++) {
		uint64_t own = pt_equal_mask(i, value->x);

		pt_bits_put(records, i, cr_rng_bernoulli(rng, pt_choose(own, p->unary.keep, p->unary.other)));
	}
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, unary.bins), PT_FIELD_U32 },
	{ "keep", offsetof(struct pt_randomizer, unary.keep), PT_FIELD_CHANCE },
	{ "other", offsetof(struct pt_randomizer, unary.other), PT_FIELD_CHANCE },
};
const struct pt_layout pt_unary_layout = { .field = fields, .fields = sizeof fields / sizeof *fields };
