/* pt_harmony_analysis.c - takes one sign in one slot as a word of size one, so loss and answer are those of
 * words. */
#include <math.h>

#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_words_analysis.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	if (r->dummies != 0 || r->shuffler_dummies != 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: dummies must be 0; \"words\" has them", row->device->name);
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite", row->device->name);
	if (r->slots > 1 || r->size > 1)
		return cm_fail(
			err, CM_ECONFIG, "%s: sends one sign, slots and size must be 1", row->device->name);
	return pt_words_make(row, q, r, 1, 1, out, err);
}

const struct pt_protocol pt_row_harmony = {
	.device = &pt_device_harmony,
	.keys = PT_KEY_SLOTS | PT_KEY_SIZE,
	.derive = derive,
	PT_WORDS_ANALYSIS,
};
