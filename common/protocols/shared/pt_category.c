/* pt_category.c - what the histogram rows share whose value is a category. */
#include "pt_category.h"

#include "pr_limits.h"

enum cm_rc pt_histogram_check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	if (q->kind != QY_HISTOGRAM)
		return cm_fail(err, CM_EPROTO, "%s: answers histograms only", p->row->name);
	if (p->mixbins.bins < 2 || p->mixbins.bins > PR_CATEGORIES_MAX || p->mixbins.bins != qy_query_bins(q))
		return pt_histogram_bins_fault(p->row, q, p->mixbins.bins, err);
	return CM_OK;
}

enum cm_rc pt_histogram_bins_fault(
	const struct pt_device *row, const struct qy_query *q, uint32_t bins, struct cm_err *err)
{
	return cm_fail(err, CM_EPROTO, "%s: %u bins for %u categories%s", row->name, (unsigned)bins,
		(unsigned)q->categories, qy_query_symbols(q) > 0 ? " and the symbol of none" : "");
}

void pt_category_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records)
{
	(void)q;
	pt_mixbins_encode(&p->mixbins, value->x, rng, records);
}

enum cm_rc pt_category_check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	if (q->kind != QY_HISTOGRAM)
		return cm_fail(err, CM_EPROTO, "%s: answers histograms only", p->row->name);
	if (p->mixbins.bins != qy_query_bins(q))
		return pt_histogram_bins_fault(p->row, q, p->mixbins.bins, err);
	return pt_mixbins_check(p, err);
}
