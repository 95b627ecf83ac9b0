/* pt_bins.c - balls into bins: the true value is hidden among uniform dummies, without a local
 * guarantee. */
#include "pt_category.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	if (!p->mixbins.keep_always)
		return cm_fail(err, CM_EPROTO, "%s: a keep probability where there is none", p->row->name);
	return pt_category_check(q, p, err);
}

static uint32_t noise_bins(const struct pt_randomizer *p)
{
	return p->mixbins.bins;
}

const struct pt_device pt_device_bins = {
	.name = "bins",
	.summary = "balls into bins: a histogram from the true value among dummies",
	.parameters = &pt_mixbins_layout,
	.check = check,
	.dummy = pt_mixbins_dummy,
	.noise_bins = noise_bins,
	.rare_dummy = true,
	PT_CATEGORY_DEVICE,
};
