/* cl_gather.h - collects readings by MQTT for a running client: it keeps the connection to the broker and
 * waits for the time that devices get to publish for a round.  No step here depends on whether a reading
 * arrives. */
#pragma once

#include "cl_context.h"
#include "cl_mqtt_metrics.h"

struct cl_gather;
/* Subscribe for the devices of the context.  on_due is called when the time to draw a round's readings has
 * come. */
CM_CHECK enum cm_rc cl_gather_new(struct cl_context *context, void (*on_due)(void *user), void *user,
	struct cl_gather **out, struct cm_err *err);
void cl_gather_close(struct cl_gather *g);
void cl_gather_free(struct cl_gather *g);

/* Replace the list of devices by the changed one of the context. */
CM_CHECK enum cm_rc cl_gather_list(struct cl_gather *g, struct cm_err *err);

/* Password or certificates towards the broker have changed on disk.  Each connection reads them anew, so say
 * whether they can be used, and end a pause between two tries. */
void cl_gather_files(struct cl_gather *g);

/* Wait while devices publish for a round, then call on_due.  resumed: the reports of the round are stored
 * already, so it needs no new readings and on_due is called at once. */
void cl_gather_begin(struct cl_gather *g, const struct rd_descriptor *d, bool resumed);
/* Take the readings for a round.  Any thread may read *input until cl_gather_drawn.  *from: wall time at
 * which they were due. */
CM_CHECK enum cm_rc cl_gather_draw(struct cl_gather *g, const struct rd_descriptor *d, struct cl_input *input,
	int64_t *from, struct cm_err *err);
void cl_gather_drawn(struct cl_gather *g);

/* Get the state for metrics; false if there is none. */
bool cl_gather_now(const struct cl_gather *g, struct cl_mqtt_now *out);
