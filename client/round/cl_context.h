/* cl_context.h - what every part of a running client uses: configuration, database, device secret, devices,
 * metrics, and the event loop.
 *
 * The parts are cl_asker.h (asks for rounds), cl_prepare_work.h (judges and reads), cl_gather.h (readings by
 * MQTT), cl_drive.h (one round's upload), cl_rounds.h (one round after the other, composed of these) and
 * cl_inclusion.h (proofs of inclusion).  Each has a state of its own, and tells its owner what happened by
 * the callbacks in its conf.  Life of a part: new while the loop exists, close (its handles end), free after
 * the loop has ended.  new sets its output also after a fault, so that what is on the loop can be closed.
 * close and free accept NULL. */
#pragma once

#include "cl_loop.h"
#include "cl_metrics.h"
#include "cm_log.h"

#define CL_PAUSE_MS     5000u /* pause after a fault before the next request */
#define CL_ASK_AGAIN_MS 500u

struct cl_context {
	const struct cl_loop_conf *run; /* borrowed */
	const struct cl_setup *setup;   /* the setup that run points to */
	struct cl_metrics *metrics;     /* NULL if metrics are not served */
	struct cl_db *db;               /* NULL if the client only fetches; one thread uses it at a time */
	struct cr_key secret;
	/* The participating devices; NULL: the file of readings names them.  Replaced only while no
	 * preparation is running. */
	struct cl_devices *devices;
	uv_loop_t loop; /* initialised and closed by the owner */
};

/* Open the state directory: lock, database, device secret, devices.  *after is set to the last round that
 * is over.  The caller has set run and setup.  Call cl_context_close on success and on failure. */
CM_CHECK enum cm_rc cl_context_open(struct cl_context *c, uint64_t *after, struct cm_err *err);
void cl_context_close(struct cl_context *c);

void cl_say(const struct cl_context *c, enum cm_level level, const char *msg, const struct cm_err *why);
