/* cl_rounds.h - takes part in one round after the other: requests it, prepares it, uploads it, and reports
 * its result. */
#pragma once

#include "cl_context.h"
#include "cl_gather.h"
#include "cl_plans.h"

struct cl_rounds;
struct cl_rounds_conf {
	struct cl_context *context; /* borrowed, like all pointers here */
	struct cl_links *links;
	struct cl_plans *plans;
	struct cl_gather *gather; /* NULL if the readings are in a file */
	uint64_t after;           /* the last round that is over, from the ledger */
	void *user;
	/* Called when a round is about to be judged: the list of devices may be replaced now. */
	void (*on_begin)(void *user);
	/* Called when the analyzer asks what would become of a plan; no preparation uses the database
	 * then. */
	void (*on_rehearse)(void *user, const Tombola__V1__Rehearse *question);
	/* Called when a round is over or was refused. */
	void (*on_summary)(void *user, const struct cl_summary *s);
	/* Called when a round is over and another one begins. */
	void (*on_next)(void *user);
	/* Called when the run ends: enough rounds are done (CM_OK), or there was a fault. */
	void (*on_end)(void *user, const struct cm_err *why);
	/* Called once after cl_rounds_close, when nothing is under way any more. */
	void (*on_closed)(void *user);
};
/* Read the active round that an earlier run left, and start the wait for a round. */
CM_CHECK enum cm_rc cl_rounds_new(
	const struct cl_rounds_conf *conf, struct cl_rounds **out, struct cm_err *err);
/* End: on_closed is called at once, or when the running work or round has ended. */
void cl_rounds_close(struct cl_rounds *r);
void cl_rounds_free(struct cl_rounds *r);

/* Call when the time to draw the readings by MQTT has come. */
void cl_rounds_due(struct cl_rounds *r);

/* Call these from on_up, on_down and on_frame of struct cl_links_conf. */
void cl_rounds_up(struct cl_rounds *r, unsigned i);
void cl_rounds_down(struct cl_rounds *r, unsigned i, bool was_up, const struct cm_err *why);
void cl_rounds_frame(struct cl_rounds *r, unsigned i, const Tombola__V1__Frame *frame);

enum cl_phase cl_rounds_phase(const struct cl_rounds *r);
/* The phase as metrics show it: a round whose reports are sealed counts as being prepared until sending
 * begins, because the moment of sending is fixed and that of sealing is not. */
enum cl_phase cl_rounds_shown(const struct cl_rounds *r);
/* Whether reports of a round are being sent, or are stored to be sent again.  They must be sent under the
 * same key: the shuffler would count reports under another key of this client a second time. */
bool cl_rounds_under_way(const struct cl_rounds *r);
/* Whether a round is judged, or was judged and is not over: what it needs of the policy must not change. */
bool cl_rounds_judged(const struct cl_rounds *r);
/* The policy has changed: a round that was refused and is still open is judged anew, as after a restart. Call
 * it only while no round is judged. */
void cl_rounds_reconsider(struct cl_rounds *r);
/* The sequence number of the last round that is over. */
uint64_t cl_rounds_after(const struct cl_rounds *r);
/* The round that is uploaded; only in CL_UPLOADING. */
const struct rd_descriptor *cl_rounds_current(const struct cl_rounds *r);
/* Whether a manifest is awaited that was not asked for a proof of inclusion. */
bool cl_rounds_awaits_manifest(const struct cl_rounds *r);
