/* pt_category.c - checks and encodes for the rows whose value is a category, or a cell of a grid. */
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
	if (q->kind == QY_PLACES)
		return cm_fail(err, CM_EPROTO, "%s: %u bins for %u cells", row->name, (unsigned)bins,
			(unsigned)qy_query_cells(q));
	return cm_fail(err, CM_EPROTO, "%s: %u bins for %u categories%s", row->name, (unsigned)bins,
		(unsigned)q->categories, qy_query_symbols(q) > 0 ? " and the symbol of none" : "");
}

void pt_category_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	(void)q;
	(void)room;
	pt_mixbins_encode(&p->mixbins, value->x, rng, records);
}

enum cm_rc pt_category_kind(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_HISTOGRAM && q->kind != QY_PLACES)
		return cm_fail(err, code, "%s: answers histograms and places only", row->name);
	return CM_OK;
}

enum cm_rc pt_category_check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_category_kind(p->row, q, CM_EPROTO, err);

	if (rc != CM_OK)
		return rc;
	if (p->mixbins.bins != qy_query_bins(q))
		return pt_histogram_bins_fault(p->row, q, p->mixbins.bins, err);
	return pt_mixbins_check(p, err);
}
