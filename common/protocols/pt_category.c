/* pt_category.c - what the histogram rows share, and the row that has both a keep probability and dummies. */
#include "pt_mixbins.h"
#include "pt_rows.h"

static const char mixbins_name[] = "mixbins";

void pt_category_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	(void)q;
	pt_mixbins_encode(p, value->x, rng, records);
}

enum cm_rc pt_category_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	if (q->kind != PT_HISTOGRAM)
		return cm_fail(err, CM_EPROTO, "%s: answers histograms only", name);
	if (p->bins != q->categories)
		return cm_fail(err, CM_EPROTO, "%s: %u bins for %u categories", name, (unsigned)p->bins,
			(unsigned)q->categories);
	return pt_mixbins_check(name, p, err);
}

enum cm_rc pt_category_estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	double dummies = 0;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &dummies, err);
	struct pt_support s = pt_mixbins_support(p, dummies);

	return rc == CM_OK ? pt_support_estimate(q, p, &s, counts, reports, out, err) : rc;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	if (q->kind != PT_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", mixbins_name);
	return pt_mixbins_request(mixbins_name, q->categories, r, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	return pt_category_check(mixbins_name, q, p, err);
}

const struct pt_protocol pt_row_mixbins = {
	.name = mixbins_name,
	.summary = "k-ary randomized response among dummies: a histogram",
	.derive = derive,
	.check = check,
	.dummy = pt_mixbins_dummy,
	.rare_dummy = true,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES,
	PT_CATEGORY_COLUMNS,
};
