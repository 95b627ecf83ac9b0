/* pt_oue_analysis.c - derives the chance of the bits that are not the value's; everything else is as in the
 * other unary rows. */
#include <math.h>

#include "pt_exact.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_single_analysis.h"
#include "pt_unary.h"
#include "pt_unary_analysis.h"

/* Derive the chance Q >= 1 / (e^epsilon0 + 1) with which a bit is set that is not the value's. */
static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made;
	enum cm_rc rc = pt_single_derive(row, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	made.unary.keep = PT_UNARY_HALF;
	made.unary.other =
		(uint64_t)ceill(ldexpl(1 / (expl((long double)r->epsilon0) + 1), 64) + PT_THRESHOLD_MARGIN);
	rc = pt_unary_bounds(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

const struct pt_protocol pt_row_oue = {
	.device = &pt_device_oue,
	.derive = derive,
	PT_UNARY_ANALYSIS,
};
