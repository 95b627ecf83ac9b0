/* cl_asker.h - asks the shuffler for rounds, and for what is needed to judge them, over a connection that
 * comes and goes; and limits the wait for a round. */
#pragma once

#include "cl_context.h"
#include "cl_plans.h"

struct cl_asker;
struct cl_asker_conf {
	const struct cl_context *context; /* borrowed, as all pointers are */
	struct cl_links *links;           /* asks on connection 0 */
	struct cl_plans *plans;           /* says what else must be asked first */
	void *user;
	/* Fill after, wait_ms, passed_over and rehearses of the request that is sent now. */
	void (*request)(void *user, Tombola__V1__GetRound *get);
	void (*on_round)(void *user, const Tombola__V1__Round *round);
	/* A rehearsal came in place of a round; only where the request had `rehearses`. */
	void (*on_rehearse)(void *user, const Tombola__V1__Rehearse *question);
	/* The shuffler offers no round.  True: the owner goes on by itself.  False: ask again, or report the
	 * fault. */
	bool (*on_none)(void *user, const Tombola__V1__Error *e);
	/* The document that the current round needed is there, or is known to be absent. */
	void (*on_answer)(void *user);
	/* A fault that `run` survives; asking has ended. */
	void (*on_fault)(void *user, const char *msg, const struct cm_err *why);
	/* The wait limit passed without a round, or the shuffler refuses this client and nobody waits. */
	void (*on_over)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc cl_asker_new(const struct cl_asker_conf *conf, struct cl_asker **out, struct cm_err *err);
void cl_asker_close(struct cl_asker *a);
void cl_asker_free(struct cl_asker *a);

/* Ask, after later_ms.  It asks from the start, and until cl_asker_rest. */
void cl_asker_begin(struct cl_asker *a, uint32_t later_ms);
void cl_asker_rest(struct cl_asker *a);
/* Start the wait limit for a round from now. */
void cl_asker_wait(struct cl_asker *a);
/* Whether an answer to this request is awaited. */
bool cl_asker_awaits(const struct cl_asker *a, enum cl_ask ask);

/* What the connections tell: those of cl_links_conf. */
void cl_asker_up(struct cl_asker *a, unsigned i);
void cl_asker_down(struct cl_asker *a, unsigned i, bool was_up, const struct cm_err *why);
void cl_asker_frame(struct cl_asker *a, unsigned i, const Tombola__V1__Frame *frame);
