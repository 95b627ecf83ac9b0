/* sh_sqlite_file.h - how the shuffler opens its SQLite files: durable, and its own alone. */
#pragma once

#include "db_sqlite.h"

/* Open for reading alone what sh_sqlite_file made, and run `check`.  CM_ELATER: another process has it for
 * itself. */
CM_CHECK enum cm_rc sh_sqlite_file_readonly(
	const char *path, const char *check, sqlite3 **out, struct cm_err *err);

/* Open (and create, when asked) with WAL, synchronous=FULL, secure_delete and an exclusive lock, run `check`
 * (of db_check; may be NULL), then `schema`, and make a new file's directory entry, and what a killed process
 * had written, durable. */
CM_CHECK enum cm_rc sh_sqlite_file(const char *path, const char *check, const char *schema, bool create,
	sqlite3 **out, struct cm_err *err);
