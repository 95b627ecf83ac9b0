/* nt_loop.h - a daemon's event loop: signals, orderly stop, and notifications to the service manager. */
#pragma once

#include <uv.h>

#include "cm_rc.h"
#include "cr_files.h"

struct nt_loop_handler {
	void (*on_stop)(void *user);   /* SIGTERM or SIGINT, once; a second signal ends the process at once */
	void (*on_reload)(void *user); /* SIGHUP; the service manager is notified before and after */
	/* Write what the daemon is doing, in one line.  Called every second once the daemon is ready, if a
	 * service manager listens; may be NULL. */
	void (*status)(void *user, char *text, size_t room);
};
struct nt_loop;
/* Keep SIGHUP from ending this process while no loop handles it: a daemon calls this first, and
 * nt_loop_free calls it at the end.  Also keep a file beyond its size limit (RLIMIT_FSIZE) from ending it,
 * so that the write fails instead.  Programs that are started later inherit both. */
void nt_loop_deaf(void);
/* Ignores SIGPIPE, disables core dumps (PR_SET_DUMPABLE 0) and installs the handlers on `loop`. */
CM_CHECK enum cm_rc nt_loop_new(uv_loop_t *loop, const struct nt_loop_handler *h, void *user,
	struct nt_loop **out, struct cm_err *err);
/* The daemon serves: send READY=1, and from now on the status whenever it changes.  A timer of the loop sends
 * WATCHDOG=1, so the service manager notices a loop that hangs. */
void nt_loop_ready(struct nt_loop *l);
/* The two lines that a daemon logs: it could not read files that have changed, and it could again. */
#define NT_LOOP_KEPT  "a changed file is not taken up; the old ones stay"
#define NT_LOOP_TAKEN "changed certificates are taken up"
/* Call fn with nt_loop_new's `user` whenever one of these files has changed (nt_watch.h), even if it
 * changed between nt_loop_deaf and this call.  NULL among the paths is skipped.  After nt_loop_stopping, fn
 * is not called any more.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc nt_loop_watch(
	struct nt_loop *l, const char *const *path, size_t n, void (*fn)(void *user), struct cm_err *err);
/* The same for a daemon's certificates and lists, and the key that belongs to them. */
CM_CHECK enum cm_rc nt_loop_watch_tls(struct nt_loop *l, const struct cr_files *files, const char *key,
	void (*fn)(void *user), struct cm_err *err);
/* Tell the service manager, once, that this process stops for a reason other than a signal: STOPPING=1. */
void nt_loop_stopping(struct nt_loop *l);
/* Removes the handlers so that the loop can end. */
void nt_loop_free(struct nt_loop *l);
