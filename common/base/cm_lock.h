/* cm_lock.h - a state folder belongs to one process of one party. */
#pragma once

#include "cm_rc.h"

/* Take an exclusive lock on DIR/lock and DIR for the life of the process, as this party ("analyzer"); NULL:
 * DIR is no party's state.  CM_ELATER: another PROGRAM has DIR.  CM_EPERM: cm_owned_state.  CM_ECONFIG:
 * another party had it last.  A process that fails ends. */
CM_CHECK enum cm_rc cm_lock_take(const char *dir, const char *party, struct cm_err *err);
/* CM_ECONFIG: another party had DIR last.  CM_OK where that is not known. */
CM_CHECK enum cm_rc cm_lock_check(const char *dir, const char *party, struct cm_err *err);
