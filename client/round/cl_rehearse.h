/* cl_rehearse.h - answers rehearsals: what this client would do with a plan that the analyzer asks about.
 *
 * The answer follows from the policy, the pins and the length of the list of devices; no reading is looked
 * at, nothing is stored, and nothing is spent.  The plan is composed on a worker thread, beside the rounds,
 * for a limited time: what was found until then is the answer.  Whoever asks often is answered without
 * composing, so that rehearsals take at most a fifth of one processor. */
#pragma once

#include "cl_context.h"

struct cl_rehearse;
/* context and links are borrowed.  Life as in cl_context.h. */
CM_CHECK enum cm_rc cl_rehearse_new(const struct cl_context *context, struct cl_links *links,
	struct cl_rehearse **out, struct cm_err *err);
void cl_rehearse_close(struct cl_rehearse *r);
void cl_rehearse_free(struct cl_rehearse *r);

/* Answer the question that came on connection 0; now, or when it is composed.  Not while a preparation uses
 * the database. */
void cl_rehearse_asked(struct cl_rehearse *r, const Tombola__V1__Rehearse *question);
/* A round is about to be judged: end the composition, and answer nothing.  How long a worker thread takes
 * beside the reading of a round's readings must not show in when an answer comes, or in what it says. */
void cl_rehearse_cut(struct cl_rehearse *r);
/* Connection 0 ended: nobody waits for an answer any more. */
void cl_rehearse_down(struct cl_rehearse *r);
