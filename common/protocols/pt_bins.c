/* pt_bins.c - balls into bins: the true value among uniform dummies, no local guarantee. */
#include "pt_mixbins.h"
#include "pt_noise.h"
#include "pt_rows.h"

#include <math.h>

static const char name[] = "bins";

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	if (q->kind != PT_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", name);
	/* Who asks for a local guarantee must not be given none. */
	if (!isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG,
			"%s: has no local guarantee, epsilon0 must be \"inf\"; \"mixbins\" has one", name);
	return pt_mixbins_request(name, q->categories, r, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	if (!p->keep_always)
		return cm_fail(err, CM_EPROTO, "%s: a keep probability where there is none", name);
	return pt_category_check(name, q, p, err);
}

const struct pt_protocol pt_row_bins = {
	.name = name,
	.summary = "balls into bins: a histogram from the true value among dummies",
	.derive = derive,
	.check = check,
	.dummy = pt_mixbins_dummy,
	.noise = true,
	.rare_dummy = true,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES,
	PT_CATEGORY_COLUMNS,
};
