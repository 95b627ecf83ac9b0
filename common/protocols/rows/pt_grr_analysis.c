/* pt_grr_analysis.c - mixbins without dummies: epsilon0 decides everything, and loss and answer are those
 * of mixbins. */
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
	if (r->dummies != 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: dummies must be 0; \"mixbins\" has them", row->device->name);
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite; \"bins\" can do without",
			row->device->name);
	return pt_mixbins_derive(row, qy_query_bins(q), r->epsilon0, 0, out, err);
}

const struct pt_protocol pt_row_grr = {
	.device = &pt_device_grr,
	.derive = derive,
	.automatic = PT_AUTO,
	PT_CATEGORY_ANALYSIS,
};
