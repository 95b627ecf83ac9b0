/* pt_grr.c - k-ary randomized response: sends one message and no dummies. */
#include "pt_category.h"
#include "pt_rows.h"

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	if (p->mixbins.keep_always || p->mixbins.dummies != 0)
		return cm_fail(
			err, CM_EPROTO, "%s: a keep probability and no dummies are wanted", p->row->name);
	return pt_category_check(q, p, err);
}

const struct pt_device pt_device_grr = {
	.name = "grr",
	.summary = "k-ary randomized response: a histogram from one message each",
	.parameters = &pt_mixbins_single,
	.check = check,
	PT_CATEGORY_DEVICE,
};
