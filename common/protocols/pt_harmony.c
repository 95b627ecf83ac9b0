/* pt_harmony.c - Harmony: the mean of a vector from the sign of one coordinate each. */
#include <math.h>

#include "pt_rows.h"
#include "pt_words.h"

/* Nguyen, Xiao, Yang, Hui, Shin, Shin, "Collecting and analyzing data from smart device users with local
 * differential privacy", 2016: words of one coordinate in one slot, without dummies. */

static const char name[] = "harmony";

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	if (r->dummies != 0 || r->shuffler_dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0; \"words\" has them", name);
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite", name);
	if (r->slots > 1 || r->size > 1)
		return cm_fail(err, CM_ECONFIG, "%s: sends one sign, slots and size must be 1", name);
	return pt_words_make(name, q, r, 1, 1, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slot[0];

	if (p->slots != 1 || s->count != 1 || s->bins != 2 || s->keep_always || s->dummies != 0)
		return cm_fail(err, CM_EPROTO,
			"%s: one slot, one bit, a keep probability and no dummies are wanted", name);
	return pt_words_check(name, q, p, err);
}

const struct pt_protocol pt_row_harmony = {
	.name = name,
	.summary = "Harmony: the mean of each coordinate of a vector from one sign of each device",
	.derive = derive,
	.check = check,
	PT_WORDS_COLUMNS,
};
