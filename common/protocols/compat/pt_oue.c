/* pt_oue.c - optimized unary encoding: the value's bit is a fair coin, every other bit is rarely set. */
#include "pt_rows.h"
#include "pt_single.h"
#include "pt_unary.h"

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(q, p, err);

	if (rc == CM_OK && p->unary.keep != PT_UNARY_HALF)
		rc = cm_fail(err, CM_EPROTO, "%s: the value's bit must be a fair coin", p->row->name);
	return rc == CM_OK ? pt_unary_bounds(p, CM_EPROTO, err) : rc;
}

const struct pt_device pt_device_oue = {
	.name = "oue",
	.summary = "optimized unary encoding: a histogram from one bit per category",
	.parameters = &pt_unary_layout,
	.check = check,
	PT_UNARY_DEVICE,
};
