/* pt_privset.c - sets of items: each device pads its set to the same size, and sends one item of it by
 * randomized response. */
#include "pt_privset.h"

#include <math.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

#define AT(member) offsetof(struct pt_randomizer, privset.member)
/* A chance has so many bits: multiplied by PR_CATEGORIES_MAX it then stays below 2^64. */
#define CHOICE_BITS   52
#define SYMBOLS_LEAST 3u /* the fewest symbols: two items and one of padding */

_Static_assert((UINT64_C(1) << (64 - CHOICE_BITS)) >= PR_CATEGORIES_MAX, "a choice times a count fits");

static const struct pt_field fields[] = {
	{ "bins", AT(mixbins.bins), PT_FIELD_U32 },
	{ "size", AT(size), PT_FIELD_U32 },
	{ "keep", AT(mixbins.keep), PT_FIELD_CHANCE },
};
static const struct pt_layout layout = { .field = fields, .fields = sizeof fields / sizeof *fields };

/* E = (R + s - 1) / s. */
struct pt_ratio pt_privset_ratio(const struct pt_randomizer *p)
{
	struct pt_ratio r = pt_mixbins_ratio(&p->privset.mixbins);

	r.over = cm_wide_sum(r.over, cm_wide_product(r.under.low, p->privset.size - 1));
	r.under = cm_wide_product(r.under.low, p->privset.size);
	return r;
}

static double epsilon0(const struct pt_randomizer *p)
{
	return pt_ratio_log(pt_privset_ratio(p), 1);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_mixbins *m = &p->privset.mixbins;
	uint32_t items = qy_query_bins(q);

	if (q->kind != QY_SETS)
		return cm_fail(err, CM_EPROTO, "%s: answers sets only", p->row->name);
	if (p->privset.size < 1 || p->privset.size > items)
		return cm_fail(err, CM_EPROTO, "%s: size %u, must be 1 to the %u items", p->row->name,
			(unsigned)p->privset.size, (unsigned)items);
	if (m->bins < SYMBOLS_LEAST || m->bins > PR_CATEGORIES_MAX || m->bins - items != p->privset.size)
		return cm_fail(err, CM_EPROTO, "%s: %u bins for %u items and %u of padding", p->row->name,
			(unsigned)m->bins, (unsigned)items, (unsigned)p->privset.size);
	if (m->keep == 0 || epsilon0(p) < PT_EPSILON0_MIN)
		return cm_fail(
			err, CM_EPROTO, "%s: the keep probability is hardly above chance", p->row->name);
	if (epsilon0(p) > PT_EPSILON0_MAX)
		return cm_fail(err, CM_EPROTO, "%s: epsilon0 above %g", p->row->name, PT_EPSILON0_MAX);
	return CM_OK;
}

/* Return item number `slot` of the s that the device has: its own items in order, then padding.
 *
 * Of `held` items `needed` are taken, one after the other, each with the chance that makes all choices
 * equally likely (Knuth, algorithm S).  Each draw is off by at most 2^-40.  This affects which of too many
 * items count, but not the guarantee: the number of items taken is exact, and `slot` is drawn
 * separately. */
static uint64_t item_of(const struct pt_randomizer *p, const struct qy_value *value, uint32_t items,
	uint64_t slot, const struct cr_rng *rng)
{
	uint64_t held = 0, needed, taken = 0, item = items + slot;

	for (uint32_t i = 0; i < items; i++)
		held += value->at[i];
	needed = pt_choose(pt_below_mask(held, p->privset.size), held, p->privset.size);
	for (uint32_t i = 0; i < items; i++) {
		uint64_t drawn = (cr_rng_u64(rng) >> (64 - CHOICE_BITS)) * held >> CHOICE_BITS;
		uint64_t take = value->at[i] & pt_below_mask(drawn, needed - taken);

		item = pt_choose((UINT64_C(0) - take) & pt_equal_mask(taken, slot), i, item);
		taken += take;
		held -= value->at[i];
	}
	return item;
}

/* The time is constant in the set, in which items of it are taken and in what is sent. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t slot = cr_rng_below(rng, p->privset.size);
	uint64_t item = item_of(p, value, qy_query_bins(q), slot, rng);

	(void)room;
	pt_mixbins_encode(&p->privset.mixbins, item, rng, records);
}

const struct pt_device pt_device_privset = {
	.name = "privset",
	.summary = "one item of a padded set, by response: counts of items",
	.parameters = &layout,
	.kinds = QY_SETS,
	.none_symbol = QY_SETS,
	.check = check,
	.messages = pt_mixbins_messages,
	.record_len = pt_mixbins_record_len,
	.epsilon0 = epsilon0,
	.encode = encode,
};
