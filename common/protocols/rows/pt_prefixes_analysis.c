/* pt_prefixes_analysis.c - estimates all bins together, and leaves the bin for everything else out of the
 * answer. */
#include <stdlib.h>

#include "es_histogram.h"
#include "pt_category_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	if (q->kind != QY_PREFIXES)
		return cm_fail(err, CM_ECONFIG, "%s: answers prefixes only", row->device->name);
	return pt_mixbins_request(row, q->categories + 1, r, out, err);
}

/* Intervals hold jointly for all bins, unused ones too, since a later round extends candidates that are
 * chosen among these. */
static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct es_estimate e = { .n = p->mixbins.bins, .reports = reports };
	struct es_support s;
	double dummies = 0;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &dummies, err);

	(void)row;
	if (rc != CM_OK)
		return rc;
	e.item = calloc(e.n, sizeof *e.item);
	if (!e.item)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	for (uint32_t i = 0; i < q->categories; i++)
		e.item[i].label = q->category[i];
	s = pt_mixbins_support(p, dummies);
	rc = es_support_items(&s, counts, e.n, reports, e.n, e.item, &e.noise_floor, err);
	/* Nobody is in an unused bin, and the last bin is no candidate. */
	e.n = q->categories;
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

const struct pt_protocol pt_row_prefixes = {
	.device = &pt_device_prefixes,
	.derive = derive,
	.estimate = estimate,
	.influence = pt_category_influence,
	.expected_error = pt_category_expected_error,
	PT_MIXBINS_ANALYSIS,
};
