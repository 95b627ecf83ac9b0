/* an_context.h - holds what every part of the running analyzer uses: configuration, plan and ledger, keys,
 * metrics, and the event loop.
 *
 * The parts are an_link.h, an_policy.h, an_pin.h, an_turns.h, an_judge.h, an_sleep.h, an_work.h and
 * an_web.h.  Each has a state of its own, knows only the other parts that its conf names, and tells its
 * owner what happened by the callbacks in its conf.  The owner is an_daemon.c.  A part that only reads the
 * ledger takes a const context.  Life of a part: new while the loop exists, close (its handles end, and no
 * callback is called afterwards), free after the loop has ended.  new sets its output also after a fault,
 * so that handles on the loop can be closed.  close and free accept NULL. */
#pragma once

#include <uv.h>

#include "an_daemon.h"
#include "an_ledger_files.h"
#include "an_metrics.h"

struct an_context {
	const struct an_daemon_conf *run; /* borrowed */
	const struct an_conf *conf;       /* the configuration that run points to */
	/* a worker thread may read them while the loop's thread does not change them */
	struct an_ledger_files files;
	struct cr_rng rng;
	struct cr_signer *signer;
	struct cr_verifier *shuffler;
	struct an_metrics *metrics;
	uv_loop_t loop; /* initialised and closed by the owner */
};
/* Do everything that can fail for reasons the operator must fix, before the loop exists and anything is
 * logged.  Call an_context_close on success and on failure. */
CM_CHECK enum cm_rc an_context_open(
	struct an_context *c, const struct an_daemon_conf *run, struct cm_err *err);
void an_context_close(struct an_context *c);
/* Whether a person waits for the end of this run. */
bool an_context_attended(const struct an_context *c);

/* A timer whose data is `user`; close may be called twice, and on a timer that was never initialised. */
CM_CHECK enum cm_rc an_timer_init(const struct an_context *c, uv_timer_t *t, void *user, struct cm_err *err);
void an_timer_close(uv_timer_t *t);
