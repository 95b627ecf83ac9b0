/* sh_entries.h - records the tries of a plan's entries and the rounds of an adaptive plan; part of
 * sh_plans.c. */
#pragma once

#include "sh_plans.h"

/* Check that d is the next try of its entry, and that the entry has no answer yet; if it is lost, that no
 * later try is known here.  CM_EPROTO with *no. */
CM_CHECK enum cm_rc sh_entry_judge(const struct sh_policy *policy, const struct sh_plan *plan,
	const struct rd_descriptor *d, bool lost, struct sh_refusal *no);
/* As sh_plans_began and sh_plans_ended. */
CM_CHECK enum cm_rc sh_entry_began(struct sh_plan *plan, const struct rd_descriptor *d, struct cm_err *err);
void sh_entry_ended(struct sh_plan *plan, const struct rd_descriptor *d, const struct cr_span *void_manifest);
