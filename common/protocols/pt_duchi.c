/* pt_duchi.c - one bit: a bounded number rounded to an end of its range, then binary randomized response. */
#include <math.h>

#include "pt_levels.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

/* Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 113, 2018, in
 * one dimension: rounding a number x of [-1, 1] to a sign of mean x and keeping the sign with chance
 * e / (e + 1) is their mechanism. */

static const char name[] = "duchi";

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	if (!pt_is_mean(q))
		return cm_fail(err, CM_ECONFIG, "%s: answers means and sums only", name);
	if (r->dummies != 0 || r->shuffler_dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0; \"levels\" has them", name);
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite", name);
	if (r->levels != 0 && r->levels != 2)
		return cm_fail(err, CM_ECONFIG, "%s: sends one bit, levels must be 2", name);
	return pt_mixbins_derive(name, 2, r->epsilon0, 0, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	if (!pt_is_mean(q))
		return cm_fail(err, CM_EPROTO, "%s: answers means and sums only", name);
	if (p->bins != 2 || p->keep_always || p->dummies != 0 || p->shuffler_dummies != 0)
		return cm_fail(
			err, CM_EPROTO, "%s: one bit, a keep probability and no dummies are wanted", name);
	return pt_mixbins_check(name, p, err);
}

const struct pt_protocol pt_row_duchi = {
	.name = name,
	.summary = "Duchi's bit: the mean of a bounded number from one bit each",
	.kinds = PT_MEAN | PT_SUM,
	.derive = derive,
	.check = check,
	.encode = pt_levels_encode,
	.estimate = pt_levels_estimate,
	.expected_error = pt_levels_expected_error,
	PT_MIXBINS_COLUMNS,
};
