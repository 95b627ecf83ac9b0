/* pt_rappor.c - basic RAPPOR, symmetric unary encoding: every bit is flipped with one chance. */
#include "pt_rows.h"
#include "pt_single.h"
#include "pt_unary.h"

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(q, p, err);

	return rc == CM_OK ? pt_unary_flips_check(p, err) : rc;
}

const struct pt_device pt_device_rappor = {
	.name = "rappor",
	.summary = "basic RAPPOR: a histogram from one bit per category, each flipped alike",
	.parameters = &pt_unary_layout,
	.check = check,
	PT_UNARY_DEVICE,
};
