/* pt_mixbins_row_analysis.c - randomized response among dummies of clients or of the shuffler; all
 * functions are those of pt_mixbins_analysis.h. */
#include "pt_category_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	enum cm_rc rc = pt_category_kind(row->device, q, CM_ECONFIG, err);

	return rc == CM_OK ? pt_mixbins_request(row, qy_query_bins(q), r, out, err) : rc;
}

const struct pt_protocol pt_row_mixbins = {
	.device = &pt_device_mixbins,
	.derive = derive,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES,
	PT_CATEGORY_ANALYSIS,
};
