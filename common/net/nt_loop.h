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
/* No SIGHUP ends this process while no loop handles it: a daemon calls it first, and nt_loop_free at its end.
 * Nor does a file beyond its limit of size (RLIMIT_FSIZE): that is an error of the write.  Programs that are
 * started later inherit both. */
void nt_loop_deaf(void);
/* Ignores SIGPIPE, disables core dumps (PR_SET_DUMPABLE 0) and installs the handlers on `loop`. */
CM_CHECK enum cm_rc nt_loop_new(uv_loop_t *loop, const struct nt_loop_handler *h, void *user,
	struct nt_loop **out, struct cm_err *err);
/* The daemon serves: send READY=1, and from now on the status whenever it changes.  A timer of the loop sends
 * WATCHDOG=1, so the service manager notices a loop that hangs. */
void nt_loop_ready(struct nt_loop *l);
/* What a daemon logs when it could not read files that have changed, and when it could. */
#define NT_LOOP_KEPT  "a changed file is not taken up; the old ones stay"
#define NT_LOOP_TAKEN "changed certificates are taken up"
/* Call fn with nt_loop_new's `user` whenever one of these files has changed (nt_watch.h), also if it changed
 * after nt_loop_deaf was called and before this.  NULL among the paths is skipped.  Once nt_loop_stopping was
 * called, fn is not.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc nt_loop_watch(
	struct nt_loop *l, const char *const *path, size_t n, void (*fn)(void *user), struct cm_err *err);
/* The same for a daemon's certificates and lists, and the key that belongs to them. */
CM_CHECK enum cm_rc nt_loop_watch_tls(struct nt_loop *l, const struct cr_files *files, const char *key,
	void (*fn)(void *user), struct cm_err *err);
/* Stop for a reason other than a signal: send STOPPING=1, once. */
void nt_loop_stopping(struct nt_loop *l);
/* Removes the handlers so that the loop can end. */
void nt_loop_free(struct nt_loop *l);
