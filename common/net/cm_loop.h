/* cm_loop.h - a daemon's loop: signals, orderly drain, and what the service manager hears of it. */
#pragma once

#include <uv.h>

#include "cm_rc.h"

struct cm_loop_handler {
	void (*on_stop)(void *user);   /* SIGTERM or SIGINT, once; a second signal ends the process at once */
	void (*on_reload)(void *user); /* SIGHUP; the service manager is told before and after */
	/* What the daemon is doing, in one line.  Asked every second once it is ready, if anybody listens;
	 * may be NULL. */
	void (*status)(void *user, char *text, size_t room);
};
struct cm_loop;
/* Ignores SIGPIPE, disables core dumps (PR_SET_DUMPABLE 0) and installs the handlers on `loop`. */
CM_CHECK enum cm_rc cm_loop_new(uv_loop_t *loop, const struct cm_loop_handler *h, void *user,
	struct cm_loop **out, struct cm_err *err);
/* Up and serving: READY=1, and from now on the status whenever it has changed.  WATCHDOG=1 is sent by a timer
 * of the loop, so a loop that does not turn is noticed. */
void cm_loop_ready(struct cm_loop *l);
/* Going down, for a reason that is no signal: STOPPING=1.  Told once. */
void cm_loop_stopping(struct cm_loop *l);
/* Removes the handlers so that the loop can end. */
void cm_loop_free(struct cm_loop *l);
