/* cl_inclusion.h - asks the shuffler, at random times after a round, whether its manifest includes the
 * watched messages (cl_proof.h). */
#pragma once

#include "cl_context.h"

struct cl_inclusion;
struct cl_inclusion_conf {
	const struct cl_context *context; /* borrowed, like links */
	struct cl_links *links;           /* requests go over connection 0 */
	void *user;
	/* Whether another thread uses the database, so that nothing can be read or stored now. */
	bool (*busy)(void *user);
	/* Whether the preparation of a round awaits a manifest. */
	bool (*awaits_manifest)(void *user);
	/* Called when the run ends, because its database fails or because it was started only for
	 * proofs. */
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
