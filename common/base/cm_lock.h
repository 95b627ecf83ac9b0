/* cm_lock.h - locks a state folder for one process of one party. */
#pragma once

#include "cm_rc.h"

/* Take an exclusive lock on DIR/lock and on DIR, for the life of the process and for this party (such as
 * "analyzer"; NULL: no party uses DIR as its state).  A process may again lock the folder that it locked
 * last. CM_ELATER: another PROGRAM has locked DIR.  CM_EPERM: see cm_owned_state.  CM_ECONFIG: another party
 * used it last.  After a failure the process must end. */
CM_CHECK enum cm_rc cm_lock_take(const char *dir, const char *party, struct cm_err *err);
/* CM_ECONFIG: another party used DIR last.  CM_OK if that is not known. */
CM_CHECK enum cm_rc cm_lock_check(const char *dir, const char *party, struct cm_err *err);
