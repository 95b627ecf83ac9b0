/* cl_rounds.h - takes part in one round after the other: asks for it, prepares it, uploads, sums it up. */
#pragma once

#include "cl_context.h"
#include "cl_gather.h"
#include "cl_plans.h"

struct cl_rounds;
struct cl_rounds_conf {
	struct cl_context *context; /* borrowed, as all pointers are */
	struct cl_links *links;
	struct cl_plans *plans;
	struct cl_gather *gather; /* NULL: the readings are in a file */
	uint64_t after;           /* the last round that is over, from the ledger */
	void *user;
	/* A round is about to be judged: the devices may change now. */
	void (*on_begin)(void *user);
	/* The analyzer asks what would become of a plan; no preparation uses the database. */
	void (*on_rehearse)(void *user, const Tombola__V1__Rehearse *question);
	/* A round is over or was refused. */
	void (*on_summary)(void *user, const struct cl_summary *s);
	/* A round is over, and another one begins. */
	void (*on_next)(void *user);
	/* The run ends: enough rounds are done (CM_OK), or a fault. */
	void (*on_end)(void *user, const struct cm_err *why);
	/* After cl_rounds_close: nothing is under way any more. */
	void (*on_closed)(void *user);
};
/* Read the active round that an earlier run left, and wait for a round from now. */
CM_CHECK enum cm_rc cl_rounds_new(
	const struct cl_rounds_conf *conf, struct cl_rounds **out, struct cm_err *err);
/* End: on_closed follows, at once or when the running work or round returns. */
void cl_rounds_close(struct cl_rounds *r);
void cl_rounds_free(struct cl_rounds *r);

/* The time to draw the readings by MQTT has come. */
void cl_rounds_due(struct cl_rounds *r);

/* What the connections tell: those of cl_links_conf. */
void cl_rounds_up(struct cl_rounds *r, unsigned i);
void cl_rounds_down(struct cl_rounds *r, unsigned i, bool was_up, const struct cm_err *why);
void cl_rounds_frame(struct cl_rounds *r, unsigned i, const Tombola__V1__Frame *frame);

enum cl_phase cl_rounds_phase(const struct cl_rounds *r);
/* The same for whoever looks on: a round that is sealed is being prepared until sending begins, since that
 * moment is fixed and that of sealing is not. */
enum cl_phase cl_rounds_shown(const struct cl_rounds *r);
/* The sequence number of the last round that is over. */
uint64_t cl_rounds_after(const struct cl_rounds *r);
/* The round that is uploaded; only in CL_UPLOADING. */
const struct rd_descriptor *cl_rounds_current(const struct cl_rounds *r);
/* Whether a manifest is awaited that was not asked for a proof of inclusion. */
bool cl_rounds_awaits_manifest(const struct cl_rounds *r);
