/* an_hook.h - runs the program of `on_settled` for one settled round. */
#pragma once

#include "cf_conf.h"

/* Run command.item[0], an absolute path, with the others as its arguments and the text on its standard input.
 * Of its output the first 64 KiB go to our standard error.  Waits for its end, `timeout_ms` at most, then
 * kills it; in either case with all that it has started, in whatever session: this process becomes the reaper
 * of its descendants, and may have no other children.  It has none of our capabilities and can gain no
 * privilege; it ends when this process ends.  CM_OK: it ended with 0.  CM_EOTHER: it did not, or could not be
 * run; err says how. CM_EPERM: others could change it (cm_owned_path).  CM_ENOINPUT: there is none.
 * CM_EINTERNAL: no memory. */
CM_CHECK enum cm_rc an_hook_run(const struct cf_strings *command, int64_t timeout_ms, const char *text,
	size_t len, struct cm_err *err);
