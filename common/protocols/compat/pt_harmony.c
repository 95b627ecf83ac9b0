/* pt_harmony.c - Harmony: the mean of a vector, to which each device sends the sign of one coordinate. */
#include "pt_rows.h"
#include "pt_words.h"

/* Nguyen, Xiao, Yang, Hui, Shin, Shin, "Collecting and analyzing data from smart device users with local
 * differential privacy", 2016.  It is the row `words` (pt_words.h) with one coordinate in a message, one
 * slot, and no dummies. */

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];

	if (p->slots.kinds != 1 || s->count != 1 || s->each.bins != 2 || s->each.keep_always ||
		s->each.dummies != 0)
		return cm_fail(err, CM_EPROTO,
			"%s: one slot, one bit, a keep probability and no dummies are wanted", p->row->name);
	return pt_words_check(q, p, err);
}

const struct pt_device pt_device_harmony = {
	.name = "harmony",
	.summary = "Harmony: the mean of each coordinate of a vector from one sign of each device",
	.parameters = &pt_slots_layout,
	.check = check,
	PT_WORDS_DEVICE,
};
