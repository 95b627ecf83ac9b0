/* cm_lock.h - locks a state folder for one process of one party. */
#pragma once

#include "cm_rc.h"

/* Take an exclusive lock on DIR/lock and DIR for the life of the process, as this party (such as
 * "analyzer"); NULL: DIR is no party's state.  Of the folder that it locked last, a process may take the lock
 * again.  CM_ELATER: another PROGRAM has locked DIR.  CM_EPERM: see
 * cm_owned_state.  CM_ECONFIG: another party used it last.  On any failure the process must end. */
CM_CHECK enum cm_rc cm_lock_take(const char *dir, const char *party, struct cm_err *err);
/* CM_ECONFIG: another party used DIR last.  CM_OK if that is not known. */
CM_CHECK enum cm_rc cm_lock_check(const char *dir, const char *party, struct cm_err *err);
