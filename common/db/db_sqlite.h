/* db_sqlite.h - SQLite files: opening them, and statements that say what failed.
 *
 * All faults have one mapping: CM_EINTERNAL without memory; CM_EDATA for a damaged file, and for a statement
 * that the file's tables do not allow, since ours are always the same; else CM_EIO.  Each names the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "cm_rc.h"
#include "cr_hash.h"

struct db_conf {
	bool create, readonly;
	int busy_ms; /* for which a statement waits for another process */
};
/* *out is NULL after a fault.
 *
 * Statements may call row_sum(...): SHA-256 of each argument's type, length and bytes, 8 arguments at
 * most. */
CM_CHECK enum cm_rc db_open(const char *path, const struct db_conf *conf, sqlite3 **out, struct cm_err *err);
/* Run these pragmas, of a database that is to be written.  CM_EDATA also for a file that could be written and
 * whose header says that it cannot: else the first write would notice, when something is there to be kept. */
CM_CHECK enum cm_rc db_set(sqlite3 *db, const char *settings, struct cm_err *err);
/* Run a pragma that says "ok", or CM_EDATA: SQLite leaves out rows of a damaged file without a word. */
CM_CHECK enum cm_rc db_check(sqlite3 *db, const char *check, struct cm_err *err);
/* Empty the write-ahead log into the file.  A process that is killed inside a commit may leave it whole in
 * the log and not synced: before what is read back is acted on, this makes it durable.  And nothing that was
 * erased is left in the log. */
CM_CHECK enum cm_rc db_settle(sqlite3 *db, struct cm_err *err);

/* Run statements without result. */
CM_CHECK enum cm_rc db_run(sqlite3 *db, const char *sql, struct cm_err *err);
CM_CHECK enum cm_rc db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct cm_err *err);
/* One step: CM_OK with a row, CM_EMORE when done, else a fault. */
CM_CHECK enum cm_rc db_step(sqlite3_stmt *stmt, struct cm_err *err);
/* For a loop over the rows: true with the next one; false when done, or after a fault, which is then in *rc.
 * Does nothing while *rc is a fault.  The statement may be NULL then. */
bool db_row(sqlite3_stmt *stmt, enum cm_rc *rc, struct cm_err *err);
/* Run to the end, expecting no row; reset for the next use. */
CM_CHECK enum cm_rc db_done(sqlite3_stmt *stmt, struct cm_err *err);
/* The number that a query gives; 0 for NULL or no row. */
CM_CHECK enum cm_rc db_int(sqlite3 *db, const char *sql, int64_t *out, struct cm_err *err);
/* The fault of the call before. */
enum cm_rc db_fail(sqlite3 *db, struct cm_err *err);

/* A transaction that no other thread's statement on this connection gets into; end commits, or rolls back
 * when rc is a fault, and returns rc or its own.  Also after a begin that failed. */
CM_CHECK enum cm_rc db_begin(sqlite3 *db, struct cm_err *err);
CM_CHECK enum cm_rc db_end(sqlite3 *db, enum cm_rc rc, struct cm_err *err);
/* Undo the open transaction, after a fault that is already in the caller's hands. */
void db_rollback(sqlite3 *db);

/* Bind borrowed bytes; len 0 binds NULL. */
void db_bind(sqlite3_stmt *stmt, int at, const void *bytes, size_t len);
/* A column's bytes, until the next step. */
struct cr_span db_blob(sqlite3_stmt *stmt, int column);
