/* pt_classes_analysis.c - reads a plan's list of classes, each with its guarantee and its least number of
 * participants. */
#include "pt_classes_analysis.h"

#include <math.h>

enum cm_rc pt_classes_request(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .slots.kinds = r->classes, .shuffler.tags = r->classes };
	struct pt_request one = *r;
	uint32_t bins = qy_query_bins(q);
	enum cm_rc rc = pt_classes_kind(row->device, q, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (r->classes < 2 || r->classes > PT_SLOTS_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: %u classes, must be 2 to %u", row->device->name,
			(unsigned)r->classes, PT_SLOTS_MAX);
	if (r->dummies != 0 || r->shuffler_dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0", row->device->name);
	made.row = row->device;
	if (q->kind == QY_MEAN)
		bins = r->levels != 0 ? r->levels : 2;
	for (uint32_t i = 0; rc == CM_OK && i < r->classes; i++) {
		one.epsilon0 = r->class_epsilon0[i];
		made.slots.slot[i] = (struct pt_slot){ .count = 1, .groups = 1, .each.bins = bins };
		made.shuffler.tag_least[i] = r->class_least[i];
		if (isinf(one.epsilon0) || (i > 0 && !(one.epsilon0 > r->class_epsilon0[i - 1])))
			rc = cm_fail(err, CM_ECONFIG, "%s: epsilon0 of classes must be finite and rise",
				row->device->name);
		else if (made.shuffler.tag_least[i] < 1)
			rc = cm_fail(err, CM_ECONFIG, "%s: class %u needs a least number of participants",
				row->device->name, i + 1);
		else
			rc = pt_slots_request(row, &one, &made.slots.slot[i], err);
	}
	if (rc == CM_OK && !(one.epsilon0 <= r->epsilon0))
		rc = cm_fail(err, CM_ECONFIG, "%s: a class has epsilon0 %g, above the round's %g",
			row->device->name, one.epsilon0, r->epsilon0);
	if (rc == CM_OK)
		*out = made;
	return rc;
}
