/* cm_loop.h - a daemon's loop: signals, orderly drain, and sd_notify. */
#pragma once

#include <uv.h>

#include "cm_rc.h"

struct cm_loop_handler {
	void (*on_stop)(void *user);   /* SIGTERM or SIGINT, once; a second signal ends the process at once */
	void (*on_reload)(void *user); /* SIGHUP */
};
struct cm_loop;
/* Ignores SIGPIPE, disables core dumps (PR_SET_DUMPABLE 0) and installs the handlers on `loop`. */
CM_CHECK enum cm_rc cm_loop_new(uv_loop_t *loop, const struct cm_loop_handler *h, void *user,
	struct cm_loop **out, struct cm_err *err);
/* Removes the handlers so that the loop can end. */
void cm_loop_free(struct cm_loop *l);
/* READY=1, STATUS=..., STOPPING=1, RELOADING=1 to $NOTIFY_SOCKET; nothing without one. */
void cm_loop_notify(const char *state);
