/* sh_sqlite_db.h - one durable SQLite file: opening it, and statements that say what failed. */
#pragma once

#include <stdbool.h>

#include <sqlite3.h>

#include "cm_hash.h"
#include "cm_rc.h"

/* Open (and create, when asked) with WAL, synchronous=FULL, secure_delete and an exclusive lock, run `check`
 * (a pragma that says "ok": SQLite leaves out rows of a damaged file without a word; may be NULL), then
 * `schema`, and make a new file's directory entry, and what a killed process had written, durable.  CM_EIO,
 * CM_EDATA: both name the file.  CM_EINTERNAL: no memory. */
CM_CHECK enum cm_rc sh_db_open(const char *path, const char *check, const char *schema, bool create,
	sqlite3 **out, struct cm_err *err);
/* Run a statement without result. */
CM_CHECK enum cm_rc sh_db_run(sqlite3 *db, const char *sql, struct cm_err *err);
CM_CHECK enum cm_rc sh_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct cm_err *err);
/* One step: CM_OK with a row, CM_EMORE when done, else a fault. */
CM_CHECK enum cm_rc sh_db_step(sqlite3_stmt *stmt, struct cm_err *err);
/* Run to the end, expecting no row; reset for the next use. */
CM_CHECK enum cm_rc sh_db_done(sqlite3_stmt *stmt, struct cm_err *err);
/* Bind borrowed bytes; len 0 binds NULL. */
void sh_db_bind(sqlite3_stmt *stmt, int at, const void *bytes, size_t len);
/* A column's bytes, until the next step. */
struct cm_span sh_db_blob(sqlite3_stmt *stmt, int column);
CM_CHECK enum cm_rc sh_db_fail(sqlite3 *db, struct cm_err *err);
