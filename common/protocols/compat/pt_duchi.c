/* pt_duchi.c - one bit: a bounded number rounded to an end of its range, then binary randomized response. */
#include "pt_levels.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

/* Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 113, 2018,
 * in one dimension: their mechanism rounds a number x of [-1, 1] to a sign of mean x, and keeps the sign
 * with chance e / (e + 1). */

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	if (!qy_is_mean(q))
		return cm_fail(err, CM_EPROTO, "%s: answers means and sums only", p->row->name);
	if (p->mixbins.bins != 2 || p->mixbins.keep_always || p->mixbins.dummies != 0 ||
		p->shuffler.dummies != 0)
		return cm_fail(err, CM_EPROTO, "%s: one bit, a keep probability and no dummies are wanted",
			p->row->name);
	return pt_mixbins_check(p, err);
}

const struct pt_device pt_device_duchi = {
	.name = "duchi",
	.summary = "Duchi's bit: the mean of a bounded number from one bit each",
	.parameters = &pt_mixbins_single,
	.kinds = QY_MEAN | QY_SUM,
	.check = check,
	.encode = pt_levels_encode,
	PT_MIXBINS_DEVICE,
};
