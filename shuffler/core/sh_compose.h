/* sh_compose.h - composes privacy loss on a worker thread: which entries a plan's pin takes, and whether a
 * round of an adaptive plan fits its filter.
 *
 * One composition at a time.  While it runs, no other thread uses its plan's account. */
#pragma once

#include <stdatomic.h>

#include "rd_rehearsal.h"
#include "sh_plans.h"

struct sh_compose {
	struct sh_plan *plan;
	/* A copy as it was when the composition was prepared; its texts are borrowed until the end. */
	struct sh_policy policy;
	/* For a pin: `decided` is the result if no composition is needed, otherwise SH_PIN_WAITS. */
	enum sh_pin_state decided;
	struct rd_plan whole;
	struct rd_pin pin;
	/* For a draft: its plan is not in the ledger, and nobody pins it (sh_rehearse.h). */
	bool drafts;
	struct sh_plan draft;
	struct rd_faults faults;
	/* For the judgement of a round: `descriptors` are the candidate, and counted rounds that the
	 * account lacks. */
	bool judges;
	struct cm_buf candidate, *missing;
	size_t lacks;
	struct rd_verdict verdict;
	enum cm_rc rc; /* CM_ELATER if it was stopped */
	struct cm_err err;
};

/* Prepare the pin of this plan, from its bytes. */
CM_CHECK enum cm_rc sh_compose_pin(const struct sh_policy *policy, struct sh_plan *plan, struct cr_span bytes,
	struct sh_compose **out, struct cm_err *err);
/* Prepare the pin that would be made of a draft, from its bytes. */
CM_CHECK enum cm_rc sh_compose_draft(
	const struct sh_policy *policy, struct cr_span bytes, struct sh_compose **out, struct cm_err *err);
/* Prepare the judgement of this descriptor; an empty descriptor only brings the account up to date.  The
 * caller then adds missing rounds. */
CM_CHECK enum cm_rc sh_compose_judge(const struct sh_policy *policy, struct sh_plan *plan,
	struct cr_span descriptor, struct sh_compose **out, struct cm_err *err);
/* Add the descriptor of a counted round that the account lacks. */
CM_CHECK enum cm_rc sh_compose_missing(struct sh_compose *w, struct cr_span descriptor, struct cm_err *err);
/* Compose, on any thread.  Setting *stop ends it between two compositions. */
void sh_compose_run(struct sh_compose *w, const atomic_bool *stop);
void sh_compose_free(struct sh_compose *w); /* accepts NULL */
