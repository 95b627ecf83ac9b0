/* cl_rehearse.h - answers rehearsals: says what this client would do with a plan that the analyzer asks
 * about.
 *
 * The answer follows from the policy, the pins and the length of the list of devices; no reading is read,
 * nothing is stored, and nothing is spent.  The plan is composed on a worker thread, beside the rounds, for
 * a limited time; the answer is what was found until then.  A peer that asks often is answered without
 * composing, so that rehearsals take at most a fifth of one processor. */
#pragma once

#include "cl_context.h"

struct cl_rehearse;
/* context and links are borrowed.  Objects of this type live as cl_context.h says of all parts. */
CM_CHECK enum cm_rc cl_rehearse_new(const struct cl_context *context, struct cl_links *links,
	struct cl_rehearse **out, struct cm_err *err);
void cl_rehearse_close(struct cl_rehearse *r);
void cl_rehearse_free(struct cl_rehearse *r);

/* Answer the question that came on connection 0, at once or when it is composed.  Call it only while no
 * preparation uses the database. */
void cl_rehearse_asked(struct cl_rehearse *r, const Tombola__V1__Rehearse *question);
/* End the composition without an answer, because a round is about to be judged.  A worker thread that runs
 * while the round's readings are read must not change when an answer comes, or what it says. */
void cl_rehearse_cut(struct cl_rehearse *r);
/* The policy of the setup is another now.  *old, the one before, is freed once no thread reads it; the caller
 * forgets it.  A composition under way goes on, and answers by the policy with which it was asked. */
void cl_rehearse_reconsider(struct cl_rehearse *r, struct cl_policy *old);
/* Connection 0 ended, so the answer is no longer awaited. */
void cl_rehearse_down(struct cl_rehearse *r);
