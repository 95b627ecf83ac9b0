/* pt_loss.c - what a round costs, whichever way its row says it. */
#include "pt_loss.h"

#include "pr_limits.h"
#include "pt_protocol.h"

_Static_assert(PT_PARTS_MAX == PR_SLOTS_MAX, "a descriptor's slots are the accountant's rounds");

enum cm_rc pt_loss(const struct pt_protocol *row, const struct pt_params *p, uint64_t participants,
	struct pt_loss *out, struct cm_err *err)
{
	if (row->loss != NULL)
		return row->loss(p, participants, out, err);
	out->parts = 1;
	return row->cells(p, participants, &out->part[0], err);
}

bool pt_rests_on_shuffler(const struct pt_params *p)
{
	return pt_shuffler_most(p) > 0;
}

bool pt_needs_shuffler(const struct pt_protocol *row, const struct pt_params *p)
{
	struct pt_params without = *p;

	/* Evened counts that nobody's value has a part in are as good as the uneven ones. */
	if (!row->routes_by_value)
		without.tag_messages = 0;
	return pt_rests_on_shuffler(&without);
}

uint64_t pt_shuffler_most(const struct pt_params *p)
{
	/* Clients may leave every tag but one empty. */
	return p->shuffler_dummies + p->tags * p->tag_messages + (uint64_t)p->bins * 2 * p->noise_mean;
}

void pt_without_shuffler(struct pt_params *p)
{
	p->shuffler_dummies = 0;
	p->tag_messages = 0;
	p->noise_decay = 0;
	p->noise_mean = 0;
}
