/* pt_category_analysis.c - the analysis half of pt_category.c: the row's plan, loss, counts and answer. */
#include "pt_category_analysis.h"

#include "es_expect.h"
#include "pt_rows.h"

enum cm_rc pt_category_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	double dummies = 0;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &dummies, err);
	struct es_support s = pt_mixbins_support(p, dummies);

	(void)row;
	return rc == CM_OK ? es_support_estimate(q, &s, counts, reports, out, err) : rc;
}

double pt_category_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct es_support s = pt_mixbins_support(p, pt_mixbins_dummies(p, participants));

	(void)row;
	(void)q;
	return es_support_expected_error(&s, participants, p->mixbins.bins);
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	if (q->kind != QY_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", row->device->name);
	return pt_mixbins_request(row, qy_query_bins(q), r, out, err);
}

const struct pt_protocol pt_row_mixbins = {
	.device = &pt_device_mixbins,
	.derive = derive,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES,
	PT_CATEGORY_ANALYSIS,
};
