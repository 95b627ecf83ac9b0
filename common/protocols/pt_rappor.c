/* pt_rappor.c - basic RAPPOR, symmetric unary encoding: every bit flipped with one chance. */
#include "pt_rows.h"
#include "pt_unary.h"

static const char name[] = "rappor";

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_single_derive(name, q, r, &made, err);

	if (rc == CM_OK)
		rc = pt_unary_flips(&made, r->epsilon0, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(name, q, p, err);

	return rc == CM_OK ? pt_unary_flips_check(p, err) : rc;
}

const struct pt_protocol pt_row_rappor = {
	.name = name,
	.summary = "basic RAPPOR: a histogram from one bit per category, each flipped alike",
	.derive = derive,
	.check = check,
	PT_UNARY_COLUMNS,
};
