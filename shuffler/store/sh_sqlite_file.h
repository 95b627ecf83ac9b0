/* sh_sqlite_file.h - opens the shuffler's SQLite files, so that commits are durable and no other process
 * uses them. */
#pragma once

#include "db_sqlite.h"

/* Open for reading only a file that sh_sqlite_file made, and run `check`.  CM_ELATER: another process has
 * locked it. */
CM_CHECK enum cm_rc sh_sqlite_file_readonly(
	const char *path, const char *check, sqlite3 **out, struct cm_err *err);

/* Open a file (and create it, if `create`) with WAL, synchronous=FULL, secure_delete and an exclusive lock.
 * Run `check` (of db_check; may be NULL), then `schema`.  Make a new file's directory entry durable, and
 * everything that a killed process wrote. */
CM_CHECK enum cm_rc sh_sqlite_file(const char *path, const char *check, const char *schema, bool create,
	sqlite3 **out, struct cm_err *err);
