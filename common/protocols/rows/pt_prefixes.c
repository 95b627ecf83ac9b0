/* pt_prefixes.c - candidates that a text may begin with: MIXBINS over them and one bin for everything else.
 *
 * The plan fixes the number of bins before anybody knows which candidates an earlier round will leave, so
 * there may be fewer candidates than bins.  The last bin is for everything else. */
#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	if (q->kind != QY_PREFIXES)
		return cm_fail(err, CM_EPROTO, "%s: answers prefixes only", p->row->name);
	if (p->mixbins.bins <= q->categories)
		return cm_fail(err, CM_EPROTO, "%s: %u bins for %u candidates and the rest", p->row->name,
			(unsigned)p->mixbins.bins, (unsigned)q->categories);
	return pt_mixbins_check(p, err);
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t is_other = pt_equal_mask(value->x, q->categories);

	(void)room;
	pt_mixbins_encode(&p->mixbins, pt_choose(is_other, p->mixbins.bins - 1, value->x), rng, records);
}

const struct pt_device pt_device_prefixes = {
	.name = "prefixes",
	.summary = "mixbins over the candidates that a text may begin with: heavy hitters",
	.parameters = &pt_mixbins_layout,
	.kinds = QY_PREFIXES,
	.none_symbol = QY_PREFIXES,
	.check = check,
	.dummy = pt_mixbins_dummy,
	.rare_dummy = true,
	.encode = encode,
	PT_MIXBINS_DEVICE,
};
