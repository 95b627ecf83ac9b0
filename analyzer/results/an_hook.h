/* an_hook.h - runs the program of `on_settled` for one settled round. */
#pragma once

#include "cf_conf.h"

/* Run command.item[0], an absolute path, with the others as its arguments, the text on its standard input and
 * its standard output on our standard error.  Waits for its end, `timeout_ms` at most, then kills it and what
 * it has started in its process group.  It has none of our capabilities and can gain no privilege; it ends
 * when this process ends.  CM_OK: it ended with 0.  CM_EOTHER: it did not, or could not be run; err says how.
 * CM_EINTERNAL: no memory. */
CM_CHECK enum cm_rc an_hook_run(const struct cf_strings *command, int64_t timeout_ms, const char *text,
	size_t len, struct cm_err *err);
