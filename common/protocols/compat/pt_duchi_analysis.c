/* pt_duchi_analysis.c - takes one bit as a round of levels with two bins, so loss and answer are those of
 * levels. */
#include <math.h>

#include "pt_levels_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	if (!qy_is_mean(q))
		return cm_fail(err, CM_ECONFIG, "%s: answers means and sums only", row->device->name);
	if (r->dummies != 0 || r->shuffler_dummies != 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: dummies must be 0; \"levels\" has them", row->device->name);
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite", row->device->name);
	if (r->levels != 0 && r->levels != 2)
		return cm_fail(err, CM_ECONFIG, "%s: sends one bit, levels must be 2", row->device->name);
	return pt_mixbins_derive(row, 2, r->epsilon0, 0, out, err);
}

const struct pt_protocol pt_row_duchi = {
	.device = &pt_device_duchi,
	.keys = PT_KEY_LEVELS,
	.derive = derive,
	.estimate = pt_levels_estimate,
	.influence = pt_levels_influence,
	.expected_error = pt_levels_expected_error,
	PT_MIXBINS_ANALYSIS,
};
