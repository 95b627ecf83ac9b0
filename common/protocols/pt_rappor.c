/* pt_rappor.c - basic RAPPOR, symmetric unary encoding: every bit flipped with one chance. */
#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_unary.h"

static const char name[] = "rappor";

/* P = 1 - Q <= h / (h + 1), h = e^(epsilon0 / 2): two inputs differ in two bits. */
static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_single_derive(name, q, r, &made, err);
	long double h;

	if (rc != CM_OK)
		return rc;
	h = expl((long double)r->epsilon0 / 2);
	made.keep = (uint64_t)floorl(ldexpl(h / (h + 1), 64) - PT_THRESHOLD_MARGIN);
	made.other = pt_complement(made.keep);
	rc = pt_unary_bounds(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(name, q, p, err);

	if (rc == CM_OK && p->other != pt_complement(p->keep))
		rc = cm_fail(err, CM_EPROTO, "%s: the two probabilities must sum to 1", name);
	return rc == CM_OK ? pt_unary_bounds(p, CM_EPROTO, err) : rc;
}

const struct pt_protocol pt_row_rappor = {
	.name = name,
	.summary = "basic RAPPOR: a histogram from one bit per category, each flipped alike",
	.derive = derive,
	.check = check,
	PT_UNARY_COLUMNS,
};
