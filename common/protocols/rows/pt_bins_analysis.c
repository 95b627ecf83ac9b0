/* pt_bins_analysis.c - refuses a plan that asks for a local guarantee, since only dummies hide the value;
 * everything else is as in mixbins. */
#include <math.h>

#include "pt_category_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	enum cm_rc rc = pt_category_kind(row->device, q, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	/* A plan that asks for a local guarantee must not silently get none. */
	if (!isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG,
			"%s: has no local guarantee, epsilon0 must be \"inf\"; \"mixbins\" has one",
			row->device->name);
	return pt_mixbins_request(row, qy_query_bins(q), r, out, err);
}

const struct pt_protocol pt_row_bins = {
	.device = &pt_device_bins,
	.derive = derive,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES,
	PT_CATEGORY_ANALYSIS,
};
