/* sh_policy.h - the limits that the shuffler's operator sets, whatever the analyzer signs.  No I/O except
 * loading.
 *
 * The policy is a separate file, so that it can have another owner and reviewer than the daemon's
 * configuration. */
#pragma once

#include <stdio.h>

#include "rd_policy.h"
#include "rd_rehearsal.h"
#include "sh_refusal.h"

struct sh_policy {
	struct rd_policy shared;
	int64_t max_target;           /* most participants of one round; limits memory */
	int64_t max_shuffler_dummies; /* most dummies that the shuffler adds to one round */
	int64_t max_window_ms;        /* longest time from now to a round's deadline */
	double max_share; /* largest share of a round's target that devices of one certificate may take */
};

/* The rows of the file, for config-sample. */
extern const struct cf_row sh_policy_rows[];

/* Load and check the file; faults as cf_load.  Call sh_policy_fini on success and on failure. */
CM_CHECK enum cm_rc sh_policy_load(const char *path, struct sh_policy *out, FILE *faults, struct cm_err *err);
void sh_policy_fini(struct sh_policy *p);
/* Say where in the policy's file the keys stand that these reasons name. */
void sh_policy_places(const struct sh_policy *p, struct rd_faults *faults);

/* Check what an entry fixes (rd_plan_descriptor): population, mode, protocol, randomizer, batches, honest
 * fraction.  CM_EPROTO with *no filled; faults, unless it is NULL, gets every reason. */
CM_CHECK enum cm_rc sh_policy_judge_entry(const struct sh_policy *p, const struct rd_descriptor *d,
	struct rd_faults *faults, struct sh_refusal *no);
/* Check whether this descriptor is allowed now: what sh_policy_judge_entry checks, the descriptor's
 * statement, and its window.  Signature, sequence, ledger, plan and budget are checked elsewhere.  CM_EPROTO
 * with *no filled. */
CM_CHECK enum cm_rc sh_policy_judge(
	const struct sh_policy *p, const struct rd_descriptor *d, int64_t now_ms, struct sh_refusal *no);
