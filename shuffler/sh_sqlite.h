/* sh_sqlite.h - the embedded store: STATE_DIR/state.db, and one SQLite file a round under STATE_DIR/rounds.
 */
#pragma once

#include "sh_store.h"

/* Open or create the files under state_dir, which exists; fills *out, whose close() frees everything.  Open
 * round data must be closed before. */
CM_CHECK enum cm_rc sh_sqlite_open(const char *state_dir, struct sh_store *out, struct cm_err *err);
