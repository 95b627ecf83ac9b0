/* pl_kept.h - the file that keeps what protocol "auto" chose for a plan, so that it is chosen once and not at
 * every start.
 *
 * It holds requests: which row with which parameters.  The randomizer is derived from them again, and the
 * accountant composes what it costs, so nothing in the file says what a round costs.  The file is bound to
 * the digest of the plan's bytes, of the table of rows and of this version of the program. */
#pragma once

#include "pl_plan.h"

/* Set for every round of "auto" what pl_auto sets.  False, and the plan is as before: there is no such file,
 * it is damaged, or it was written for something else. */
CM_CHECK bool pl_kept_read(const char *path, struct pl_plan *p);
/* Write the file, atomically.  CM_EINTERNAL out of memory; faults as cm_file_write. */
CM_CHECK enum cm_rc pl_kept_write(const char *path, const struct pl_plan *p, struct cm_err *err);
