/* pl_kept.h - the file that keeps what protocol "auto" chose for a plan, so that it is chosen once and not at
 * every start.
 *
 * The file holds requests: which row with which parameters.  Randomizers are derived from them again, and the
 * accountant computes their cost again, so the file cannot understate what a round costs.  The file is bound
 * to the digest of the plan's bytes, of the table of rows and of this version of the program. */
#pragma once

#include "pl_plan.h"

/* Set what pl_auto sets, for every round of "auto".  Returns false and leaves the plan as it is if there is
 * no such file, it is damaged, or it was written for another plan, table of rows or version. */
CM_CHECK bool pl_kept_read(const char *path, struct pl_plan *p);
/* Write the file, atomically.  CM_EINTERNAL: out of memory; other codes as cm_file_write. */
CM_CHECK enum cm_rc pl_kept_write(const char *path, const struct pl_plan *p, struct cm_err *err);
