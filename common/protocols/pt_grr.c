/* pt_grr.c - k-ary randomized response: one message, no dummies. */
#include "pt_mixbins.h"
#include "pt_rows.h"

#include <math.h>

static const char name[] = "grr";

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	if (q->kind != PT_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", name);
	if (r->dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0; \"mixbins\" has them", name);
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite; \"bins\" can do without", name);
	return pt_mixbins_derive(name, q->categories, r->epsilon0, 0, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	if (p->keep_always || p->dummies != 0)
		return cm_fail(err, CM_EPROTO, "%s: a keep probability and no dummies are wanted", name);
	return pt_category_check(name, q, p, err);
}

const struct pt_protocol pt_row_grr = {
	.name = name,
	.summary = "k-ary randomized response: a histogram from one message each",
	.derive = derive,
	.check = check,
	.automatic = PT_AUTO,
	PT_CATEGORY_COLUMNS,
};
