/* an_hook.h - runs the program of `on_settled` for one settled round. */
#pragma once

#include "cf_conf.h"

/* Run command.item[0], an absolute path, with the other items as its arguments and the text on its standard
 * input.  The first 64 KiB of its output go to our standard error.  Waits at most `timeout_ms` for its end,
 * and then kills it and every process that it has started, in whatever session.  For that purpose this
 * process becomes the reaper of its descendants, and may have no other children.  The program has none of
 * our capabilities and can gain no privilege; it ends when this process ends.  CM_OK: its exit code was 0.
 * CM_EOTHER: it was not, or the program could not be run; err says how.  CM_EPERM: other users could change
 * it (cm_owned_path).  CM_ENOINPUT: it does not exist.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc an_hook_run(const struct cf_strings *command, int64_t timeout_ms, const char *text,
	size_t len, struct cm_err *err);
