/* pt_oue.c - optimized unary encoding: the value's bit is a fair coin, every other one is rarely set. */
#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_unary.h"

#define HALF (UINT64_C(1) << 63)

static const char name[] = "oue";

/* Q >= 1 / (e^epsilon0 + 1). */
static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_single_derive(name, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	made.keep = HALF;
	made.other =
		(uint64_t)ceill(ldexpl(1 / (expl((long double)r->epsilon0) + 1), 64) + PT_THRESHOLD_MARGIN);
	rc = pt_unary_bounds(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(name, q, p, err);

	if (rc == CM_OK && p->keep != HALF)
		rc = cm_fail(err, CM_EPROTO, "%s: the value's bit must be a fair coin", name);
	return rc == CM_OK ? pt_unary_bounds(p, CM_EPROTO, err) : rc;
}

const struct pt_protocol pt_row_oue = {
	.name = name,
	.summary = "optimized unary encoding: a histogram from one bit per category",
	.derive = derive,
	.check = check,
	PT_UNARY_COLUMNS,
};
