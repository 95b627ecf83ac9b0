/* sh_judge.h - judges rounds against their plans.  What a round may cost is composed beside the event loop,
 * and its plan is read from the store.
 *
 * A composition is for a plan's pin, or for the judgement of a round of an adaptive plan (sh_compose.h).
 * One runs at a time, on any thread.  A round that waits for it is refused as BUSY and announced again. */
#pragma once

#include "sh_compose.h"
#include "sh_rehearse.h"
#include "sh_store.h"

/* Cache of the plan read last. */
struct sh_plan_read {
	bool filled;
	struct cm_buf bytes;
	uint8_t signature[CR_SIGN_LEN];
	struct rd_plan whole;
};
/* The round of an adaptive plan whose judgement is wanted, running or done. */
struct sh_judged {
	enum { SH_JUDGE_NONE, SH_JUDGE_WANTED, SH_JUDGE_RUNS, SH_JUDGE_DONE } at;
	uint8_t hash[PR_HASH_LEN];
	struct cm_buf descriptor;
	struct sh_plan *plan;
	enum cm_rc rc;
	struct cm_err err;
	struct rd_verdict verdict;
};

struct sh_judge {
	/* Borrowed; sh_judge_init sets it. */
	const struct sh_store *store;
	const struct sh_policy *policy;
	struct sh_plans *plans;
	struct sh_rehearse *rehearse; /* composed when nothing else waits; NULL: none */
	struct sh_plan_read read;
	struct sh_judged judged;
	bool composing;
	bool outdated;    /* the policy has changed since the composition under way began */
	size_t recounted; /* adaptive plans before this one have been recounted since the start */
};

void sh_judge_init(struct sh_judge *g, const struct sh_store *store, const struct sh_policy *policy,
	struct sh_plans *plans, struct sh_rehearse *rehearse);
void sh_judge_fini(struct sh_judge *g); /* accepts a zeroed struct */

/* The signed plan with this hash; borrowed until the next call. */
struct sh_plan_signed {
	struct cr_span bytes;
	const uint8_t *signature;
};
CM_CHECK enum cm_rc sh_judge_plan(struct sh_judge *g, const uint8_t *hash, size_t hash_len,
	struct sh_plan_signed *out, struct sh_refusal *no, struct cm_err *err);

/* Check a new descriptor against its plan.  lost: as for sh_plans_judge.  verdict: as in sh_announced.  BUSY
 * while the plan or the round waits to be composed. */
CM_CHECK enum cm_rc sh_judge_round(struct sh_judge *g, const struct rd_descriptor *d, struct cr_span bytes,
	bool lost, struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err);

/* Begin the next composition; *out is NULL if nothing is to be composed.  Then call sh_compose_run,
 * sh_judge_end and sh_compose_free. */
CM_CHECK enum cm_rc sh_judge_begin(struct sh_judge *g, struct sh_compose **out, struct cm_err *err);
/* Whether a plan or a round waits to be composed: a draft must not keep it waiting. */
bool sh_judge_wants(const struct sh_judge *g);
CM_CHECK enum cm_rc sh_judge_end(struct sh_judge *g, struct sh_compose *w, struct cm_err *err);
/* The policy has other values: forget what was composed by the old ones and is not pinned.  The result of a
 * composition under way is forgotten when it ends, and what it was for is composed anew. */
void sh_judge_reconsider(struct sh_judge *g);
