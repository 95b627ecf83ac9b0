/* sh_sqlite.h - the embedded store: STATE_DIR/state.db, and one SQLite file a round under STATE_DIR/rounds.
 */
#pragma once

#include "sh_store.h"

/* Open or create the files under state_dir, which exists; fills *out, whose close() frees everything.  Open
 * round data must be closed before.  CM_EDATA when a shuffler has been in service here (cm_begun.h) and
 * state.db is missing or empty. */
CM_CHECK enum cm_rc sh_sqlite_open(const char *state_dir, struct sh_store *out, struct cm_err *err);
/* Note that such a loss is accepted, and begin a new state.db.  The caller has state_dir's lock.  CM_EOTHER
 * when nothing was lost. */
CM_CHECK enum cm_rc sh_sqlite_anew(const char *state_dir, struct cm_err *err);
