/* pt_rappor_analysis.c - derives one flip chance for all bits; everything else is as in the other unary
 * rows. */
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_single_analysis.h"
#include "pt_unary_analysis.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made;
	enum cm_rc rc = pt_single_derive(row, q, r, &made, err);

	if (rc == CM_OK)
		rc = pt_unary_flips(&made, r->epsilon0, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

const struct pt_protocol pt_row_rappor = {
	.device = &pt_device_rappor,
	.derive = derive,
	PT_UNARY_ANALYSIS,
};
