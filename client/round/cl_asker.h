/* cl_asker.h - asks the shuffler for rounds and for the documents that are needed to judge them, over a
 * connection that comes and goes, and limits the wait for a round. */
#pragma once

#include "cl_context.h"
#include "cl_plans.h"

struct cl_asker;
struct cl_asker_conf {
	const struct cl_context *context; /* borrowed, like all pointers here */
	struct cl_links *links;           /* requests go over connection 0 */
	struct cl_plans *plans;           /* decides which other document must be requested first */
	void *user;
	/* Fill after, wait_ms, passed_over and rehearses of the request that is sent now. */
	void (*request)(void *user, Tombola__V1__GetRound *get);
	void (*on_round)(void *user, const Tombola__V1__Round *round);
	/* Called when a rehearsal came in place of a round, which happens only if the request had
	 * `rehearses`. */
	void (*on_rehearse)(void *user, const Tombola__V1__Rehearse *question);
	/* Called when the shuffler offers no round.  True: the owner goes on by itself.  False: cl_asker
	 * asks again or reports the fault. */
	bool (*on_none)(void *user, const Tombola__V1__Error *e);
	/* Called when the document that the current round needed has arrived, or is known to be absent. */
	void (*on_answer)(void *user);
	/* Called for a fault that `run` survives; asking has ended. */
	void (*on_fault)(void *user, const char *msg, const struct cm_err *why);
	/* Called when the wait limit passed without a round, or when the shuffler refuses this client and
	 * stop_on_fault is set. */
	void (*on_over)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc cl_asker_new(const struct cl_asker_conf *conf, struct cl_asker **out, struct cm_err *err);
void cl_asker_close(struct cl_asker *a);
void cl_asker_free(struct cl_asker *a);

/* Send the next request after later_ms.  A new asker asks from the start; it goes on asking until
 * cl_asker_rest is called. */
void cl_asker_begin(struct cl_asker *a, uint32_t later_ms);
void cl_asker_rest(struct cl_asker *a);
/* Send a request now, for what it states and not for its answer, before the connection is closed. */
void cl_asker_tell(struct cl_asker *a);
/* Start the wait limit for a round from now. */
void cl_asker_wait(struct cl_asker *a);
/* Whether an answer to this request is still expected. */
bool cl_asker_awaits(const struct cl_asker *a, enum cl_ask ask);

/* Call these from on_up, on_down and on_frame of struct cl_links_conf. */
void cl_asker_up(struct cl_asker *a, unsigned i);
void cl_asker_down(struct cl_asker *a, unsigned i, bool was_up, const struct cm_err *why);
void cl_asker_frame(struct cl_asker *a, unsigned i, const Tombola__V1__Frame *frame);
