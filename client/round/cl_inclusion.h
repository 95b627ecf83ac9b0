/* cl_inclusion.h - asks the shuffler, at random times after a round, whether its manifest includes the
 * watched messages (cl_proof.h). */
#pragma once

#include "cl_context.h"

struct cl_inclusion;
struct cl_inclusion_conf {
	const struct cl_context *context; /* borrowed, like links */
	struct cl_links *links;           /* asks on connection 0 */
	void *user;
	/* Whether another thread uses the database, so that nothing can be read or stored now. */
	bool (*busy)(void *user);
	/* Whether a manifest is awaited that was not asked for here. */
	bool (*awaits_manifest)(void *user);
	/* The run ends: its database fails, or proofs were all that it was for. */
	void (*on_end)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc cl_inclusion_new(
	const struct cl_inclusion_conf *conf, struct cl_inclusion **out, struct cm_err *err);
void cl_inclusion_close(struct cl_inclusion *q);
void cl_inclusion_free(struct cl_inclusion *q);

/* Schedule a request at a random moment, if any proof is due. */
void cl_inclusion_begin(struct cl_inclusion *q);
/* Process a frame of connection i; true if it answered a request for proofs. */
bool cl_inclusion_frame(struct cl_inclusion *q, unsigned i, const Tombola__V1__Frame *frame);
/* Connection 0 ended. */
void cl_inclusion_down(struct cl_inclusion *q);
