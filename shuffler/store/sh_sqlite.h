/* sh_sqlite.h - implements sh_store.h with SQLite: STATE_DIR/state.db, and one file per round under
 * STATE_DIR/rounds. */
#pragma once

#include "sh_store.h"

/* Open or create the files under the existing state_dir; fills *out, whose close() frees everything.  Close
 * the data of open rounds before that.  CM_EDATA: a shuffler has been in service here (cm_marker.h) and
 * state.db is missing or empty. */
CM_CHECK enum cm_rc sh_sqlite_open(const char *state_dir, struct sh_store *out, struct cm_err *err);
/* The same files only for reading, as they are: nothing is created, repaired or erased, and every function
 * that would change something returns CM_EIO.  CM_ENOINPUT: there is no state.db, and no shuffler has been
 * in service here.  CM_ELATER: a running shuffler has locked it. */
CM_CHECK enum cm_rc sh_sqlite_open_readonly(const char *state_dir, struct sh_store *out, struct cm_err *err);
/* Create a new state.db that records the accepted loss.  The caller holds state_dir's lock.  CM_EOTHER:
 * nothing was lost. */
CM_CHECK enum cm_rc sh_sqlite_anew(const char *state_dir, const struct sh_loss *loss, struct cm_err *err);
